/* SPDX-License-Identifier: Apache-2.0
 *
 * What callers embed, which fields have cache lines of their own, where elements start.
 */
#include "support/test.h"
#include <interlock/interlock.h>

/* What a program embeds. Swift imports no alignment above 16. */
_Static_assert(sizeof(ilk_rwlock) <= 16, "a lock fits in 16 bytes");
_Static_assert(sizeof(ilk_semaphore) <= 24, "a semaphore fits in 24 bytes");
_Static_assert(sizeof(ilk_latch) == 4, "a latch is one word");
_Static_assert(sizeof(ilk_barrier) == 16, "a barrier is four words");
_Static_assert(sizeof(ilk_mutex) == 8, "a mutex is two words");
_Static_assert(_Alignof(ilk_rwlock) <= 16 && _Alignof(ilk_semaphore) <= 16 && _Alignof(ilk_latch) <= 16 &&
                   _Alignof(ilk_barrier) <= 16 && _Alignof(ilk_mutex) <= 16,
               "Swift imports it");
_Static_assert(_Alignof(struct ilk_spsc) <= 16 && _Alignof(struct ilk_mpmc) <= 16, "Swift imports it");
_Static_assert(offsetof(ilk_rwlock, word) == 0, "the word is where the address points");

/* A prefetched pair of cache lines lies between the two sides' fields. */
#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))
#define LINE(offset) ((offset) / ILK__RING_SEPARATION)
_Static_assert(ILK__RING_SEPARATION >= 128, "x86 prefetches lines in pairs, Apple's lines have 128 bytes");
_Static_assert(LINE(END_OF(struct ilk_spsc, flags) - 1) < LINE(offsetof(struct ilk_spsc, tail)),
               "shared constants and flags are apart from the producer's");
_Static_assert(LINE(END_OF(struct ilk_spsc, reserved) - 1) < LINE(offsetof(struct ilk_spsc, head)),
               "the producer's fields are apart from the consumer's");
_Static_assert(LINE(END_OF(struct ilk_spsc, sealed) - 1) < LINE(sizeof(struct ilk_spsc)),
               "the consumer's fields are apart from the slots");
_Static_assert(LINE(END_OF(struct ilk_mpmc, producers_waiting) - 1) < LINE(offsetof(struct ilk_mpmc, tail)),
               "constants are apart from tail");
_Static_assert(LINE(offsetof(struct ilk_mpmc, tail)) < LINE(offsetof(struct ilk_mpmc, head)),
               "tail is apart from head");
_Static_assert(LINE(offsetof(struct ilk_mpmc, head)) < LINE(offsetof(struct ilk_mpmc, not_empty)),
               "head is apart from the event counts");
_Static_assert(LINE(END_OF(struct ilk_mpmc, not_full) - 1) < LINE(sizeof(struct ilk_mpmc)),
               "the event counts are apart from the stamps");

/* The C++ headers need std::atomic to have _Atomic's layout; see headers_cxx17.cc. */
size_t cxx_size_of_rwlock(void);
size_t cxx_size_of_semaphore(void);
size_t cxx_size_of_spsc(void);
size_t cxx_size_of_mpmc(void);
size_t cxx_offset_of_spsc_head(void);
size_t cxx_offset_of_mpmc_not_full(void);

TEST(c_and_cxx_agree_on_every_layout) {
    check_equal(cxx_size_of_rwlock(), sizeof(ilk_rwlock));
    check_equal(cxx_size_of_semaphore(), sizeof(ilk_semaphore));
    check_equal(cxx_size_of_spsc(), sizeof(struct ilk_spsc));
    check_equal(cxx_size_of_mpmc(), sizeof(struct ilk_mpmc));
    check_equal(cxx_offset_of_spsc_head(), offsetof(struct ilk_spsc, head));
    check_equal(cxx_offset_of_mpmc_not_full(), offsetof(struct ilk_mpmc, not_full));
}

void cxx_use_every_primitive(void);

TEST(cxx_programs_can_use_every_primitive) {
    cxx_use_every_primitive();
}

TEST(rings_and_elements_start_at_lines_of_their_own) {
    for (size_t size = 1; size < 40; size++) {
        for (size_t capacity = 1; capacity < 20; capacity++) {
            ilk_spsc *spsc = NULL;
            ilk_mpmc *mpmc = NULL;
            check_equal(ilk_spsc_create(&spsc, capacity, size), ILK_OK);
            check_equal(ilk_mpmc_create(&mpmc, capacity, size), ILK_OK);
            size_t count = 1;
            check_equal((uintptr_t)spsc % ILK__RING_SEPARATION, 0);
            check_equal((uintptr_t)mpmc % ILK__RING_SEPARATION, 0);
            check_equal((uintptr_t)ilk_spsc_reserve(spsc, &count) % ILK__RING_SEPARATION, 0);
            check_equal((uintptr_t)ilk_mpmc_reserve(mpmc, &count) % ILK__RING_SEPARATION, 0);
            ilk_spsc_commit(spsc, 0);
            ilk_mpmc_commit(mpmc, 1);
            ilk_spsc_destroy(spsc);
            ilk_mpmc_destroy(mpmc);
        }
    }
}
