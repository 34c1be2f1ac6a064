/* SPDX-License-Identifier: Apache-2.0
 *
 * Sentences of <interlock/spsc.h>, <interlock/mpmc.h> and <interlock/notify.h> that no other test holds.
 */
/* contract: mpmc.h, notify.h, spsc.h */
#include "support/fork.h"
#include "support/stepping.h"
#include "support/test.h"
#include <interlock/inline/fence.h>
#include <interlock/mpmc.h>
#include <interlock/spsc.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint64_t item;

static ilk_spsc *make_spsc(size_t capacity) {
    ilk_spsc *ring = NULL;
    check_equal(ilk_spsc_create(&ring, capacity, sizeof(item)), ILK_OK);
    return ring;
}

static ilk_mpmc *make_mpmc(size_t capacity) {
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, capacity, sizeof(item)), ILK_OK);
    return ring;
}

/* ---- Where elements lie ---- */

static void check_places(const unsigned char *first, const unsigned char *slot, size_t index, size_t size) {
    enum { BOUNDARY = 128 };
    check_equal((uintptr_t)first % BOUNDARY, 0);
    check(slot == first + index * size);
}
/* contract: ilk_mpmc_create, ilk_spsc_create */
TEST(elements_lie_at_multiples_of_their_size) {
    const size_t sizes[] = {1, 3, 8, 24, 200};
    const size_t capacity = 5;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        ilk_spsc *spsc = NULL;
        ilk_mpmc *mpmc = NULL;
        check_equal(ilk_spsc_create(&spsc, capacity, sizes[s]), ILK_OK);
        check_equal(ilk_mpmc_create(&mpmc, capacity, sizes[s]), ILK_OK);
        const unsigned char *first_of_spsc = NULL, *first_of_mpmc = NULL;
        for (size_t index = 0; index < capacity; index++) {
            size_t count = 1;
            const unsigned char *slot = ilk_spsc_reserve(spsc, &count);
            first_of_spsc = index == 0 ? slot : first_of_spsc;
            check_places(first_of_spsc, slot, index, sizes[s]);
            ilk_spsc_commit(spsc, 1);
            count = 1;
            slot = ilk_mpmc_reserve(mpmc, &count);
            first_of_mpmc = index == 0 ? slot : first_of_mpmc;
            check_places(first_of_mpmc, slot, index, sizes[s]);
            ilk_mpmc_commit(mpmc, 1);
        }
        ilk_spsc_destroy(spsc);
        ilk_mpmc_destroy(mpmc);
    }
}

/* ---- What a call executes ---- */

static size_t instructions, locked;

static void count_locked(const unsigned char *at) {
    instructions++;
    bool lock = false;
    for (;; at++) { /* prefixes */
        lock = lock || *at == 0xF0;
        if (*at != 0xF0 && *at != 0xF2 && *at != 0xF3 && *at != 0x66 && (*at & 0xF0) != 0x40) {
            break;
        }
    }
    const bool exchange = (*at & 0xFE) == 0x86 && at[1] < 0xC0; /* xchg with memory is locked */
    const bool fence = at[0] == 0x0F && at[1] == 0xAE && at[2] == 0xF0;
    const bool system_call = at[0] == 0x0F && at[1] == 0x05;
    locked += lock || exchange || fence || system_call;
}

static void execute_a_fence(void *unused) {
    ilk_atomic_fence(memory_order_seq_cst);
}

static void ignore_event(void *context, ilk_ring_event event) {}

static void push_and_pop(void *context) {
    ilk_spsc *ring = context;
    const item pushed = 7;
    item popped = 0;
    check(ilk_spsc_try_push(ring, &pushed, sizeof pushed) && ilk_spsc_try_pop(ring, &popped, sizeof popped));
    check(popped == pushed);
}

/* A hook is installed and nothing armed: neither has a cost (notify.h). */
TEST(a_push_or_pop_executes_no_locked_instruction) {
    skip_unless_stepping();
    skip_if(!ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed),
            "membarrier is refused, so that both sides fence");
    step_through(execute_a_fence, NULL, count_locked);
    check(locked >= 1); /* it would be seen */
    const size_t capacities[] = {1, 3, 64};
    for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        ilk_spsc *ring = make_spsc(capacities[c]);
        ilk_spsc_set_notify(ring, ignore_event, NULL);
        instructions = locked = 0;
        for (int i = 0; i < 130; i++) {
            step_through(push_and_pop, ring, count_locked);
        }
        check(instructions > 130);
        check_equal(locked, 0);
        ilk_spsc_destroy(ring);
    }
}

/* ---- What a call asks of the kernel ---- */

static void count_event(void *context, ilk_ring_event event) {
    *(int *)context += 1;
}

