/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring of uint64_t whose verbs are recorded in a history, and thread bodies made of them, after a face
 * (spsc_face.h, mpmc_face.h). check() compares the history with a bounded queue (guarantees A to D of both
 * headers): "full" and "empty" may be wrong only beside an operation of the other side.
 */
#ifndef EXPLORER_SCENARIOS_RING_VERBS_H
#define EXPLORER_SCENARIOS_RING_VERBS_H

#include "../history/models.h"

static struct {
    ring_type *ring;
    ex_queue_parameters queue;
    uint32_t pushed[EX_BODIES + 1]; /* by thread; the explorer's own record */
    uint32_t work;                  /* plain: what the closer did before the close */
} s;

/* ---- Setups and the check ---- */

static inline void begin(unsigned capacity, bool membarrier) {
    ex_history_reset();
    ilk__membarrier_works = membarrier;
    s.queue =
        (ex_queue_parameters){.capacity = capacity, .inexact = true, .late_pushes = PUSHES_BESIDE_CLOSE};
    for (unsigned thread = 0; thread <= EX_BODIES; thread++) {
        s.pushed[thread] = 0;
    }
    s.work = 0;
    ex_assert(RING(create)(&s.ring, capacity, sizeof(uint64_t)) == ILK_OK);
}
static inline void setup_1(void) {
    begin(1, true);
}
static inline void setup_2(void) {
    begin(2, true);
}
static inline void setup_3(void) {
    begin(3, true);
}
static inline void setup_refused(void) {
    begin(1, false);
}

/* ---- Verbs, recorded ---- */

/* How a push or a pop waits. */
typedef enum wait { TRY, WAIT, WAIT_UNTIL } wait;

static inline uint64_t deadline_of(wait wait) {
    enum { SOON = 5000 };
    return wait == WAIT_UNTIL ? SOON : ILK_FOREVER;
}

/* Tens tell the thread that pushed it, from 1 on. */
static inline uint64_t next_element(void) {
    const unsigned thread = ex_thread_index();
    return 10 * thread + ++s.pushed[thread];
}

static inline void push_by(wait wait) {
    const uint64_t element = next_element();
    size_t operation = ex_begin(EX_PUSH, element);
    ilk_status status;
    if (wait == TRY) {
        status = RING(try_push)(s.ring, &element, sizeof element) ? ILK_OK : ILK_TIMEDOUT;
    } else {
        status = RING(push_until)(s.ring, &element, sizeof element, deadline_of(wait));
    }
    ex_end(operation, status == ILK_OK ? EX_DONE : status == ILK_CLOSED ? EX_CLOSED : EX_REFUSED);
}

static inline ilk_status pop_by(wait wait) {
    uint64_t element = 0;
    size_t operation = ex_begin(EX_POP, 0);
    if (wait == TRY) {
        bool popped = RING(try_pop)(s.ring, &element, sizeof element);
        ex_end(operation, popped ? element : EX_EMPTY);
        return popped ? ILK_OK : ILK_TIMEDOUT;
    }
    ilk_status status = RING(pop_until)(s.ring, &element, sizeof element, deadline_of(wait));
    ex_end(operation, status == ILK_OK ? element : status == ILK_CLOSED ? EX_DRAINED : EX_TIMEDOUT);
    return status;
}

static inline void close_ring(void) {
    size_t operation = ex_begin(EX_CLOSE, 0);
    RING(close)(s.ring);
    ex_end(operation, EX_DONE);
}

/* A batch is recorded as that many operations of one element between its call and its return. */
static inline void push_batch(void) {
    uint64_t elements[2];
    elements[0] = next_element();
    elements[1] = next_element();
    size_t first = ex_begin(EX_PUSH, elements[0]);
    size_t second = ex_begin(EX_PUSH, elements[1]);
    size_t pushed = RING(try_push_many)(s.ring, elements, 2, sizeof elements[0]);
    ex_end(first, pushed > 0 ? EX_DONE : EX_REFUSED);
    ex_end(second, pushed > 1 ? EX_DONE : EX_REFUSED);
}

static inline bool take_batch(void) {
    uint64_t elements[2];
    size_t first = ex_begin(EX_POP, 0);
    size_t second = ex_begin(EX_POP, 0);
    size_t popped = RING(try_pop_many)(s.ring, elements, 2, sizeof elements[0]);
    ex_end(first, popped > 0 ? elements[0] : EX_EMPTY);
    ex_end(second, popped > 1 ? elements[1] : EX_EMPTY);
    return popped > 0;
}

