/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc under the explorer: pushes and pops from two and three threads, waiting, closing, batches,
 * in place and overwriting, against a bounded queue that may answer full or empty beside an operation
 * in progress (guarantee D of <interlock/mpmc.h>).
 */
#include "../explorer.h"
#include "../history/models.h"
#include <interlock/inline/fence.h>
#include <interlock/mpmc.h>

static struct {
    ilk_mpmc *ring;
    ex_queue_parameters queue;
    uint32_t work;
} s;

static void begin(unsigned capacity, bool membarrier) {
    ex_history_reset();
    ilk__membarrier_works = membarrier;
    s.queue = (ex_queue_parameters){.capacity = capacity, .inexact = true};
    ex_assert(ilk_mpmc_create(&s.ring, capacity, sizeof(uint64_t)) == ILK_OK);
}
static void setup_1(void) {
    begin(1, true);
}
static void setup_2(void) {
    begin(2, true);
}
static void setup_3(void) {
    begin(3, true);
}
static void setup_refused(void) {
    begin(1, false);
}

/* At the end nobody is halfway: what is left must come out, in order, and then nothing. */
static void check(void) {
    uint64_t element = 0;
    for (;;) {
        size_t operation = ex_begin(EX_POP, 0);
        bool popped = ilk_mpmc_try_pop(s.ring, &element, sizeof element);
        ex_end(operation, popped ? element : EX_EMPTY);
        if (!popped) {
            break;
        }
    }
    ex_history_check(&ex_bounded_queue, &s.queue);
    ilk_mpmc_destroy(s.ring);
}

/* Elements tell who pushed them: tens for the thread. */
static void push_element(uint64_t element, int how) {
    size_t operation = ex_begin(EX_PUSH, element);
    ilk_status status;
    if (how == 0) {
        status = ilk_mpmc_try_push(s.ring, &element, sizeof element) ? ILK_OK : ILK_TIMEDOUT;
    } else {
        status = ilk_mpmc_push_until(s.ring, &element, sizeof element, how == 1 ? ILK_FOREVER : 5000);
    }
    ex_end(operation, status == ILK_OK ? EX_DONE : status == ILK_CLOSED ? EX_CLOSED : EX_REFUSED);
}

static void setup_three_elements(void) {
    setup_3();
    push_element(1, 0);
    push_element(2, 0);
    push_element(3, 0);
}

static uint64_t mine(uint64_t number) {
    return 10 * ex_thread_index() + number;
}

static void try_push(void) {
    push_element(mine(1), 0);
}
static void push(void) {
    push_element(mine(1), 1);
}
static void push_until(void) {
    push_element(mine(1), 2);
}
static void try_push_twice(void) {
    push_element(mine(1), 0);
    push_element(mine(2), 0);
}
static void push_twice(void) {
    push_element(mine(1), 1);
    push_element(mine(2), 1);
}
static void push_thrice(void) {
    push_twice();
    push_element(mine(3), 1);
}

static void try_pop(void) {
    uint64_t element = 0;
    size_t operation = ex_begin(EX_POP, 0);
    bool popped = ilk_mpmc_try_pop(s.ring, &element, sizeof element);
    ex_end(operation, popped ? element : EX_EMPTY);
}
static void try_pop_twice(void) {
    try_pop();
    try_pop();
}

static ilk_status pop_by(uint64_t deadline) {
    uint64_t element = 0;
    size_t operation = ex_begin(EX_POP, 0);
    ilk_status status = ilk_mpmc_pop_until(s.ring, &element, sizeof element, deadline);
    ex_end(operation, status == ILK_OK ? element : status == ILK_CLOSED ? EX_DRAINED : EX_TIMEDOUT);
    return status;
}
static void pop(void) {
    (void)pop_by(ILK_FOREVER);
}
static void pop_until(void) {
    (void)pop_by(5000);
}
static void pop_twice(void) {
    pop();
    pop();
}
static void pop_thrice(void) {
    pop_twice();
    pop();
}
static void pop_then_until(void) {
    pop();
    pop_until();
}
static void drain(void) {
    while (pop_by(ILK_FOREVER) == ILK_OK) {
    }
}