/* Every call of guarantee E, also on nothing. No thread sleeps. */
#define USE(name, ring)                                                                                      \
    do {                                                                                                     \
        item values[4] = {1, 2, 3, 4}, out[4];                                                               \
        size_t count = 4;                                                                                    \
        good = good && !ilk_##name##_try_pop(ring, out, sizeof *out);                                        \
        good = good && ilk_##name##_try_push(ring, values, sizeof *values);                                  \
        good = good && ilk_##name##_try_push_many(ring, values, 4, sizeof *values) == 3;                     \
        good = good && !ilk_##name##_try_push(ring, values, sizeof *values);                                 \
        good = good && ilk_##name##_try_pop(ring, out, sizeof *out);                                         \
        good = good && ilk_##name##_try_pop_many(ring, out, 4, sizeof *out) == 3;                            \
        count = 3;                                                                                           \
        good = good && ilk_##name##_reserve(ring, &count) != NULL;                                           \
        ilk_##name##_commit(ring, count);                                                                    \
        count = 0;                                                                                           \
        good = good && ilk_##name##_peek(ring, &count) != NULL;                                              \
        ilk_##name##_release(ring, count);                                                                   \
        count = 0;                                                                                           \
        good = good && ilk_##name##_peek(ring, &count) == NULL;                                              \
        good = good && ilk_##name##_count(ring) == 0 && ilk_##name##_capacity(ring) == 4;                    \
        good = good && !ilk_##name##_is_closed(ring);                                                        \
    } while (0)

enum { FINE = 7, BROKEN, REFUSED };

/* The next system call but read, write, exit and sigreturn kills the process. The arm before has left FENCED
 * up, and the hook is armed: the next push calls it. */
static _Noreturn void use_rings_without_a_kernel(void) {
    ilk_spsc *spsc = make_spsc(4);
    ilk_mpmc *mpmc = make_mpmc(4);
    int calls = 0;
    item value = 0;
    ilk_spsc_set_notify(spsc, count_event, &calls);
    ilk_mpmc_set_notify(mpmc, count_event, &calls);
    check(ilk_spsc_arm_pop(spsc) && ilk_mpmc_arm_pop(mpmc));
    check(ilk_spsc_try_push(spsc, &value, sizeof value) && ilk_spsc_try_pop(spsc, &value, sizeof value));
    check(ilk_mpmc_try_push(mpmc, &value, sizeof value) && ilk_mpmc_try_pop(mpmc, &value, sizeof value));
    check_equal(calls, 2);
    check(ilk_spsc_arm_pop(spsc) && ilk_mpmc_arm_pop(mpmc));
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
        _exit(REFUSED);
    }
    bool good = true;
    for (int i = 0; i < 500; i++) { /* past the place where FENCED comes down */
        USE(spsc, spsc);
        USE(mpmc, mpmc);
    }
    syscall(SYS_exit, good && calls == 4 ? FINE : BROKEN);
    abort();
}
/* contract: mpmc.E, spsc.E */
TEST(try_calls_make_no_system_call_where_no_thread_sleeps) {
    skip_if(IS_SANITIZED, "a sanitizer makes system calls of its own");
    fflush(NULL);
    const pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        use_rings_without_a_kernel();
    }
    int status;
    check_equal(waitpid(child, &status, 0), child);
    check(!WIFSIGNALED(status));
    skip_if(WEXITSTATUS(status) == REFUSED, "there is no seccomp here");
    check_equal(WEXITSTATUS(status), FINE);
}

/* ---- Cancellation ---- */

struct waiter {
    ilk_spsc *spsc; /* one of the two */
    ilk_mpmc *mpmc;
    bool pushes;
    ilk_status status;
    struct thread thread;
};

