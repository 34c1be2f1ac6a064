/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc under the explorer: a producer beside a consumer, and a closer beside both, against a bounded
 * queue (guarantees A to D of <interlock/spsc.h>): full and empty must be exact beside nothing, and may
 * be answered beside an operation of the other side. Elements are eight bytes, so that slots are told
 * apart.
 */
#include "../explorer.h"
#include "../history/models.h"
#include <interlock/inline/fence.h>
#include <interlock/spsc.h>

static struct {
    ilk_spsc *ring;
    ex_queue_parameters queue;
    uint64_t next; /* the producer's next element */
    uint32_t work;
} s;

static void begin(unsigned capacity, bool membarrier) {
    ex_history_reset();
    ilk__membarrier_works = membarrier;
    s.queue = (ex_queue_parameters){.capacity = capacity, .inexact = true, .late_pushes = true};
    s.next = 1;
    ex_assert(ilk_spsc_create(&s.ring, capacity, sizeof(uint64_t)) == ILK_OK);
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
        bool popped = ilk_spsc_try_pop(s.ring, &element, sizeof element);
        ex_end(operation, popped ? element : EX_EMPTY);
        if (!popped) {
            break;
        }
    }
    ex_history_check(&ex_bounded_queue, &s.queue);
    ilk_spsc_destroy(s.ring);
}

static void end_push(size_t operation, ilk_status status) {
    ex_end(operation, status == ILK_OK ? EX_DONE : status == ILK_CLOSED ? EX_CLOSED : EX_REFUSED);
}

static void try_push(void) {
    uint64_t element = s.next++;
    size_t operation = ex_begin(EX_PUSH, element);
    end_push(operation, ilk_spsc_try_push(s.ring, &element, sizeof element) ? ILK_OK : ILK_TIMEDOUT);
}

static void push(void) {
    uint64_t element = s.next++;
    size_t operation = ex_begin(EX_PUSH, element);
    end_push(operation, ilk_spsc_push_until(s.ring, &element, sizeof element, ILK_FOREVER));
}

enum { SOON = 5000 };

static void push_until(void) {
    uint64_t element = s.next++;
    size_t operation = ex_begin(EX_PUSH, element);
    end_push(operation, ilk_spsc_push_until(s.ring, &element, sizeof element, SOON));
}

static bool try_pop(void) {
    uint64_t element = 0;
    size_t operation = ex_begin(EX_POP, 0);
    bool popped = ilk_spsc_try_pop(s.ring, &element, sizeof element);
    ex_end(operation, popped ? element : EX_EMPTY);
    return popped;
}

static ilk_status pop_by(uint64_t deadline) {
    uint64_t element = 0;
    size_t operation = ex_begin(EX_POP, 0);
    ilk_status status = ilk_spsc_pop_until(s.ring, &element, sizeof element, deadline);
    ex_end(operation, status == ILK_OK ? element : status == ILK_CLOSED ? EX_DRAINED : EX_TIMEDOUT);
    return status;
}
static void pop(void) {
    (void)pop_by(ILK_FOREVER);
}
static void pop_until(void) {
    (void)pop_by(SOON);
}

static void close_ring(void) {
    size_t operation = ex_begin(EX_CLOSE, 0);
    ilk_spsc_close(s.ring);
    ex_end(operation, EX_DONE);
}

/* A batch is as many operations of one element, all between its call and its return. */
static void push_two_at_once(void) {
    uint64_t elements[2] = {s.next, s.next + 1};
    s.next += 2;
    size_t first = ex_begin(EX_PUSH, elements[0]);
    size_t second = ex_begin(EX_PUSH, elements[1]);
    size_t pushed = ilk_spsc_try_push_many(s.ring, elements, 2, sizeof elements[0]);
    ex_end(first, pushed > 0 ? EX_DONE : EX_REFUSED);
    ex_end(second, pushed > 1 ? EX_DONE : EX_REFUSED);
}