static void close_ring(void) {
    size_t operation = ex_begin(EX_CLOSE, 0);
    ilk_mpmc_close(s.ring);
    ex_end(operation, EX_DONE);
}

/* A claim open across the close: both poppers find the ring closed and not drained, and sleep again. */
static void reserve_close_commit(void) {
    size_t count = 1;
    uint64_t element = mine(1);
    size_t operation = ex_begin(EX_PUSH, element);
    uint64_t *slot = ilk_mpmc_reserve(s.ring, &count);
    ex_assert(slot != NULL);
    close_ring();
    ilk_plain_write(slot, sizeof *slot);
    *slot = element;
    ilk_mpmc_commit(s.ring, 1);
    ex_end(operation, EX_DONE);
}

static void push_overwriting(void) {
    uint64_t element = mine(5), evicted = 0;
    size_t operation = ex_begin(EX_OVERWRITE, element);
    bool evicts = ilk_mpmc_push_overwriting(s.ring, &element, sizeof element, &evicted);
    ex_end(operation, evicts ? evicted : EX_DONE);
}
static void push_overwriting_twice(void) {
    push_overwriting();
    uint64_t element = mine(6), evicted = 0;
    size_t operation = ex_begin(EX_OVERWRITE, element);
    bool evicts = ilk_mpmc_push_overwriting(s.ring, &element, sizeof element, &evicted);
    ex_end(operation, evicts ? evicted : EX_DONE);
}

static void push_two_at_once(void) {
    uint64_t elements[2] = {mine(1), mine(2)};
    size_t first = ex_begin(EX_PUSH, elements[0]);
    size_t second = ex_begin(EX_PUSH, elements[1]);
    size_t pushed = ilk_mpmc_try_push_many(s.ring, elements, 2, sizeof elements[0]);
    ex_end(first, pushed > 0 ? EX_DONE : EX_REFUSED);
    ex_end(second, pushed > 1 ? EX_DONE : EX_REFUSED);
}

/* In a ring of two the third goes where a batch has been read. */
static void push_two_then_one(void) {
    push_two_at_once();
    push_element(mine(3), 0);
}
static bool pop_two_at_once(void) {
    uint64_t elements[2];
    size_t first = ex_begin(EX_POP, 0);
    size_t second = ex_begin(EX_POP, 0);
    size_t popped = ilk_mpmc_try_pop_many(s.ring, elements, 2, sizeof elements[0]);
    ex_end(first, popped > 0 ? elements[0] : EX_EMPTY);
    ex_end(second, popped > 1 ? elements[1] : EX_EMPTY);
    return popped > 0;
}
static void pop_batch(void) {
    (void)pop_two_at_once();
}

static void push_in_place(void) {
    size_t count = 1;
    uint64_t element = mine(1);
    size_t operation = ex_begin(EX_PUSH, element);
    uint64_t *slot = ilk_mpmc_reserve(s.ring, &count);
    if (slot != NULL) {
        ilk_plain_write(slot, sizeof *slot);
        *slot = element;
        ilk_mpmc_commit(s.ring, 1);
    }
    ex_end(operation, slot != NULL ? EX_DONE : EX_REFUSED);
}

/* In a ring of one the second goes where the first has been read. */
static void push_in_place_then_one(void) {
    push_in_place();
    push_element(mine(2), 0);
}
static bool take_in_place(void) {
    size_t count = 1;
    size_t operation = ex_begin(EX_POP, 0);
    const uint64_t *slot = ilk_mpmc_peek(s.ring, &count);
    uint64_t element = EX_EMPTY;
    if (slot != NULL) {
        ilk_plain_read(slot, sizeof *slot);
        element = *slot;
        ilk_mpmc_release(s.ring, 1);
    }
    ex_end(operation, element);
    return slot != NULL;
}
static void pop_in_place(void) {
    (void)take_in_place();
}

