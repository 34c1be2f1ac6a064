/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc alone: sides that move between threads, repeated reservations and peeks, and each side's back-off.
 */
/* contract: spsc.h */
#include "rings/spsc_face.h"

#include "ring/backoff.h"
#include "rings/contract.h"

/* Either side may change its thread; the program orders the change. */
struct part {
    ilk_spsc *ring;
    item next;
};

static void push_three(void *context) {
    struct part *part = context;
    for (int i = 0; i < 3; i++) {
        check(push(part->ring, part->next++));
    }
}

static void pop_three(void *context) {
    struct part *part = context;
    for (int i = 0; i < 3; i++) {
        expect_pop(part->ring, part->next++);
    }
}

TEST(a_part_may_move_to_another_thread) {
    struct part in = {make(7), 0}, out = {in.ring, 0};
    for (int round = 0; round < 20; round++) {
        struct thread producer, consumer;
        thread_start(&producer, push_three, &in);
        thread_join(&producer);
        thread_start(&consumer, pop_three, &out);
        thread_join(&consumer);
    }
    expect_empty(in.ring);
    ilk_spsc_destroy(in.ring);
}

/* The next back-off of a side that found nothing, after a probe that found so many. */
/* contract: spsc.E */
TEST(back_off_grows_until_it_finds_a_quarter_of_the_ring) {
    check_equal(spsc_back_off(1024, 0, 0), 0);
    check_equal(spsc_back_off(1024, 0, 1), 0); /* single elements: none */
    check_equal(spsc_back_off(1024, 0, 2), 1);
    check_equal(spsc_back_off(1024, 7, 8), 0); /* no more than one element a pause */
    check_equal(spsc_back_off(1024, 7, 9), 15);
    check_equal(spsc_back_off(1024, 15, 33), 31);
    check_equal(spsc_back_off(1024, 31, 33), 31); /* the longest */
    check_equal(spsc_back_off(1024, 7, 255), 15);
    check_equal(spsc_back_off(1024, 7, 256), 7); /* a quarter of the ring */
    check_equal(spsc_back_off(1024, 7, 512), 7);
    check_equal(spsc_back_off(1024, 7, 513), 3); /* more than half of it */
}

/* The fast path leaves a probe to the slow one exactly where a back-off begins. */
TEST(the_fast_path_knows_where_a_back_off_begins) {
    const size_t capacities[] = {1, 2, 3, 4, 7, 8, 9, 12, 64, 1000, 1024};
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        ilk_spsc *ring = make(capacities[i]);
        for (size_t found = 0; found <= capacities[i]; found++) {
            check_equal(ilk__spsc_begins_back_off(ring, found), spsc_back_off(capacities[i], 0, found) != 0);
        }
        ilk_spsc_destroy(ring);
    }
}

TEST(a_side_backs_off_by_what_its_probe_found) {
    ilk_spsc *ring = make(64);
    for (item i = 0; i < 2; i++) {
        check(push(ring, i));
    }
    expect_pop(ring, 0);
    check_equal(ring->pop_back_off, 1); /* it found two */
    expect_pop(ring, 1);
    check_equal(ring->pop_back_off, 1); /* it knew of the second */
    for (item i = 2; i < 5; i++) {
        check(push(ring, i));
    }
    expect_pop(ring, 2);
    check_equal(ring->pop_back_off, 3); /* behind one pause it found three */
    expect_pop(ring, 3);
    expect_pop(ring, 4);
    expect_empty(ring);
    check_equal(ring->pop_back_off, 0);
    check_equal(ring->push_back_off, 0); /* of a push that found room each time */
    for (item i = 5; i < 5 + 64; i++) {
        check(push(ring, i));
    }
    check(!push(ring, 0));
    for (item i = 5; i < 8; i++) {
        expect_pop(ring, i);
    }
    check(push(ring, 5 + 64));
    check_equal(ring->push_back_off, 1); /* it found three slots */
    ilk_spsc_destroy(ring);
}

