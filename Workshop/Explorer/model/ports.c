/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's ports to the system, in the model; they replace futex_linux.c and its kin at link time.
 */
#include "../engine/heap.h"
#include "../engine/state.h"
#include <diagnostics/misuse.h>
#include <errno.h>
#include <interlock/deadline.h>
#include <platform/clock.h>
#include <platform/exit.h>
#include <platform/futex.h>
#include <platform/identity.h>
#include <platform/membarrier.h>
#include <platform/pages.h>
#include <platform/signals.h>
#include <platform/stores.h>
#include <platform/yield.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(EX_NEVER == ILK_FOREVER, "the engine's deadline that never passes is the core's");

/* The kernel compares and puts to sleep in one step, and reads the newest value of the word (futex(2), smp_mb
 * in futex_wait). It promises nothing else about the waiter's memory. */
int ilk__futex_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    if (!ex.running) {
        return EAGAIN;
    }
    ex_point();
    ex_check_alive((uintptr_t)word, sizeof *word);
    uint32_t now = *(const volatile uint32_t *)word;
    if (now != expected) {
        if (ex.recording) {
            ex_trace(NULL, "futex wait %p: it is 0x%x, not 0x%x", (void *)word, now, expected);
        }
        return EAGAIN;
    }
    if (deadline_ns <= ex.clock_ns) {
        if (ex.recording) {
            ex_trace(NULL, "futex wait %p: the deadline has passed", (void *)word);
        }
        return ETIMEDOUT;
    }
    if (ex.recording) {
        ex_trace(NULL, "sleeps on %p, which holds 0x%x%s", (void *)word, expected,
                 deadline_ns == EX_NEVER ? "" : ", with a deadline");
    }
    ex_event event = ex_wait(EX_ON_FUTEX, word, expected, deadline_ns);
    if (ex.recording) {
        ex_trace(NULL, "%s",
                 event == EX_WOKEN ? "awake: woken"
                                   : (event == EX_TIMED_OUT ? "awake: time is out" : "awake: spuriously"));
    }
    return event == EX_WOKEN ? 0 : event == EX_TIMED_OUT ? ETIMEDOUT : EINTR;
}

/* No sleeper is found by its mark: the caller wakes any. */
int ilk__futex_wait_marked(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns,
                           uint32_t mark) {
    (void)mark;
    return ilk__futex_wait(word, expected, deadline_ns);
}

bool ilk__futex_wake_marked(const ILK_ATOMIC(uint32_t) * word, uint32_t mark) {
    (void)word;
    (void)mark;
    return false;
}

void ilk__futex_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) {
    if (!ex.running) {
        return;
    }
    ex_point();
    if (ex.recording) {
        ex_trace(NULL, "futex wake %p", (const void *)word);
    }
    ex_wake(EX_ON_FUTEX, word, count);
}

uint64_t ilk__clock_now_ns(void) {
    return ex.clock_ns;
}

/* Ticks serve heuristics only. Readings lie far apart, so that heuristics see times as over; the same in
 * every run of a schedule. */
static uint64_t ticks;

uint64_t ilk__clock_ticks(void) {
    return ticks += 1000;
}

void *ilk__pages_allocate(size_t size) {
    return ex_allocate_zeroed(1, size);
}

void ilk__pages_give_back(void *pages, size_t size) {
    (void)size;
    ex_free(pages);
}

/* Only the first body is ever interrupted. */
void ilk__signals_hold(sigset_t *before) {
    (void)before;
    if (ex.running && ex.scenario->handler != NULL) {
        ex_point();
        ex.signals_held = ex.signals_held || ex.current == 1;
    }
}

void ilk__signals_release(const sigset_t *before) {
    (void)before;
    if (ex.running && ex.scenario->handler != NULL) {
        ex.signals_held = ex.signals_held && ex.current != 1;
        ex_point();
    }
}

void ilk__thread_yield(void) {
    ilk_cpu_relax();
}

/* A child's threads have ids that the parent's had not. */
static uint32_t ids_before;

uint32_t ex_id_of(unsigned thread) {
    return ids_before + thread + 1;
}

uint32_t ilk__thread_id(void) {
    return ex_id_of(ex.current);
}

uint32_t ilk__thread_id_before_fork(void) {
    return ilk__thread_id();
}

void ilk__thread_id_forget(void) {
    ids_before += EX_THREADS;
}

bool ilk__membarrier_register(void) {
    return true;
}

bool ilk__membarrier(void) {
    if (!ex.running) {
        return true;
    }
    if (ex.scenario->refuse_membarrier) {
        return false;
    }
    ex_point();
    ex_heavy_fence();
    if (ex.recording) {
        ex_trace(NULL, "membarrier");
    }
    return true;
}

/* Without membarrier the core waits until stores must be visible: here, a heavy fence. */
void ilk__wait_for_stores(void) {
    if (ex.running) {
        ex_point();
        ex_heavy_fence();
    }
}

bool ilk__at_thread_exit(void (*hook)(void *context), void *context) {
    ex_thread *me = ex_me();
    me->hook = hook;
    me->hook_context = context;
    return true;
}

void ilk__note(const char *call, const void *object, const char *format, ...) {
    (void)call;
    (void)object;
    (void)format;
}

void ilk__misuse(const char *call, const void *object, const char *format, ...) {
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (!ex.running) {
        fprintf(stderr, "interlock: %s(%p): %s\n", call, object, sentence);
        abort();
    }
    ex_fail(EX_MISUSE, "interlock: %s(%p): %s", call, object, sentence);
}

enum { MOST_HANDLERS = 8 };

static struct { void (*prepare)(void), (*parent)(void), (*child)(void); } handlers[MOST_HANDLERS];
static unsigned handler_count, lasting_count;

int ex_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    if (handler_count == MOST_HANDLERS) {
        return ENOMEM;
    }
    handlers[handler_count].prepare = prepare;
    handlers[handler_count].parent = parent;
    handlers[handler_count].child = child;
    handler_count++;
    if (!ex.running) {
        lasting_count = handler_count;
    }
    return 0;
}

void ex_ports_reset(void) {
    handler_count = lasting_count;
    ticks = 0;
    ids_before = 0;
    ex_local_reset();
    ex_threads_reset();
}

void ex_fork(void) {
    for (unsigned i = handler_count; i-- > 0;) {
        if (handlers[i].prepare != NULL) {
            handlers[i].prepare();
        }
    }
    ex_point();
    if ((ex.unfinished & ~(1u << ex.current)) != 0) {
        ex_reach(EX_FORKED);
    }
    if (ex.recording) {
        ex_trace(NULL, "fork: goes on in the child, alone");
    }
    ex_keep_only_current();
    for (unsigned i = 0; i < handler_count; i++) {
        if (handlers[i].child != NULL) {
            handlers[i].child();
        }
    }
    ex_begin_child_threads();
}
