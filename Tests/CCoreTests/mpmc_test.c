/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc: exact capacities, order, batches, overwriting, in-place access, waiting, closing. Load is in
 * mpmc_stress_test.c.
 */
#include "ring/backoff.h"
#include "support/test.h"
#include <interlock/mpmc.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECONDS(count) ((uint64_t)(count)*1000000)

static const size_t capacities[] = {1, 2, 3, 4, 5, 7, 8, 63, 64, 100};
enum { CAPACITIES = sizeof capacities / sizeof *capacities };

typedef uint64_t item;

static ilk_mpmc *make(size_t capacity) {
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, capacity, sizeof(item)), ILK_OK);
    check_equal(ilk_mpmc_capacity(ring), capacity);
    return ring;
}

/* A ring whose next push goes into slot `start` of some later turn. */
static ilk_mpmc *make_from(size_t capacity, size_t start) {
    ilk_mpmc *ring = make(capacity);
    item zero = 0;
    for (size_t i = 0; i < capacity + start; i++) {
        check(ilk_mpmc_try_push(ring, &zero, sizeof zero));
        check(ilk_mpmc_try_pop(ring, &zero, sizeof zero));
    }
    return ring;
}

static bool push(ilk_mpmc *ring, item value) {
    return ilk_mpmc_try_push(ring, &value, sizeof value);
}

static void expect_pop(ilk_mpmc *ring, item value) {
    item popped = ~value;
    check(ilk_mpmc_try_pop(ring, &popped, sizeof popped));
    check_equal(popped, value);
}

static void expect_empty(ilk_mpmc *ring) {
    item popped = 12345;
    check(!ilk_mpmc_try_pop(ring, &popped, sizeof popped));
    check_equal(popped, 12345); /* untouched */
    check_equal(ilk_mpmc_count(ring), 0);
}

#define RING(verb) ilk_mpmc##verb
#include "support/both_rings.h"

/* ---- Capacity and order ---- */

static void every_capacity_is_honoured_exactly(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        ilk_mpmc *ring = make(capacity);
        item next_in = 0, next_out = 0;
        for (size_t round = 0; round < 2 * capacity + 3; round++) {
            for (size_t i = 0; i < capacity; i++) {
                check_equal(ilk_mpmc_count(ring), i);
                check(push(ring, next_in++));
            }
            check(!push(ring, 999));
            check_equal(ilk_mpmc_count(ring), capacity);
            for (size_t i = 0; i < capacity; i++) {
                expect_pop(ring, next_out++);
            }
            expect_empty(ring);
            check(push(ring, next_in++)); /* the next round starts one slot further */
            expect_pop(ring, next_out++);
        }
        ilk_mpmc_destroy(ring);
    }
}

static void elements_of_every_size_come_out_as_they_went_in(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 33, 200, 4096};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t size = sizes[s];
        ilk_mpmc *ring = NULL;
        check_equal(ilk_mpmc_create(&ring, 3, size), ILK_OK);
        unsigned char in[4096], out[4096];
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < 3; i++) {
                memset(in, round * 3 + i, size);
                check(ilk_mpmc_try_push(ring, in, size));
            }
            for (int i = 0; i < 3; i++) {
                memset(in, round * 3 + i, size);
                check(ilk_mpmc_try_pop(ring, out, size));
                assert_memory_equal(in, out, size);
            }
        }
        ilk_mpmc_destroy(ring);
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
                             {PTRDIFF_MAX / 8, 1},
                             {1, PTRDIFF_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ilk_mpmc *ring = (ilk_mpmc *)&ring;
        check_equal(ilk_mpmc_create(&ring, bad[i][0], bad[i][1]), ILK_INVALID);
        check(ring == (ilk_mpmc *)&ring);
    }
}

static void destroying_none_does_nothing(void **state) {
    (void)state;
    ilk_mpmc_destroy(NULL);
}