/* Alone and one behind the other, around a ring whose capacity is a power of two, and one whose is not. */
TEST(elements_of_every_size_come_out_as_they_were) {
    enum { MOST = 24 };
    for (size_t size = 1; size <= MOST; size++) {
        ilk_spsc *ring = NULL;
        check_equal(ilk_spsc_create(&ring, size % 2 == 0 ? 4 : 3, size), ILK_OK);
        unsigned char in[MOST], out[MOST];
        for (unsigned round = 0; round < 20; round++) {
            const unsigned count = 1 + round % 3;
            for (unsigned i = 0; i < count; i++) {
                memset(in, (int)(round * 3 + i), sizeof in);
                check(ilk_spsc_try_push(ring, in, size));
            }
            for (unsigned i = 0; i < count; i++) {
                memset(in, (int)(round * 3 + i), sizeof in);
                memset(out, 0xEE, sizeof out);
                check(ilk_spsc_try_pop(ring, out, size));
                check(memcmp(in, out, size) == 0);
                check(size == MOST || out[size] == 0xEE);
            }
        }
        ilk_spsc_destroy(ring);
    }
}

/* ---- In place ---- */
/* contract: ilk_spsc_commit, ilk_spsc_count */
TEST(a_commit_may_push_fewer_or_none) {
    ilk_spsc *ring = make(8);
    size_t count = 4;
    item *slots = ilk_spsc_reserve(ring, &count);
    check(slots != NULL);
    check_equal(count, 4);
    slots[0] = 10;
    slots[1] = 11;
    ilk_spsc_commit(ring, 2);
    count = 4;
    check(ilk_spsc_reserve(ring, &count) == slots + 2);
    ilk_spsc_commit(ring, 0);
    check_equal(ilk_spsc_count(ring), 2);
    expect_pop(ring, 10);
    expect_pop(ring, 11);
    expect_empty(ring);
    ilk_spsc_destroy(ring);
}
/* contract: ilk_spsc_close, ilk_spsc_peek, ilk_spsc_reserve, spsc.F */
TEST(reserving_again_answers_the_same_slots) {
    ilk_spsc *ring = make(8);
    size_t count = 2;
    void *slots = ilk_spsc_reserve(ring, &count);
    count = 5;
    check(ilk_spsc_reserve(ring, &count) == slots);
    check_equal(count, 5);
    ilk_spsc_commit(ring, 5);
    check_equal(ilk_spsc_count(ring), 5);
    count = 0;
    check(ilk_spsc_reserve(ring, &count) == NULL); /* none wanted */
    check_equal(count, 0);
    count = 2;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    count = 0;
    check(ilk_spsc_reserve(ring, &count) == NULL); /* gives that up */
    check(push(ring, 1));
    ilk_spsc_destroy(ring);
}
/* contract: ilk_spsc_peek, ilk_spsc_release */
TEST(a_peek_shows_no_more_than_wanted) {
    ilk_spsc *ring = make(8);
    for (item i = 0; i < 6; i++) {
        check(push(ring, i));
    }
    size_t count = 2;
    const item *shown = ilk_spsc_peek(ring, &count);
    check_equal(count, 2);
    check_equal(shown[1], 1);
    ilk_spsc_release(ring, 1);
    expect_pop(ring, 1);
    check_equal(ilk_spsc_count(ring), 4);
    ilk_spsc_destroy(ring);
}
/* contract: ilk_spsc_count, ilk_spsc_peek, ilk_spsc_release */
TEST(what_a_release_leaves_may_be_released_or_popped) {
    ilk_spsc *ring = make(8);
    for (item i = 0; i < 8; i++) {
        check(push(ring, i));
    }
    size_t count = 3;
    check(ilk_spsc_peek(ring, &count) != NULL);
    ilk_spsc_release(ring, 1);
    ilk_spsc_release(ring, 1);
    ilk_spsc_release(ring, 1);
    expect_pop(ring, 3);
    count = 2;
    check(ilk_spsc_peek(ring, &count) != NULL);
    ilk_spsc_release(ring, 0); /* given up: nothing popped */
    expect_pop(ring, 4);
    count = 2;
    check(ilk_spsc_peek(ring, &count) != NULL);
    ilk_spsc_release(ring, 1);
    expect_pop(ring, 6);
    expect_pop(ring, 7);
    expect_empty(ring);
    ilk_spsc_destroy(ring);
}
/* contract: ilk_spsc_close, ilk_spsc_peek, ilk_spsc_release, ilk_spsc_reserve, spsc.F */
TEST(the_other_side_goes_on_beside_access_in_place) {
    ilk_spsc *ring = make(4);
    check(push(ring, 1));
    check(push(ring, 2));
    size_t count = 1;
    item *slot = ilk_spsc_reserve(ring, &count);
    check(slot != NULL);
    *slot = 3;
    expect_pop(ring, 1);
    count = 0;
    check(ilk_spsc_peek(ring, &count) != NULL);
    check_equal(count, 1);
    ilk_spsc_commit(ring, 1);
    check(push(ring, 4));
    check(push(ring, 5));
    check(!push(ring, 6)); /* what is shown is still in the ring */
    check_equal(ilk_spsc_count(ring), 4);
    count = 0;
    check(ilk_spsc_peek(ring, &count) != NULL); /* anew, up to the end of the ring */
    check_equal(count, 3);
    ilk_spsc_release(ring, count);
    expect_pop(ring, 5);
    expect_empty(ring);
    ilk_spsc_destroy(ring);
}

