/* SPDX-License-Identifier: Apache-2.0
 *
 * What shows only after long use or with many threads: counters about to wrap, at 2^32 and at 2^64; closings
 * by the million beside pushes; 64 threads on however few cores there are.
 */
#include "support/test.h"
#include <interlock/barrier.h>
#include <interlock/mpmc.h>
#include <interlock/mutex.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <sched.h>

typedef uint64_t item;

static const size_t capacities[] = {1, 2, 3, 4, 7, 8, 64, 100};
enum { CAPACITIES = sizeof capacities / sizeof *capacities };

/* ---- Counters that wrap ---- */

/* A ring as it would be after `start` elements. */
static ilk_spsc *make_old_spsc(size_t capacity, uint64_t start) {
    ilk_spsc *ring = NULL;
    check_equal(ilk_spsc_create(&ring, capacity, sizeof(item)), ILK_OK);
    ilk_atomic_store(&ring->tail, start, memory_order_relaxed);
    ilk_atomic_store(&ring->head, start, memory_order_relaxed);
    ring->head_seen = start;
    ring->tail_seen = start;
    return ring;
}

/* Fills the ring and empties it in every way, three times round. */
static void use_spsc(ilk_spsc *ring, size_t capacity) {
    item next_in = 0, next_out = 0, elements[100], value;
    for (int round = 0; round < 3; round++) {
        for (size_t count = 1; count <= capacity; count++) {
            check(ilk_spsc_try_push(ring, &next_in, sizeof next_in));
            next_in++;
            check_equal(ilk_spsc_count(ring), count);
        }
        check(!ilk_spsc_try_push(ring, &next_in, sizeof next_in));
        for (size_t count = capacity; count > 0; count--) {
            check(ilk_spsc_try_pop(ring, &value, sizeof value));
            check_equal(value, next_out++);
        }
        check(!ilk_spsc_try_pop(ring, &value, sizeof value));
        for (size_t i = 0; i < capacity; i++) {
            elements[i] = next_in++;
        }
        check_equal(ilk_spsc_try_push_many(ring, elements, capacity, sizeof *elements), capacity);
        check_equal(ilk_spsc_try_push_many(ring, elements, 1, sizeof *elements), 0);
        for (size_t shown; shown = 0, ilk_spsc_peek(ring, &shown) != NULL;) {
            const item *first = ilk_spsc_peek(ring, &shown);
            check_equal(*first, next_out);
            next_out += shown;
            ilk_spsc_release(ring, shown);
        }
        check_equal(next_out, next_in);
        size_t one = 1;
        item *slot = ilk_spsc_reserve(ring, &one);
        check(slot != NULL);
        *slot = next_in++;
        ilk_spsc_commit(ring, 1);
        check_equal(ilk_spsc_try_pop_many(ring, elements, capacity, sizeof *elements), 1);
        check_equal(elements[0], next_out++);
    }
}

static void spsc_counters_may_wrap(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        const uint64_t starts[] = {(UINT64_C(1) << 32) - capacities[c], 0 - (uint64_t)capacities[c],
                                   (UINT64_C(1) << 32) - 1, UINT64_MAX};
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
            ilk_spsc *ring = make_old_spsc(capacities[c], starts[i]);
            use_spsc(ring, capacities[c]);
            ilk_spsc_destroy(ring);
        }
    }
}

/* A ring as it would be so many turns before its positions reach `end`. */
static ilk_mpmc *make_old_mpmc(size_t capacity, uint64_t end, uint64_t turns) {
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, capacity, sizeof(item)), ILK_OK);
    const uint64_t start = end - turns * ring->lap_step;
    ilk_atomic_store(&ring->tail, start, memory_order_relaxed);
    ilk_atomic_store(&ring->head, start, memory_order_relaxed);
    for (size_t slot = 0; slot < capacity; slot++) {
        ilk_atomic_store(&ring->stamps[slot], start + slot * ILK__MPMC_STEP, memory_order_relaxed);
    }
    return ring;
}

static void mpmc_positions_may_pass_32_bits(void **state) {
    (void)state;
    for (int c = 0; c < CAPACITIES; c++) {
        const size_t capacity = capacities[c];
        ilk_mpmc *ring = make_old_mpmc(capacity, UINT64_C(1) << 32, 2);
        item next_in = 0, next_out = 0, elements[100];
        for (int round = 0; round < 5; round++) {
            for (size_t i = 0; i < capacity; i++) {
                elements[i] = next_in++;
            }
            check_equal(ilk_mpmc_try_push_many(ring, elements, capacity, sizeof *elements), capacity);
            check_equal(ilk_mpmc_count(ring), capacity);
            check_equal(ilk_mpmc_try_push_many(ring, elements, 1, sizeof *elements), 0);
            check_equal(ilk_mpmc_try_pop_many(ring, elements, capacity, sizeof *elements), capacity);
            for (size_t i = 0; i < capacity; i++) {
                check_equal(elements[i], next_out++);
            }
        }
        ilk_mpmc_destroy(ring);
    }
}

