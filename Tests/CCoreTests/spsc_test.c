/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc: exact capacities, order, batches, in-place access, waiting, closing. Most tests sweep the
 * capacities and element sizes at which something wraps differently.
 */
#include "support/test.h"
#include <interlock/spsc.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECONDS(count) ((uint64_t)(count)*1000000)

static const size_t capacities[] = {1, 2, 3, 4, 7, 8, 64, 100};
enum { CAPACITIES = sizeof capacities / sizeof *capacities };

typedef uint64_t item;

static ilk_spsc *make(size_t capacity) {
    ilk_spsc *ring = NULL;
    check_equal(ilk_spsc_create(&ring, capacity, sizeof(item)), ILK_OK);
    check_equal(ilk_spsc_capacity(ring), capacity);
    return ring;
}

static bool push(ilk_spsc *ring, item value) {
    return ilk_spsc_try_push(ring, &value, sizeof value);
}

/* Pops and expects `value`. */
static void expect_pop(ilk_spsc *ring, item value) {
    item popped = ~value;
    check(ilk_spsc_try_pop(ring, &popped, sizeof popped));
    check_equal(popped, value);
}

static void expect_empty(ilk_spsc *ring) {
    item popped = 12345;
    check(!ilk_spsc_try_pop(ring, &popped, sizeof popped));
    check_equal(popped, 12345); /* untouched */
    check_equal(ilk_spsc_count(ring), 0);
}

#define RING(verb) ilk_spsc##verb
#include "support/both_rings.h"

/* ---- Capacity and order ---- */

static void every_capacity_is_honoured_exactly(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        ilk_spsc *ring = make(capacity);
        item next_in = 0, next_out = 0;
        /* Several times round, from every starting slot. */
        for (size_t round = 0; round < 2 * capacity + 3; round++) {
            for (size_t i = 0; i < capacity; i++) {
                check_equal(ilk_spsc_count(ring), i);
                check(push(ring, next_in++));
            }
            check(!push(ring, 999));
            check_equal(ilk_spsc_count(ring), capacity);
            for (size_t i = 0; i < capacity; i++) {
                expect_pop(ring, next_out++);
            }
            expect_empty(ring);
            check(push(ring, next_in++)); /* the next round starts one slot further */
            expect_pop(ring, next_out++);
        }
        ilk_spsc_destroy(ring);
    }
}

static void elements_of_every_size_come_out_as_they_went_in(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 33, 200, 4096};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t size = sizes[s];
        ilk_spsc *ring = NULL;
        check_equal(ilk_spsc_create(&ring, 3, size), ILK_OK);
        unsigned char in[4096], out[4096];
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 3; i++) {
                memset(in, round * 3 + i, size);
                check(ilk_spsc_try_push(ring, in, size));
            }
            for (int i = 0; i < 3; i++) {
                memset(in, round * 3 + i, size);
                check(ilk_spsc_try_pop(ring, out, size));
                assert_memory_equal(in, out, size);
            }
        }
        ilk_spsc_destroy(ring);
    }
}

