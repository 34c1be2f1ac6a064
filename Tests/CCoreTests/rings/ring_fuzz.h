/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of every verb of a ring, on one thread, against a model: an array of slots that are free,
 * full, reserved or shown (support/fuzz.h). Buffers have exactly the size asked for and are not aligned, so
 * that AddressSanitizer and UBSan see a byte too many.
 *
 * The model is as weak as the headers:
 *   - a hook may be called more often than it was armed for, but an armed one is called by the step after
 *     which an element (or room) is there, or the ring is closed;
 *   - reserve and peek may give fewer slots than wanted, but not none where there is one;
 *   - the answer of is_closed, and the hook, may wait for the end of an open reservation.
 * Not played: verbs of one side of ilk_spsc inside its own reservation or peek, and overwriting a slot that
 * this thread has open.
 *
 * Has been seen to fail on: an arm that stays up after its answer was false; an arm that raises no flag; a
 * reservation that grows after close; a batch that begins anew where the ring wraps, or stops there; a peek
 * beyond the end of the ring; a release of a slot too many; a commit that publishes its first slot twice;
 * overwriting that drops the element on a closed ring, or evicts the new one.
 */
#ifndef INTERLOCK_TESTS_RINGS_RING_FUZZ_H
#define INTERLOCK_TESTS_RINGS_RING_FUZZ_H

#include "support/fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 9, MOST_AT_ONCE = 12 };

enum verb {
    TRY_PUSH,
    PUSH_UNTIL,
    PUSH_MANY,
    RESERVE,
    COMMIT,
    TRY_POP,
    POP_UNTIL,
    POP_MANY,
    PEEK,
    RELEASE,
    OVERWRITE,
    ARM_POP,
    ARM_PUSH,
    SET_NOTIFY,
    CLOSE
};

static const struct fuzz_verb verbs[] = {
    [TRY_PUSH] = {"try_push", 12},  [PUSH_UNTIL] = {"push_until", 8}, [PUSH_MANY] = {"push_many", 12},
    [RESERVE] = {"reserve", 10},    [COMMIT] = {"commit", 12},        [TRY_POP] = {"try_pop", 12},
    [POP_UNTIL] = {"pop_until", 8}, [POP_MANY] = {"pop_many", 12},    [PEEK] = {"peek", 10},
    [RELEASE] = {"release", 12},    [OVERWRITE] = {"overwrite", 8},   [ARM_POP] = {"arm_pop", 8},
    [ARM_PUSH] = {"arm_push", 8},   [SET_NOTIFY] = {"set_notify", 5}, [CLOSE] = {"close", 1},
};

/* ---- The model ---- */

enum slot { FREE, FULL, RESERVED, SHOWN };

struct model {
    ring_type *ring;
    size_t capacity, size;
    enum slot slots[MOST_SLOTS];
    uint64_t values[MOST_SLOTS];    /* of FULL and SHOWN slots */
    uint64_t head, tail;            /* the next to pop, the next to push; a claim moves them at once */
    size_t reserved, shown;         /* what is open */
    uint64_t reserved_at, shown_at; /* positions of the first of them */
    unsigned char *reserved_memory;
    bool closed, has_hook, armed_pop, armed_push;
    unsigned readable_calls, writable_calls;
    uint64_t next_value;
};

static inline size_t slot_of(const struct model *m, uint64_t position) {
    return (size_t)(position % m->capacity);
}

/* How many elements a push could put in contiguously. */
static inline size_t room(const struct model *m) {
    size_t free = 0;
    while (free < m->capacity && m->slots[slot_of(m, m->tail + free)] == FREE) {
        free++;
    }
    return free;
}

static inline size_t elements(const struct model *m) {
    size_t full = 0;
    while (m->head + full < m->tail && m->slots[slot_of(m, m->head + full)] == FULL) {
        full++;
    }
    return full;
}

/* Closed, and nothing can follow. */
static inline bool is_drained(const struct model *m) {
    return m->closed && m->reserved == 0 && m->head == m->tail;
}

