/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks for every thread, a test's limit of time, and sanitizer settings.
 */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Written by the test's thread before it starts others, or while they do not check. */
static const char *current_step;
static uint64_t current_seed;

void check_during(const char *what, uint64_t seed) {
    current_step = what;
    current_seed = seed;
}

static _Noreturn void end_program(void) {
    if (current_step != NULL) {
        fprintf(stderr, "during %s, seed %llu\n", current_step, (unsigned long long)current_seed);
    }
    fflush(NULL);
    abort();
}

void check_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
    end_program();
}

void check_equal_at(const char *file, int line, const char *text, long long actual, long long expected) {
    if (actual != expected) {
        fprintf(stderr, "%s:%d: check failed: %s, but %lld is not %lld\n", file, line, text, actual,
                expected);
        end_program();
    }
}

/* Ends a test that waits for ever, also without ctest. */
enum { SECONDS_FOR_ONE_TEST = 600 };

void test_goes_on(void) {
    alarm(SECONDS_FOR_ONE_TEST);
}

int stress_rounds(int count) {
    const char *wanted = getenv("INTERLOCK_STRESS");
    const bool is_full = wanted != NULL && strcmp(wanted, "full") == 0;
    const bool is_less = wanted != NULL && strcmp(wanted, "less") == 0;
    const int share = is_full ? 1 : is_less ? 4 : 10;
    const int slowed = IS_SANITIZED ? (is_full || is_less ? 10 : 4 * share) : share;
    return count >= slowed ? count / slowed : count;
}

uint32_t next_random(uint32_t *state) {
    /* Marsaglia's xorshift32. */
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

enum manner any_manner(uint32_t *random) {
    static const enum manner choices[] = {TRIES, LIMITED, WAITS, WAITS};
    return choices[next_random(random) % (sizeof choices / sizeof *choices)];
}

/* ThreadSanitizer asks for these. Children of expect_misuse start threads; a finding fails a test that passes
 * otherwise; the runtime of Swift's toolchain checks memcpy only when told to. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "die_after_fork=0:halt_on_error=1:exitcode=66:ignore_interceptors_accesses=0";
}
