/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook of ilk_spsc: both rings' tests, and open reservations or peeks.
 */
/* contract: notify.h */
#include "rings/spsc_face.h"

#include "rings/ring_notify_arm.h"
/* contract: notify.C */
TEST(giving_the_last_reservation_up_sets_the_hook_off) {
    struct calls calls;
    ilk_spsc *ring = make_with_hook(1, &calls);
    size_t count = 1;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    ilk_spsc_close(ring);
    uint64_t value;
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, 0), ILK_TIMEDOUT);
    check(ilk_spsc_arm_pop(ring)); /* one may follow */
    int before = stage_now(&calls.readable);
    ilk_spsc_commit(ring, 0);
    check_equal(stage_now(&calls.readable), before + 1);
    check(!ilk_spsc_arm_pop(ring));
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, 0), ILK_CLOSED);
    ilk_spsc_destroy(ring);
}

/*   consumer                         producer, on an open ring
 *   arm_pop: raises its flag
 *                                    reserves, and gives the reservation up; finds a full ring
 *   finds nothing: answers true, and nothing calls                                                    */
static void reserve_nothing(void *context) {
    ilk_spsc *ring = context;
    size_t count = 1;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    count = 0;
    check(ilk_spsc_reserve(ring, &count) == NULL);
    count = 1;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    ilk_spsc_commit(ring, 0);
    count = 0;
    check(ilk_spsc_reserve(ring, &count) == NULL);
}

TEST(a_reservation_given_up_on_an_open_ring_sets_nothing_off) {
    struct calls calls;
    ilk_spsc *ring = make_with_hook(1, &calls);
    place(reserve_nothing, ring);
    check(ilk_spsc_arm_pop(ring));
    reserve_nothing(ring);
    check_equal(stage_now(&calls.readable), 0);
    check(push(ring, 1)); /* still armed */
    check_equal(stage_now(&calls.readable), 1);
    ilk_spsc_destroy(ring);
}
/* contract: ilk_spsc_arm_pop, ilk_spsc_arm_push */
TEST(what_is_reserved_is_room_and_what_is_shown_is_there) {
    struct calls calls;
    ilk_spsc *ring = make_with_hook(1, &calls);
    size_t count = 1;
    uint64_t *slot = ilk_spsc_reserve(ring, &count);
    check(slot != NULL);
    check(!ilk_spsc_arm_push(ring));
    *slot = 1;
    ilk_spsc_commit(ring, 1);
    check(ilk_spsc_arm_push(ring)); /* full */
    count = 1;
    check(ilk_spsc_peek(ring, &count) != NULL);
    check(!ilk_spsc_arm_pop(ring));
    check_equal(stage_now(&calls.writable), 0);
    ilk_spsc_release(ring, 1);
    check_equal(stage_now(&calls.writable), 1);
    check(ilk_spsc_arm_pop(ring)); /* empty */
    ilk_spsc_destroy(ring);
}

/* ---- The consumer's part in the hook ---- */

/* The arm alone orders the two threads' calls of the consumer's part.
 *   consumer                         producer
 *   pops until it arms: true         pushes
 *   makes no consumer's call           the hook pops, and arms again
 *                                    closes: the hook drains                                          */
struct handed_over {
    ilk_spsc *ring;
    item last;
    bool drained;
};

static void consume_until_armed(struct handed_over *self) {
    for (bool armed = false; !armed && !self->drained;) {
        item value;
        ilk_status status;
        while ((status = ilk_spsc_pop_until(self->ring, &value, sizeof value, 0)) == ILK_OK) {
            check_equal(value, ++self->last);
        }
        self->drained = status == ILK_CLOSED;
        armed = !self->drained && ilk_spsc_arm_pop(self->ring);
    }
}

static void consume_in_hook(void *context, ilk_ring_event event) {
    check_equal(event, ILK_READABLE);
    consume_until_armed(context);
}

enum { HANDED_OVER = 1000 };

static void push_and_close(void *context) {
    struct handed_over *self = context;
    for (item value = 1; value <= HANDED_OVER; value++) {
        check_equal(ilk_spsc_push_until(self->ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
    }
    ilk_spsc_close(self->ring);
}

TEST(an_arm_may_hand_the_consumers_part_to_the_hook) {
    struct handed_over self = {.ring = make(1)};
    struct thread producer;
    ilk_spsc_set_notify(self.ring, consume_in_hook, &self);
    thread_start(&producer, push_and_close, &self);
    consume_until_armed(&self);
    thread_join(&producer);
    check(self.drained);
    check_equal(self.last, HANDED_OVER);
    ilk_spsc_destroy(self.ring);
}
