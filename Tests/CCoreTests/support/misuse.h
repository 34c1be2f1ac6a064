/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of misuse: what is done, the call that reports it, and its text. Each row ends a child process with
 * SIGABRT after one sentence (expect_misuse).
 */
#ifndef INTERLOCK_TESTS_SUPPORT_MISUSE_H
#define INTERLOCK_TESTS_SUPPORT_MISUSE_H

#include "support/test.h"

struct misuse {
    void (*body)(void *context);
    const char *call;
    const char *text;
};

/* Every row, with `context` for its body. */
void expect_all_misuse(const struct misuse *table, size_t count, void *context);

#define EXPECT_ALL(table) expect_all_misuse(table, sizeof(table) / sizeof *(table), NULL)

/* Starts a thread that holds, or waits, until the child has ended; returns when it sleeps. */
void misuse_beside(thread_body *body, void *context);

void sleep_for_ever(void);

#endif
