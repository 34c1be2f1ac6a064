/* SPDX-License-Identifier: Apache-2.0
 *
 * The choice of the next thread. Every visible operation calls ex_point() first; there the strategy may
 * switch to another thread, or let an event end a thread's wait.
 *
 * A thread that calls ilk_cpu_relax() yields until another thread writes, or until no other can run. A loop
 * with a limit ends without a write: so a thread may also stay, once without a write in between.
 */
#include "state.h"

/* Lists the threads that may run next. `here`: the current thread is candidate 0. */
static unsigned list_candidates(ex_candidate *list, bool here) {
    unsigned count = 0;
    if (here) {
        list[count++] = (ex_candidate){(uint8_t)ex.current, EX_NO_EVENT};
    }
    unsigned ready = ex.runnable & ~ex.yielded;
    for (unsigned i = 1; i < EX_THREADS; i++) {
        unsigned thread = (ex.current + i) % EX_THREADS;
        if (ready & (1u << thread)) {
            list[count++] = (ex_candidate){(uint8_t)thread, EX_NO_EVENT};
        }
    }
    bool stuck = count == 0;
    if (ex.timed != 0) {
        /* Only spinners are left: time passes to the earliest deadline. */
        uint64_t earliest = EX_NEVER;
        for (unsigned i = 0; i < EX_THREADS; i++) {
            if ((ex.timed & (1u << i)) && ex.thread[i].deadline < earliest) {
                earliest = ex.thread[i].deadline;
            }
        }
        for (unsigned i = 0; i < EX_THREADS; i++) {
            if ((ex.timed & (1u << i)) == 0) {
                continue;
            }
            bool due = ex.thread[i].deadline <= ex.clock_ns;
            if (due || ex.timeouts > 0 || (stuck && ex.thread[i].deadline == earliest)) {
                list[count++] = (ex_candidate){(uint8_t)i, EX_TIMED_OUT};
            }
        }
    }
    if (stuck && ex.runnable != 0) {
        /* Only spinners: round robin, no choice. */
        for (unsigned i = 1; i <= EX_THREADS; i++) {
            unsigned thread = (ex.current + i) % EX_THREADS;
            if (ex.runnable & (1u << thread)) {
                list[count++] = (ex_candidate){(uint8_t)thread, EX_NO_EVENT};
                break;
            }
        }
    }
    if (ex.spurious_wakeups > 0) {
        for (unsigned i = 0; i < EX_THREADS; i++) {
            if (ex.asleep & (1u << i)) {
                list[count++] = (ex_candidate){(uint8_t)i, EX_SPURIOUS};
            }
        }
    }
    return count;
}

static void stop_waiting(unsigned index, ex_event event) {
    ex_thread *thread = &ex.thread[index];
    unsigned bit = 1u << index;
    if (thread->waiting == EX_ON_FUTEX || thread->waiting == EX_ON_CONDITION) {
        ex_reach(event == EX_WOKEN       ? EX_SLEEPER_WOKEN
                 : event == EX_TIMED_OUT ? EX_SLEEPER_LATE
                                         : EX_NO_STATE);
    }
    thread->waiting = EX_NOT_WAITING;
    thread->ended_by = event;
    ex.runnable |= bit;
    ex.timed &= ~bit;
    ex.asleep &= ~bit;
    ex.yielded &= ~bit;
}

static void apply_event(ex_candidate chosen) {
    ex_thread *thread = &ex.thread[chosen.thread];
    if (chosen.event == EX_TIMED_OUT) {
        if (thread->deadline > ex.clock_ns) {
            ex.clock_ns = thread->deadline;
            ex.timeouts -= ex.timeouts > 0;
        }
    } else if (chosen.event == EX_SPURIOUS) {
        ex.spurious_wakeups--;
    } else {
        return;
    }
    stop_waiting(chosen.thread, (ex_event)chosen.event);
}

static const char *describe_wait(const ex_thread *thread, char *text, size_t size) {
    switch (thread->waiting) {
    case EX_ON_FUTEX: {
        uint32_t now = *(const volatile uint32_t *)thread->waits_for;
        snprintf(text, size, "sleeps on %p since it held 0x%x; it holds 0x%x now", thread->waits_for,
                 thread->expected, now);
        break;
    }
    case EX_ON_MUTEX:
        snprintf(text, size, "waits for the mutex %p", thread->waits_for);
        break;
    case EX_ON_CONDITION:
        snprintf(text, size, "waits for a signal of the condition %p", thread->waits_for);
        break;
    default:
        snprintf(text, size, "waits");
        break;
    }
    return text;
}

static _Noreturn void report_deadlock(void) {
    char text[1024];
    size_t used = 0;
    bool lost = false;
    for (unsigned i = 1; i < ex.threads; i++) {
        const ex_thread *thread = &ex.thread[i];
        if (thread->waiting == EX_NOT_WAITING || used >= sizeof text) {
            continue;
        }
        if (thread->waiting == EX_ON_FUTEX &&
            *(const volatile uint32_t *)thread->waits_for != thread->expected) {
            lost = true;
        }
        char wait[160];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", used == 0 ? "" : "; ",
                                 ex_title(i), describe_wait(thread, wait, sizeof wait));
    }
    if (lost) {
        ex_fail(EX_LOST_WAKEUP, "no thread is left to wake another: %s", text);
    }
    ex_fail(EX_DEADLOCK, "no thread can go on: %s", text);
}