/* A side of ilk_spsc does nothing else inside a reservation or peek. */
static inline bool producer_is_busy(const struct model *m) {
    return !HAS_CLAIMS && m->reserved > 0;
}
static inline bool consumer_is_busy(const struct model *m) {
    return !HAS_CLAIMS && m->shown > 0;
}

static inline void model_push(struct model *m, uint64_t value) {
    m->slots[slot_of(m, m->tail)] = FULL;
    m->values[slot_of(m, m->tail)] = value;
    m->tail++;
}

static inline uint64_t model_pop(struct model *m) {
    size_t slot = slot_of(m, m->head);
    m->slots[slot] = FREE;
    m->head++;
    return m->values[slot];
}

/* ---- Elements ---- */

static inline void fill(unsigned char *element, size_t size, uint64_t value) {
    for (size_t i = 0; i < size; i++) {
        element[i] = (unsigned char)((value * UINT64_C(0x9E3779B97F4A7C15)) >> (8 * (i % 8) % 57)) ^
                     (unsigned char)(31 * i);
    }
}

static inline bool is_element(const unsigned char *element, size_t size, uint64_t value) {
    unsigned char expected[64];
    fill(expected, size, value);
    return memcmp(element, expected, size) == 0;
}

/* Exactly `count` elements, `offset` bytes behind where the heap would align them. */
struct buffer {
    unsigned char *memory, *elements;
};

static inline struct buffer buffer_make(const struct model *m, size_t count, uint32_t argument) {
    size_t offset = argument >> 28 & 1;
    struct buffer buffer = {.memory = malloc(offset + count * m->size + (count == 0 ? 1 : 0))};
    check(buffer.memory != NULL);
    buffer.elements = buffer.memory + offset;
    memset(buffer.elements, 0xA5, count * m->size);
    return buffer;
}

static inline struct buffer buffer_of_new(struct model *m, size_t count, uint32_t argument) {
    struct buffer buffer = buffer_make(m, count, argument);
    for (size_t i = 0; i < count; i++) {
        fill(buffer.elements + i * m->size, m->size, m->next_value + i);
    }
    m->next_value += count;
    return buffer;
}

static inline void on_event(void *context, ilk_ring_event event) {
    struct model *m = context;
    *(event == ILK_READABLE ? &m->readable_calls : &m->writable_calls) += 1;
}

/* ---- Steps ---- */

static inline bool do_push(struct fuzz_play *play, struct model *m, enum verb verb, uint32_t argument) {
    if (producer_is_busy(m)) {
        return true;
    }
    const size_t wanted = verb == PUSH_MANY ? argument % (MOST_AT_ONCE + 1) : 1;
    const size_t fit = m->closed ? 0 : room(m);
    const size_t expected = wanted < fit ? wanted : fit;
    const uint64_t first = m->next_value;
    struct buffer in = buffer_of_new(m, wanted, argument);
    size_t pushed = 0;
    ilk_status status = ILK_OK;
    if (verb == TRY_PUSH) {
        pushed = RING(try_push)(m->ring, in.elements, m->size) ? 1 : 0;
    } else if (verb == PUSH_UNTIL) {
        status =
            RING(push_until)(m->ring, in.elements, m->size, fit > 0 && argument >> 27 & 1 ? ILK_FOREVER : 0);
        pushed = status == ILK_OK ? 1 : 0;
    } else {
        pushed = RING(try_push_many)(m->ring, in.elements, wanted, m->size);
    }
    free(in.memory);
    for (size_t i = 0; i < expected; i++) {
        model_push(m, first + i);
    }
    if (pushed != expected) {
        return fuzz_mismatch(play, "%zu pushed of %zu where %zu fit", pushed, wanted, fit);
    }
    if (verb == PUSH_UNTIL && pushed == 0 && status != (m->closed ? ILK_CLOSED : ILK_TIMEDOUT)) {
        return fuzz_mismatch(play, "push_until answers %s", ilk_status_name(status));
    }
    return true;
}

