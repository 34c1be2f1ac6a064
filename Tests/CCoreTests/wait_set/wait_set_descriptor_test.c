/* SPDX-License-Identifier: Apache-2.0
 *
 * A wait set in another loop: its descriptor, and the function that it calls for the facade.
 */
#include "wait_set/waiting.h"
#include <errno.h>
#include <fcntl.h>
#include <interlock/inline/notified_set.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

static bool is_readable(int descriptor) {
    struct pollfd polled = {.fd = descriptor, .events = POLLIN};
    const int found = poll(&polled, 1, 0);
    check(found >= 0);
    return found == 1;
}

static int lowest_free_descriptor(void) {
    const int descriptor = dup(0);
    check(descriptor >= 0);
    close(descriptor);
    return descriptor;
}

/* contract: ilk_wait_set_descriptor, wait_set.h */
TEST(a_descriptor_is_readable_until_a_wait_finds_nothing) {
    const int free_before = lowest_free_descriptor();
    ilk_wait_set *set = new_set();
    ilk_spsc *ring = new_spsc(2);
    void *keys[1];
    check_equal(ilk_wait_set_add_spsc(set, ring, ILK_READABLE, ring), ILK_OK);
    check_equal(poll_set(set, keys, 1), -1);
    check_equal(lowest_free_descriptor(), free_before); /* none before it is asked for */
    int descriptor, again;
    errno = EXDEV;
    check_equal(ilk_wait_set_descriptor(set, &descriptor), ILK_OK);
    check_equal(ilk_wait_set_descriptor(set, &again), ILK_OK);
    check_equal(descriptor, again);
    check_equal(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    for (int round = 0; round < 3; round++) {
        check(!is_readable(descriptor));
        push_spsc(ring);
        push_spsc(ring);
        check(is_readable(descriptor));
        check_equal(poll_set(set, keys, 1), 1);
        check(is_readable(descriptor));
        pop_spsc(ring);
        check_equal(poll_set(set, keys, 1), 1);
        check(is_readable(descriptor));
        pop_spsc(ring);
        check_equal(poll_set(set, keys, 1), -1);
    }
    check(!is_readable(descriptor));
    ilk_wait_set_wake(set);
    check(is_readable(descriptor));
    check_equal(poll_set(set, keys, 1), 0);
    check_equal(poll_set(set, keys, 1), -1);
    check_equal(poll_set(set, keys, 1), -1); /* nor does one that is not readable keep a wait from its end */
    check(!is_readable(descriptor));
    check_equal(errno, EXDEV);
    ilk_wait_set_destroy(set);
    check_equal(lowest_free_descriptor(), free_before);
    ilk_spsc_destroy(ring);
}

TEST(a_descriptor_made_late_is_readable_at_once) {
    ilk_wait_set *set = new_set();
    ilk_spsc *ring = new_spsc(2);
    void *keys[1];
    check_equal(ilk_wait_set_add_spsc(set, ring, ILK_READABLE, ring), ILK_OK);
    check_equal(poll_set(set, keys, 1), -1);
    push_spsc(ring);
    int descriptor;
    check_equal(ilk_wait_set_descriptor(set, &descriptor), ILK_OK);
    check(is_readable(descriptor));
    check_equal(poll_set(set, keys, 1), 1);
    ilk_wait_set_destroy(set);
    ilk_spsc_destroy(ring);
}

TEST(a_thread_waits_beside_the_descriptor) {
    ilk_wait_set *set = new_set();
    ilk_spsc *ring = new_spsc(2);
    int descriptor;
    check_equal(ilk_wait_set_add_spsc(set, ring, ILK_READABLE, ring), ILK_OK);
    check_equal(ilk_wait_set_descriptor(set, &descriptor), ILK_OK);
    struct set_waiter waiter;
    start_waiting(&waiter, set);
    push_spsc(ring);
    ends_with(&waiter, ring);
    check(is_readable(descriptor));
    ilk_wait_set_destroy(set);
    ilk_spsc_destroy(ring);
}

TEST(a_refused_descriptor_changes_nothing) {
    ilk_wait_set *set = new_set();
    const int first = lowest_free_descriptor();
    int most = first, descriptor = -7;
    for (int next; (next = dup(0)) >= 0;) { /* up to the limit */
        most = next;
    }
    check_equal(errno, EMFILE);
    check_equal(ilk_wait_set_descriptor(set, &descriptor), ILK_NOMEM);
    check_equal(descriptor, -7);
    close(most);
    check_equal(ilk_wait_set_descriptor(set, &descriptor), ILK_OK);
    check_equal(descriptor, most);
    ilk_wait_set_destroy(set);
    for (int open = first; open < most; open++) {
        close(open);
    }
}

/* ---- Load: no event is lost that a loop over the descriptor waits for ---- */

struct loop {
    ilk_wait_set *set;
    ilk_mpmc *ring;
    int descriptor, rounds;
};

static void push_rounds(void *context) {
    const struct loop *loop = context;
    for (int i = 0; i < loop->rounds; i++) {
        check_equal(ilk_mpmc_push_until(loop->ring, &i, sizeof i, ILK_FOREVER), ILK_OK);
        if (i % 7 == 0) {
            ilk_wait_set_wake(loop->set);
        }
    }
    ilk_mpmc_close(loop->ring);
}

TEST(a_loop_over_the_descriptor_misses_nothing) {
    struct loop loop = {.set = new_set(), .ring = new_mpmc(2), .rounds = stress_rounds(200000)};
    check_equal(ilk_wait_set_add_mpmc(loop.set, loop.ring, ILK_READABLE, NULL), ILK_OK);
    check_equal(ilk_wait_set_descriptor(loop.set, &loop.descriptor), ILK_OK);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    check(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, loop.descriptor, &event) == 0);
    struct thread producer;
    thread_start(&producer, push_rounds, &loop);
    int expected = 0;
    for (ilk_status status = ILK_OK; status != ILK_CLOSED;) {
        while (epoll_wait(epoll, &event, 1, -1) < 1) {
        }
        void *keys[1];
        if (poll_set(loop.set, keys, 1) == 1) {
            int element; /* one at a time: the set is readable for the rest */
            status = ilk_mpmc_pop_until(loop.ring, &element, sizeof element, 0);
            if (status == ILK_OK) {
                check_equal(element, expected++);
            }
        }
    }
    check_equal(expected, loop.rounds);
    thread_join(&producer);
    close(epoll);
    ilk_wait_set_destroy(loop.set);
    ilk_mpmc_destroy(loop.ring);
}

/* ---- The facade's function ---- */

static void count_call(void *context) {
    ++*(int *)context;
}

TEST(a_function_is_called_once_for_each_wait_that_found_nothing) {
    ilk_wait_set *set = new_set();
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    void *keys[1];
    int calls = 0;
    check_equal(ilk_wait_set_add_semaphore(set, &semaphore, NULL), ILK_OK);
    ilk__wait_set_notify(set, count_call, &calls);
    check_equal(calls, 1); /* the new member may be ready */
    for (int round = 1; round < 4; round++) {
        check_equal(poll_set(set, keys, 1), -1);
        check_equal(calls, round);
        ilk_semaphore_signal(&semaphore, 1);
        ilk_semaphore_signal(&semaphore, 1);
        ilk_wait_set_wake(set);
        check_equal(calls, round + 1);
        check_equal(poll_set(set, keys, 1), 1);
        check_equal(poll_set(set, keys, 1), 1);
    }
    ilk_wait_set_destroy(set);
    ilk_semaphore_destroy(&semaphore);
}