/* Every number of elements carried across the wrap: one counter has passed it, the other not yet. */
static void counters_may_wrap_with_elements_between_them(void **state) {
    (void)state;
    const uint64_t ends[] = {UINT64_C(1) << 32, 0};
    for (int c = 0; c < CAPACITIES; c++) {
        const size_t capacity = capacities[c];
        for (size_t i = 0; i < 2 * capacity; i++) {
            const uint64_t end = ends[i % 2];
            const size_t level = i / 2 + 1; /* elements in the ring */
            ilk_spsc *spsc = make_old_spsc(capacity, end - 2 * capacity);
            ilk_mpmc *mpmc = make_old_mpmc(capacity, end, 2);
            for (item next = 0, value; next < 5 * capacity; next++) {
                if (next >= level) {
                    check(ilk_spsc_try_pop(spsc, &value, sizeof value));
                    check_equal(value, next - level);
                    check(ilk_mpmc_try_pop(mpmc, &value, sizeof value));
                    check_equal(value, next - level);
                }
                check(ilk_spsc_try_push(spsc, &next, sizeof next));
                check(ilk_mpmc_try_push(mpmc, &next, sizeof next));
                const size_t count = next < level ? next + 1 : level;
                check_equal(ilk_spsc_count(spsc), count);
                check_equal(ilk_mpmc_count(mpmc), count);
            }
            ilk_spsc_destroy(spsc);
            ilk_mpmc_destroy(mpmc);
        }
    }
}

/* The same with both sides at work, and asleep, while the counters wrap. */
enum { STREAM = 20000 };

static void push_spsc_stream(void *ring) {
    for (item next = 0; next < STREAM; next++) {
        check_equal(ilk_spsc_push_until(ring, &next, sizeof next, ILK_FOREVER), ILK_OK);
    }
}