static inline void push_in_place(void) {
    size_t count = 1;
    const uint64_t element = next_element();
    size_t operation = ex_begin(EX_PUSH, element);
    uint64_t *slot = RING(reserve)(s.ring, &count);
    if (slot != NULL) {
        ilk_plain_write(slot, sizeof *slot);
        *slot = element;
        RING(commit)(s.ring, 1);
    }
    ex_end(operation, slot != NULL ? EX_DONE : EX_REFUSED);
}

static inline bool take_in_place(void) {
    size_t count = 1;
    size_t operation = ex_begin(EX_POP, 0);
    const uint64_t *slot = RING(peek)(s.ring, &count);
    uint64_t element = EX_EMPTY;
    if (slot != NULL) {
        ilk_plain_read(slot, sizeof *slot);
        element = *slot;
        RING(release)(s.ring, 1);
    }
    ex_end(operation, element);
    return slot != NULL;
}

/* ---- Thread bodies ---- */

static inline void try_push(void) {
    push_by(TRY);
}
static inline void try_push_twice(void) {
    try_push();
    try_push();
}
static inline void try_push_thrice(void) {
    try_push_twice();
    try_push();
}
static inline void push(void) {
    push_by(WAIT);
}
static inline void push_twice(void) {
    push();
    push();
}
static inline void push_thrice(void) {
    push_twice();
    push();
}
static inline void push_until(void) {
    push_by(WAIT_UNTIL);
}
static inline void push_until_twice(void) {
    push_until();
    push_until();
}
static inline void push_then_batch(void) {
    try_push();
    push_batch();
}
static inline void push_in_place_twice(void) {
    push_in_place();
    push_in_place();
}

static inline void try_pop(void) {
    (void)pop_by(TRY);
}
static inline void try_pop_twice(void) {
    try_pop();
    try_pop();
}
static inline void try_pop_thrice(void) {
    try_pop_twice();
    try_pop();
}
static inline void pop(void) {
    (void)pop_by(WAIT);
}
static inline void pop_twice(void) {
    pop();
    pop();
}
static inline void pop_thrice(void) {
    pop_twice();
    pop();
}
static inline void pop_until(void) {
    (void)pop_by(WAIT_UNTIL);
}
static inline void pop_until_twice(void) {
    pop_until();
    pop_until();
}
static inline void pop_batch(void) {
    (void)take_batch();
}
static inline void pop_then_batch(void) {
    try_pop();
    pop_batch();
}
static inline void pop_in_place(void) {
    (void)take_in_place();
}
static inline void pop_in_place_twice(void) {
    pop_in_place();
    pop_in_place();
}

static inline void drain(void) {
    while (pop_by(WAIT) == ILK_OK) {
    }
}
static inline void batch_then_drain(void) {
    pop_batch();
    drain();
}
static inline void in_place_then_drain(void) {
    pop_in_place();
    drain();
}

/* Repeats a failed pop: a sleeping producer depends on it. */
static inline void batch_until_found(void) {
    while (!take_batch()) {
        ilk_cpu_relax();
    }
}
static inline void in_place_until_found(void) {
    while (!take_in_place()) {
        ilk_cpu_relax();
    }
}

static inline void check(void) {
    while (pop_by(TRY) == ILK_OK) {
    }
    ex_history_check(&ex_bounded_queue, &s.queue);
    RING(destroy)(s.ring);
}

/* ---- Scenarios ---- */

#define RING_SCENARIO(identifier, text, is_slow, start, ...)                                                 \
    EX_SCENARIO(identifier) {                                                                                \
        .name = RING_NAME "-" text, .claim = "a bounded queue, and no wake-up is lost", .setup = start,      \
        .threads = {__VA_ARGS__}, .titles = RING_TITLES, .check = check, .timeouts = 1,                      \
        .spurious_wakeups = 1, .slow = is_slow                                                               \
    }
#define SCENARIO(identifier, text, ...) RING_SCENARIO(identifier, text, false, __VA_ARGS__)
/* For the large budgets, and for mutants. */
#define SLOW(identifier, text, ...) RING_SCENARIO(identifier, text, true, __VA_ARGS__)

#define MISUSE(identifier, text, says, start, ...)                                                           \
    EX_SCENARIO(identifier) {                                                                                \
        .name = RING_NAME "-" text, .claim = says, .setup = start, .finds = EX_MISUSE,                       \
        .threads = {__VA_ARGS__},                                                                            \
    }

#endif