/* Calls that do not wait, until they find something: what a pusher sleeps for is theirs to give. */
static void batch_till_found(void) {
    while (!pop_two_at_once()) {
        ilk_cpu_relax();
    }
}
static void in_place_till_found(void) {
    while (!take_in_place()) {
        ilk_cpu_relax();
    }
}
static void pop_until_twice(void) {
    pop_until();
    pop_until();
}
static void push_until_twice(void) {
    push_element(mine(1), 2);
    push_element(mine(2), 2);
}
static void batch_then_drain(void) {
    pop_batch();
    drain();
}
static void in_place_then_drain(void) {
    pop_in_place();
    drain();
}

#define RING(identifier, text, is_patient, start, ...)                                                       \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "mpmc-" text, .claim = "a bounded queue, and nobody sleeps through what he waits for",       \
        .setup = start, .threads = {__VA_ARGS__}, .check = check, .timeouts = 1, .spurious_wakeups = 1,      \
        .patient = is_patient                                                                                \
    }
#define SCENARIO(identifier, text, ...) RING(identifier, text, false, __VA_ARGS__)
/* For the large budgets, and for mutants. */
#define PATIENT(identifier, text, ...) RING(identifier, text, true, __VA_ARGS__)

SCENARIO(push_pop, "try_push-try_pop", setup_1, try_push_twice, try_pop_twice);
SCENARIO(push_pop_2, "try_push-try_pop-capacity-2", setup_2, try_push_twice, try_pop_twice);
SCENARIO(push_push, "try_push-try_push", setup_2, try_push_twice, try_push_twice);
SCENARIO(push_push_1, "try_push-try_push-capacity-1", setup_1, try_push_twice, try_push_twice);
/*   one that pops once (or pushes)       one that pops twice
 *   reads head = 0
 *                                        pops at 0
 *   slot 0 is not full; reads head = 1
 *                                        pops at 1
 *   slot 1 is not full: "empty" would be an answer from a stale head, for there is an element at 2  */
