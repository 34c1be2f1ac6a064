/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set in a child of fork: the parent's sets are left as they are, and what is in them goes on.
 */
#include "support/fork.h"
#include "wait_set/members.h"
#include <interlock/inline/notified_set.h>
#include <stdio.h>
#include <unistd.h>

/* In the child the set is left; its ring and its latch go on. */
/* contract: wait_set.h */
TEST(what_was_in_a_set_goes_on_in_a_child) {
    need_children();
    struct members members;
    begin(&members);
    add_elements_of_spsc(&members);
    check_equal(ilk_wait_set_add_latch(members.set, &members.latch, NULL), ILK_OK);
    push_mpmc(members.mpmc);
    check_equal(ilk_wait_set_add_mpmc(members.set, members.mpmc, ILK_WRITABLE, &members.mpmc), ILK_OK);
    void *keys[1];
    check_equal(poll_set(members.set, keys, 1), -1); /* all are armed */
    fflush(NULL);
    const pid_t child = fork();
    if (is_child(child)) {
        push_spsc(members.spsc);
        pop_spsc(members.spsc);
        pop_mpmc(members.mpmc);
        open_latch(&members);
        ilk_wait_set *own = new_set();
        check_equal(ilk_wait_set_add_spsc(own, members.spsc, ILK_READABLE, own), ILK_OK);
        struct set_waiter waiter;
        start_waiting(&waiter, own);
        push_spsc(members.spsc);
        ends_with(&waiter, own);
        ilk_wait_set_destroy(own);
        _exit(7);
    }
    expect_exit(child, 7);
    push_spsc(members.spsc);
    check(is_ready(members.set, &members));
    end(&members);
}

static void fail_when_called(void *unused) {
    check_failed(__FILE__, __LINE__, "the parent's set is left as it is");
}
/* So many that each bucket of wait/address_queue.c has one. */
/* contract: wait_set.h */
TEST(a_child_notifies_no_set_of_its_parent) {
    need_children();
    enum { LATCHES = 200 };
    static ilk_latch latches[LATCHES];
    ilk_wait_set *set = new_set();
    for (int i = 0; i < LATCHES; i++) {
        ilk_latch_init(&latches[i], 1);
        check_equal(ilk_wait_set_add_latch(set, &latches[i], &latches[i]), ILK_OK);
    }
    check(!is_ready(set, NULL));
    fflush(NULL);
    const pid_t child = fork();
    if (is_child(child)) {
        ilk__wait_set_notify(set, fail_when_called, NULL);
        for (int i = 0; i < LATCHES; i++) {
            ilk_latch_count_down(&latches[i]);
        }
        _exit(7);
    }
    expect_exit(child, 7);
    check(!is_ready(set, NULL));
    ilk_wait_set_destroy(set);
}