static void bad_sizes_are_invalid_and_write_nothing(void **state) {
    (void)state;
    const size_t bad[][2] = {{0, 8},
                             {8, 0},
                             {0, 0},
                             {SIZE_MAX, 1},
                             {1, SIZE_MAX},
                             {SIZE_MAX / 2, 4},
                             {(size_t)1 << 63, 2},
                             {(size_t)1 << 32, (size_t)1 << 32},
                             {PTRDIFF_MAX, 1},
                             {1, PTRDIFF_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ilk_spsc *ring = (ilk_spsc *)&ring;
        check_equal(ilk_spsc_create(&ring, bad[i][0], bad[i][1]), ILK_INVALID);
        check(ring == (ilk_spsc *)&ring);
    }
}

static void destroying_none_does_nothing(void **state) {
    (void)state;
    ilk_spsc_destroy(NULL);
}

/* The elements left in a ring are freed with it: LeakSanitizer watches. */
static void a_ring_may_be_destroyed_with_elements_in_it(void **state) {
    (void)state;
    ilk_spsc *ring = make(3);
    check(push(ring, 1));
    check(push(ring, 2));
    ilk_spsc_destroy(ring);
}

/* A producer's or consumer's part may go from thread to thread, in an order that the program sees to. */
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

static void a_part_may_move_to_another_thread(void **state) {
    (void)state;
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

/* ---- Batches ---- */

static void batches_take_what_fits_in_order(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start < capacity; start++) {
            for (size_t batch = 0; batch <= capacity + 2; batch++) {
                ilk_spsc *ring = make(capacity);
                for (size_t i = 0; i < start; i++) { /* move the first slot */
                    check(push(ring, 0));
                    expect_pop(ring, 0);
                }
                check(push(ring, 1000)); /* one is there already */
                item in[128], out[128];
                for (size_t i = 0; i < batch; i++) {
                    in[i] = i;
                }
                size_t fits = batch < capacity - 1 ? batch : capacity - 1;
                check_equal(ilk_spsc_try_push_many(ring, in, batch, sizeof(item)), fits);
                check_equal(ilk_spsc_count(ring), fits + 1);
                expect_pop(ring, 1000);
                check_equal(ilk_spsc_try_pop_many(ring, out, batch, sizeof(item)), fits);
                assert_memory_equal(in, out, fits * sizeof(item));
                expect_empty(ring);
                ilk_spsc_destroy(ring);
            }
        }
    }
}

/* What a side that had nothing pauses for next, after a look that found so many. */
static void back_off_grows_until_it_finds_much(void **state) {
    (void)state;
    ilk_spsc *ring = make(1024);
    check_equal(ilk__spsc_next_back_off(ring, 0, 0, 1), 0);
    check_equal(ilk__spsc_next_back_off(ring, 0, 1, 1), 0); /* single elements: never */
    check_equal(ilk__spsc_next_back_off(ring, 0, 2, 1), 1);
    check_equal(ilk__spsc_next_back_off(ring, 7, 8, 1), 0); /* no more than one element a pause */
    check_equal(ilk__spsc_next_back_off(ring, 7, 63, 1), 15);
    check_equal(ilk__spsc_next_back_off(ring, 7, 64, 1), 7); /* much for one who wants one */
    check_equal(ilk__spsc_next_back_off(ring, 15, 33, 1), 31);
    check_equal(ilk__spsc_next_back_off(ring, 31, 33, 1), 31); /* the longest */
    check_equal(ilk__spsc_next_back_off(ring, 7, 127, 32), 15);
    check_equal(ilk__spsc_next_back_off(ring, 7, 128, 32), 7); /* four batches */
    check_equal(ilk__spsc_next_back_off(ring, 7, 255, 64), 15);
    check_equal(ilk__spsc_next_back_off(ring, 7, 256, 64), 7); /* a quarter of the ring */
    check_equal(ilk__spsc_next_back_off(ring, 7, 200, SIZE_MAX / 2 + 1), 15);
    check_equal(ilk__spsc_next_back_off(ring, 7, 512, 1), 7);
    check_equal(ilk__spsc_next_back_off(ring, 7, 513, 1), 3); /* more than half of it */
    ilk_spsc_destroy(ring);
}

static void a_batch_of_none_is_none(void **state) {
    (void)state;
    ilk_spsc *ring = make(2);
    item none = 0;
    check_equal(ilk_spsc_try_push_many(ring, &none, 0, sizeof none), 0);
    check(push(ring, 1));
    check_equal(ilk_spsc_try_pop_many(ring, &none, 0, sizeof none), 0);
    check_equal(ilk_spsc_count(ring), 1);
    ilk_spsc_destroy(ring);
}

/* ---- In place ---- */