/* ---- Closing ---- */

/* Answered anew as before, smaller where less is wanted, never larger again. */
/* contract: ilk_spsc_close, spsc.C */
TEST(a_reservation_does_not_grow_after_close) {
    ilk_spsc *ring = make(8);
    size_t count = 3;
    item *slots = ilk_spsc_reserve(ring, &count);
    check(slots != NULL);
    ilk_spsc_close(ring);
    for (size_t wanted = 5; wanted >= 2; wanted--) {
        count = wanted;
        check(ilk_spsc_reserve(ring, &count) == slots);
        check_equal(count, wanted < 3 ? wanted : 3);
    }
    count = 5;
    check(ilk_spsc_reserve(ring, &count) == slots);
    check_equal(count, 2);
    slots[0] = 7;
    slots[1] = 8;
    ilk_spsc_commit(ring, 2);
    count = 1;
    check(ilk_spsc_reserve(ring, &count) == NULL); /* a new one is not to be had */
    check_equal(count, 0);
    expect_pop(ring, 7);
    expect_pop(ring, 8);
    item value;
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, 0), ILK_CLOSED);
    ilk_spsc_destroy(ring);
}

/* The header's recipe. */
/* contract: ilk_spsc_try_pop */
TEST(closed_and_then_empty_is_drained_but_for_an_open_reservation) {
    ilk_spsc *ring = make(2);
    item value;
    check(!ilk_spsc_is_closed(ring) && !ilk_spsc_try_pop(ring, &value, sizeof value));
    size_t count = 1;
    item *slot = ilk_spsc_reserve(ring, &count);
    check(slot != NULL);
    *slot = 3;
    ilk_spsc_close(ring);
    check(ilk_spsc_is_closed(ring) && !ilk_spsc_try_pop(ring, &value, sizeof value));
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, 0), ILK_TIMEDOUT); /* knows better */
    ilk_spsc_commit(ring, 1);
    expect_pop(ring, 3);
    check(ilk_spsc_is_closed(ring) && !ilk_spsc_try_pop(ring, &value, sizeof value));
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, 0), ILK_CLOSED);
    ilk_spsc_destroy(ring);
}

/* Also when nothing was committed. */
/* contract: spsc.C */
TEST(a_waiting_pop_hears_that_the_last_reservation_was_given_up) {
    ilk_spsc *ring = make(1);
    size_t count = 1;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    ilk_spsc_close(ring);
    struct waiter consumer;
    start_waiters(&consumer, 1, ring, pop_and_wait);
    ilk_spsc_commit(ring, 0);
    expect_answer(&consumer, ILK_CLOSED);
    ilk_spsc_destroy(ring);
}
