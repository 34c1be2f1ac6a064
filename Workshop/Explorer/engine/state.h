/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one execution, shared by the engine's files: one static struct without locks, because one
 * execution runs at a time, on one OS thread.
 *
 * The memory model. A location keeps its last few stores, numbered in modification order, which is the order
 * of execution. A thread's knowledge is a vector clock (happens-before on plain memory) and a view: for each
 * location the oldest store that the thread may still read. A load may choose any kept store from the view's
 * on. A release store or fence attaches its thread's knowledge to the store as a message, which an acquire of
 * the store joins into the reader's. In the sc mode loads return the newest store. Sources: Kang et al., "A
 * promising semantics for relaxed-memory concurrency" (2017), without promises; Norris and Demsky,
 * "CDSChecker" (2013), for bounded exploration.
 */
#ifndef EXPLORER_ENGINE_STATE_H
#define EXPLORER_ENGINE_STATE_H

#include "../explorer.h"
#include "atomics.h"
#include "fiber.h"
#include "strategy.h"
#include <stdio.h>

enum {
    EX_THREADS = EX_BODIES + 2, /* with thread 0, a multiple of a vector's length */
    EX_LOCATIONS = 512,
    EX_STALENESS = 2, /* stores back that a load may reach; times in a row, where no scenario says it */
    EX_KEPT = 4       /* stores kept per location: a power of two above EX_STALENESS */
};

typedef struct ex_clock {
    uint16_t at[EX_THREADS];
} ex_clock;

/* Entries from `length` on are 0: the initial store. */
typedef struct ex_view {
    uint16_t length;
    uint16_t at[EX_LOCATIONS];
} ex_view;

typedef struct ex_knowledge {
    ex_clock clock;
    ex_view view;
} ex_knowledge;

typedef struct ex_store {
    uint64_t value;
    uint16_t number; /* in modification order; 0 is the initial value */
    uint8_t writer;
    bool carries;  /* message is meaningful */
    uint32_t step; /* for the trace */
    ex_knowledge message;
} ex_store;

typedef struct ex_location {
    uintptr_t address;
    uint16_t id, newest;
    uint8_t size;
    uint8_t stale[EX_THREADS]; /* stale loads in a row, by thread */
    ex_clock touched;          /* each thread's own time at its last access */
    const ex_site *touched_at[EX_THREADS];
    ex_store kept[EX_KEPT];
} ex_location;

typedef enum ex_waiting { EX_NOT_WAITING, EX_ON_FUTEX, EX_ON_MUTEX, EX_ON_CONDITION, EX_ON_JOIN } ex_waiting;

typedef enum ex_event { EX_NO_EVENT, EX_WOKEN, EX_TIMED_OUT, EX_SPURIOUS } ex_event;

typedef struct ex_thread {
    ex_fiber fiber;
    ex_waiting waiting;
    ex_event ended_by; /* what ended the last wait */
    bool ended;
    const void *waits_for;
    uint32_t expected;
    uint64_t deadline;
    uint32_t since;       /* order of arrival among sleepers */
    const ex_site *where; /* of the wait */
    uint32_t writes;      /* its own */
    uint32_t news;        /* others' when it last yielded */
    int priority;         /* PCT */
    void (*hook)(void *);
    void *hook_context;
    ex_knowledge now;     /* what it knows */
    ex_knowledge heard;   /* read by relaxed loads; an acquire fence joins it */
    ex_knowledge offered; /* the last release fence attaches it to later relaxed stores */
} ex_thread;

typedef struct ex_execution {
    const ex_scenario *scenario;
    unsigned stale_in_a_row;
    bool running; /* between the start and the end of an execution */
    bool weak;
    bool recording; /* keep the trace */

    unsigned current;
    unsigned runnable; /* bit sets of threads */
    unsigned yielded;
    unsigned timed;  /* sleepers with a deadline */
    unsigned asleep; /* on a futex or a condition */
    unsigned unfinished;
    unsigned threads;
    uint32_t steps, step_limit;
    uint32_t arrivals;
    uint32_t writes; /* that changed something */
    uint64_t clock_ns;
    unsigned spurious_wakeups, timeouts, weak_failures, signals; /* budgets left */
    bool signals_held;                                           /* by the first body */

    ex_view sc; /* what seq_cst fences and stores made known */
    unsigned locations;
    ex_thread thread[EX_THREADS];

    ex_verdict verdict;
    char message[2048];
    const char *failed_file;
    int failed_line;
} ex_execution;