static void reserved_slots_are_pushed_by_commit(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start < capacity; start++) {
            ilk_spsc *ring = make(capacity);
            for (size_t i = 0; i < start; i++) {
                check(push(ring, 0));
                expect_pop(ring, 0);
            }
            /* Everything that is free, in at most two pieces. */
            item next = 0;
            while (next < capacity) {
                size_t count = capacity + 5;
                item *slots = ilk_spsc_reserve(ring, &count);
                check(slots != NULL && count >= 1 && count <= capacity - next);
                check(next == 0 || count == capacity - next);
                for (size_t i = 0; i < count; i++) {
                    slots[i] = next + i;
                }
                check_equal(ilk_spsc_count(ring), next); /* not pushed yet */
                ilk_spsc_commit(ring, count);
                next += count;
                check_equal(ilk_spsc_count(ring), next);
            }
            size_t count = 1;
            check(ilk_spsc_reserve(ring, &count) == NULL);
            check_equal(count, 0);
            for (item i = 0; i < capacity; i++) {
                expect_pop(ring, i);
            }
            ilk_spsc_destroy(ring);
        }
    }
}

static void a_commit_may_push_fewer_or_none(void **state) {
    (void)state;
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

static void reserving_again_answers_the_same_slots(void **state) {
    (void)state;
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

static void peeked_elements_stay_until_released(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start < capacity; start++) {
            ilk_spsc *ring = make(capacity);
            for (size_t i = 0; i < start; i++) {
                check(push(ring, 0));
                expect_pop(ring, 0);
            }
            size_t count = 0;
            check(ilk_spsc_peek(ring, &count) == NULL);
            check_equal(count, 0);
            for (item i = 0; i < capacity; i++) {
                check(push(ring, i));
            }
            item next = 0;
            while (next < capacity) {
                count = 0; /* all there are */
                const item *shown = ilk_spsc_peek(ring, &count);
                check(shown != NULL && count >= 1);
                for (size_t i = 0; i < count; i++) {
                    check_equal(shown[i], next + i);
                }
                check_equal(ilk_spsc_count(ring), capacity - next);
                check(!push(ring, 999) || next > 0); /* its slots are not free yet */
                ilk_spsc_release(ring, count);
                next += count;
                if (ilk_spsc_count(ring) > capacity - next) {
                    break; /* the push above found room; enough seen */
                }
            }
            ilk_spsc_destroy(ring);
        }
    }
}

