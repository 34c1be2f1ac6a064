/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for the objects that can wait, and diagnosis: lock orders that may deadlock, contention figures, and
 * reports of what every thread holds and waits for.
 *
 *     #include <interlock/diagnostics.h>
 *     #include <interlock/rwlock.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         static ilk_rwlock lock = ILK_RWLOCK_INIT;
 *         char name[ILK_NAME_SIZE];
 *         ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
 *         if (ilk_set_name(&lock, "orders") != ILK_OK) return 1;
 *         if (ilk_get_name(&lock, name, sizeof name)) puts(name); // prints orders
 *         ilk_rwlock_write_lock(&lock);
 *         ilk_rwlock_write_unlock(&lock);
 *         static ilk_figures figures;
 *         size_t objects = ilk_figures_snapshot(&figures, 1);
 *         printf("%zu %s %d\n", objects, figures.name, (int)figures.acquisitions); // prints 1 orders 1
 *         ilk_rwlock_destroy(&lock); // takes the name away
 *         return ilk_get_name(&lock, name, sizeof name) ? 1 : 0;
 *     }
 *
 * Misuse (an unlock of what is not held, an element of the wrong size …) is reported as one sentence on
 * standard error and ends in abort:
 *     interlock: ilk_rwlock_write_unlock(0x7ffd5a2c "orders"): no writer holds the lock; the lock is free
 *
 * Diagnosis is off at first, and costs the fast paths nothing: an object that it watches has a bit in its word
 * that sends its calls to the slow path. It is switched on for all objects by ilk_diagnose or the environment,
 *     INTERLOCK_DIAGNOSTICS=order,contention,hang
 * or for one by its own call (ilk_rwlock_observe …). For all means: those made by their init or create call after the
 * switch, or by ILK_RWLOCK_INIT, ILK_MUTEX_INIT or ILK_SEMAPHORE_INIT and first used after it. Locks that are plain
 * zero bits, and those in use before, are watched by their own call alone. Switched off again, a lock or a semaphore
 * leaves with its next call that finds the tables free, a ring as it ends. Calls that may wait may allocate and block
 * briefly for a watched object, calls that give up may block briefly and make system calls; try_ calls do not block,
 * and make system calls only as they first meet an object, or let one leave. So what a thread takes by one is not noted
 * before it has made a call that may wait, nor before such a call of what ILK_RWLOCK_INIT and its kin have made.
 *
 *   order       Reports two orders of taking locks that could make their threads wait for each other for ever, when
 *               the second is met, before the thread that meets it waits; and a thread about to wait for itself.
 *               Counted are read, upgradable and write locks, upgrades, mutexes; and, as long as each thread gives
 *               back what it took, and no other, semaphores of one permit and plain locks. Orders that turn out to be
 *               harmful later, when a lock is first written or upgraded, or a permit or a plain lock first given
 *               back, are reported when one of them is met again. Not counted are try_ calls and waits with a limit,
 *               as what is asked for; and orders that a third lock, held for writing or upgradable in both, keeps
 *               apart: one that was watched as it was taken, is no semaphore, and is among the first eight such
 *               that its thread holds. A thread is known to hold the first 32, and a cycle has eight locks at most. A
 *               search ends after 100,000 to 1.1 million orders, which standard error says.
 *   contention  Acquisitions, those that met a holder, how long they waited and how long it was held.
 *   hang        A report of every thread: what it holds of the objects watched, what of them it waits for and since
 *               when, what it works on; cycles are marked.
 *
 * More words for the environment, separated by commas: abort (ends the process at the first report but of a hang),
 * limit=SECONDS (as ilk_set_hang_limit; 0.001 to 86,400), signal=NUMBER (as ilk_set_hang_signal, but not 0; by
 * default SIGQUIT while hang is on), file=PATH (as the process that was started exits, the whole diagnosis there, as
 * JSON if the name ends in .json, as a page that carries it if in .html; overwrites only a regular file of the
 * process's own user, and follows no link to it). An unknown word is named on standard error, and ignored. A program
 * with rights that its caller has not (set-user-ID …) does not read the environment, and a static program that calls
 * nothing that can be watched may not.
 *
 * A child of fork has all names, and can give and ask for them, whatever other threads were doing; its other
 * threads are gone from reports. It has no limit, and no reports at a signal, until it asks for them.
 */
#ifndef INTERLOCK_DIAGNOSTICS_H
#define INTERLOCK_DIAGNOSTICS_H

#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* ---- Names ---- */

/* The longest name kept, with its final zero. */
#define ILK_NAME_SIZE 64

/* Names `object` (a lock, ring, semaphore …), in place of an earlier name; cuts a longer one, between UTF-8
 * characters. NULL or "" takes the name away, as the object's destroy call does; an object that has none is
 * unnamed before its memory goes. Any thread; may allocate and block briefly (beside a search for orders or a
 * report some milliseconds); not in signal handlers. O(1) on average. ILK_NOMEM: the earlier name stands. */
ilk_status ilk_set_name(const void *object, const char *name);

/* Copies the name of `object` into `name`, of `size` bytes, cut as by strlcpy: true if it has one, else an
 * empty string. Any thread; may block briefly; not in signal handlers. */
bool ilk_get_name(const void *object, char *name, size_t size);

/* ---- What is watched ---- */

#define ILK_DIAGNOSE_ORDER UINT32_C(1)
#define ILK_DIAGNOSE_CONTENTION UINT32_C(2)
#define ILK_DIAGNOSE_HANG UINT32_C(4)
#define ILK_DIAGNOSE_ALL UINT32_C(7)

/* Switches to exactly these ILK_DIAGNOSE_ bits, for the objects that are watched with all others, and those made from
 * now on; 0: off. What an object's own call has switched on stays on. Any thread. */
void ilk_diagnose(uint32_t what);

/* The bits that are on for all objects. */
uint32_t ilk_diagnosed(void);

/* ---- Reports of orders ---- */

typedef enum ilk_report_kind {
    ILK_REPORT_INVERSION, /* two orders that may deadlock */
    ILK_REPORT_SELF_WAIT, /* a thread about to wait for itself; abort follows where the wait cannot end */
    ILK_REPORT_HANG       /* a thread has waited beyond the limit */
} ilk_report_kind;

typedef struct ilk_report {
    ilk_report_kind kind;
    const char *sentence; /* what is wrong, with the names */
    const char *text;     /* the same with all stacks */
} ilk_report;

/* Called by the thread that met what is reported, before it waits; for ILK_REPORT_HANG by "interlock-watch". It may use
 * the library. While it runs, a cancellation of its thread waits. */
typedef void (*ilk_report_handler)(const ilk_report *report, void *context);

/* Has `handler` called instead of printing on standard error; NULL: print again. An inversion is reported once.
 * Any thread. */
void ilk_set_report_handler(ilk_report_handler handler, void *context);

/* Whether each report but that of a hang ends the process. */
void ilk_set_report_abort(bool aborts);

/* ---- Contention ---- */

typedef enum ilk_object_kind {
    ILK_OBJECT_RWLOCK,
    ILK_OBJECT_MUTEX,
    ILK_OBJECT_SEMAPHORE,
    ILK_OBJECT_LATCH,
    ILK_OBJECT_BARRIER,
    ILK_OBJECT_SPSC,
    ILK_OBJECT_MPMC,
    ILK_OBJECT_QUEUE, /* a dispatch queue, as a lock */
    ILK_OBJECT_WORK,  /* an operation, a job, a group: what a thread waits for */
    ILK_OBJECT_CONDITION,
    ILK_OBJECT_WAIT_SET
} ilk_object_kind;

/* "rwlock", "mutex" … */
const char *ilk_object_kind_name(ilk_object_kind kind);

#define ILK_HISTOGRAM_BUCKETS 164
#define ILK_STACK_FRAMES 16

typedef struct ilk_times {
    uint64_t count;
    uint64_t total_ns;
    uint64_t longest_ns;
    uint32_t buckets[ILK_HISTOGRAM_BUCKETS];
} ilk_times;

/* The times in bucket i are below its limit, and not below that of i - 1. The last has no limit (UINT64_MAX). */
uint64_t ilk_histogram_limit_ns(uint32_t bucket);

/* One object. Times are nanoseconds. */
typedef struct ilk_figures {
    const void *object;
    ilk_object_kind kind;
    char name[ILK_NAME_SIZE];
    uint64_t acquisitions;
    ilk_times wait; /* of the acquisitions that met a holder, and those that gave up */
    ilk_times hold;
    uint32_t longest_holder; /* the thread id of the longest hold, 0: none */
    char longest_name[16];   /* its thread's name then */
    uint32_t longest_depth;
    void *longest_stack[ILK_STACK_FRAMES]; /* where that hold ended, innermost first */
    /* Rings: waits that found it full or empty; and samples of its depth, ten a second. */
    uint64_t capacity;
    uint64_t full_waits, empty_waits;
    uint64_t samples, full_samples, empty_samples, deepest;
} ilk_figures;

/* Copies the figures of up to `capacity` watched objects, those with the longest total wait first. The number
 * of watched objects, which may be more. Any thread; blocks briefly. O(objects log objects). */
size_t ilk_figures_snapshot(ilk_figures *figures, size_t capacity);

/* Sets all figures to 0. */
void ilk_figures_reset(void);

/* ---- Reports of threads ---- */

typedef enum ilk_diagnosis_form { ILK_AS_TEXT, ILK_AS_JSON, ILK_AS_PAGE } ilk_diagnosis_form;

/* Writes what diagnosis knows to the file descriptor: as text for people, as JSON, or as a page of HTML that carries
 * the JSON, which diagnosis.html (installed in share/interlock) draws if it is in the same folder. Any thread; takes no
 * lock of the library but the tables' own, so it works while the process is wedged in others. ILK_INVALID: writing
 * failed, and errno tells why. */
ilk_status ilk_write_diagnosis(int file, ilk_diagnosis_form form);

/* Has the text form written to standard error at each signal of this number; 0: at none. The handler only wakes a
 * thread of the library, "interlock-watch", which writes. ILK_INVALID: the system has no such signal for it.
 * ILK_NOMEM: no thread. */
ilk_status ilk_set_hang_signal(int number);

/* Has a thread's wait of more than `limit_ns` reported with all threads, once a wait and within some 100 ms (a wait
 * for a predicate begins anew when it was woken and sleeps again), where ILK_DIAGNOSE_HANG watches it; 0: none. What
 * the whole process was stopped for (SIGSTOP, a debugger) does not count. ILK_NOMEM: no thread. */
ilk_status ilk_set_hang_limit(uint64_t limit_ns);

ILK_END_DECLARATIONS

#endif