#define EX_NEVER UINT64_MAX /* the deadline that never passes: ILK_FOREVER */

extern ex_execution ex;

static inline ex_thread *ex_me(void) {
    return &ex.thread[ex.current];
}

/* knowledge.c */
void ex_clock_join(ex_clock *into, const ex_clock *from);
void ex_view_join(ex_view *into, const ex_view *from);
void ex_view_raise(ex_view *view, unsigned location, uint16_t number);
static inline uint16_t ex_view_at(const ex_view *view, unsigned location) {
    return location < view->length ? view->at[location] : 0;
}
void ex_knowledge_join(ex_knowledge *into, const ex_knowledge *from);
void ex_knowledge_copy(ex_knowledge *into, const ex_knowledge *from);
void ex_knowledge_clear(ex_knowledge *knowledge);

/* execution.c: one execution from setup() to check(). */
ex_verdict ex_run_once(const ex_scenario *scenario, bool weak, bool recording);
_Noreturn void ex_fail(ex_verdict verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *ex_title(unsigned thread);
const char *ex_verdict_name(ex_verdict verdict);
void ex_keep_only_current(void); /* fork */
void ex_begin_child_threads(void);

/* schedule.c: the choice of the next thread. */
void ex_point(void); /* before every visible operation */
void ex_yield(void); /* after one iteration of a spin loop */
ex_event ex_wait(ex_waiting kind, const void *object, uint32_t expected, uint64_t deadline);
unsigned ex_wake(ex_waiting kind, const void *object, unsigned count);
unsigned ex_wake_any(ex_waiting kind, const void *object); /* the thread; EX_THREADS: none waits */
void ex_leave(void); /* the current thread has ended; returns only to the last waiter */
static inline void ex_wrote(void) {
    ex.writes++;
    ex_me()->writes++;
    ex.yielded = 0; /* a spinner may read something new */
}

/* memory.c */
void ex_memory_reset(void);
ex_location *ex_locate(const volatile void *address, unsigned size);
ex_location *ex_find_location(uintptr_t address);
void ex_forget_location(ex_location *location);
void ex_heavy_fence(void);
void ex_acquire_object(const void *object, unsigned size);
void ex_release_object(const void *object, unsigned size);
void ex_kernel_read(void *object, unsigned size);                  /* no point, no order */
void ex_kernel_write(void *object, unsigned size, uint64_t value); /* a relaxed read-modify-write, no point */

/* race.c */
void ex_race_reset(void);
void ex_check_alive(uintptr_t address, size_t size);
void ex_check_initialised(const ex_location *location);

/* model/ports.c */
void ex_ports_reset(void);
uint32_t ex_id_of(unsigned thread);
void ex_local_reset(void);   /* model/core_local.c */
void ex_threads_reset(void); /* model/threads.c */

/* heap.c */
void ex_heap_open(void);
void ex_heap_reset(void);
bool ex_heap_holds(uintptr_t address);
bool ex_heap_live(uintptr_t address);

/* globals.c: the core's static data, as it was before main */
void ex_globals_save(void);
void ex_globals_restore(void);

/* trace.c */
typedef struct ex_step {
    uint32_t number;
    uint8_t thread;
    const ex_site *site;
    char text[120];
} ex_step;
void ex_trace_clear(void);
void ex_trace(const ex_site *site, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ex_trace_print(FILE *to);
void ex_trace_operation(const char *verb, const ex_site *site, const ex_location *location,
                        const ex_store *read, int order, bool wrote, uint64_t written);

#endif