SCENARIO(pop_pop_3, "try_pop-try_pop-three-elements", setup_three_elements, try_pop_twice, try_pop);
SCENARIO(push_push_3, "try_push-try_push-capacity-3", setup_3, try_push_twice, try_push);
SCENARIO(batch_pop_3, "pop_many-try_pop-three-elements", setup_three_elements, pop_batch, try_pop);
SCENARIO(batch_push_3, "push_many-try_push-capacity-3", setup_3, push_two_at_once, try_push);
SCENARIO(wait_wait, "push-pop", setup_1, push_twice, pop_twice);
SCENARIO(wait_wait_refused, "push-pop-membarrier-refused", setup_refused, push_twice, pop_twice);
/* Long enough to sleep behind the FENCED of an earlier sleep, and beside the one who takes it down. */
SCENARIO(wait_often, "push_thrice-pop_thrice", setup_1, push_thrice, pop_thrice);
SCENARIO(wait_often_two, "push_thrice-pop_twice-pop", setup_2, push_thrice, pop_twice, pop);
SCENARIO(until, "push_until-pop_until", setup_1, push_until, pop_until);
SCENARIO(batches, "push_many-pop_many", setup_3, push_two_at_once, pop_batch);
SCENARIO(batch_batch, "push_many-push_many-pop", setup_3, push_two_at_once, push_two_at_once, try_pop);
SCENARIO(batch_wraps, "push_many_push-pop_many", setup_2, push_two_then_one, pop_batch);
SCENARIO(in_place, "reserve-peek", setup_1, push_in_place, pop_in_place);
SCENARIO(in_place_wraps, "reserve_push-peek", setup_1, push_in_place_then_one, pop_in_place);
SCENARIO(in_place_3, "reserve-peek-push", setup_2, push_in_place, pop_in_place, try_push);
SCENARIO(close_drain, "push-drain-close", setup_1, push, drain, close_ring);
SCENARIO(close_two_drain, "drain-drain-push_close", setup_1, drain, drain, close_ring);
SCENARIO(close_reserved, "drain-drain-reserve_close_commit", setup_1, drain, drain, reserve_close_commit);
SCENARIO(close_try, "try_push-drain-close", setup_2, try_push_twice, drain, close_ring);
SCENARIO(close_full, "push-close", setup_1, push_twice, close_ring);
SCENARIO(three_try, "try_push-try_push-try_pop", setup_1, try_push, try_push, try_pop_twice);
SCENARIO(three_pop, "try_push-try_pop-try_pop", setup_2, try_push_twice, try_pop, try_pop);
SCENARIO(two_poppers, "push-pop-pop", setup_1, push_twice, pop, pop);
SCENARIO(two_pushers, "push-push-pop", setup_1, push, push, pop_twice);
SCENARIO(pass_on, "pop_until-pop-push", setup_2, pop_until, pop, push_twice);
SCENARIO(pass_on_push, "push_until-push-pop", setup_1, push_until, push, pop_then_until);
SCENARIO(overwrite_pop, "overwrite-try_pop", setup_1, push_overwriting_twice, try_pop_twice);
SCENARIO(overwrite_pop_2, "overwrite-try_pop-capacity-2", setup_2, push_overwriting_twice, try_pop_twice);
SCENARIO(overwrite_overwrite, "overwrite-overwrite", setup_1, push_overwriting, push_overwriting_twice);
SCENARIO(overwrite_push, "overwrite-push-pop", setup_1, push_overwriting, try_push, try_pop);
SCENARIO(overwrite_wait, "overwrite-pop", setup_1, push_overwriting_twice, pop);
SCENARIO(overwrite_close, "overwrite-close-pop", setup_1, push_overwriting_twice, close_ring, try_pop);

/* Every kind of push beside every kind of pop: who sleeps, and by what it is woken. */
SCENARIO(wait_batch, "push-pop_many", setup_1, push_twice, batch_till_found);
SCENARIO(wait_in_place, "push-peek", setup_1, push_twice, in_place_till_found);
SCENARIO(batch_wait, "push_many-pop-pop", setup_2, push_two_at_once, pop, pop);
SCENARIO(batch_in_place, "push_many-peek-peek", setup_2, push_two_at_once, pop_in_place, pop_in_place);
PATIENT(in_place_wait, "reserve-push-pop-pop", setup_2, push_in_place, try_push, pop, pop);
SCENARIO(in_place_batch, "reserve-push_many-pop_many", setup_3, push_in_place, push_two_at_once, pop_batch);
SCENARIO(in_place_in_place, "reserve-reserve-peek", setup_2, push_in_place, push_in_place, pop_in_place);
/* Beside time-outs. */
SCENARIO(until_batch, "push_until-pop_many", setup_1, push_until_twice, pop_batch);
SCENARIO(until_in_place, "push_until-peek", setup_1, push_until_twice, pop_in_place);
PATIENT(batch_until, "push_many-pop_until-pop_until", setup_2, push_two_at_once, pop_until, pop_until);
PATIENT(in_place_until, "reserve-pop_until-pop_until", setup_1, push_in_place, pop_until, pop_until);
/* Beside a close. */
SCENARIO(close_batch, "push_many-drain-close", setup_2, push_two_at_once, drain, close_ring);
PATIENT(close_pop_batch, "push-pop_many_drain-close", setup_2, push, batch_then_drain, close_ring);
SCENARIO(close_in_place, "reserve-drain-close", setup_1, push_in_place, drain, close_ring);
PATIENT(close_peek, "push-peek_drain-close", setup_1, push, in_place_then_drain, close_ring);
PATIENT(close_until, "push_until-drain-close", setup_1, push_until_twice, drain, close_ring);
PATIENT(close_pop_until, "push-pop_until-close", setup_1, push_twice, pop_until_twice, close_ring);
/* Overwriting beside everything. */
SCENARIO(overwrite_batch, "overwrite-pop_many", setup_2, push_overwriting_twice, pop_batch);
SCENARIO(overwrite_push_batch, "overwrite-push_many-try_pop", setup_2, push_overwriting, push_two_at_once,
         try_pop);