static void switch_to(unsigned thread) {
    unsigned before = ex.current;
    ex.current = thread;
    ex.yielded &= ~(1u << thread);
    if (before != thread) {
        ex_fiber_switch(&ex.thread[before].fiber, &ex.thread[thread].fiber);
    }
}

/* What the current thread may do. */
enum current {
    RUNS,     /* go on, and be preempted */
    MAY_STAY, /* it yielded, and may go on all the same */
    IS_OUT    /* it waits, has ended, or yielded */
};

/* Returns when the current thread is chosen again. */
static void schedule(enum current current) {
    unsigned ready = ex.runnable & ~ex.yielded;
    unsigned me = 1u << ex.current;
    if (current == RUNS && ready == me && ex.timed == 0 && (ex.asleep == 0 || ex.spurious_wakeups == 0)) {
        return;
    }
    ex_candidate list[3 * EX_THREADS + 1];
    unsigned count = list_candidates(list, current == RUNS);
    if (count == 0) {
        report_deadlock();
    }
    if (current == MAY_STAY && list[count - 1].thread != ex.current) {
        list[count++] = (ex_candidate){(uint8_t)ex.current, EX_NO_EVENT};
    }
    unsigned free = current == RUNS ? 1 : count;
    unsigned chosen = count > 1 ? ex_choose_thread(list, count, free) : 0;
    apply_event(list[chosen]);
    switch_to(list[chosen].thread);
}

static void count_step(void) {
    if (++ex.steps > ex.step_limit) {
        ex_fail(EX_LIVELOCK, "no end after %u steps", ex.step_limit);
    }
}

static void run_handler(void) {
    if (ex_choose(2) != 0) {
        ex.signals--;
        ex_reach(EX_HANDLER_RAN);
        if (ex.recording) {
            ex_trace(NULL, "signal: the handler runs");
        }
        ex.scenario->handler();
        if (ex.recording) {
            ex_trace(NULL, "the handler returns");
        }
    }
}

void ex_point(void) {
    count_step();
    schedule(RUNS);
    if (ex.signals > 0 && ex.current == 1 && !ex.signals_held) {
        run_handler();
    }
}

void ex_yield(void) {
    count_step();
    ex.yielded |= 1u << ex.current;
    ex_thread *me = ex_me();
    uint32_t news = ex.writes - me->writes; /* writes by others so far */
    bool may_stay = news != me->news;
    me->news = news;
    schedule(may_stay ? MAY_STAY : IS_OUT);
}

ex_event ex_wait(ex_waiting kind, const void *object, uint32_t expected, uint64_t deadline) {
    ex_thread *me = ex_me();
    unsigned bit = 1u << ex.current;
    if (kind != EX_ON_MUTEX && (ex.scenario->never_sleep & (bit >> 1)) != 0) {
        ex_fail(EX_ASSERTION, "%s sleeps, and must never", ex_title(ex.current));
    }
    me->waiting = kind;
    me->waits_for = object;
    me->expected = expected;
    me->deadline = deadline;
    me->since = ex.arrivals++;
    ex.runnable &= ~bit;
    if (deadline != EX_NEVER) {
        ex.timed |= bit;
    }
    if (kind == EX_ON_FUTEX || kind == EX_ON_CONDITION) {
        ex.asleep |= bit;
    }
    schedule(IS_OUT);
    return me->ended_by;
}

/* The contract leaves open which sleeper one of `wanted` wake-ups reaches. */
static unsigned wake_one_of(ex_waiting kind, const void *object, unsigned wanted) {
    uint8_t waiting[EX_THREADS];
    unsigned found = 0;
    for (unsigned i = 0; i < EX_THREADS; i++) {
        if (ex.thread[i].waiting == kind && ex.thread[i].waits_for == object) {
            waiting[found++] = (uint8_t)i;
        }
    }
    if (found == 0) {
        return EX_THREADS;
    }
    const unsigned which = waiting[found > wanted ? ex_choose(found) : 0];
    if (ex.recording && kind != EX_ON_MUTEX && kind != EX_ON_JOIN) {
        ex_trace(NULL, "  wakes %s", ex_title(which));
    }
    stop_waiting(which, EX_WOKEN);
    return which;
}

unsigned ex_wake_any(ex_waiting kind, const void *object) {
    return wake_one_of(kind, object, 1);
}

unsigned ex_wake(ex_waiting kind, const void *object, unsigned count) {
    unsigned woken = 0;
    while (woken < count && wake_one_of(kind, object, count - woken) != EX_THREADS) {
        woken++;
    }
    return woken;
}

void ex_leave(void) {
    unsigned bit = 1u << ex.current;
    ex.thread[ex.current].ended = true;
    ex.runnable &= ~bit;
    ex.unfinished &= ~bit;
    ex.yielded = 0;
    if (ex.unfinished == 0) {
        ex_wake(EX_ON_JOIN, &ex, 1);
    }
    schedule(IS_OUT);
}

bool ex_is_waiting(unsigned thread) {
    return ex.thread[thread].ended || ex.thread[thread].waiting != EX_NOT_WAITING;
}
