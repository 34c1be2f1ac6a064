/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings' notify hook, <interlock/notify.h>, after a face (spsc_face.h, mpmc_face.h). The clients loop as
 * the header shows, and sleep on a word that the hook sets: a missing call ends in deadlock. The hook reads
 * plain memory of its installer: it must be ordered after the arm.
 *
 * A call made before the arm went up counts for nothing. A client takes the number of calls when arm answers,
 * and sleeps until there is one more. The arm goes up in arm's last atomic step, and the explorer changes
 * threads only before such steps, so that no call comes between.
 */
#ifndef EXPLORER_SCENARIOS_NOTIFY_CLIENTS_H
#define EXPLORER_SCENARIOS_NOTIFY_CLIENTS_H

#include <interlock/park.h>

/* What a hook's context points to. */
struct calls {
    ILK_ATOMIC(uint32_t) ended; /* the number of the last ended call; clients sleep on it */
    uint32_t begun;             /* how many have begun; the explorer's own record */
    uint32_t installed;         /* plain, by the installer before it installs */
    ilk_ring_event event;
};

static struct {
    ring_type *ring;
    struct calls calls;
    unsigned arming; /* a bit for each thread in an arm call */
    bool refused;    /* the one arm of the execution answered false */
} s;

static inline void begin(unsigned capacity, bool membarrier) {
    s.calls = (struct calls){.ended = 0};
    s.arming = 0;
    s.refused = false;
    ilk__membarrier_works = membarrier;
    ex_assert(RING(create)(&s.ring, capacity, sizeof(uint64_t)) == ILK_OK);
}
static inline void setup_1(void) {
    begin(1, true);
}
static inline void setup_2(void) {
    begin(2, true);
}
static inline void setup_refused(void) {
    begin(1, false);
}
static inline void check(void) {
    RING(destroy)(s.ring);
}

/* ---- The hook and its clients ---- */

static inline void hook(void *context, ilk_ring_event event) {
    struct calls *calls = context;
    const uint32_t number = ++calls->begun;
    ex_expect((s.arming >> ex_thread_index() & 1) == 0, "the hook runs on a thread that is in an arm call");
    ilk_plain_read(&calls->installed, sizeof calls->installed);
    ex_assert(calls->installed == 1);
    ex_expect(event == calls->event, "the hook was told of the wrong side");
    uint32_t ended = ilk_atomic_load(&calls->ended, memory_order_relaxed);
    while (ended < number && !ilk_atomic_compare_exchange(&calls->ended, &ended, number, memory_order_release,
                                                          memory_order_relaxed)) {
    }
    ilk_park_wake(&calls->ended, ILK_PARK_ALL);
}

static inline void install(ilk_ring_event event) {
    ilk_plain_write(&s.calls.installed, sizeof s.calls.installed);
    s.calls.installed = 1;
    s.calls.event = event;
    RING(set_notify)(s.ring, hook, &s.calls);
}

/* What arm answers; `*before`: the number of calls before the arm was up. */
static inline bool arm(ilk_ring_event event, uint32_t *before) {
    const unsigned me = 1U << ex_thread_index();
    s.arming |= me;
    const bool armed = event == ILK_READABLE ? RING(arm_pop)(s.ring) : RING(arm_push)(s.ring);
    *before = s.calls.begun;
    s.arming &= ~me;
    return armed;
}

static inline void arm_and_await(ilk_ring_event event) {
    uint32_t before;
    if (!arm(event, &before)) {
        return;
    }
    for (;;) {
        /* A read-modify-write: a plain load might read 0 for ever. */
        const uint32_t ended = ilk_atomic_fetch_add(&s.calls.ended, 0, memory_order_acquire);
        if (ended > before) {
            return;
        }
        (void)ilk_park_wait(&s.calls.ended, ended, ILK_FOREVER);
    }
}

static inline bool try_push(void) {
    const uint64_t element = 1;
    return RING(try_push)(s.ring, &element, sizeof element);
}
static inline bool try_pop(void) {
    uint64_t element;
    return RING(try_pop)(s.ring, &element, sizeof element);
}
static inline ilk_status push_until(uint64_t deadline) {
    const uint64_t element = 1;
    return RING(push_until)(s.ring, &element, sizeof element, deadline);
}
static inline ilk_status pop_until(uint64_t deadline) {
    uint64_t element;
    return RING(pop_until)(s.ring, &element, sizeof element, deadline);
}

static inline void pop_by_installed_hook(void) {
    while (!try_pop()) {
        arm_and_await(ILK_READABLE);
    }
}
static inline void pop_one_by_hook(void) {
    install(ILK_READABLE);
    pop_by_installed_hook();
}
static inline void push_by_installed_hook(void) {
    while (!try_push()) {
        arm_and_await(ILK_WRITABLE);
    }
}
static inline void drain_by_hook(void) {
    install(ILK_READABLE);
    for (ilk_status status = ILK_OK; status != ILK_CLOSED;) {
        status = pop_until(0);
        if (status == ILK_TIMEDOUT) {
            arm_and_await(ILK_READABLE);
        }
    }
}
static inline void push_by_hook_until_closed(void) {
    install(ILK_WRITABLE);
    for (ilk_status status = ILK_OK; status != ILK_CLOSED;) {
        status = push_until(0);
        if (status == ILK_TIMEDOUT) {
            arm_and_await(ILK_WRITABLE);
        }
    }
}

/* ---- The other side ---- */

enum { SOON = 5000 };

static inline void push_if_room(void) {
    (void)!try_push();
}
static inline void push_if_room_twice(void) {
    push_if_room();
    push_if_room();
}
static inline void pop_if_any(void) {
    (void)!try_pop();
}
static inline void push_one(void) {
    ex_assert(push_until(ILK_FOREVER) == ILK_OK);
}
static inline void push_two(void) {
    push_one();
    push_one();
}
static inline void pop_one(void) {
    ex_assert(pop_until(ILK_FOREVER) == ILK_OK);
}
/* The deadline may pass again and again. */
static inline void pop_late(unsigned count) {
    for (unsigned popped = 0; popped < count;) {
        popped += pop_until(SOON) == ILK_OK ? 1 : 0;
    }
}
static inline void push_batch(void) {
    const uint64_t elements[2] = {1, 2};
    ex_assert(RING(try_push_many)(s.ring, elements, 2, sizeof *elements) == 2);
}
static inline void push_in_place(void) {
    size_t count = 1;
    uint64_t *slot = RING(reserve)(s.ring, &count);
    ex_assert(slot != NULL);
    ilk_plain_write(slot, sizeof *slot);
    *slot = 1;
    RING(commit)(s.ring, 1);
}
static inline void pop_by_batch(size_t count) {
    uint64_t elements[2];
    for (size_t popped = 0; popped < count;) {
        size_t found = RING(try_pop_many)(s.ring, elements, 2, sizeof *elements);
        popped += found;
        if (found == 0) {
            ilk_cpu_relax();
        }
    }
}
static inline void pop_in_place(unsigned total) {
    for (unsigned popped = 0; popped < total;) {
        size_t count = 1;
        const uint64_t *slot = RING(peek)(s.ring, &count);
        if (slot != NULL) {
            ilk_plain_read(slot, sizeof *slot);
            RING(release)(s.ring, 1);
            popped++;
        } else {
            ilk_cpu_relax();
        }
    }
}
static inline void close_ring(void) {
    RING(close)(s.ring);
}

#endif