/* The elements left in a ring are freed with it, wherever they stand: that is no open claim. */
static void a_ring_may_be_destroyed_with_elements_in_it(void **state) {
    (void)state;
    for (size_t start = 0; start < 3; start++) {
        for (item count = 0; count <= 3; count++) {
            ilk_mpmc *ring = make_from(3, start);
            for (item i = 0; i < count; i++) {
                check(push(ring, i));
            }
            if (start == 1) {
                ilk_mpmc_close(ring);
            }
            ilk_mpmc_destroy(ring);
        }
    }
}

/* Positions are numbers that wrap one day: a ring made old is as good as a new one. */
static void positions_may_wrap(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        ilk_mpmc *ring = make(capacity);
        uint64_t turns_back = ring->lap_step * 2; /* two turns before the wrap */
        uint64_t start = 0 - turns_back;
        ilk_atomic_store(&ring->tail, start, memory_order_relaxed);
        ilk_atomic_store(&ring->head, start, memory_order_relaxed);
        for (size_t slot = 0; slot < capacity; slot++) {
            ilk_atomic_store(&ring->stamps[slot], start + slot * ILK__MPMC_STEP, memory_order_relaxed);
        }
        item next_in = 0, next_out = 0, evicted;
        for (size_t round = 0; round < 6; round++) {
            for (size_t i = 0; i < capacity; i++) {
                check(push(ring, next_in++));
                check_equal(ilk_mpmc_count(ring), i + 1);
            }
            check(!push(ring, 999));
            item value = next_in++;
            check(ilk_mpmc_push_overwriting(ring, &value, sizeof value, &evicted));
            check_equal(evicted, next_out++);
            for (size_t i = 0; i < capacity; i++) {
                expect_pop(ring, next_out++);
            }
            expect_empty(ring);
        }
        ilk_mpmc_destroy(ring);
    }
}

/* ---- Batches ---- */

static void batches_take_what_fits_in_order(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start<capacity; start += capacity> 10 ? 7 : 1) {
            for (size_t batch = 0; batch <= capacity + 2; batch++) {
                ilk_mpmc *ring = make_from(capacity, start);
                check(push(ring, 1000)); /* one is there already */
                item in[128], out[128];
                for (size_t i = 0; i < batch; i++) {
                    in[i] = i;
                }
                size_t fits = batch < capacity - 1 ? batch : capacity - 1;
                check_equal(ilk_mpmc_try_push_many(ring, in, batch, sizeof(item)), fits);
                check_equal(ilk_mpmc_count(ring), fits + 1);
                expect_pop(ring, 1000);
                check_equal(ilk_mpmc_try_pop_many(ring, out, batch, sizeof(item)), fits);
                assert_memory_equal(in, out, fits * sizeof(item));
                expect_empty(ring);
                ilk_mpmc_destroy(ring);
            }
        }
    }
}

/* Guarantee D: a batch stops at the first slot that someone is in the middle of. */
static void a_batch_stops_at_a_slot_in_progress(void **state) {
    (void)state;
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
    /* And the other way: 2 is being read, 3 has been; slots 3 and 0 are free, then comes the one of 2. */
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

/* ---- Overwriting ---- */

static void overwriting_evicts_the_oldest_and_only_when_full(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start<capacity; start += capacity> 10 ? 7 : 1) {
            ilk_mpmc *ring = make_from(capacity, start);
            item evicted = 777;
            for (item i = 0; i < capacity; i++) {
                check(!ilk_mpmc_push_overwriting(ring, &i, sizeof i, &evicted));
                check_equal(evicted, 777);
            }
            for (item i = capacity; i < 3 * capacity; i++) {
                check(ilk_mpmc_push_overwriting(ring, &i, sizeof i, &evicted));
                check_equal(evicted, i - capacity);
                check_equal(ilk_mpmc_count(ring), capacity);
            }
            for (item i = 2 * capacity; i < 3 * capacity; i++) {
                expect_pop(ring, i);
            }
            expect_empty(ring);
            ilk_mpmc_destroy(ring);
        }
    }
}