static inline bool do_pop(struct fuzz_play *play, struct model *m, enum verb verb, uint32_t argument) {
    if (consumer_is_busy(m)) {
        return true;
    }
    const size_t wanted = verb == POP_MANY ? argument % (MOST_AT_ONCE + 1) : 1;
    const size_t there = elements(m);
    const size_t expected = wanted < there ? wanted : there;
    struct buffer out = buffer_make(m, wanted, argument);
    size_t popped = 0;
    ilk_status status = ILK_OK;
    if (verb == TRY_POP) {
        popped = RING(try_pop)(m->ring, out.elements, m->size) ? 1 : 0;
    } else if (verb == POP_UNTIL) {
        bool returns = there > 0 || is_drained(m);
        status =
            RING(pop_until)(m->ring, out.elements, m->size, returns && argument >> 27 & 1 ? ILK_FOREVER : 0);
        popped = status == ILK_OK ? 1 : 0;
    } else {
        popped = RING(try_pop_many)(m->ring, out.elements, wanted, m->size);
    }
    bool agreed = popped == expected;
    if (!agreed) {
        (void)fuzz_mismatch(play, "%zu popped of %zu where %zu are there", popped, wanted, there);
    }
    if (verb == POP_UNTIL && expected == 0 && status != (is_drained(m) ? ILK_CLOSED : ILK_TIMEDOUT)) {
        agreed = fuzz_mismatch(play, "pop_until answers %s", ilk_status_name(status));
    }
    for (size_t i = 0; agreed && i < expected; i++) {
        uint64_t value = model_pop(m);
        if (!is_element(out.elements + i * m->size, m->size, value)) {
            agreed = fuzz_mismatch(play, "element %zu of %zu popped is not number %llu", i, popped,
                                   (unsigned long long)value);
        }
    }
    free(out.memory);
    return agreed;
}

static inline bool do_overwrite(struct fuzz_play *play, struct model *m, uint32_t argument) {
    enum slot next = m->slots[slot_of(m, m->tail)];
    if (!HAS_OVERWRITING || next == RESERVED || next == SHOWN) {
        return true;
    }
    const uint64_t value = m->next_value;
    struct buffer in = buffer_of_new(m, 1, argument), out = buffer_make(m, 1, argument >> 1);
    bool evicted = ring_overwrite(m->ring, in.elements, m->size, out.elements);
    uint64_t expected = value;
    bool expects = m->closed;
    if (!m->closed) {
        expects = next == FULL;
        expected = expects ? model_pop(m) : 0;
        model_push(m, value);
    }
    bool agreed = evicted == expects && (!evicted || is_element(out.elements, m->size, expected));
    if (!agreed) {
        (void)fuzz_mismatch(play, "overwriting %s; number %llu was expected out: %d",
                            evicted ? "evicted" : "evicted nothing", (unsigned long long)expected, expects);
    }
    free(in.memory);
    free(out.memory);
    return agreed;
}

/* A multiple of the element size from a boundary of 128 bytes. */
static inline bool lies_right(const struct model *m, const void *memory, uint64_t position) {
    return ((uintptr_t)memory - slot_of(m, position) * m->size) % 128 == 0;
}

static inline bool do_reserve(struct fuzz_play *play, struct model *m, uint32_t argument) {
    if (HAS_CLAIMS && m->reserved > 0) {
        return true; /* misuse */
    }
    const size_t wanted = argument % (MOST_AT_ONCE + 1);
    const bool again = m->reserved > 0;
    if (again && wanted == 0) {
        return true; /* the header leaves the reservation's fate open */
    }
    size_t to_end = m->capacity - slot_of(m, m->tail);
    size_t fit = again ? m->capacity - (size_t)(m->tail - m->head) : room(m);
    if (m->closed) {
        fit = again ? m->reserved : 0; /* the old reservation may be had again, and no more */
    }
    size_t most = fit < to_end ? fit : to_end;
    most = wanted < most ? wanted : most;
    size_t count = wanted;
    unsigned char *memory = RING(reserve)(m->ring, &count);
    if ((memory == NULL) != (count == 0) || count > most) {
        return fuzz_mismatch(play, "%zu slots reserved of %zu where %zu are free", count, wanted, most);
    }
    if (count == 0 && most > 0 && !m->closed) {
        return fuzz_mismatch(play, "no slot reserved of %zu where %zu are free", wanted, most);
    }
    if (again && count == 0) {
        return true; /* refused after close: the reservation stays */
    }
    if (count > 0 && !lies_right(m, memory, m->tail)) {
        return fuzz_mismatch(play, "slot %zu was expected at the address", slot_of(m, m->tail));
    }
    for (size_t i = 0; i < count; i++) {
        m->values[slot_of(m, m->tail + i)] = m->next_value;
        fill(memory + i * m->size, m->size, m->next_value++);
        if (HAS_CLAIMS) {
            m->slots[slot_of(m, m->tail + i)] = RESERVED;
        }
    }
    m->reserved = count;
    m->reserved_at = m->tail;
    m->reserved_memory = memory;
    if (HAS_CLAIMS) {
        m->tail += count;
    }
    return true;
}

