/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc alone: claims of threads on slots, and what waits behind a slot in progress.
 */
#include "rings/mpmc_face.h"

#include "rings/contract.h"
/* contract: mpmc.D */
TEST(a_batch_stops_at_a_slot_in_progress) {
    ilk_mpmc *ring = make(4);
    size_t count = 1;
    item out[4];
    check(push(ring, 1));
    item *slot = ilk_mpmc_reserve(ring, &count);
    check(slot != NULL);
    *slot = 2;
    check(push(ring, 3));
    check_equal(ilk_mpmc_try_pop_many(ring, out, 4, sizeof *out), 1);
    check_equal(out[0], 1);
    count = 0;
    check(ilk_mpmc_peek(ring, &count) == NULL);
    ilk_mpmc_commit(ring, 1);
    /* And for pushes: 2 is being read, 3 has been. Slots 3 and 0 are free; the slot of 2 comes next. */
    count = 1;
    check(ilk_mpmc_peek(ring, &count) != NULL);
    expect_pop(ring, 3);
    const item in[4] = {4, 5, 6, 7};
    check_equal(ilk_mpmc_try_push_many(ring, in, 4, sizeof *in), 2);
    check(!push(ring, 8)); /* though the slot behind is free */
    check_equal(ilk_mpmc_count(ring), 2);
    ilk_mpmc_release(ring, 1);
    check(push(ring, 8) && push(ring, 9) && !push(ring, 10));
    ilk_mpmc_destroy(ring);
}
/* contract: ilk_mpmc_pop_until, ilk_mpmc_try_pop, mpmc.D */
TEST(an_open_reservation_hides_what_comes_after_it) {
    ilk_mpmc *ring = make(4);
    size_t count = 1;
    item *slot = ilk_mpmc_reserve(ring, &count);
    check(slot != NULL);
    *slot = 1;
    check(push(ring, 2));
    item value;
    check(!ilk_mpmc_try_pop(ring, &value, sizeof value));
    check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, 0), ILK_TIMEDOUT);
    ilk_mpmc_commit(ring, 1);
    expect_pop(ring, 1);
    expect_pop(ring, 2);
    ilk_mpmc_destroy(ring);
}
/* contract: ilk_mpmc_peek, ilk_mpmc_reserve */
TEST(a_thread_may_have_claims_on_several_rings) {
    ilk_mpmc *rings[ILK_MPMC_MAX_CLAIMS];
    for (int i = 0; i < ILK_MPMC_MAX_CLAIMS; i++) {
        rings[i] = make(2);
        size_t count = 1;
        item *slot = ilk_mpmc_reserve(rings[i], &count);
        check(slot != NULL);
        *slot = (item)i;
    }
    for (int i = 0; i < ILK_MPMC_MAX_CLAIMS; i++) {
        ilk_mpmc_commit(rings[i], 1);
    }
    for (int i = 0; i < ILK_MPMC_MAX_CLAIMS; i++) {
        expect_pop(rings[i], (item)i);
        ilk_mpmc_destroy(rings[i]);
    }
}
/* contract: ilk_mpmc_reserve */
TEST(a_thread_may_show_and_reserve_in_one_ring) {
    ilk_mpmc *ring = make(2);
    check(push(ring, 1));
    size_t shown_count = 1, reserved_count = 1;
    const item *shown = ilk_mpmc_peek(ring, &shown_count);
    item *reserved = ilk_mpmc_reserve(ring, &reserved_count);
    check(shown != NULL && reserved != NULL && shown != reserved);
    *reserved = *shown + 1;
    ilk_mpmc_commit(ring, 1);
    ilk_mpmc_release(ring, 1);
    expect_pop(ring, 2);
    ilk_mpmc_destroy(ring);
}

/* The other consumers, woken by close before, must hear of it. */
/* contract: ilk_mpmc_close, mpmc.C */
TEST(the_last_pop_of_a_closed_ring_ends_the_other_waits) {
    enum { COUNT = 3 };
    ilk_mpmc *ring = make(2);
    const item value = 9;
    reserve_all(ring, &value, 1);
    struct waiter consumers[COUNT];
    start_waiters(consumers, COUNT, ring, pop_and_wait);
    ilk_mpmc_close(ring);
    ilk_mpmc_commit(ring, 1);
    int popped = 0;
    for (int i = 0; i < COUNT; i++) {
        thread_join(&consumers[i].thread);
        popped += consumers[i].status == ILK_OK ? 1 : 0;
        check(consumers[i].status == ILK_OK || consumers[i].status == ILK_CLOSED);
    }
    check_equal(popped, 1);
    ilk_mpmc_destroy(ring);
}

/* Each slot has a stamp of eight bytes. */
TEST(a_capacity_whose_stamps_do_not_fit_is_invalid) {
    expect_invalid(PTRDIFF_MAX / 8, 1);
}

TEST(a_release_of_none_releases_none) {
    ilk_mpmc *ring = make(1);
    check(push(ring, 1));
    size_t count = 1;
    check(ilk_mpmc_peek(ring, &count) != NULL);
    ilk_mpmc_release(ring, 0);
    check(!push(ring, 2));
    ilk_mpmc_release(ring, 1);
    check(push(ring, 2));
    ilk_mpmc_destroy(ring);
}