/* One buffer for what goes in and what comes out, of sizes below and above a piece of the exchange. */
static void overwriting_may_use_one_buffer(void **state) {
    (void)state;
    const size_t sizes[] = {1, 8, 63, 64, 65, 200};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t size = sizes[s];
        ilk_mpmc *ring = NULL;
        check_equal(ilk_mpmc_create(&ring, 2, size), ILK_OK);
        unsigned char buffer[200], expected[200];
        for (int i = 1; i <= 2; i++) {
            memset(buffer, i, size);
            check(!ilk_mpmc_push_overwriting(ring, buffer, size, buffer));
        }
        for (int i = 3; i <= 6; i++) {
            memset(buffer, i, size);
            check(ilk_mpmc_push_overwriting(ring, buffer, size, buffer));
            memset(expected, i - 2, size);
            assert_memory_equal(buffer, expected, size);
        }
        ilk_mpmc_close(ring);
        memset(buffer, 9, size);
        check(ilk_mpmc_push_overwriting(ring, buffer, size, buffer)); /* given back */
        memset(expected, 9, size);
        assert_memory_equal(buffer, expected, size);
        for (int i = 5; i <= 6; i++) {
            check(ilk_mpmc_try_pop(ring, buffer, size));
            memset(expected, i, size);
            assert_memory_equal(buffer, expected, size);
        }
        ilk_mpmc_destroy(ring);
    }
}

static void overwriting_a_closed_ring_gives_the_element_back(void **state) {
    (void)state;
    ilk_mpmc *ring = make(2);
    check(push(ring, 1));
    ilk_mpmc_close(ring);
    item value = 5, evicted = 0;
    check(ilk_mpmc_push_overwriting(ring, &value, sizeof value, &evicted));
    check_equal(evicted, 5);
    expect_pop(ring, 1);
    expect_empty(ring);
    ilk_mpmc_destroy(ring);
}

/* ---- In place ---- */

static void reserved_slots_are_pushed_by_commit(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start<capacity; start += capacity> 10 ? 7 : 1) {
            ilk_mpmc *ring = make_from(capacity, start);
            item next = 0;
            while (next < capacity) {
                size_t count = capacity + 5;
                item *slots = ilk_mpmc_reserve(ring, &count);
                check(slots != NULL && count >= 1 && count <= capacity - next);
                check(next == 0 || count == capacity - next); /* in at most two pieces */
                for (size_t i = 0; i < count; i++) {
                    slots[i] = next + i;
                }
                if (next == 0) {
                    item value;
                    check(!ilk_mpmc_try_pop(ring, &value, sizeof value)); /* not pushed yet */
                }
                for (size_t done = 0; done < count;) { /* in pieces of one and two */
                    size_t piece = done % 3 == 0 || count - done == 1 ? 1 : 2;
                    ilk_mpmc_commit(ring, piece);
                    done += piece;
                }
                next += count;
            }
            size_t count = 1;
            check(ilk_mpmc_reserve(ring, &count) == NULL);
            check_equal(count, 0);
            expect_pop(ring, 0);
            check(ilk_mpmc_reserve(ring, &count) == NULL); /* none wanted, though there is room */
            check_equal(count, 0);
            for (item i = 1; i < capacity; i++) {
                expect_pop(ring, i);
            }
            ilk_mpmc_destroy(ring);
        }
    }
}

static void shown_elements_are_read_in_place_and_released(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        size_t capacity = capacities[c];
        for (size_t start = 0; start<capacity; start += capacity> 10 ? 7 : 1) {
            ilk_mpmc *ring = make_from(capacity, start);
            size_t count = 0;
            check(ilk_mpmc_peek(ring, &count) == NULL);
            check_equal(count, 0);
            for (item i = 0; i < capacity; i++) {
                check(push(ring, i));
            }
            item next = 0;
            while (next < capacity) {
                count = 0; /* all there are */
                const item *shown = ilk_mpmc_peek(ring, &count);
                check(shown != NULL && count >= 1 && count <= capacity - next);
                for (size_t i = 0; i < count; i++) {
                    check_equal(shown[i], next + i);
                }
                if (next == 0) {
                    check(!push(ring, 999)); /* the slots are not free yet */
                }
                ilk_mpmc_release(ring, count - 1);
                ilk_mpmc_release(ring, 1);
                next += count;
            }
            expect_empty(ring);
            check(push(ring, 1));
            ilk_mpmc_destroy(ring);
        }
    }
}