static inline void do_commit(struct model *m, uint32_t argument) {
    size_t count = m->reserved > 0 ? argument % (m->reserved + 1) : 0;
    if (m->reserved == 0 || (HAS_CLAIMS && count == 0)) {
        return;
    }
    RING(commit)(m->ring, count);
    for (size_t i = 0; i < count; i++) {
        m->slots[slot_of(m, m->reserved_at + i)] = FULL;
    }
    if (HAS_CLAIMS) {
        m->reserved_at += count;
        m->reserved -= count;
    } else { /* the rest is given up */
        m->tail += count;
        m->reserved = 0;
    }
}

static inline bool do_peek(struct fuzz_play *play, struct model *m, uint32_t argument) {
    if (HAS_CLAIMS && m->shown > 0) {
        return true; /* misuse */
    }
    const size_t wanted = argument % (MOST_AT_ONCE + 1);
    const size_t to_end = m->capacity - slot_of(m, m->head);
    size_t most = elements(m) < to_end ? elements(m) : to_end;
    most = wanted != 0 && wanted < most ? wanted : most;
    size_t count = wanted;
    const unsigned char *memory = RING(peek)(m->ring, &count);
    if ((memory == NULL) != (count == 0) || count > most || (count == 0 && most > 0)) {
        return fuzz_mismatch(play, "%zu elements shown of %zu where %zu are there", count, wanted, most);
    }
    if (count > 0 && !lies_right(m, memory, m->head)) {
        return fuzz_mismatch(play, "slot %zu was expected at the address", slot_of(m, m->head));
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t value = m->values[slot_of(m, m->head + i)];
        if (!is_element(memory + i * m->size, m->size, value)) {
            return fuzz_mismatch(play, "element %zu of %zu shown is not number %llu", i, count,
                                 (unsigned long long)value);
        }
        if (HAS_CLAIMS) {
            m->slots[slot_of(m, m->head + i)] = SHOWN;
        }
    }
    m->shown = count;
    m->shown_at = m->head;
    if (HAS_CLAIMS) {
        m->head += count;
    }
    return true;
}

static inline void do_release(struct model *m, uint32_t argument) {
    size_t count = m->shown > 0 ? 1 + argument % m->shown : 0;
    if (count == 0) {
        return;
    }
    RING(release)(m->ring, count);
    for (size_t i = 0; i < count; i++) {
        m->slots[slot_of(m, m->shown_at + i)] = FREE;
    }
    m->shown_at += count;
    m->shown -= count;
    if (!HAS_CLAIMS) {
        m->head += count;
    }
}

static inline bool do_arm(struct fuzz_play *play, struct model *m, enum verb verb) {
    bool pops = verb == ARM_POP;
    if (!m->has_hook || (pops ? consumer_is_busy(m) : producer_is_busy(m))) {
        return true;
    }
    bool expected = pops ? elements(m) == 0 && !is_drained(m) : room(m) == 0 && !m->closed;
    bool armed = pops ? RING(arm_pop)(m->ring) : RING(arm_push)(m->ring);
    if (armed != expected && !(m->closed && m->reserved > 0)) {
        return fuzz_mismatch(play, "%s answers %d", verbs[verb].name, armed);
    }
    *(pops ? &m->armed_pop : &m->armed_push) = armed;
    return true;
}

