/* SPDX-License-Identifier: Apache-2.0
 *
 * The schedule explorer's interface for scenarios. A scenario is a few threads of at most a dozen operations
 * each. The explorer runs it again and again as fibers on one OS thread. At every atomic operation, park and
 * wake it chooses the next thread, and in the weak mode the store that a load returns. It reports the first
 * schedule that breaks a claim, as columns with a replay line. See docs/verification.md for the method and
 * what a clean run does not prove.
 *
 * A scenario in full:
 *
 *     static struct { ILK_ATOMIC(int) flag; int data; } s;
 *     static void setup(void) { s.flag = 0; s.data = 0; }
 *     static void writer(void) {
 *         ilk_plain_write(&s.data, sizeof s.data);
 *         s.data = 1;
 *         ilk_atomic_store(&s.flag, 1, memory_order_release);
 *     }
 *     static void reader(void) {
 *         if (ilk_atomic_load(&s.flag, memory_order_acquire)) {
 *             ilk_plain_read(&s.data, sizeof s.data);
 *             ex_assert(s.data == 1);
 *         }
 *     }
 *     EX_SCENARIO(passes) {
 *         .name = "message-passing", .claim = "a thread that sees the flag sees the data",
 *         .setup = setup, .threads = { writer, reader },
 *     };
 *
 * Rules: state is in static memory that setup() writes anew, or from ex_allocate; threads share only
 * <interlock/inline/atomic.h>, the primitives under test, and plain memory announced with
 * ilk_plain_read/ilk_plain_write (in grains of four bytes); every spin loop calls ilk_cpu_relax(); no
 * printing, sleeping or real threads.
 */
#ifndef EXPLORER_H
#define EXPLORER_H

#include "states.h"
#include <interlock/inline/atomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EX_BODIES 6

/* How an execution can end. */
typedef enum ex_verdict {
    EX_CLEAN,
    EX_ASSERTION,   /* ex_assert, ex_expect, a history without an order */
    EX_RACE,        /* plain memory of two threads, one writing, with no happens-before */
    EX_DEADLOCK,    /* every thread waits, and none can wake another */
    EX_LOST_WAKEUP, /* the same, and a sleeper's word has changed since */
    EX_LIVELOCK,    /* the step limit was reached without progress */
    EX_DEAD_MEMORY, /* an access to freed memory or to a returned stack frame */
    EX_MISUSE,      /* ilk__misuse was called */
    EX_UNREACHED,   /* a state that the scenario names was not reached, or one that it cannot reach was */
    EX_BEYOND       /* not modelled */
} ex_verdict;

enum { EX_SC = 1, EX_WEAK = 2, EX_UNBOUNDED = 1000 };

typedef struct ex_scenario {
    const char *name;
    const char *claim;                /* what holds, in one sentence; for a broken one: what is wrong */
    void (*setup)(void);              /* alone, before the threads */
    void (*threads[EX_BODIES])(void); /* the first NULL ends the list */
    const char *titles[EX_BODIES];    /* headings of the columns; "thread 1"... where NULL */
    void (*check)(void);              /* alone, after the last thread has ended */

    ex_verdict finds;         /* what must be found; EX_CLEAN: nothing may be */
    unsigned finds_in;        /* modes in which it must be found, clean in others; 0: all */
    unsigned modes;           /* EX_SC | EX_WEAK; 0: both */
    int sc_bound, weak_bound; /* preemption bounds of the depth-first search; 0: 3 and 2 */
    unsigned stale_in_a_row;  /* loads of a location by a thread, at most; 0: 2 */
    unsigned step_limit;      /* 0: 2,000 */

    /* Events that the explorer may place anywhere, at most so many in one execution. A time-out also happens,
     * without limit, when no thread can run. */
    unsigned spurious_wakeups; /* a sleeper wakes without a wake-up */
    unsigned timeouts;         /* a deadline passes though others could run */
    unsigned weak_failures;    /* compare_exchange_weak fails spuriously */
    bool refuse_membarrier;

    /* A signal handler, which runs once at most, before any step of the first body but while it holds signals back. */
    void (*handler)(void);

    /* Bodies that begin after ex_fork, as threads of the child; a mask as that below. */
    unsigned born_in_child;

    /* Threads that must never sleep, as a mask of body indices (bit 0: the first). Mutexes of the modelled
     * park table do not count. */
    unsigned never_sleep;

    /* Replay lines ("weak 3:1,17:2"), tried first. */
    const char *once_failed[4];

    unsigned weight; /* multiplies the budgets of random and PCT runs; 0: 1 */
    bool slow;       /* has the budget of --smoke in the quick selection */
} ex_scenario;