static void pop_two_at_once(void) {
    uint64_t elements[2];
    size_t first = ex_begin(EX_POP, 0);
    size_t second = ex_begin(EX_POP, 0);
    size_t popped = ilk_spsc_try_pop_many(s.ring, elements, 2, sizeof elements[0]);
    ex_end(first, popped > 0 ? elements[0] : EX_EMPTY);
    ex_end(second, popped > 1 ? elements[1] : EX_EMPTY);
}

static void push_in_place(void) {
    size_t count = 1;
    uint64_t element = s.next++;
    size_t operation = ex_begin(EX_PUSH, element);
    uint64_t *slot = ilk_spsc_reserve(s.ring, &count);
    if (slot != NULL) {
        ilk_plain_write(slot, sizeof *slot);
        *slot = element;
        ilk_spsc_commit(s.ring, 1);
    }
    ex_end(operation, slot != NULL ? EX_DONE : EX_REFUSED);
}

static void reserve_and_give_up(void) {
    size_t count = 1;
    if (ilk_spsc_reserve(s.ring, &count) != NULL) {
        ilk_spsc_commit(s.ring, 0);
    }
}

static void pop_in_place(void) {
    size_t count = 1;
    size_t operation = ex_begin(EX_POP, 0);
    const uint64_t *slot = ilk_spsc_peek(s.ring, &count);
    uint64_t element = EX_EMPTY;
    if (slot != NULL) {
        ilk_plain_read(slot, sizeof *slot);
        element = *slot;
        ilk_spsc_release(s.ring, 1);
    }
    ex_end(operation, element);
}

/* Pops until nothing will ever come. */
static void drain(void) {
    while (pop_by(ILK_FOREVER) == ILK_OK) {
    }
}

/* As the header says an empty ring is told from a drained one where no reservation is open: asked before. */
static void ask_then_pop(void) {
    uint64_t element = 0;
    size_t operation = ex_begin(EX_POP, 0);
    bool closed = ilk_spsc_is_closed(s.ring);
    bool popped = ilk_spsc_try_pop(s.ring, &element, sizeof element);
    ex_end(operation, popped ? element : closed ? EX_DRAINED : EX_EMPTY);
}

/* For calls that do not wait, and are to find something: what the producer sleeps for is theirs to give. */
static void await_element(void) {
    while (ilk_spsc_count(s.ring) == 0) {
        ilk_cpu_relax();
    }
}

static void push_push(void) {
    push();
    push();
}
static void pop_pop(void) {
    pop();
    pop();
}
static void push_thrice(void) {
    push_push();
    push();
}
static void pop_thrice(void) {
    pop_pop();
    pop();
}
static void try_push_thrice(void) {
    try_push();
    try_push();
    try_push();
}
static void try_pop_thrice(void) {
    (void)try_pop();
    (void)try_pop();
    (void)try_pop();
}
static void push_then_close(void) {
    push();
    close_ring();
}
static void push_until_twice(void) {
    push_until();
    push_until();
}
static void push_in_place_twice(void) {
    push_in_place();
    push_in_place();
}
static void pop_in_place_twice(void) {
    pop_in_place();
    pop_in_place();
}
static void push_then_batch(void) {
    try_push();
    push_two_at_once();
}
static void pop_then_batch(void) {
    (void)try_pop();
    pop_two_at_once();
}
static void reserve_then_push(void) {
    reserve_and_give_up();
    try_push();
}
static void pop_until_twice(void) {
    pop_until();
    pop_until();
}
static void await_then_batch(void) {
    await_element();
    pop_two_at_once();
}
static void await_then_in_place(void) {
    await_element();
    pop_in_place();
}
static void batch_then_drain(void) {
    pop_two_at_once();
    drain();
}
static void in_place_then_drain(void) {
    pop_in_place();
    drain();
}
static void ask_thrice(void) {
    ask_then_pop();
    ask_then_pop();
    ask_then_pop();
}
static void try_push_twice(void) {
    try_push();
    try_push();
}

