/* SPDX-License-Identifier: Apache-2.0
 *
 * Coverage-guided fuzzing: libFuzzer (LLVM) plays the drivers of fuzz.h, all in one process, and keeps the inputs that
 * reach code that no other has reached. scripts/fuzz builds and runs it.
 *
 * An input is a head (the driver, two bytes of seed for the configuration) and steps of five bytes (verb, argument).
 * Mutations keep to whole steps: any part of a sequence is a sequence. The drivers are numbered in the order of their
 * files in CMakeLists.txt: a new file comes last, or fuzz_corpus.txt would speak of other drivers.
 */
#include "support/fuzz.h"

#include <string.h>

enum { MOST_DRIVERS = 16, HEAD = 3, STEP = 5, MOST_STEPS = 200, MOST_AT_ONCE = 8 };

static struct fuzz_driver drivers[MOST_DRIVERS];
static size_t driver_count;

void fuzz_keep(const struct fuzz_driver *driver) {
    check(driver_count < MOST_DRIVERS && driver->longest <= MOST_STEPS);
    drivers[driver_count] = *driver;
    driver_count++;
}

/* Each file's tests run as they are added, to give their drivers. */
void test_add(const char *name, CMUnitTestFunction body) {
    body(NULL);
}

static const struct fuzz_driver *driver_of(const uint8_t *input) {
    return &drivers[input[0]];
}

static bool is_sequence(const uint8_t *input, size_t size) {
    return size >= HEAD && input[0] < driver_count;
}

static size_t step_count(const uint8_t *input, size_t size) {
    const size_t count = (size - HEAD) / STEP, longest = driver_of(input)->longest;
    return count < longest ? count : longest;
}

static void write_step(uint8_t *bytes, struct fuzz_step step) {
    bytes[0] = (uint8_t)step.verb;
    memcpy(bytes + 1, &step.argument, sizeof step.argument);
}

/* ---- What libFuzzer calls ---- */

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *input, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (!is_sequence(input, size)) {
        return -1; /* not kept */
    }
    struct fuzz_step steps[MOST_STEPS];
    const struct fuzz_driver *driver = driver_of(input);
    const size_t count = step_count(input, size);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = input + HEAD + i * STEP;
        steps[i].verb = bytes[0] % (unsigned)driver->verb_count;
        memcpy(&steps[i].argument, bytes + 1, sizeof steps[i].argument);
    }
    fuzz_play_steps(driver, input[1] | (uint64_t)input[2] << 8, steps, count);
    return 0;
}

/* Makes room for `count` steps before step number `at`. */
static size_t open_gap(uint8_t *input, size_t size, size_t at, size_t count) {
    uint8_t *gap = input + HEAD + at * STEP;
    memmove(gap + count * STEP, gap, size - HEAD - at * STEP);
    return size + count * STEP;
}

static size_t insert_steps(uint8_t *input, size_t size, size_t most, uint64_t *random) {
    const size_t count = 1 + (size_t)(fuzz_random(random) % MOST_AT_ONCE);
    const size_t at = (size_t)(fuzz_random(random) % (step_count(input, size) + 1));
    if (size + count * STEP > most) {
        return size;
    }
    size = open_gap(input, size, at, count);
    for (size_t i = at; i < at + count; i++) {
        write_step(input + HEAD + i * STEP, fuzz_any_step(driver_of(input), random));
    }
    return size;
}

static size_t repeat_steps(uint8_t *input, size_t size, size_t most, uint64_t *random) {
    const size_t all = step_count(input, size);
    const size_t from = (size_t)(fuzz_random(random) % all), to = (size_t)(fuzz_random(random) % all);
    size_t count = 1 + (size_t)(fuzz_random(random) % MOST_AT_ONCE);
    count = count < all - from ? count : all - from;
    uint8_t copy[MOST_AT_ONCE * STEP];
    if (size + count * STEP > most) {
        return size;
    }
    memcpy(copy, input + HEAD + from * STEP, count * STEP);
    size = open_gap(input, size, to, count);
    memcpy(input + HEAD + to * STEP, copy, count * STEP);
    return size;
}

static size_t remove_steps(uint8_t *input, size_t size, uint64_t *random) {
    const size_t all = step_count(input, size), at = (size_t)(fuzz_random(random) % all);
    size_t count = 1 + (size_t)(fuzz_random(random) % MOST_AT_ONCE);
    count = count < all - at ? count : all - at;
    uint8_t *gap = input + HEAD + at * STEP;
    memmove(gap, gap + count * STEP, (all - at - count) * STEP);
    return HEAD + (all - count) * STEP;
}

size_t LLVMFuzzerCustomMutator(uint8_t *input, size_t size, size_t most, unsigned seed) {
    uint64_t random = seed;
    if (most < HEAD + STEP) {
        return LLVMFuzzerMutate(input, size, most);
    }
    if (!is_sequence(input, size) || size < HEAD + STEP || fuzz_random(&random) % 64 == 0) { /* a new one */
        const uint64_t head = fuzz_random(&random);
        memcpy(input, &head, HEAD);
        input[0] = (uint8_t)(input[0] % driver_count);
        write_step(input + HEAD, fuzz_any_step(driver_of(input), &random));
        return insert_steps(input, HEAD + STEP, most, &random);
    }
    size = HEAD + step_count(input, size) * STEP;
    uint8_t *step = input + HEAD + (size_t)(fuzz_random(&random) % step_count(input, size)) * STEP;
    switch (fuzz_random(&random) % 7) {
    case 0:
        (void)LLVMFuzzerMutate(input + 1, HEAD - 1, HEAD - 1);
        return size;
    case 1:
        return remove_steps(input, size, &random);
    case 2:
        return repeat_steps(input, size, most, &random);
    case 3: /* other arguments, with what libFuzzer has seen in comparisons */
        (void)LLVMFuzzerMutate(step + 1, STEP - 1, STEP - 1);
        return size;
    case 4:
        write_step(step, fuzz_any_step(driver_of(input), &random));
        return size;
    default:
        return insert_steps(input, size, most, &random);
    }
}

/* The beginning of one sequence, and the end of another of the same driver. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t most, unsigned seed) {
    uint64_t random = seed;
    if (!is_sequence(one, one_size) || !is_sequence(other, other_size) || one[0] != other[0]) {
        return 0;
    }
    const size_t first = (size_t)(fuzz_random(&random) % (step_count(one, one_size) + 1)) * STEP;
    const size_t skipped = (size_t)(fuzz_random(&random) % (step_count(other, other_size) + 1)) * STEP;
    size_t last = step_count(other, other_size) * STEP - skipped;
    if (most < HEAD + first) {
        return 0;
    }
    last = last < most - HEAD - first ? last : most - HEAD - first;
    memcpy(out, one, HEAD + first);
    memcpy(out + HEAD + first, other + HEAD + skipped, last);
    return HEAD + first + last;
}
