/* SPDX-License-Identifier: Apache-2.0
 *
 * The program of C tests: runs all, or those whose names match its argument, which must be some.
 */
#include "support/test.h"

#include <fnmatch.h>
#include <unistd.h>

enum { MOST_TESTS = 64, SECONDS_FOR_ALL = 3600 };

static struct CMUnitTest tests[MOST_TESTS]; /* cmocka passes over those without a body */
static size_t test_count;

void test_add(const char *name, CMUnitTestFunction body) {
    check(test_count < MOST_TESTS);
    tests[test_count] = (struct CMUnitTest){.name = name, .test_func = body};
    test_count++;
}

static void choose(const char *pattern) {
    size_t found = 0;
    for (size_t i = 0; i < test_count; i++) {
        found += fnmatch(pattern, tests[i].name, 0) == 0 ? 1 : 0;
    }
    check(found > 0);
    cmocka_set_test_filter(pattern);
}

int main(int argument_count, char **arguments) {
    if (argument_count > 1) {
        choose(arguments[1]);
        test_goes_on();
    } else {
        alarm(SECONDS_FOR_ALL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