static void pop_spsc_stream(void *ring) {
    for (item expected = 0, value; expected < STREAM; expected++) {
        check_equal(ilk_spsc_pop_until(ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
        check_equal(value, expected);
    }
}

static void push_mpmc_stream(void *ring) {
    for (item next = 0; next < STREAM; next++) {
        check_equal(ilk_mpmc_push_until(ring, &next, sizeof next, ILK_FOREVER), ILK_OK);
    }
}

static void pop_mpmc_stream(void *ring) {
    for (item expected = 0, value; expected < STREAM; expected++) {
        check_equal(ilk_mpmc_pop_until(ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
        check_equal(value, expected);
    }
}

static void stream(void *ring, thread_body *push, thread_body *pop) {
    struct thread producer, consumer;
    thread_start(&consumer, pop, ring);
    thread_start(&producer, push, ring);
    thread_join(&producer);
    thread_join(&consumer);
}

static void counters_may_wrap_beside_the_other_side(void **state) {
    (void)state;
    const uint64_t ends[] = {UINT64_C(1) << 32, 0};
    for (int c = 0; c < CAPACITIES; c++) {
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            ilk_spsc *spsc = make_old_spsc(capacities[c], ends[i] - STREAM / 2);
            stream(spsc, push_spsc_stream, pop_spsc_stream);
            check_equal(ilk_atomic_load(&spsc->head, memory_order_relaxed), ends[i] + STREAM / 2);
            ilk_spsc_destroy(spsc);
            ilk_mpmc *mpmc = make_old_mpmc(capacities[c], ends[i], STREAM / 2 / capacities[c]);
            stream(mpmc, push_mpmc_stream, pop_mpmc_stream);
            check((int64_t)(ilk_atomic_load(&mpmc->head, memory_order_relaxed) - ends[i]) > 0);
            ilk_mpmc_destroy(mpmc);
        }
    }
}

enum { SLEEPS = 6 };

static void pop_often(void *context) {
    for (item expected = 0; expected < SLEEPS; expected++) {
        item value;
        check_equal(ilk_mpmc_pop_until(context, &value, sizeof value, ILK_FOREVER), ILK_OK);
        check_equal(value, expected);
    }
}

/*   popper                           this thread
 *   sleeps on the gate at 2^32 - 4
 *                                    pushes: the gate goes two steps, 2^32 - 2
 *   pops, sleeps
 *                                    pushes: 0, and so on                        */
static void wake_ups_may_wrap(void **state) {
    (void)state;
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, 1, sizeof(item)), ILK_OK);
    ilk_atomic_store(&ring->not_empty, UINT32_MAX - 3, memory_order_relaxed);
    struct thread popper;
    thread_start(&popper, pop_often, ring);
    for (item value = 0; value < SLEEPS; value++) {
        thread_await_sleep(&popper);
        check(ilk_mpmc_try_push(ring, &value, sizeof value));
        while (ilk_mpmc_count(ring) > 0) { /* or it would seem to sleep still */
            (void)sched_yield();
        }
    }
    thread_join(&popper);
    check_equal(ilk_atomic_load(&ring->not_empty, memory_order_relaxed) % 2, 0);
    check(ilk_atomic_load(&ring->not_empty, memory_order_relaxed) < 2 * SLEEPS);
    ilk_mpmc_destroy(ring);
}

/* ---- Closings ---- */

/* A kind of ring, for two threads or for many. */
struct kind {
    ilk_status (*create)(void **ring, size_t capacity);
    void (*destroy)(void *ring);
    bool (*push)(void *ring, const item *element);
    bool (*pop)(void *ring, item *element);
    ilk_status (*wait)(void *ring, item *element);
    void (*close)(void *ring);
    bool (*is_closed)(void *ring);
};

#define KIND(name)                                                                                           \
    static ilk_status name##_create(void **ring, size_t capacity) {                                          \
        ilk_##name *made = NULL;                                                                             \
        ilk_status status = ilk_##name##_create(&made, capacity, sizeof(item));                              \
        *ring = made;                                                                                        \
        return status;                                                                                       \
    }                                                                                                        \
    static void name##_destroy(void *ring) {                                                                 \
        ilk_##name##_destroy(ring);                                                                          \
    }                                                                                                        \
    static bool name##_push(void *ring, const item *element) {                                               \
        return ilk_##name##_try_push(ring, element, sizeof *element);                                        \
    }                                                                                                        \
    static bool name##_pop(void *ring, item *element) {                                                      \
        return ilk_##name##_try_pop(ring, element, sizeof *element);                                         \
    }                                                                                                        \
    static ilk_status name##_wait(void *ring, item *element) {                                               \
        return ilk_##name##_pop_until(ring, element, sizeof *element, ILK_FOREVER);                          \
    }                                                                                                        \
    static void name##_close(void *ring) {                                                                   \
        ilk_##name##_close(ring);                                                                            \
    }                                                                                                        \
    static bool name##_is_closed(void *ring) {                                                               \
        return ilk_##name##_is_closed(ring);                                                                 \
    }                                                                                                        \
    static const struct kind name##_kind = {name##_create, name##_destroy, name##_push,     name##_pop,      \
                                            name##_wait,   name##_close,   name##_is_closed}

KIND(mpmc);
KIND(spsc);

/* One thread pushes as long as it may; the other pops, closes at any moment, and drains. Both go through
 * one ring after the other, in step. */
struct closings {
    const struct kind *kind;
    int rounds;
    ILK_ATOMIC(void *) ring; /* to push to */
    ILK_ATOMIC(int) done;    /* rounds whose pushing has ended */
    uint64_t pushed;         /* in the last of them */
};

static void recheck(int *turn) {
    if (++*turn % 256 == 0) {
        (void)sched_yield();
    } else {
        ilk_cpu_relax();
    }
}

static void push_while_open(void *context) {
    struct closings *closings = context;
    void *last = NULL;
    for (int round = 1; round <= closings->rounds; round++) {
        void *ring;
        for (int turn = 0; (ring = ilk_atomic_load(&closings->ring, memory_order_acquire)) == last;) {
            recheck(&turn);
        }
        last = ring;
        closings->pushed = 0;
        for (int turn = 0;;) {
            bool closed =
                closings->kind->is_closed(ring); /* asked before: a push after that cannot succeed */
            item value = closings->pushed;
            if (closings->kind->push(ring, &value)) {
                check(!closed);
                closings->pushed++;
            } else if (closed) {
                break;
            } else {
                recheck(&turn);
            }
        }
        ilk_atomic_store(&closings->done, round, memory_order_release);
    }
}

static void await_pushes(struct closings *closings, int round) {
    for (int turn = 0; ilk_atomic_load(&closings->done, memory_order_acquire) < round;) {
        recheck(&turn);
    }
}