SCENARIO(overwrite_reserve, "overwrite-reserve-try_pop", setup_1, push_overwriting, push_in_place, try_pop);
SCENARIO(overwrite_peek, "overwrite-peek", setup_1, push_overwriting_twice, pop_in_place);
PATIENT(overwrite_until, "overwrite-pop_until-pop_until", setup_1, push_overwriting, pop_until, pop_until);
PATIENT(overwrite_wait_push, "overwrite-push_wait-pop", setup_1, push_overwriting, push, pop);
SCENARIO(overwrite_drain, "overwrite-drain-close", setup_1, push_overwriting_twice, drain, close_ring);

/*   pusher 1           pusher 2               poppers (both asleep)
 *   claims slot 0
 *                      pushes to slot 1,
 *                      wakes one ---------> finds slot 0 not full yet, sleeps again
 *   fills slot 0,
 *   wakes one ----------------------------> pops slot 0; must wake the other for slot 1, as nobody
 *                                           else will                                              */
SCENARIO(two_two, "try_push-try_push-pop-pop", setup_2, try_push, try_push, pop, pop);

/* ---- What else the header promises ---- */

/* What the closer did before is there for whoever finds the ring closed. */
static void close_after_work(void) {
    ilk_plain_write(&s.work, sizeof s.work);
    s.work = 1;
    ilk_mpmc_close(s.ring);
}
static void see_work(void) {
    ilk_plain_read(&s.work, sizeof s.work);
    ex_assert(s.work == 1);
}
static void work_if_closed(void) {
    if (ilk_mpmc_is_closed(s.ring)) {
        see_work();
    }
}
static void work_when_drained(void) {
    uint64_t element;
    if (ilk_mpmc_pop_until(s.ring, &element, sizeof element, ILK_FOREVER) == ILK_CLOSED) {
        see_work();
    }
}
static void work_when_refused(void) {
    uint64_t element = 1;
    if (ilk_mpmc_push_until(s.ring, &element, sizeof element, ILK_FOREVER) == ILK_CLOSED) {
        see_work();
    }
}
static void setup_work(void) {
    begin(1, true);
    s.work = 0;
}

EX_SCENARIO(closed_work){
    .name = "mpmc-work-before-close",
    .claim = "who finds the ring closed sees what the closer did",
    .setup = setup_work,
    .threads = {close_after_work, work_if_closed, work_when_drained},
    .titles = {"closer", "asker", "popper"},
};
EX_SCENARIO(refused_work){
    .name = "mpmc-work-before-close-push",
    .claim = "who is refused by a closed ring sees what the closer did",
    .setup = setup_work,
    .threads = {close_after_work, work_when_refused},
    .titles = {"closer", "pusher"},
};

/* One element at most is ever in the ring: a count of more was never true. */
static void push_and_pop(void) {
    uint64_t element = 1;
    ex_assert(ilk_mpmc_try_push(s.ring, &element, sizeof element));
    ex_assert(ilk_mpmc_try_pop(s.ring, &element, sizeof element));
}
static void count(void) {
    size_t count = ilk_mpmc_count(s.ring);
    ex_expect(count <= 1, "%zu elements were counted where there was never more than one", count);
}
EX_SCENARIO(counted){
    .name = "mpmc-count-beside-push-and-pop",
    .claim = "a count was true at some moment",
    .setup = setup_3,
    .threads = {push_and_pop, count},
    .titles = {"user", "counter"},
    .once_failed = {"weak 14:1"},
};

/* ---- One buffer, slots of one's own, batches and FENCED ---- */

