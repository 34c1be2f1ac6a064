/* SPDX-License-Identifier: Apache-2.0
 *
 * See misuse.h.
 */
#include "support/misuse.h"

void expect_all_misuse(const struct misuse *table, size_t count, void *context) {
    for (size_t i = 0; i < count; i++) {
        expect_misuse(table[i].body, context, table[i].call, table[i].text);
    }
}

void misuse_beside(thread_body *body, void *context) {
    static struct thread thread;
    thread_start(&thread, body, context);
    thread_await_sleep(&thread);
}

void sleep_for_ever(void) {
    static struct stage never = STAGE_INIT;
    stage_await(&never, 1);
}