#define RING(identifier, text, is_patient, start, ...)                                                       \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "spsc-" text, .claim = "a bounded queue, and nobody sleeps through what he waits for",       \
        .setup = start, .threads = {__VA_ARGS__}, .titles = {"producer", "consumer", "third"},               \
        .check = check, .timeouts = 1, .spurious_wakeups = 1, .patient = is_patient                          \
    }
#define SCENARIO(identifier, text, ...) RING(identifier, text, false, __VA_ARGS__)
/* For the large budgets, and for mutants. */
#define PATIENT(identifier, text, ...) RING(identifier, text, true, __VA_ARGS__)

SCENARIO(try_try, "try_push-try_pop", setup_1, try_push_thrice, try_pop_thrice);
SCENARIO(try_try_2, "try_push-try_pop-capacity-2", setup_2, try_push_thrice, try_pop_thrice);
SCENARIO(wait_wait, "push-pop", setup_1, push_push, pop_pop);
SCENARIO(wait_wait_refused, "push-pop-membarrier-refused", setup_refused, push_push, pop_pop);
/* Long enough to sleep behind the FENCED of an earlier sleep, and beside the one who takes it down. */
SCENARIO(wait_often, "push_thrice-pop_thrice", setup_1, push_thrice, pop_thrice);
SCENARIO(push_drain, "push_then_close-drain", setup_1, push_then_close, drain);
SCENARIO(until_until, "push_until-pop_until", setup_1, push_until_twice, pop_until);
SCENARIO(batches, "push_many-pop_many", setup_3, push_then_batch, pop_then_batch);
SCENARIO(batches_2, "push_many-pop_many-capacity-2", setup_2, push_then_batch, pop_then_batch);
SCENARIO(in_place, "reserve-peek", setup_1, push_in_place_twice, pop_in_place_twice);
SCENARIO(in_place_2, "reserve-peek-capacity-2", setup_2, push_in_place_twice, pop_in_place_twice);
SCENARIO(give_up, "reserve_and_give_up-pop", setup_1, reserve_then_push, pop_until);
SCENARIO(close_try, "try_push-drain-close", setup_1, try_push, drain, close_ring);
SCENARIO(close_wait, "push-drain-close", setup_1, push, drain, close_ring);
SCENARIO(close_push_push, "push_push-drain-close", setup_1, push_push, drain, close_ring);
SCENARIO(close_refused, "push-drain-close-membarrier-refused", setup_refused, push, drain, close_ring);
SCENARIO(close_in_place, "reserve-drain-close", setup_1, push_in_place, drain, close_ring);
SCENARIO(close_in_place_refused, "reserve-drain-close-membarrier-refused", setup_refused, push_in_place,
         drain, close_ring);
SCENARIO(close_give_up_refused, "reserve_and_give_up-drain-close-membarrier-refused", setup_refused,
         reserve_then_push, drain, close_ring);
SCENARIO(close_give_up, "reserve_and_give_up-drain-close", setup_1, reserve_then_push, drain, close_ring);
SCENARIO(close_batch, "push_many-drain-close", setup_2, push_two_at_once, drain, close_ring);
SCENARIO(close_full, "push-close-nobody-pops", setup_1, push_push, close_ring);

