/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of members. See member.h.
 *
 * A semaphore's place in the queue:
 *
 *   is_queued   is_held   moved by                                       to
 *   no          no        arm: no permit there, the last in the queue    queued
 *   no          no        arm: takes a permit                            held
 *   queued      no        a signal hands over; then the member is        held, by the next probe
 *                         marked, and the set's thread has it in hand
 *   no          held      an answer, or give_back at the end             neither
 * Must not happen: the member is armed anew, or freed, while the thread that hands over is in its `resume`. The
 * probe, and the end, wait for the last touch of that (ilk__waiter_wake).
 */
#include "wait_set/member.h"

#include "platform/reaches.h"
#include "ring/watch.h"
#include "sync/latch_watch.h"
#include "sync/semaphore_queue.h"
#include <stddef.h>

static void do_nothing(void *object) {
    (void)object;
}

/* ---- Rings ---- */

static void begin_spsc(struct member *member) {
    ilk__spsc_watch_begin(member->object, member->event, &member->watcher);
}
static void end_spsc(struct member *member) {
    ilk__spsc_watch_end(member->object, member->event, &member->watcher);
}
static void arm_spsc(struct member *member) {
    ilk__spsc_watch(member->object, member->event);
}
static bool is_spsc_ready(struct member *member) {
    return ilk__spsc_is_ready(member->object, member->event);
}
const struct member_kind ilk__spsc_member = {begin_spsc,    end_spsc,   arm_spsc,
                                             is_spsc_ready, do_nothing, false};

static void begin_mpmc(struct member *member) {
    ilk__mpmc_watch_begin(member->object, member->event, &member->watcher);
}
static void end_mpmc(struct member *member) {
    ilk__mpmc_watch_end(member->object, member->event, &member->watcher);
}
static void arm_mpmc(struct member *member) {
    ilk__mpmc_watch(member->object, member->event);
}
static bool is_mpmc_ready(struct member *member) {
    return ilk__mpmc_is_ready(member->object, member->event);
}
const struct member_kind ilk__mpmc_member = {begin_mpmc,    end_mpmc,   arm_mpmc,
                                             is_mpmc_ready, do_nothing, false};

/* ---- Latches ---- */

static void begin_latch(struct member *member) {
    ilk__latch_watch_begin(member->object, &member->watcher);
}
static void end_latch(struct member *member) {
    ilk__latch_watch_end(member->object, &member->watcher);
}
static void arm_latch(struct member *member) {
    ilk__latch_watch(member->object);
}
static bool is_latch_open(struct member *member) {
    return ilk_latch_try_wait(member->object);
}
const struct member_kind ilk__latch_member = {begin_latch,   end_latch,  arm_latch,
                                              is_latch_open, do_nothing, false};

/* ---- Semaphores ---- */

/* By the thread that hands a permit over, when its steps on the semaphore are done. */
static void put_into_inbox(struct ilk__waiter *waiter) {
    struct ilk__inbox_wake wake;
    if (ilk__watcher_mark((struct ilk__watcher *)waiter, &wake)) {
        ilk__inbox_wake(&wake);
    }
    ilk__waiter_wake(waiter);
}

static void begin_semaphore(struct member *member) {
    member->watcher.entry.waiter.resume = put_into_inbox;
}

static void take_what_was_handed_over(struct member *member) {
    ILK__REACHES(WAIT_SET_BESIDE_HAND_OVER, !ilk__waiter_is_granted(&member->watcher.entry.waiter));
    (void)ilk__waiter_sleep(&member->watcher.entry.waiter, ILK_FOREVER);
    member->is_queued = false;
    member->is_held = true;
}

static void end_semaphore(struct member *member) {
    if (!member->is_queued) {
        return;
    }
    if (ilk__semaphore_leave(member->object, &member->watcher.entry.waiter)) {
        member->is_queued = false;
    } else {
        take_what_was_handed_over(member);
    }
}

static void arm_semaphore(struct member *member) {
    if (ilk__semaphore_join(member->object, &member->watcher.entry.waiter)) {
        member->is_held = true;
    } else {
        member->is_queued = true;
    }
}

static bool has_permit(struct member *member) {
    /* In the queue and in hand: marked by the thread that handed over. */
    if (member->is_queued && member->is_in_hand) {
        take_what_was_handed_over(member);
    }
    return member->is_held;
}

static void give_permit_back(void *semaphore) {
    ilk_semaphore_signal(semaphore, 1);
}

const struct member_kind ilk__semaphore_member = {begin_semaphore, end_semaphore,    arm_semaphore,
                                                  has_permit,      give_permit_back, true};
