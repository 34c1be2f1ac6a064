/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse of ilk_mpmc, call by call.
 */
#include "rings/mpmc_face.h"

#include "rings/ring_misuse.h"

static void overwrite_wrong_size(void *context) {
    item out;
    (void)ilk_mpmc_push_overwriting(make(4), &element, WRONG_SIZE, &out);
}

/* ---- Claims ---- */

static void release_none_shown(void *context) {
    ilk_mpmc_release(make(4), 1);
}

static void reserve_twice(void *context) {
    ilk_mpmc *ring = make(4);
    reserve(ring, 1);
    reserve(ring, 1);
}

static void peek_twice(void *context) {
    ilk_mpmc *ring = make_with(1);
    show(ring, 1);
    show(ring, 1);
}

static void too_many_reservations(void *context) {
    for (int i = 0; i <= ILK_MPMC_MAX_CLAIMS; i++) {
        reserve(make(4), 1);
    }
}

static void too_many_claims_of_both_kinds(void *context) {
    for (int i = 0; i <= ILK_MPMC_MAX_CLAIMS; i++) {
        (i % 2 == 0 ? reserve : show)(make_with(1), 1);
    }
}

static void destroy_shown(void *context) {
    ilk_mpmc *ring = make_with(1);
    show(ring, 1);
    ilk_mpmc_destroy(ring);
}

static void reserve_and_keep(void *context) {
    reserve(context, 1);
    sleep_for_ever();
}

static void commit_by_another(void *context) {
    ilk_mpmc *ring = make(4);
    misuse_beside(reserve_and_keep, ring);
    ilk_mpmc_commit(ring, 1);
}
/* contract: ilk_mpmc_commit, ilk_mpmc_count, ilk_mpmc_destroy, ilk_mpmc_peek, ilk_mpmc_release */
/* contract: ilk_mpmc_reserve */
TEST(mpmc_misuse_is_reported) {
    static const struct misuse table[] = {
        {overwrite_wrong_size, "ilk_mpmc_push_overwriting", "of 4 bytes"},
        {commit_unreserved, "ilk_mpmc_commit", "this thread has 0 slots reserved"},
        {commit_too_many, "ilk_mpmc_commit", "3 elements; this thread has 2 slots reserved"},
        {commit_by_another, "ilk_mpmc_commit", "this thread has 0 slots reserved"},
        {release_none_shown, "ilk_mpmc_release", "this thread has 0 slots shown"},
        {release_unshown, "ilk_mpmc_release", "2 elements; this thread has 1 slots shown"},
        {reserve_twice, "ilk_mpmc_reserve", "open from an earlier call"},
        {peek_twice, "ilk_mpmc_peek", "open from an earlier call"},
        {too_many_reservations, "ilk_mpmc_reserve", "8 claims open"},
        {too_many_claims_of_both_kinds, "ilk_mpmc_reserve", "8 claims open"},
        {destroy_reserved, "ilk_mpmc_destroy", "reserved"},
        {destroy_shown, "ilk_mpmc_destroy", "slots reserved or shown and not given back"},
        {destroy_under_a_consumer, "ilk_mpmc_destroy", "while 1 consumers and 0 producers wait"},
        {destroy_under_a_producer, "ilk_mpmc_destroy", "while 0 consumers and 1 producers wait"},
    };
    EXPECT_ALL(wrong_sizes);
    EXPECT_ALL(table);
}

/* ---- Waits for a slot of the thread's own ---- */

/* `pushed` elements, then `reserved` slots reserved by this thread. */
static ilk_mpmc *make_reserved(size_t pushed, size_t reserved) {
    ilk_mpmc *ring = make_with(pushed);
    reserve(ring, reserved);
    return ring;
}

/* A full ring whose oldest element is shown to this thread. */
static ilk_mpmc *make_shown(void) {
    ilk_mpmc *ring = make_with(4);
    show(ring, 1);
    return ring;
}

static void push_until_committed_by_itself(void *context) {
    (void)!ilk_mpmc_push_until(make_reserved(0, 4), &element, sizeof element, ILK_FOREVER);
}