static inline bool do_step(struct fuzz_play *play, struct model *m, struct fuzz_step step) {
    switch ((enum verb)step.verb) {
    case TRY_PUSH:
    case PUSH_UNTIL:
    case PUSH_MANY:
        return do_push(play, m, step.verb, step.argument);
    case RESERVE:
        return do_reserve(play, m, step.argument);
    case COMMIT:
        do_commit(m, step.argument);
        return true;
    case TRY_POP:
    case POP_UNTIL:
    case POP_MANY:
        return do_pop(play, m, step.verb, step.argument);
    case PEEK:
        return do_peek(play, m, step.argument);
    case RELEASE:
        do_release(m, step.argument);
        return true;
    case OVERWRITE:
        return do_overwrite(play, m, step.argument);
    case ARM_POP:
    case ARM_PUSH:
        return do_arm(play, m, step.verb);
    case SET_NOTIFY:
        if (!m->armed_pop && !m->armed_push) {
            m->has_hook = step.argument % 3 != 0;
            RING(set_notify)(m->ring, m->has_hook ? on_event : NULL, m);
        }
        return true;
    case CLOSE:
        RING(close)(m->ring);
        m->closed = true;
        return true;
    }
    return true;
}

/* What holds after every step. */
static inline bool agrees(struct fuzz_play *play, struct model *m, unsigned readable, unsigned writable) {
    m->armed_pop = m->armed_pop && m->readable_calls == readable;
    m->armed_push = m->armed_push && m->writable_calls == writable;
    bool may_wait = m->closed && m->reserved > 0;
    if (m->armed_pop && (elements(m) > 0 || is_drained(m))) {
        return fuzz_mismatch(play, "the hook was armed for elements and not called");
    }
    if (m->armed_push && (room(m) > 0 || m->closed) && !may_wait) {
        return fuzz_mismatch(play, "the hook was armed for room and not called");
    }
    if (RING(count)(m->ring) != m->tail - m->head || RING(capacity)(m->ring) != m->capacity) {
        return fuzz_mismatch(play, "count is %zu; %llu are in the ring", RING(count)(m->ring),
                             (unsigned long long)(m->tail - m->head));
    }
    if (!may_wait && RING(is_closed)(m->ring) != m->closed) {
        return fuzz_mismatch(play, "is_closed is not %d", m->closed);
    }
    return true;
}

static inline bool play_on_ring(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    static const size_t sizes[] = {1, 2, 3, 4, 8, 12, 16, 24, 33, 64};
    uint64_t random = ~play->seed;
    struct model m = {.next_value = 1};
    m.capacity = 1 + (size_t)(fuzz_random(&random) % MOST_SLOTS);
    m.size = sizes[fuzz_random(&random) % (sizeof sizes / sizeof *sizes)];
    snprintf(play->configuration, sizeof play->configuration, "%s of %zu elements of %zu bytes", RING_NAME,
             m.capacity, m.size);
    check_equal(RING(create)(&m.ring, m.capacity, m.size), ILK_OK);
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        unsigned readable = m.readable_calls, writable = m.writable_calls;
        agreed = do_step(play, &m, steps[play->at]) && agrees(play, &m, readable, writable);
    }
    while (agreed && (m.reserved > 0 || m.shown > 0 || elements(&m) > 0)) {
        if (m.reserved > 0) {
            do_commit(&m, (uint32_t)m.reserved);
        }
        do_release(&m, (uint32_t)m.shown - 1);
        agreed = m.shown > 0 || do_pop(play, &m, POP_MANY, MOST_AT_ONCE);
    }
    if (agreed) {
        RING(close)(m.ring);
        m.closed = true;
        agreed = do_pop(play, &m, POP_UNTIL, 0);
    }
    if (!agreed) { /* destroying with something open would hide the finding */
        return false;
    }
    RING(destroy)(m.ring);
    return true;
}

static inline void fuzz_ring(void) {
    const struct fuzz_driver driver = {"fuzz_rings: " RING_NAME, verbs, sizeof verbs / sizeof *verbs, 200,
                                       play_on_ring};
    fuzz_run(&driver);
}

#endif