/* Every kind of push beside every kind of pop: who sleeps, and by what it is woken. */
SCENARIO(wait_batch, "push-pop_many", setup_1, push_push, await_then_batch);
SCENARIO(wait_batch_refused, "push-pop_many-membarrier-refused", setup_refused, push_push, await_then_batch);
SCENARIO(wait_in_place, "push-peek", setup_1, push_push, await_then_in_place);
SCENARIO(batch_wait, "push_many-pop", setup_2, push_two_at_once, pop_pop);
SCENARIO(batch_in_place, "push_many-peek", setup_2, push_then_batch, pop_in_place_twice);
SCENARIO(in_place_wait, "reserve-pop", setup_1, push_in_place, pop);
SCENARIO(in_place_batch, "reserve-pop_many", setup_2, push_in_place_twice, pop_then_batch);
/* Beside time-outs. */
SCENARIO(until_batch, "push_until-pop_many", setup_1, push_until_twice, pop_two_at_once);
SCENARIO(until_in_place, "push_until-peek", setup_1, push_until_twice, pop_in_place_twice);
SCENARIO(batch_until, "push_many-pop_until", setup_2, push_two_at_once, pop_until_twice);
SCENARIO(in_place_until, "reserve-pop_until", setup_1, push_in_place_twice, pop_until_twice);
/* Beside a close. */
PATIENT(close_until, "push_until-drain-close", setup_1, push_until_twice, drain, close_ring);
PATIENT(close_pop_until, "push-pop_until-close", setup_1, push_push, pop_until_twice, close_ring);
PATIENT(close_pop_batch, "push_many-pop_many_drain-close", setup_2, push_two_at_once, batch_then_drain,
        close_ring);
PATIENT(close_peek, "push-peek_drain-close", setup_1, push, in_place_then_drain, close_ring);
SCENARIO(close_ask, "try_push-ask_then_pop-close", setup_1, try_push_twice, ask_thrice, close_ring);

/* ---- What else the header promises ---- */

/* What the closer did before is there for whoever finds the ring closed. */
static void close_after_work(void) {
    ilk_plain_write(&s.work, sizeof s.work);
    s.work = 1;
    ilk_spsc_close(s.ring);
}
static void see_work(void) {
    ilk_plain_read(&s.work, sizeof s.work);
    ex_assert(s.work == 1);
}
static void work_if_closed(void) {
    if (ilk_spsc_is_closed(s.ring)) {
        see_work();
    }
}
static void work_when_drained(void) {
    uint64_t element;
    if (ilk_spsc_pop_until(s.ring, &element, sizeof element, ILK_FOREVER) == ILK_CLOSED) {
        see_work();
    }
}
static void setup_work(void) {
    begin(1, true);
    s.work = 0;
}
EX_SCENARIO(closed_work){
    .name = "spsc-work-before-close",
    .claim = "who finds the ring closed sees what the closer did",
    .setup = setup_work,
    .threads = {close_after_work, work_if_closed, work_when_drained},
    .titles = {"closer", "asker", "consumer"},
};

/* One element at most is in the ring at any time: a count of more was never true. */
static void push_beside_count(void) {
    uint64_t element = 1;
    ex_assert(ilk_spsc_try_push(s.ring, &element, sizeof element));
}
static void pop_beside_count(void) {
    uint64_t element;
    (void)!ilk_spsc_try_pop(s.ring, &element, sizeof element);
}
static void count(void) {
    size_t count = ilk_spsc_count(s.ring);
    ex_expect(count <= 1, "%zu elements were counted where there was never more than one", count);
}
EX_SCENARIO(counted){
    .name = "spsc-count-beside-push-and-pop",
    .claim = "a count was true at some moment",
    .setup = setup_3,
    .threads = {push_beside_count, pop_beside_count, count},
    .titles = {"producer", "consumer", "counter"},
};

/* ---- Reservations beside what must not come, and beside a close ---- */

static void setup_4(void) {
    begin(4, true);
}
static void reserve_and_push(void) {
    size_t count = 1;
    ex_assert(ilk_spsc_reserve(s.ring, &count) != NULL);
    try_push();
}
static void reserve_and_push_batch(void) {
    size_t count = 1;
    ex_assert(ilk_spsc_reserve(s.ring, &count) != NULL);
    push_two_at_once();
}
static void peek_and_pop(void) {
    size_t count = 1;
    ex_assert(ilk_spsc_peek(s.ring, &count) != NULL);
    (void)try_pop();
}
static void peek_and_pop_batch(void) {
    size_t count = 1;
    ex_assert(ilk_spsc_peek(s.ring, &count) != NULL);
    pop_two_at_once();
}
static void setup_one_element(void) {
    setup_2();
    try_push();
}
static void setup_closed_element(void) {
    setup_one_element();
    close_ring();
}
static void reserve_close_and_push(void) {
    size_t count = 1;
    ex_assert(ilk_spsc_reserve(s.ring, &count) != NULL);
    close_ring();
    try_push();
}