static void push_until_released_by_itself(void *context) {
    (void)!ilk_mpmc_push_until(make_shown(), &element, sizeof element, ILK_FOREVER);
}

static void pop_until_committed_by_itself(void *context) {
    item out;
    ilk_mpmc *ring = make_reserved(1, 2);
    check(ilk_mpmc_pop_until(ring, &out, sizeof out, ILK_FOREVER) == ILK_OK);
    (void)!ilk_mpmc_pop_until(ring, &out, sizeof out, ILK_FOREVER);
}

static void overwrite_what_is_reserved_by_itself(void *context) {
    item out;
    (void)ilk_mpmc_push_overwriting(make_reserved(0, 4), &element, sizeof element, &out);
}

static void overwrite_what_is_shown_to_itself(void *context) {
    item out;
    (void)ilk_mpmc_push_overwriting(make_shown(), &element, sizeof element, &out);
}
/* contract: ilk_mpmc_peek, ilk_mpmc_pop_until, ilk_mpmc_push_overwriting, ilk_mpmc_push_until */
/* contract: ilk_mpmc_reserve */
TEST(mpmc_wait_for_a_slot_of_ones_own_is_reported) {
    static const struct misuse table[] = {
        {push_until_committed_by_itself, "ilk_mpmc_push_until", "reserved and not committed"},
        {push_until_released_by_itself, "ilk_mpmc_push_until", "been shown and not released"},
        {pop_until_committed_by_itself, "ilk_mpmc_pop_until", "reserved and not committed"},
        {overwrite_what_is_reserved_by_itself, "ilk_mpmc_push_overwriting", "reserved and not committed"},
        {overwrite_what_is_shown_to_itself, "ilk_mpmc_push_overwriting", "been shown and not released"},
    };
    EXPECT_ALL(table);
    /* With a deadline the wait times out. */
    item out = 0;
    ilk_mpmc *ring = make_reserved(0, 4);
    check_equal(ilk_mpmc_push_until(ring, &element, sizeof element, ilk_deadline_in_ns(1000)), ILK_TIMEDOUT);
    check_equal(ilk_mpmc_pop_until(ring, &out, sizeof out, ilk_deadline_in_ns(1000)), ILK_TIMEDOUT);
    ilk_mpmc_commit(ring, 4);
    ilk_mpmc_destroy(ring);
}

static void reserve_and_push(void *ring) {
    reserve(ring, 1);
    check_equal(ilk_mpmc_push_until(ring, &element, sizeof element, ILK_FOREVER), ILK_OK);
    ilk_mpmc_commit(ring, 1);
}
/* contract: ilk_mpmc_push_until, ilk_mpmc_reserve */
TEST(mpmc_wait_for_a_slot_of_others_beside_a_reserved_one_is_none) {
    item out = 0;
    ilk_mpmc *ring = make(2);
    check(ilk_mpmc_try_push(ring, &element, sizeof element));
    struct thread pusher;
    thread_start(&pusher, reserve_and_push, ring);
    thread_await_sleep(&pusher);
    check(ilk_mpmc_try_pop(ring, &out, sizeof out));
    thread_join(&pusher);
    check_equal(ilk_mpmc_count(ring), 2);
    ilk_mpmc_destroy(ring);
}

static void overwrite_with_overlap(void *context) {
    item memory[2] = {1, 2};
    unsigned char *evicted = (unsigned char *)memory + (context == NULL ? 1 : 7);
    (void)ilk_mpmc_push_overwriting(make(4), memory, sizeof *memory, evicted);
}
/* contract: ilk_mpmc_push_overwriting */
TEST(mpmc_overwriting_across_overlapping_memory_is_reported) {
    expect_misuse(overwrite_with_overlap, NULL, "ilk_mpmc_push_overwriting", "overlap");
    static int further;
    expect_misuse(overwrite_with_overlap, &further, "ilk_mpmc_push_overwriting", "overlap");
}