static void a_peek_shows_no_more_than_wanted(void **state) {
    (void)state;
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

/* What a release leaves of what was shown may be released by the next, or popped; not both. */
static void what_a_release_leaves_may_be_released_or_popped(void **state) {
    (void)state;
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

/* What one side has open in place does not touch the other side, nor what either asks about the ring. */
static void the_other_side_goes_on_beside_access_in_place(void **state) {
    (void)state;
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

/* ---- Waiting ---- */

struct side {
    ilk_spsc *ring;
    item value;
    uint64_t deadline_ns;
    ilk_status status;
    struct thread thread;
};

static void push_and_wait(void *context) {
    struct side *self = context;
    self->status = ilk_spsc_push_until(self->ring, &self->value, sizeof(item), self->deadline_ns);
}

static void pop_and_wait(void *context) {
    struct side *self = context;
    self->status = ilk_spsc_pop_until(self->ring, &self->value, sizeof(item), self->deadline_ns);
}

static void start_side(struct side *side, ilk_spsc *ring, thread_body *body, item value) {
    *side = (struct side){.ring = ring, .value = value, .deadline_ns = ILK_FOREVER};
    thread_start(&side->thread, body, side);
    thread_await_sleep(&side->thread);
}

static void a_waiting_pop_gets_the_element_pushed(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        ilk_spsc *ring = make(2);
        struct side consumer;
        start_side(&consumer, ring, pop_and_wait, 0);
        const item value = 42;
        if (way == 0) {
            check(push(ring, value));
        } else if (way == 1) {
            check_equal(ilk_spsc_try_push_many(ring, &value, 1, sizeof value), 1);
        } else {
            size_t count = 1;
            item *slot = ilk_spsc_reserve(ring, &count);
            check(slot != NULL);
            *slot = value;
            check(thread_sleeps(&consumer.thread));
            ilk_spsc_commit(ring, 1);
        }
        thread_join(&consumer.thread);
        check_equal(consumer.status, ILK_OK);
        check_equal(consumer.value, 42);
        ilk_spsc_destroy(ring);
    }
}

static void a_waiting_push_gets_the_room_made(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        ilk_spsc *ring = make(1);
        check(push(ring, 1));
        struct side producer;
        start_side(&producer, ring, push_and_wait, 2);
        if (way == 0) {
            expect_pop(ring, 1);
        } else if (way == 1) {
            item popped;
            check_equal(ilk_spsc_try_pop_many(ring, &popped, 1, sizeof popped), 1);
        } else {
            size_t count = 1;
            check(ilk_spsc_peek(ring, &count) != NULL);
            check(thread_sleeps(&producer.thread));
            ilk_spsc_release(ring, 1);
        }
        thread_join(&producer.thread);
        check_equal(producer.status, ILK_OK);
        expect_pop(ring, 2);
        ilk_spsc_destroy(ring);
    }
}

static void waits_time_out_and_not_early(void **state) {
    (void)state;
    ilk_spsc *ring = make(1);
    item value = 5;
    const uint64_t passed[] = {0, 1, ilk_now_ns()};
    for (int i = 0; i < 3; i++) {
        check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, passed[i]), ILK_TIMEDOUT);
    }
    uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(3));
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check_equal(ilk_spsc_push_until(ring, &value, sizeof value, 0), ILK_OK); /* there is room */
    for (int i = 0; i < 3; i++) {
        check_equal(ilk_spsc_push_until(ring, &value, sizeof value, passed[i]), ILK_TIMEDOUT);
    }
    deadline = ilk_deadline_in_ns(MILLISECONDS(3));
    check_equal(ilk_spsc_push_until(ring, &value, sizeof value, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, 0), ILK_OK); /* there is one */
    check_equal(ilk_spsc_count(ring), 0);
    ilk_spsc_destroy(ring); /* nobody is taken for asleep */
}

static void signals_do_not_move_the_deadline(void **state) {
    (void)state;
    thread_allow_interrupts();
    for (int pushes = 0; pushes < 2; pushes++) {
        ilk_spsc *ring = make(1);
        if (pushes) {
            check(push(ring, 1));
        }
        struct side side = {.ring = ring, .deadline_ns = ilk_deadline_in_ns(MILLISECONDS(30))};
        thread_start(&side.thread, pushes ? push_and_wait : pop_and_wait, &side);
        while (!thread_is_done(&side.thread)) {
            thread_interrupt(&side.thread);
        }
        thread_join(&side.thread);
        check_equal(side.status, ILK_TIMEDOUT);
        check(ilk_now_ns() >= side.deadline_ns);
        ilk_spsc_destroy(ring);
    }
}

/* ---- Closing ---- */

static void a_closed_ring_drains_and_takes_nothing_more(void **state) {
    (void)state;
    ilk_spsc *ring = make(4);
    check(push(ring, 1));
    check(push(ring, 2));
    check(!ilk_spsc_is_closed(ring));
    ilk_spsc_close(ring);
    ilk_spsc_close(ring); /* twice does nothing more */
    check(ilk_spsc_is_closed(ring));
    item value = 3;
    check(!push(ring, value));
    check_equal(ilk_spsc_push_until(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    check_equal(ilk_spsc_try_push_many(ring, &value, 1, sizeof value), 0);
    size_t count = 1;
    check(ilk_spsc_reserve(ring, &count) == NULL);
    check_equal(count, 0);
    expect_pop(ring, 1);
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
    check_equal(value, 2);
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, 0), ILK_CLOSED);
    expect_empty(ring);
    ilk_spsc_destroy(ring);
}