/* Enters a scenario into the program's list; stands before its initialiser. */
#define EX_SCENARIO(identifier)                                                                              \
    static const ex_scenario identifier;                                                                     \
    __attribute__((constructor)) static void identifier##_enters(void) {                                     \
        ex_enter(&identifier);                                                                               \
    }                                                                                                        \
    static const ex_scenario identifier =

void ex_enter(const ex_scenario *scenario);

/* A row of a table of the states (states.h) that scenarios must reach, in each mode, however small the budget. A
 * scenario in which a fault is found need reach none.
 *
 *     EX_MUST_REACH(states){
 *         {"rwlock-read-write", {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE}},
 *     };                                                                                                     */
typedef struct ex_must_reach {
    const char
        *scenarios; /* patterns of fnmatch(3), blanks between, each of which fits one; NULL ends the table */
    ex_state states[16]; /* EX_NO_STATE ends the row */
} ex_must_reach;

enum { EX_ROWS = 128 }; /* of a table, at most, with its end */

/* Enters a table; stands before its initialiser. */
#define EX_MUST_REACH(identifier)                                                                            \
    static const ex_must_reach identifier[EX_ROWS];                                                          \
    __attribute__((constructor)) static void identifier##_enters(void) {                                     \
        ex_enter_states(identifier, false);                                                                  \
    }                                                                                                        \
    static const ex_must_reach identifier[EX_ROWS] =

void ex_enter_states(const ex_must_reach *table, bool cannot);

/* The same for states that scenarios cannot reach, though they pass the mark. A mark whose condition always holds
 * counts states that no thread is in, and no EX_MUST_REACH tells. */
#define EX_CANNOT_REACH(identifier)                                                                          \
    static const ex_must_reach identifier[EX_ROWS];                                                          \
    __attribute__((constructor)) static void identifier##_enters(void) {                                     \
        ex_enter_states(identifier, true);                                                                   \
    }                                                                                                        \
    static const ex_must_reach identifier[EX_ROWS] =

/* Claims. A claim that fails ends the execution. */
#define ex_assert(condition)                                                                                 \
    ((condition) ? (void)0 : ex_fail_at(EX_ASSERTION, __FILE__, __LINE__, "%s does not hold", #condition))
#define ex_expect(condition, ...)                                                                            \
    ((condition) ? (void)0 : ex_fail_at(EX_ASSERTION, __FILE__, __LINE__, __VA_ARGS__))
_Noreturn void ex_fail_at(ex_verdict verdict, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A remark in the running thread's column of the trace. */
void ex_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Memory of one execution, never handed out twice in it, so that a use after free is found. The core's malloc
 * and free call these. */
void *ex_allocate(size_t size, size_t alignment);
void ex_free(void *memory);

/* The model's clock advances by time-outs, and by this. */
void ex_time_passes(uint64_t nanoseconds);

/* The calling thread goes on as the only thread of a forked child; what the others hold stays held. Handlers
 * given to pthread_atfork run as POSIX says. */
void ex_fork(void);

/* Runs the index-th thread that the core starts on the calling body's fiber, and waits until it is started.
 * False: ex_no_more_threads was called first. */
bool ex_run_started_thread(unsigned index);
void ex_no_more_threads(void);

void ex_refuse_threads(unsigned count);

/* 0 is the thread of setup() and check(), 1 and up the bodies. */
unsigned ex_thread_index(void);

/* 0 if no body's has. */
unsigned ex_stack_owner(const void *object);

/* Another thread, by index, has ended or waits (parked, or for a modelled mutex). Not a scheduling point. */
bool ex_is_waiting(unsigned thread);

#endif