/* Guarantee D as the header has it: a slot in progress hides a later one that is done. */
static void an_open_reservation_hides_what_comes_after_it(void **state) {
    (void)state;
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

static void a_thread_may_have_claims_on_several_rings(void **state) {
    (void)state;
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

/* One may be read and one written at the same time, in the same ring. */
static void a_thread_may_show_and_reserve_in_one_ring(void **state) {
    (void)state;
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

/* ---- Back-off: how long a call pauses that finds nothing ---- */

static uint32_t back_off_of(ILK_ATOMIC(uint32_t) * back_off) {
    return ilk_atomic_load(back_off, memory_order_relaxed);
}

static void back_off_grows_until_the_other_side_is_far_ahead(void **state) {
    (void)state;
    check_equal(mpmc_back_off(0, 0), 0);
    check_equal(mpmc_back_off(0, 1), 0); /* single elements: never */
    check_equal(mpmc_back_off(0, 2), 1);
    check_equal(mpmc_back_off(1, 2), 0); /* no more than one element a pause */
    check_equal(mpmc_back_off(1, 3), 1);
    check_equal(mpmc_back_off(31, 32), 0);
    check_equal(mpmc_back_off(31, 33), 31);
    const size_t capacity = 1024;
    check_equal(longer_back_off(1, capacity), 3);
    check_equal(longer_back_off(15, capacity), 31);
    check_equal(longer_back_off(31, capacity), 31); /* the longest */
    check_equal(longer_back_off(3, 64), 7);         /* a small ring fills soon */
    check_equal(longer_back_off(7, 64), 7);
    check_equal(far_enough(64), 16);
    check_equal(far_enough(capacity), 256);
    check_equal(far_enough(65536), 256);
}

/* The other side rests: a back-off finds nothing, and is the last. */
static void a_back_off_that_finds_nothing_is_the_last(void **state) {
    (void)state;
    ilk_mpmc *ring = make(128);
    for (item i = 0; i < 128; i++) {
        check(push(ring, i));
    }
    ilk_atomic_store(&ring->push_back_off, 7, memory_order_relaxed);
    check(!push(ring, 128));
    check_equal(back_off_of(&ring->push_back_off), 0);
    check_equal(ilk_atomic_load(&ring->push_miss, memory_order_relaxed), ring->lap_step);
    for (item i = 0; i < 128; i++) {
        expect_pop(ring, i);
    }
    ilk_atomic_store(&ring->pop_back_off, 7, memory_order_relaxed);
    expect_empty(ring);
    check_equal(back_off_of(&ring->pop_back_off), 0);
    check_equal(ilk_atomic_load(&ring->pop_miss, memory_order_relaxed), ring->lap_step);
    ilk_atomic_store(&ring->pop_back_off, 7, memory_order_relaxed);
    expect_empty(ring); /* the same miss again */
    check_equal(back_off_of(&ring->pop_back_off), 0);
    ilk_mpmc_destroy(ring);
}

/* A ring in which nobody can get ahead has no back-offs, whatever passed through it. */
static void small_rings_have_no_back_off(void **state) {
    (void)state;
    ilk_mpmc *ring = make(8);
    for (item turn = 0; turn < 3; turn++) {
        for (item i = 0; i < 8; i++) {
            check(push(ring, i));
        }
        check(!push(ring, 8));
        for (item i = 0; i < 8; i++) {
            expect_pop(ring, i);
        }
        expect_empty(ring);
        check_equal(ilk_atomic_load(&ring->pop_miss, memory_order_relaxed), 0);
        check_equal(ilk_atomic_load(&ring->push_miss, memory_order_relaxed), 0);
    }
    ilk_mpmc_destroy(ring);
}

static size_t group_mask(size_t capacity, size_t element_size) {
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, capacity, element_size), ILK_OK);
    size_t mask = ring->group_mask;
    ilk_mpmc_destroy(ring);
    return mask;
}

/* Groups are of some lines, and several of them make a ring; without, no slot is the first of one but 0. */
static void slots_are_fetched_ahead_in_groups(void **state) {
    (void)state;
    check_equal(group_mask(1024, 8), 63);
    check_equal(group_mask(1000, 8), 63);
    check_equal(group_mask(256, 8), 31);
    check_equal(group_mask(255, 8), SIZE_MAX); /* too small a ring */
    check_equal(group_mask(1024, 64), 7);
    check_equal(group_mask(64, 64), 7);
    check_equal(group_mask(1024, 65), SIZE_MAX); /* too large elements */
    check_equal(group_mask(1, 1), SIZE_MAX);
}

/* The last group of the ring is not whole: elements and batches go on across it. */
static void groups_that_are_not_whole_lose_nothing(void **state) {
    (void)state;
    const item capacity = 1000;
    ilk_mpmc *ring = make(capacity);
    item pushed = 0, popped = 0, batch[97];
    while (pushed < 5 * capacity) {
        for (int i = 0; i < 97; i++) {
            batch[i] = pushed + (item)i;
        }
        check_equal(ilk_mpmc_try_push_many(ring, batch, 97, sizeof(item)), 97);
        check(push(ring, pushed + 97));
        pushed += 98;
        for (; popped < pushed; popped++) {
            expect_pop(ring, popped);
        }
    }
    ilk_mpmc_destroy(ring);
}

/* ---- Waiting ---- */

struct side {
    ilk_mpmc *ring;
    item value;
    uint64_t deadline_ns;
    ilk_status status;
    struct thread thread;
};

static void push_and_wait(void *context) {
    struct side *self = context;
    self->status = ilk_mpmc_push_until(self->ring, &self->value, sizeof(item), self->deadline_ns);
}

static void pop_and_wait(void *context) {
    struct side *self = context;
    self->status = ilk_mpmc_pop_until(self->ring, &self->value, sizeof(item), self->deadline_ns);
}

static void start_side(struct side *side, ilk_mpmc *ring, thread_body *body, item value) {
    *side = (struct side){.ring = ring, .value = value, .deadline_ns = ILK_FOREVER};
    thread_start(&side->thread, body, side);
    thread_await_sleep(&side->thread);
}

static void waiting_pops_get_the_elements_pushed(void **state) {
    (void)state;
    enum { WAYS = 4, COUNT = 3 };
    for (int way = 0; way < WAYS; way++) {
        ilk_mpmc *ring = make(4);
        struct side consumers[COUNT];
        for (int i = 0; i < COUNT; i++) {
            start_side(&consumers[i], ring, pop_and_wait, 0);
        }
        const item values[COUNT] = {1, 2, 4};
        if (way == 0) {
            for (int i = 0; i < COUNT; i++) {
                check(push(ring, values[i]));
            }
        } else if (way == 1) {
            check_equal(ilk_mpmc_try_push_many(ring, values, COUNT, sizeof *values), COUNT);
        } else if (way == 2) {
            for (int i = 0; i < COUNT; i++) {
                item evicted;
                check(!ilk_mpmc_push_overwriting(ring, &values[i], sizeof values[i], &evicted));
            }
        } else {
            size_t count = COUNT;
            item *slots = ilk_mpmc_reserve(ring, &count);
            check_equal(count, COUNT);
            memcpy(slots, values, sizeof values);
            ilk_mpmc_commit(ring, COUNT);
        }
        item sum = 0;
        for (int i = 0; i < COUNT; i++) {
            thread_join(&consumers[i].thread);
            check_equal(consumers[i].status, ILK_OK);
            sum += consumers[i].value;
        }
        check_equal(sum, 7); /* each of them once */
        expect_empty(ring);
        ilk_mpmc_destroy(ring);
    }
}

static void waiting_pushes_get_the_room_made(void **state) {
    (void)state;
    enum { WAYS = 3, COUNT = 3 };
    for (int way = 0; way < WAYS; way++) {
        ilk_mpmc *ring = make(COUNT);
        for (int i = 0; i < COUNT; i++) {
            check(push(ring, 100));
        }
        struct side producers[COUNT];
        for (int i = 0; i < COUNT; i++) {
            start_side(&producers[i], ring, push_and_wait, (item)1 << i);
        }
        item values[COUNT];
        if (way == 0) {
            for (int i = 0; i < COUNT; i++) {
                expect_pop(ring, 100);
            }
        } else if (way == 1) {
            check_equal(ilk_mpmc_try_pop_many(ring, values, COUNT, sizeof *values), COUNT);
        } else {
            size_t count = COUNT;
            check(ilk_mpmc_peek(ring, &count) != NULL);
            check_equal(count, COUNT);
            ilk_mpmc_release(ring, COUNT);
        }
        for (int i = 0; i < COUNT; i++) {
            thread_join(&producers[i].thread);
            check_equal(producers[i].status, ILK_OK);
        }
        check_equal(ilk_mpmc_try_pop_many(ring, values, COUNT, sizeof *values), COUNT);
        check_equal(values[0] + values[1] + values[2], 7);
        ilk_mpmc_destroy(ring);
    }
}

static void waits_time_out_and_not_early(void **state) {
    (void)state;
    ilk_mpmc *ring = make(1);
    item value = 5;
    const uint64_t passed[] = {0, 1, ilk_now_ns()};
    for (int i = 0; i < 3; i++) {
        check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, passed[i]), ILK_TIMEDOUT);
    }
    uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(3));
    check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check_equal(ilk_mpmc_push_until(ring, &value, sizeof value, 0), ILK_OK); /* there is room */
    for (int i = 0; i < 3; i++) {
        check_equal(ilk_mpmc_push_until(ring, &value, sizeof value, passed[i]), ILK_TIMEDOUT);
    }
    deadline = ilk_deadline_in_ns(MILLISECONDS(3));
    check_equal(ilk_mpmc_push_until(ring, &value, sizeof value, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, 0), ILK_OK); /* there is one */
    check_equal(ilk_mpmc_count(ring), 0);
    ilk_mpmc_destroy(ring); /* nobody is taken for asleep */
}