static void a_reservation_made_before_close_still_counts(void **state) {
    (void)state;
    ilk_spsc *ring = make(4);
    size_t count = 2;
    item *slots = ilk_spsc_reserve(ring, &count);
    check(slots != NULL);
    slots[0] = 7;
    slots[1] = 8;
    ilk_spsc_close(ring);
    item value;
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, 0), ILK_TIMEDOUT); /* one may follow */
    ilk_spsc_commit(ring, 2);
    expect_pop(ring, 7);
    expect_pop(ring, 8);
    check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    ilk_spsc_destroy(ring);
}

/* It is answered anew as before, smaller where less is wanted, and never larger again. */
static void a_reservation_does_not_grow_after_close(void **state) {
    (void)state;
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

/* How the header says an empty ring is told from a drained one: asked before, and no reservation open. */
static void closed_and_then_empty_is_drained_but_for_an_open_reservation(void **state) {
    (void)state;
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

static void close_wakes_a_waiting_pop(void **state) {
    (void)state;
    ilk_spsc *ring = make(1);
    struct side consumer;
    start_side(&consumer, ring, pop_and_wait, 0);
    ilk_spsc_close(ring);
    thread_join(&consumer.thread);
    check_equal(consumer.status, ILK_CLOSED);
    ilk_spsc_destroy(ring);
}

static void close_wakes_a_waiting_push(void **state) {
    (void)state;
    ilk_spsc *ring = make(1);
    check(push(ring, 1));
    struct side producer;
    start_side(&producer, ring, push_and_wait, 2);
    ilk_spsc_close(ring);
    thread_join(&producer.thread);
    check_equal(producer.status, ILK_CLOSED);
    expect_pop(ring, 1); /* and the refused one is not in it */
    expect_empty(ring);
    ilk_spsc_destroy(ring);
}

/* A pop that waits while a reservation is open hears of its end, also when nothing was committed. */
static void a_waiting_pop_hears_that_the_last_reservation_was_given_up(void **state) {
    (void)state;
    ilk_spsc *ring = make(1);
    size_t count = 1;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    ilk_spsc_close(ring);
    struct side consumer;
    start_side(&consumer, ring, pop_and_wait, 0);
    ilk_spsc_commit(ring, 0);
    thread_join(&consumer.thread);
    check_equal(consumer.status, ILK_CLOSED);
    ilk_spsc_destroy(ring);
}

/* ---- Load ---- */

/* A stream of numbers through every pair of verbs. The second word of an element repeats the first in
 * another form: a torn or early element is seen. */
struct element {
    uint64_t number, check;
};

enum { STREAM_MIX = 0x5DEECE66 };

struct stream {
    ilk_spsc *ring;
    uint64_t count;
    int how;
    uint64_t received;
};

static struct element element_of(uint64_t number) {
    return (struct element){number, number * STREAM_MIX + 1};
}

static void check_element(const struct element *element, uint64_t number) {
    check_equal(element->number, number);
    check_equal(element->check, number * STREAM_MIX + 1);
}

static void produce(void *context) {
    struct stream *stream = context;
    uint32_t random = 99;
    uint64_t next = 0;
    while (next < stream->count) {
        struct element batch[7];
        uint64_t left = stream->count - next;
        size_t want = next_random(&random) % 7 + 1;
        want = want < left ? want : (size_t)left;
        if (stream->how == 0) {
            batch[0] = element_of(next);
            check_equal(ilk_spsc_push_until(stream->ring, batch, sizeof *batch, ILK_FOREVER), ILK_OK);
            next++;
        } else if (stream->how == 1) {
            for (size_t i = 0; i < want; i++) {
                batch[i] = element_of(next + i);
            }
            next += ilk_spsc_try_push_many(stream->ring, batch, want, sizeof *batch);
        } else {
            struct element *slots = ilk_spsc_reserve(stream->ring, &want);
            if (slots != NULL) {
                for (size_t i = 0; i < want; i++) {
                    slots[i] = element_of(next + i);
                }
                ilk_spsc_commit(stream->ring, want);
                next += want;
            }
        }
    }
    ilk_spsc_close(stream->ring);
}

static void consume(void *context) {
    struct stream *stream = context;
    uint32_t random = 77;
    uint64_t next = 0;
    for (;;) {
        struct element batch[5];
        size_t want = next_random(&random) % 5 + 1;
        if (stream->how == 1) {
            size_t got = ilk_spsc_try_pop_many(stream->ring, batch, want, sizeof *batch);
            for (size_t i = 0; i < got; i++) {
                check_element(&batch[i], next++);
            }
            if (got > 0) {
                continue;
            }
        } else if (stream->how == 2) {
            const struct element *shown = ilk_spsc_peek(stream->ring, &want);
            if (shown != NULL) {
                for (size_t i = 0; i < want; i++) {
                    check_element(&shown[i], next++);
                }
                ilk_spsc_release(stream->ring, want);
                continue;
            }
        }
        ilk_status status = ilk_spsc_pop_until(stream->ring, batch, sizeof *batch, ILK_FOREVER);
        if (status == ILK_CLOSED) {
            break;
        }
        check_element(&batch[0], next++);
    }
    stream->received = next;
}

static void a_stream_arrives_whole_and_in_order(void **state) {
    (void)state;
    const size_t sizes[] = {1, 3, 64, 1000};
    for (int how = 0; how < 3; how++) {
        for (int s = 0; s < 4; s++) {
            struct stream stream = {.count = (uint64_t)stress_rounds(sizes[s] == 1 ? 20000 : 200000),
                                    .how = how};
            check_equal(ilk_spsc_create(&stream.ring, sizes[s], sizeof(struct element)), ILK_OK);
            struct thread producer, consumer;
            thread_start(&consumer, consume, &stream);
            thread_start(&producer, produce, &stream);
            thread_join(&producer);
            thread_join(&consumer);
            check_equal(stream.received, stream.count);
            ilk_spsc_destroy(stream.ring);
        }
    }
}

/* Both sides sleep all the time: capacity 1, strictly by turns. One lost wake-up and neither wakes. */
static void no_wake_up_is_lost(void **state) {
    (void)state;
    struct stream stream = {.count = (uint64_t)stress_rounds(100000), .how = 0};
    check_equal(ilk_spsc_create(&stream.ring, 1, sizeof(struct element)), ILK_OK);
    struct thread producer, consumer;
    thread_start(&consumer, consume, &stream);
    thread_start(&producer, produce, &stream);
    thread_join(&producer);
    thread_join(&consumer);
    check_equal(stream.received, stream.count);
    ilk_spsc_destroy(stream.ring);
}

/* Guarantee B: a third thread closes at any moment. What the producer was told went in comes out, and
 * nothing else. */
struct race {
    ilk_spsc *ring;
    pthread_barrier_t begin;
    uint64_t pushed, popped;
    int delay;
    int how;
};

static void produce_until_closed(void *context) {
    struct race *race = context;
    pthread_barrier_wait(&race->begin);
    for (uint64_t next = 0;; next++) {
        bool done;
        if (race->how == 0) {
            done = ilk_spsc_push_until(race->ring, &next, sizeof next, ILK_FOREVER) == ILK_CLOSED;
        } else if (race->how == 1) {
            uint64_t batch[3] = {next, next + 1, next + 2};
            size_t count = ilk_spsc_try_push_many(race->ring, batch, 3, sizeof *batch);
            done = count == 0 && ilk_spsc_is_closed(race->ring);
            race->pushed += count;
            next += count - 1;
        } else {
            size_t count = 2;
            uint64_t *slots = ilk_spsc_reserve(race->ring, &count);
            for (size_t i = 0; i < count; i++) {
                slots[i] = next + i;
            }
            done = slots == NULL && ilk_spsc_is_closed(race->ring);
            if (slots != NULL) {
                ilk_spsc_commit(race->ring, count);
            }
            race->pushed += count;
            next += count - 1;
        }
        if (done) {
            return;
        }
        race->pushed += race->how == 0 ? 1 : 0;
    }
}

static void consume_until_closed(void *context) {
    struct race *race = context;
    pthread_barrier_wait(&race->begin);
    uint64_t value;
    while (ilk_spsc_pop_until(race->ring, &value, sizeof value, ILK_FOREVER) == ILK_OK) {
        check_equal(value, race->popped);
        race->popped++;
    }
}

static void nothing_pushed_with_success_is_lost_to_a_racing_close(void **state) {
    (void)state;
    int rounds = stress_rounds(3000);
    for (int round = 0; round < rounds; round++) {
        struct race race = {.delay = round % 200, .how = round % 3};
        check_equal(ilk_spsc_create(&race.ring, 1 + (size_t)round % 5, sizeof(uint64_t)), ILK_OK);
        pthread_barrier_init(&race.begin, NULL, 3);
        struct thread producer, consumer;
        thread_start(&producer, produce_until_closed, &race);
        thread_start(&consumer, consume_until_closed, &race);
        pthread_barrier_wait(&race.begin);
        for (int i = 0; i < race.delay; i++) {
            ilk_cpu_relax();
        }
        ilk_spsc_close(race.ring);
        thread_join(&producer);
        thread_join(&consumer);
        check_equal(race.popped, race.pushed);
        check_equal(ilk_spsc_count(race.ring), 0);
        pthread_barrier_destroy(&race.begin);
        ilk_spsc_destroy(race.ring);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_capacity_is_honoured_exactly),
    cmocka_unit_test(elements_of_every_size_come_out_as_they_went_in),
    cmocka_unit_test(bad_sizes_are_invalid_and_write_nothing),
    cmocka_unit_test(destroying_none_does_nothing),
    cmocka_unit_test(a_ring_may_be_destroyed_with_elements_in_it),
    cmocka_unit_test(a_part_may_move_to_another_thread),
    cmocka_unit_test(batches_take_what_fits_in_order),
    cmocka_unit_test(batches_of_every_size_cross_the_end),
    cmocka_unit_test(back_off_grows_until_it_finds_much),
    cmocka_unit_test(a_batch_of_none_is_none),
    cmocka_unit_test(reserved_slots_are_pushed_by_commit),
    cmocka_unit_test(a_commit_may_push_fewer_or_none),
    cmocka_unit_test(reserving_again_answers_the_same_slots),
    cmocka_unit_test(peeked_elements_stay_until_released),
    cmocka_unit_test(a_peek_shows_no_more_than_wanted),
    cmocka_unit_test(what_a_release_leaves_may_be_released_or_popped),
    cmocka_unit_test(the_other_side_goes_on_beside_access_in_place),
    cmocka_unit_test(any_sequence_of_verbs_is_a_bounded_queue),
    cmocka_unit_test(a_waiting_pop_gets_the_element_pushed),
    cmocka_unit_test(a_waiting_push_gets_the_room_made),
    cmocka_unit_test(waits_time_out_and_not_early),
    cmocka_unit_test(signals_do_not_move_the_deadline),
    cmocka_unit_test(a_closed_ring_drains_and_takes_nothing_more),
    cmocka_unit_test(a_reservation_made_before_close_still_counts),
    cmocka_unit_test(a_reservation_does_not_grow_after_close),
    cmocka_unit_test(every_kind_of_pop_drains_a_closed_ring),
    cmocka_unit_test(closed_and_then_empty_is_drained_but_for_an_open_reservation),
    cmocka_unit_test(close_wakes_a_waiting_pop),
    cmocka_unit_test(close_wakes_a_waiting_push),
    cmocka_unit_test(a_waiting_pop_hears_that_the_last_reservation_was_given_up),
    cmocka_unit_test(a_stream_arrives_whole_and_in_order),
    cmocka_unit_test(no_wake_up_is_lost),
    cmocka_unit_test(nothing_pushed_with_success_is_lost_to_a_racing_close),
};

TEST_MAIN(tests)
