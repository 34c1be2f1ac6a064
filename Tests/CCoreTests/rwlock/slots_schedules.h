/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock in each mode that uses slots, and the schedule in which a writer waits for a slot.
 */
#ifndef INTERLOCK_TESTS_RWLOCK_SLOTS_SCHEDULES_H
#define INTERLOCK_TESTS_RWLOCK_SLOTS_SCHEDULES_H

#include "rwlock/mode.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <stdio.h>

/* Runs a body on a lock with slots, then, where possible, on one without fences. */
static inline void in_both_modes(void (*body)(ilk_rwlock *lock)) {
    ilk_rwlock fenced = ILK_RWLOCK_INIT;
    move_to_slots(&fenced);
    body(&fenced);
    check_free_and_destroy(&fenced);
    if (!membarrier_works()) {
        printf("no membarrier(2) here: in the fenced mode only\n");
        return;
    }
    ilk_rwlock fence_free = ILK_RWLOCK_INIT;
    move_to_fence_free(&fence_free);
    body(&fence_free);
    check_free_and_destroy(&fence_free);
}

/* Waits until a thread that holds WRITER, by a write or an upgrade, sleeps for the slots. */
static inline void await_drain(struct actor *writer) {
    yield_while((word_of(writer->lock) & ILK__RWLOCK_WRITER) == 0);
    thread_await_sleep(&writer->thread);
}

static inline void write_beside_a_reader(ilk_rwlock *lock) {
    struct actor reader, second, writer;
    actor_enter(&reader, lock, READ);
    actor_enter(&second, lock, READ);
    check(is_in_a_slot(lock));
    check_equal(counted_readers(lock), 0);
    actor_queue(&writer, lock, WRITE, NULL);
    actor_leave(&second); /* may wake the writer; the other reader is still there */
    thread_await_sleep(&writer.thread);
    check(!actor_is_inside(&writer));
    actor_leave(&reader);
    actor_await_inside(&writer);
    check(!ilk_rwlock_try_read_lock(lock));
    actor_leave(&writer);
}

#endif
