/* SPDX-License-Identifier: Apache-2.0
 *
 * Pointers to a lock with a tag in their eight high bits, as on arm64. Where the processor does not ignore
 * tags, only what is computed from the pointer is tested.
 */
#include "rwlock/mode.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <interlock/rwlock.h>
#include <stdio.h>

static ilk_rwlock *tagged(const ilk_rwlock *lock, unsigned tag) {
    const uintptr_t address = (uintptr_t)lock & ((UINT64_C(1) << ILK__SLOT_ADDRESS_BITS) - 1);
    return (ilk_rwlock *)(address | (uintptr_t)tag << ILK__SLOT_ADDRESS_BITS);
}

enum { LOCKS = 4096 };

TEST(a_lock_has_one_slot_and_one_name_in_it_whatever_the_tag) {
    static ilk_rwlock locks[LOCKS];
    unsigned used[ILK__SLOT_COUNT] = {0};
    for (int i = 0; i < LOCKS; i++) {
        const size_t number = ilk__rwlock_slot_number(&locks[i]);
        const uint64_t note = ilk__slot_announcement(&locks[i]);
        used[number]++;
        for (unsigned tag = 1; tag < 256; tag += 2) {
            check_equal(ilk__rwlock_slot_number(tagged(&locks[i], tag)), number);
            check_equal(ilk__slot_announcement(tagged(&locks[i], tag)), note);
            check(ilk__slot_names(note, tagged(&locks[i], tag)));
        }
    }
    for (int number = 0; number < ILK__SLOT_COUNT; number++) { /* the slots are used alike */
        check(used[number] > LOCKS / ILK__SLOT_COUNT * 9 / 10);
        check(used[number] < LOCKS / ILK__SLOT_COUNT * 11 / 10);
    }
}

TEST(a_reader_with_a_tag_does_not_move_its_lock_to_slots) {
    static ilk_rwlock lock;
    check(ilk__mode_wants_slots(&lock));
    for (unsigned tag = 1; tag < 256; tag++) {
        check(!ilk__mode_wants_slots(tagged(&lock, tag))); /* decided before the lock is touched */
    }
}

TEST(a_reader_with_a_tag_keeps_a_writer_without_out) {
#if defined(__aarch64__)
    static ilk_rwlock lock;
    move_to_slots(&lock);
    for (unsigned tag = 0; tag < 256; tag += 5) {
        ilk_rwlock *const reader = tagged(&lock, tag), *const writer = tagged(&lock, 255 - tag);
        ilk_rwlock_read_lock(reader);
        check(is_in_a_slot(&lock));
        check(!ilk_rwlock_try_write_lock(writer));
        ilk_rwlock_read_unlock(tagged(&lock, tag / 2)); /* names the same slot again */
        check(ilk_rwlock_try_write_lock(writer));
        ilk_rwlock_write_unlock(writer);
        check_equal(mode_of(&lock), ILK__RWLOCK_SLOTS);
    }
    check_free_and_destroy(&lock);
#else
    skip_because("this processor does not ignore tags");
#endif
}