static void signals_do_not_move_the_deadline(void **state) {
    (void)state;
    thread_allow_interrupts();
    for (int pushes = 0; pushes < 2; pushes++) {
        ilk_mpmc *ring = make(1);
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
        ilk_mpmc_destroy(ring);
    }
}

/* ---- Closing ---- */

static void a_closed_ring_drains_and_takes_nothing_more(void **state) {
    (void)state;
    ilk_mpmc *ring = make(4);
    check(push(ring, 1));
    check(push(ring, 2));
    check(!ilk_mpmc_is_closed(ring));
    ilk_mpmc_close(ring);
    ilk_mpmc_close(ring); /* twice does nothing more */
    check(ilk_mpmc_is_closed(ring));
    item value = 3;
    check(!push(ring, value));
    check_equal(ilk_mpmc_push_until(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    check_equal(ilk_mpmc_try_push_many(ring, &value, 1, sizeof value), 0);
    size_t count = 1;
    check(ilk_mpmc_reserve(ring, &count) == NULL);
    check_equal(count, 0);
    check_equal(ilk_mpmc_count(ring), 2);
    expect_pop(ring, 1);
    check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
    check_equal(value, 2);
    check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, 0), ILK_CLOSED);
    expect_empty(ring);
    ilk_mpmc_destroy(ring);
}