/* Two rings at a time, so that each differs from the one before: new memory may lie where the old one did. */
static void closings_lose_nothing(const struct kind *kind, int rounds) {
    struct closings closings = {.kind = kind, .rounds = stress_rounds(rounds)};
    uint32_t random = 7;
    struct thread pusher;
    void *before = NULL;
    thread_start(&pusher, push_while_open, &closings);
    for (int round = 1; round <= closings.rounds; round++) {
        void *ring = NULL;
        check_equal(kind->create(&ring, 1 + next_random(&random) % 4), ILK_OK);
        kind->destroy(before);
        ilk_atomic_store(&closings.ring, ring, memory_order_release);
        item popped = 0, value;
        for (uint32_t pops = next_random(&random) % 64; pops > 0; pops--) {
            popped += kind->pop(ring, &value) ? 1 : 0;
        }
        kind->close(ring);
        while (kind->wait(ring, &value) == ILK_OK) {
            check_equal(value, popped);
            popped++;
        }
        await_pushes(&closings, round);
        check_equal(popped, closings.pushed);
        before = ring;
    }
    thread_join(&pusher);
    kind->destroy(before);
}

/* A million; where threads park in the table, which a closing has nothing to do with, a tenth of that. Each
 * closing of a ring for two threads interrupts the pusher (membarrier): that is what takes the time. */
#ifdef ILK_TEST_FEWER_CLOSINGS
enum { CLOSINGS = 100000 };
#else
enum { CLOSINGS = 1000000 };
#endif

static void a_million_closings_of_mpmc_lose_nothing(void **state) {
    (void)state;
    closings_lose_nothing(&mpmc_kind, CLOSINGS);
}

static void a_million_closings_of_spsc_lose_nothing(void **state) {
    (void)state;
    closings_lose_nothing(&spsc_kind, CLOSINGS);
}

/* ---- Many threads ---- */

enum { CROWD = 64 };

struct crowd {
    ilk_mpmc *ring;
    ilk_semaphore semaphore;
    ilk_mutex mutex;
    ilk_barrier barrier;
    uint64_t locked; /* by the semaphore */
    uint64_t owned;  /* by the mutex */
    ILK_ATOMIC(uint64_t) sum_in, sum_out;
    int rounds;
};

struct member {
    struct crowd *crowd;
    int index;
};

/* Everyone passes elements on, half of them each way, and takes the locks; then all meet. */
static void take_part(void *context) {
    const struct member *self = context;
    struct crowd *crowd = self->crowd;
    uint64_t sum = 0;
    for (int round = 1; round <= crowd->rounds; round++) {
        item value = (item)round * CROWD + (item)self->index;
        if (self->index % 2 == 0) {
            check_equal(ilk_mpmc_push_until(crowd->ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
        } else {
            check_equal(ilk_mpmc_pop_until(crowd->ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
        }
        sum += value;
        ilk_semaphore_wait(&crowd->semaphore);
        crowd->locked++;
        ilk_semaphore_signal(&crowd->semaphore, 1);
        ilk_mutex_lock(&crowd->mutex);
        crowd->owned++;
        ilk_mutex_unlock(&crowd->mutex);
        if (round % 16 == 0) {
            (void)ilk_barrier_wait(&crowd->barrier);
        }
    }
    ilk_atomic_fetch_add(self->index % 2 == 0 ? &crowd->sum_in : &crowd->sum_out, sum, memory_order_relaxed);
}

static void sixty_four_threads_all_get_on(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 8, 1000};
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        struct crowd crowd = {.rounds = stress_rounds(400)};
        check_equal(ilk_mpmc_create(&crowd.ring, sizes[size], sizeof(item)), ILK_OK);
        ilk_semaphore_init(&crowd.semaphore, 1);
        ilk_mutex_init(&crowd.mutex, false);
        ilk_barrier_init(&crowd.barrier, CROWD);
        struct member members[CROWD];
        for (int i = 0; i < CROWD; i++) {
            members[i] = (struct member){&crowd, i};
        }
        threads_run(CROWD, take_part, members, sizeof *members);
        check_equal(crowd.locked, (uint64_t)CROWD * (uint64_t)crowd.rounds);
        check_equal(crowd.owned, crowd.locked);
        check_equal(ilk_atomic_load(&crowd.sum_out, memory_order_relaxed),
                    ilk_atomic_load(&crowd.sum_in, memory_order_relaxed));
        ilk_semaphore_destroy(&crowd.semaphore);
        ilk_mpmc_destroy(crowd.ring);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(spsc_counters_may_wrap),
    cmocka_unit_test(mpmc_positions_may_pass_32_bits),
    cmocka_unit_test(counters_may_wrap_with_elements_between_them),
    cmocka_unit_test(counters_may_wrap_beside_the_other_side),
    cmocka_unit_test(wake_ups_may_wrap),
    cmocka_unit_test(a_million_closings_of_mpmc_lose_nothing),
    cmocka_unit_test(a_million_closings_of_spsc_lose_nothing),
    cmocka_unit_test(sixty_four_threads_all_get_on),
};

TEST_MAIN(tests)
