/* SPDX-License-Identifier: Apache-2.0
 *
 * See rwlock_mode.h.
 */
#include "support/rwlock_mode.h"

#include "rwlock/reader_slots.h"
#include <interlock/inline/fence.h>

uint32_t word_of(const ilk_rwlock *lock) {
    return ilk_atomic_load(&lock->word, memory_order_relaxed);
}

uint32_t mode_of(const ilk_rwlock *lock) {
    return word_of(lock) & ILK__RWLOCK_MODE;
}

unsigned counted_readers(const ilk_rwlock *lock) {
    return (unsigned)((word_of(lock) & ILK__RWLOCK_READERS) / ILK__RWLOCK_ONE_READER);
}

bool is_in_a_slot(const ilk_rwlock *lock) {
    return ilk__slots_hold(lock);
}

bool membarrier_works(void) {
    return ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed);
}

/* A quarter of a million undisturbed reads of one thread in slots and a mode decision, one in 65,536 uses.
 * After many penalties up to half a million reads come first. */
enum { MORE_READS_THAN_IT_TAKES = 1 << 21 };

static void read_until(ilk_rwlock *lock, uint32_t mode) {
    for (int reads = 0; mode_of(lock) != mode; reads++) {
        check(reads < MORE_READS_THAN_IT_TAKES);
        ilk_rwlock_read_lock(lock);
        ilk_rwlock_read_unlock(lock);
    }
}

void move_to_slots(ilk_rwlock *lock) {
    read_until(lock, ILK__RWLOCK_SLOTS);
}

void move_to_fence_free(ilk_rwlock *lock) {
    read_until(lock, ILK__RWLOCK_MODE);
}

size_t find_colliding(const ilk_rwlock *locks, size_t count, size_t start, const ilk_rwlock *like) {
    size_t found = start;
    while (found < count && (&locks[found] == like ||
                             ilk__rwlock_slot_number(&locks[found]) != ilk__rwlock_slot_number(like))) {
        found++;
    }
    check(found < count);
    return found;
}

void check_free_and_destroy(ilk_rwlock *lock) {
    check(ilk__rwlock_is_idle(word_of(lock)));
    check(lock->queue == NULL);
    check(!is_in_a_slot(lock));
    check(ilk_rwlock_try_read_lock(lock));
    check(!ilk_rwlock_try_write_lock(lock));
    ilk_rwlock_read_unlock(lock);
    check(ilk_rwlock_try_write_lock(lock));
    check(!ilk_rwlock_try_read_lock(lock));
    ilk_rwlock_write_unlock(lock);
    ilk_rwlock_destroy(lock);
}