static void a_reservation_made_before_close_still_counts(void **state) {
    (void)state;
    ilk_mpmc *ring = make(4);
    size_t count = 2;
    item *slots = ilk_mpmc_reserve(ring, &count);
    check(slots != NULL);
    slots[0] = 7;
    slots[1] = 8;
    ilk_mpmc_close(ring);
    item value;
    check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, 0), ILK_TIMEDOUT); /* two follow */
    struct side consumer;
    start_side(&consumer, ring, pop_and_wait, 0);
    ilk_mpmc_commit(ring, 2);
    thread_join(&consumer.thread);
    check_equal(consumer.status, ILK_OK);
    check_equal(consumer.value, 7);
    expect_pop(ring, 8);
    check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
    ilk_mpmc_destroy(ring);
}

static void close_wakes_every_waiter(void **state) {
    (void)state;
    enum { COUNT = 4 };
    for (int pushes = 0; pushes < 2; pushes++) {
        ilk_mpmc *ring = make(1);
        if (pushes) {
            check(push(ring, 1));
        }
        struct side waiters[COUNT];
        for (int i = 0; i < COUNT; i++) {
            start_side(&waiters[i], ring, pushes ? push_and_wait : pop_and_wait, 2);
        }
        ilk_mpmc_close(ring);
        for (int i = 0; i < COUNT; i++) {
            thread_join(&waiters[i].thread);
            check_equal(waiters[i].status, ILK_CLOSED);
        }
        if (pushes) {
            expect_pop(ring, 1);
        }
        expect_empty(ring);
        ilk_mpmc_destroy(ring);
    }
}

