/* SPDX-License-Identifier: Apache-2.0
 *
 * See fuzz.h.
 */
#include "support/fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 400 };
/* No sequence takes a hundredth of the first. */
enum { SECONDS_UNTIL_STUCK = 100, SECONDS_TO_SHRINK = 30 };

/* What is being played, for the handlers. */
static const struct fuzz_driver *running;
static struct fuzz_play *playing;

uint64_t fuzz_random(uint64_t *state) {
    uint64_t mixed = (*state += UINT64_C(0x9E3779B97F4A7C15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

bool fuzz_mismatch(struct fuzz_play *play, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(play->mismatch, sizeof play->mismatch, format, arguments);
    va_end(arguments);
    return false;
}

static void describe(const char *what) {
    if (playing == NULL) {
        return;
    }
    char text[512];
    int length =
        snprintf(text, sizeof text, "%s: %s: seed %llu, step %zu, %s\nreplay: INTERLOCK_FUZZ_SEED=%llu\n",
                 running->name, what, (unsigned long long)playing->seed, playing->at, playing->configuration,
                 (unsigned long long)playing->seed);
    size_t size = length < (int)sizeof text ? (size_t)length : sizeof text - 1;
    ssize_t ignored = write(STDERR_FILENO, text, size);
    (void)ignored;
}

/* snprintf is not async-signal-safe; the process is lost anyway. */
static void on_crash(int number) {
    signal(number, SIG_DFL);
    describe(number == SIGALRM ? "a sequence does not end" : "crashed");
    raise(number);
}

static void on_sanitizer_report(void) {
    describe("a sanitizer reported");
}

/* Only in the sanitizers' runtimes. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* cmocka's handlers would call a crash a failed test. */
static void install_handlers(void) {
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(on_sanitizer_report);
    }
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        signal(signals[i], on_crash);
    }
}

static uint64_t number_from(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text != NULL && *text != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

struct fuzz_step fuzz_any_step(const struct fuzz_driver *driver, uint64_t *random) {
    unsigned weights = 0;
    for (size_t i = 0; i < driver->verb_count; i++) {
        weights += driver->verbs[i].weight;
    }
    unsigned choice = (unsigned)(fuzz_random(random) % weights), verb = 0;
    while (choice >= driver->verbs[verb].weight) {
        choice -= driver->verbs[verb].weight;
        verb++;
    }
    return (struct fuzz_step){verb, (uint32_t)fuzz_random(random)};
}

static size_t generate(const struct fuzz_driver *driver, uint64_t seed, struct fuzz_step *steps) {
    uint64_t random = seed;
    check(driver->longest <= LONGEST);
    size_t count = 1 + (size_t)(fuzz_random(&random) % driver->longest);
    for (size_t i = 0; i < count; i++) {
        steps[i] = fuzz_any_step(driver, &random);
    }
    return count;
}

static bool play(const struct fuzz_driver *driver, struct fuzz_play *now, uint64_t seed, bool shrinking,
                 const struct fuzz_step *steps, size_t count) {
    *now = (struct fuzz_play){.seed = seed, .shrinking = shrinking};
    playing = now;
    if (fuzz_keep != NULL) { /* libFuzzer has the alarm */
        return driver->play(now, steps, count);
    }
    alarm(SECONDS_UNTIL_STUCK);
    bool agreed = driver->play(now, steps, count);
    alarm(0);
    return agreed;
}

/* Leaves out half of the steps, then ever shorter runs, while the rest still does not agree. */
static size_t shrink(const struct fuzz_driver *driver, uint64_t seed, struct fuzz_step *steps, size_t count) {
    static struct fuzz_play attempt;
    const uint64_t end = ilk_deadline_in_ns((uint64_t)SECONDS_TO_SHRINK * 1000000000);
    for (size_t run = count / 2; run > 0; run = run / 2) {
        for (size_t start = 0; start + run <= count && ilk_now_ns() < end;) {
            struct fuzz_step fewer[LONGEST];
            memcpy(fewer, steps, start * sizeof *steps);
            memcpy(fewer + start, steps + start + run, (count - start - run) * sizeof *steps);
            if (play(driver, &attempt, seed, true, fewer, count - run)) {
                start += run;
            } else {
                count -= run;
                memcpy(steps, fewer, count * sizeof *steps);
            }
        }
    }
    return count;
}

static _Noreturn void report(const struct fuzz_driver *driver, struct fuzz_play *found,
                             struct fuzz_step *steps, size_t count) {
    fprintf(stderr, "%s: seed %llu, %s: step %zu of %zu: %s\n", driver->name, (unsigned long long)found->seed,
            found->configuration, found->at, count, found->mismatch);
    size_t left = shrink(driver, found->seed, steps, count);
    static struct fuzz_play last;
    bool agreed = play(driver, &last, found->seed, true, steps, left);
    fprintf(stderr, "%s after leaving out what is not needed: %s\n", agreed ? "it came and went" : "the same",
            last.mismatch);
    for (size_t i = 0; i < left; i++) {
        fprintf(stderr, "    %s %u\n", driver->verbs[steps[i].verb].name, (unsigned)steps[i].argument);
    }
    if (fuzz_keep == NULL) {
        fprintf(stderr, "replay: INTERLOCK_FUZZ_SEED=%llu\n", (unsigned long long)found->seed);
    }
    if (fuzz_keep == NULL) { /* libFuzzer writes the input down */
        signal(SIGABRT, SIG_DFL);
    }
    check_failed(__FILE__, __LINE__, "the object and its model agree");
}

void fuzz_play_steps(const struct fuzz_driver *driver, uint64_t seed, struct fuzz_step *steps, size_t count) {
    static struct fuzz_play now;
    if (!play(driver, &now, seed, false, steps, count)) {
        report(driver, &now, steps, count);
    }
}

void fuzz_run(const struct fuzz_driver *driver) {
    static struct fuzz_step steps[LONGEST];
    if (fuzz_keep != NULL) {
        fuzz_keep(driver);
        return;
    }
    running = driver;
    install_handlers();
    const bool seeded = getenv("INTERLOCK_FUZZ_SEED") != NULL;
    uint64_t seed = number_from("INTERLOCK_FUZZ_SEED", ilk_now_ns());
    /* A seed without a budget: that sequence. */
    const bool budgeted = getenv("INTERLOCK_FUZZ_SECONDS") != NULL || getenv("INTERLOCK_FUZZ_ROUNDS") != NULL;
    uint64_t rounds = number_from("INTERLOCK_FUZZ_ROUNDS", seeded && !budgeted ? 1 : UINT64_MAX);
    const uint64_t end = ilk_deadline_in_ns(number_from("INTERLOCK_FUZZ_SECONDS", 1) * 1000000000);
    uint64_t played = 0, step_count = 0;
    const uint64_t first = seed;
    do {
        size_t count = generate(driver, seed, steps);
        fuzz_play_steps(driver, seed, steps, count);
        step_count += count;
        seed++;
    } while (++played < rounds && ilk_now_ns() < end);
    playing = NULL;
    printf("%s: %llu sequences of %llu steps in all, seeds from %llu: no mismatch\n", driver->name,
           (unsigned long long)played, (unsigned long long)step_count, (unsigned long long)first);
}