/* If the wait acts on a cancellation, the thread ends before it has set its status. */
static void wait_in_ring(void *context) {
    struct waiter *self = context;
    item value = 1;
    if (self->spsc != NULL) {
        self->status = self->pushes ? ilk_spsc_push_until(self->spsc, &value, sizeof value, ILK_FOREVER)
                                    : ilk_spsc_pop_until(self->spsc, &value, sizeof value, ILK_FOREVER);
    } else {
        self->status = self->pushes ? ilk_mpmc_push_until(self->mpmc, &value, sizeof value, ILK_FOREVER)
                                    : ilk_mpmc_pop_until(self->mpmc, &value, sizeof value, ILK_FOREVER);
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}
/* contract: ilk_mpmc_close, ilk_spsc_close */
TEST(waits_are_not_cancellation_points) {
    for (int kind = 0; kind < 4; kind++) {
        struct waiter waiter = {.pushes = kind % 2 == 1, .status = ILK_INVALID};
        item value = 9;
        if (kind < 2) {
            waiter.spsc = make_spsc(1);
            check(!waiter.pushes || ilk_spsc_try_push(waiter.spsc, &value, sizeof value));
        } else {
            waiter.mpmc = make_mpmc(1);
            check(!waiter.pushes || ilk_mpmc_try_push(waiter.mpmc, &value, sizeof value));
        }
        thread_start(&waiter.thread, wait_in_ring, &waiter);
        thread_await_sleep(&waiter.thread);
        check_equal(pthread_cancel(waiter.thread.id), 0);
        if (kind < 2) {
            check(waiter.pushes ? ilk_spsc_try_pop(waiter.spsc, &value, sizeof value)
                                : ilk_spsc_try_push(waiter.spsc, &value, sizeof value));
        } else {
            check(waiter.pushes ? ilk_mpmc_try_pop(waiter.mpmc, &value, sizeof value)
                                : ilk_mpmc_try_push(waiter.mpmc, &value, sizeof value));
        }
        thread_join(&waiter.thread);
        check_equal(waiter.status, ILK_OK);
        ilk_spsc_destroy(waiter.spsc);
        ilk_mpmc_destroy(waiter.mpmc);
    }
}

/* ---- Counts ---- */
/* contract: ilk_mpmc_count */
TEST(a_count_of_mpmc_has_what_is_reserved_and_not_what_is_shown) {
    ilk_mpmc *ring = make_mpmc(4);
    item value = 1;
    size_t count = 2;
    check(ilk_mpmc_try_push(ring, &value, sizeof value));
    item *slots = ilk_mpmc_reserve(ring, &count);
    check(slots != NULL);
    check_equal(ilk_mpmc_count(ring), 3);
    count = 1;
    check(ilk_mpmc_peek(ring, &count) != NULL);
    check_equal(ilk_mpmc_count(ring), 2);
    ilk_mpmc_release(ring, 1);
    check_equal(ilk_mpmc_count(ring), 2);
    slots[0] = slots[1] = 2;
    ilk_mpmc_commit(ring, 2);
    check_equal(ilk_mpmc_count(ring), 2);
    ilk_mpmc_destroy(ring);
}

/* ---- fork ---- */

static ilk_spsc *spsc_of_child;
static ilk_mpmc *mpmc_of_child;

static void pop_in_child(void *context) {
    for (item expected = 1; expected <= 3; expected++) {
        item value = 0;
        check_equal(ilk_spsc_pop_until(spsc_of_child, &value, sizeof value, ILK_FOREVER), ILK_OK);
        check_equal(value, expected);
        check_equal(ilk_mpmc_pop_until(mpmc_of_child, &value, sizeof value, ILK_FOREVER), ILK_OK);
        check_equal(value, expected);
    }
}

/*   parent                           child
 *   pushes 1; forks
 *                                    a thread pops 1, and sleeps for 2; the first pushes 2, 3; closes
 *   pops 1                                                                                          */
TEST(a_child_goes_on_with_a_ring_that_no_other_thread_used) {
    need_children();
    item value = 1;
    spsc_of_child = make_spsc(2);
    mpmc_of_child = make_mpmc(2);
    check(ilk_spsc_try_push(spsc_of_child, &value, sizeof value));
    check(ilk_mpmc_try_push(mpmc_of_child, &value, sizeof value));
    fflush(NULL);
    const pid_t child = fork();
    if (is_child(child)) {
        struct thread consumer;
        thread_start(&consumer, pop_in_child, NULL);
        thread_await_sleep(&consumer);
        for (value = 2; value <= 3; value++) {
            check(ilk_spsc_try_push(spsc_of_child, &value, sizeof value));
            check(ilk_mpmc_try_push(mpmc_of_child, &value, sizeof value));
        }
        thread_join(&consumer);
        ilk_spsc_close(spsc_of_child);
        ilk_mpmc_close(mpmc_of_child);
        check_equal(ilk_spsc_pop_until(spsc_of_child, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
        check_equal(ilk_mpmc_pop_until(mpmc_of_child, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
        ilk_spsc_destroy(spsc_of_child);
        ilk_mpmc_destroy(mpmc_of_child);
        _exit(7);
    }
    expect_exit(child, 7);
    check(ilk_spsc_try_pop(spsc_of_child, &value, sizeof value) && !ilk_spsc_is_closed(spsc_of_child));
    check(ilk_mpmc_try_pop(mpmc_of_child, &value, sizeof value) && !ilk_mpmc_is_closed(mpmc_of_child));
    ilk_spsc_destroy(spsc_of_child);
    ilk_mpmc_destroy(mpmc_of_child);
}