/* The last element of a closed ring is taken by one consumer: the others must hear that nothing follows,
 * though close woke them before. */
static void the_last_pop_of_a_closed_ring_ends_the_other_waits(void **state) {
    (void)state;
    ilk_mpmc *ring = make(2);
    size_t count = 1;
    item *slot = ilk_mpmc_reserve(ring, &count);
    check(slot != NULL);
    *slot = 9;
    struct side consumers[3];
    for (int i = 0; i < 3; i++) {
        start_side(&consumers[i], ring, pop_and_wait, 0);
    }
    ilk_mpmc_close(ring);
    ilk_mpmc_commit(ring, 1);
    int got = 0;
    for (int i = 0; i < 3; i++) {
        thread_join(&consumers[i].thread);
        got += consumers[i].status == ILK_OK ? 1 : 0;
        check(consumers[i].status == ILK_OK || consumers[i].status == ILK_CLOSED);
    }
    check_equal(got, 1);
    ilk_mpmc_destroy(ring);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_capacity_is_honoured_exactly),
    cmocka_unit_test(elements_of_every_size_come_out_as_they_went_in),
    cmocka_unit_test(bad_sizes_are_invalid_and_write_nothing),
    cmocka_unit_test(destroying_none_does_nothing),
    cmocka_unit_test(a_ring_may_be_destroyed_with_elements_in_it),
    cmocka_unit_test(positions_may_wrap),
    cmocka_unit_test(batches_take_what_fits_in_order),
    cmocka_unit_test(batches_of_every_size_cross_the_end),
    cmocka_unit_test(any_sequence_of_verbs_is_a_bounded_queue),
    cmocka_unit_test(a_batch_stops_at_a_slot_in_progress),
    cmocka_unit_test(overwriting_evicts_the_oldest_and_only_when_full),
    cmocka_unit_test(overwriting_a_closed_ring_gives_the_element_back),
    cmocka_unit_test(overwriting_may_use_one_buffer),
    cmocka_unit_test(reserved_slots_are_pushed_by_commit),
    cmocka_unit_test(shown_elements_are_read_in_place_and_released),
    cmocka_unit_test(an_open_reservation_hides_what_comes_after_it),
    cmocka_unit_test(a_thread_may_have_claims_on_several_rings),
    cmocka_unit_test(a_thread_may_show_and_reserve_in_one_ring),
    cmocka_unit_test(back_off_grows_until_the_other_side_is_far_ahead),
    cmocka_unit_test(a_back_off_that_finds_nothing_is_the_last),
    cmocka_unit_test(small_rings_have_no_back_off),
    cmocka_unit_test(slots_are_fetched_ahead_in_groups),
    cmocka_unit_test(groups_that_are_not_whole_lose_nothing),
    cmocka_unit_test(waiting_pops_get_the_elements_pushed),
    cmocka_unit_test(waiting_pushes_get_the_room_made),
    cmocka_unit_test(waits_time_out_and_not_early),
    cmocka_unit_test(signals_do_not_move_the_deadline),
    cmocka_unit_test(a_closed_ring_drains_and_takes_nothing_more),
    cmocka_unit_test(a_reservation_made_before_close_still_counts),
    cmocka_unit_test(every_kind_of_pop_drains_a_closed_ring),
    cmocka_unit_test(close_wakes_every_waiter),
    cmocka_unit_test(the_last_pop_of_a_closed_ring_ends_the_other_waits),
};

TEST_MAIN(tests)
