/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks for every thread, the choice of one test by name, and what depends on the sanitizer.
 */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
    fflush(NULL);
    abort();
}

void check_equal_at(const char *file, int line, const char *text, long long actual, long long expected) {
    if (actual != expected) {
        fprintf(stderr, "%s:%d: check failed: %s, but %lld is not %lld\n", file, line, text, actual,
                expected);
        fflush(NULL);
        abort();
    }
}

void test_filter(int argument_count, char **arguments) {
    if (argument_count > 1) {
        cmocka_set_test_filter(arguments[1]);
    }
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SLOWED_DOWN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SLOWED_DOWN 1
#endif
#ifndef SLOWED_DOWN
#define SLOWED_DOWN 0
#endif

int stress_rounds(int count) {
    return SLOWED_DOWN && count >= 10 ? count / 10 : count;
}

uint32_t next_random(uint32_t *state) {
    /* Marsaglia's xorshift32. */
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* ThreadSanitizer asks for these. Children of expect_misuse start threads; a finding must not be lost in a
 * test that passes otherwise; and the runtime of Swift's toolchain, unlike clang's own, does not look at
 * what memcpy reads and writes unless told to: elements of rings are copied by nothing else. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "die_after_fork=0:halt_on_error=1:exitcode=66:ignore_interceptors_accesses=0";
}