#define MISUSE(identifier, text, start, ...)                                                                 \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "spsc-" text, .claim = "misuse: it is reported wherever the other side is, closed or not",   \
        .setup = start, .finds = EX_MISUSE, .threads = {__VA_ARGS__},                                        \
    }
MISUSE(misused_push, "push-in-reservation", setup_2, reserve_and_push, try_pop_thrice);
MISUSE(misused_push_many, "push_many-in-reservation", setup_3, reserve_and_push_batch, try_pop_thrice);
MISUSE(misused_pop, "pop-in-peek", setup_one_element, try_push, peek_and_pop);
MISUSE(misused_pop_many, "pop_many-in-peek", setup_one_element, try_push, peek_and_pop_batch);
MISUSE(misused_pop_closed, "pop-in-peek-closed", setup_closed_element, try_push, peek_and_pop);
MISUSE(misused_push_close, "push-in-reservation-close", setup_2, reserve_close_and_push, try_pop_thrice);

/* A reservation of one that is asked for again: more only as long as the ring has not been closed. */
static void grow(void) {
    size_t count = 1;
    if (ilk_spsc_reserve(s.ring, &count) == NULL) {
        return;
    }
    const bool closed = ilk_spsc_is_closed(s.ring);
    count = 3;
    ex_assert(ilk_spsc_reserve(s.ring, &count) != NULL);
    ex_expect(!closed || count == 1, "a reservation of 1 grew to %zu after the close", count);
    ilk_spsc_commit(s.ring, 0);
}
EX_SCENARIO(grown){
    .name = "spsc-reserve_anew-close",
    .claim = "a reservation does not grow after the close",
    .setup = setup_4,
    .threads = {grow, close_ring},
    .titles = {"producer", "closer"},
};

/* Batches of four from 1,021 on step over the numbers near 1,024. The first takes the arm down, the second finds
 * nobody waiting and is 1,024 elements from the last that dropped FENCED: the ring goes back to no fence. */
static void ignore(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
}
static void setup_fenced(void) {
    enum { FROM = 1021 };
    begin(8, true);
    s.ring->head_seen = s.ring->tail_seen = s.ring->shown = s.ring->shown_from = FROM;
    ilk_atomic_store(&s.ring->head, FROM, memory_order_relaxed);
    ilk_atomic_store(&s.ring->tail, FROM, memory_order_relaxed);
    ilk_spsc_set_notify(s.ring, ignore, NULL);
    ex_assert(ilk_spsc_arm_pop(s.ring));
}
static void push_four_twice(void) {
    const uint64_t elements[4] = {1, 2, 3, 4};
    ex_assert(ilk_spsc_try_push_many(s.ring, elements, 4, sizeof *elements) == 4);
    ex_assert(ilk_spsc_try_push_many(s.ring, elements, 4, sizeof *elements) == 4);
}
static void pop_four(void) {
    uint64_t elements[4];
    (void)!ilk_spsc_try_pop_many(s.ring, elements, 4, sizeof *elements);
}
static void check_not_fenced(void) {
    ex_expect((s.ring->flags & ILK__SPSC_CONSUMER_FENCED) == 0, "FENCED is still up");
    ilk_spsc_destroy(s.ring);
}
EX_SCENARIO(fenced){
    .name = "spsc-push_many-drops-fenced",
    .claim = "whatever the size of the batches, FENCED comes down once in 1,024 elements",
    .setup = setup_fenced,
    .check = check_not_fenced,
    .threads = {push_four_twice, pop_four},
    .titles = {"producer", "consumer"},
};