static void overwrite_by_one_buffer(void) {
    uint64_t buffer = mine(5);
    size_t operation = ex_begin(EX_OVERWRITE, buffer);
    bool evicts = ilk_mpmc_push_overwriting(s.ring, &buffer, sizeof buffer, &buffer);
    ex_end(operation, evicts ? buffer : EX_DONE);
}
static void setup_full(void) {
    setup_1();
    push_element(1, 0);
}
SCENARIO(overwrite_alias, "overwrite_by_one_buffer-try_pop", setup_full, overwrite_by_one_buffer, try_pop);
SCENARIO(overwrite_alias_close, "overwrite_by_one_buffer-close", setup_full, overwrite_by_one_buffer,
         close_ring);

static void wait_for_own_slot(void) {
    size_t count = 1;
    ex_assert(ilk_mpmc_reserve(s.ring, &count) != NULL);
    push();
}
static void wait_for_own_element(void) {
    size_t count = 1;
    ex_assert(ilk_mpmc_reserve(s.ring, &count) != NULL);
    pop();
}
static void overwrite_own_slot(void) {
    size_t count = 1;
    ex_assert(ilk_mpmc_reserve(s.ring, &count) != NULL);
    push_overwriting();
}
static void wait_for_shown_slot(void) {
    size_t count = 1;
    ex_assert(ilk_mpmc_peek(s.ring, &count) != NULL);
    push();
}

#define MISUSE(identifier, text, start, ...)                                                                 \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "mpmc-" text, .claim = "misuse: to wait for a slot that the thread itself has open",         \
        .setup = start, .finds = EX_MISUSE, .threads = {__VA_ARGS__},                                        \
    }
MISUSE(own_push, "push-waits-for-own-reservation", setup_1, wait_for_own_slot, try_pop);
MISUSE(own_pop, "pop-waits-for-own-reservation", setup_1, wait_for_own_element, try_pop);
MISUSE(own_overwrite, "overwrite-waits-for-own-reservation", setup_1, overwrite_own_slot, try_pop);
MISUSE(own_shown, "push-waits-for-own-peek", setup_full, wait_for_shown_slot, try_push);

/* As spsc-push_many-drops-fenced. */
static void ignore(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
}
static void setup_fenced(void) {
    enum { CAPACITY = 8, FROM = 1021 };
    begin(CAPACITY, true);
    const uint64_t from = FROM * ILK__MPMC_STEP;
    for (uint64_t position = from; position < from + CAPACITY * ILK__MPMC_STEP; position += ILK__MPMC_STEP) {
        ilk_atomic_store(&s.ring->stamps[ilk__mpmc_slot(s.ring, position)], position, memory_order_relaxed);
    }
    ilk_atomic_store(&s.ring->head, from, memory_order_relaxed);
    ilk_atomic_store(&s.ring->tail, from, memory_order_relaxed);
    ilk_mpmc_set_notify(s.ring, ignore, NULL);
    ex_assert(ilk_mpmc_arm_pop(s.ring));
}
static void push_four_twice(void) {
    const uint64_t elements[4] = {1, 2, 3, 4};
    ex_assert(ilk_mpmc_try_push_many(s.ring, elements, 4, sizeof *elements) == 4);
    ex_assert(ilk_mpmc_try_push_many(s.ring, elements, 4, sizeof *elements) == 4);
}
static void pop_four(void) {
    uint64_t elements[4];
    (void)!ilk_mpmc_try_pop_many(s.ring, elements, 4, sizeof *elements);
}
static void check_not_fenced(void) {
    ex_expect(s.ring->consumers_waiting == 0, "FENCED is still up");
    ilk_mpmc_destroy(s.ring);
}
EX_SCENARIO(fenced){
    .name = "mpmc-push_many-drops-fenced",
    .claim = "whatever the size of the batches, FENCED comes down once in 1,024 elements",
    .setup = setup_fenced,
    .check = check_not_fenced,
    .threads = {push_four_twice, pop_four},
    .titles = {"producer", "consumer"},
};
