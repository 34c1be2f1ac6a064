/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_pool: jobs run on a few threads that steal from each other.
 *
 *     #include <interlock/pool.h>
 *     #include <stdio.h>
 *
 *     static void say(void *text) {
 *         puts(text); // prints a job has run
 *     }
 *     int main(void) {
 *         ilk_pool *pool;
 *         ilk_job job;
 *         if (ilk_pool_create(&pool, NULL) != ILK_OK) {
 *             return 1;
 *         }
 *         ilk_job_init(&job, say, "a job has run");
 *         if (!ilk_pool_submit(pool, &job)) {
 *             return 1; // refused: it is closed
 *         }
 *         ilk_pool_close(pool);
 *         if (ilk_pool_wait_until(pool, ILK_FOREVER) != ILK_OK) { // what was accepted has run
 *             return 1;
 *         }
 *         ilk_pool_destroy(pool);
 *     }
 *
 * A job, a group and a timer lie in the caller's memory, and are the pool's until the job begins: its function may free
 * it. Concurrency matrix: create and destroy run beside nothing; every other call from any thread, jobs included,
 * beside every other. fork, join, will_block and did_block are for a job's own thread.
 *
 * Guarantees
 *   A  An accepted job runs exactly once, or is handed back exactly once by close_now. A refused job is the caller's
 *      still: it does not run, and may be submitted again, here or elsewhere.
 *   B  What a thread did before it submitted a job is visible to the job. What a job did is visible to a wait for its
 *      group, to the job that follows the group, to the join of a forked job, and to a wait for the pool or until it is
 *      idle.
 *   C  Order. A single worker begins the HIGH and the LOW jobs each in the order of submission; NORMAL jobs from
 *      outside, where there are no others, up to 16 places from their own. Several workers run side by side. A NORMAL
 *      job that a job submits may begin before older ones. The worker that takes an inbox turns round all that lies
 *      in it before it begins the first: some nanoseconds a job.
 *   D  No accepted job starves, whatever jobs come later. Before it begins, any one worker begins at most so many
 *      others (T: the most threads that the pool has had at a time):
 *        HIGH, behind k others from its submission           2 (k + 1)
 *        NORMAL from outside, behind k others                64 (k + 1) + 1,024 T
 *        NORMAL submitted by a job                           the same, or 16,384 T where it went to that worker's deque
 *        LOW, behind k others                                64 (k + 1)
 *      A timer's job counts from its time on, a job that follows from the end of the group. Jobs on top of a waiting
 *      one (G) do not count. It does not hold for the time in which the system keeps a thread that moves jobs off its
 *      core, nor where all threads are blocked.
 *   E  A submission that wakes no worker makes no system call, takes no lock and allocates nothing; one that does makes
 *      one system call, seldom two. Where threads are missing (blocked, refused, or idle and ended), it may start one;
 *      elsewhere it never allocates, and submit and submit_many may be called in a signal handler, but not for a job
 *      of a group that a job waits for or has waited for, nor where a synchronous signal that was sent, by kill(2)
 *      say, interrupts a worker.
 *   F  Workers without a job use no processor time: they spin for some microseconds at most, then sleep.
 *   G  On top of a job that waits run only jobs that it waits for: those of the group; parts of the loop; the forked
 *      job, and what that forks. Other jobs do not, so a lock may be held over a wait, unless those want it. Other jobs
 *      that want it block their threads: around it they call will_block, or no thread may be left for the awaited ones.
 *      With none of them at hand, the worker sleeps and counts as blocked: another thread takes its place. Where all
 *      max_threads threads are blocked, a sleeping worker finds its jobs wherever they wait: jobs of one pool that wait
 *      for each other's groups and forked jobs without a cycle end, on one thread too. Not so through a job that
 *      follows, or another pool: there some thread must be free. At most ILK_POOL_HELP_DEPTH jobs lie on top of each
 *      other; beyond that, and between will_block and did_block, it runs none, and waits for ever where no other
 *      thread is left.
 *   H  fork(2): in the child a pool has no threads and is closed; destroy frees it. Jobs that had not begun do not run
 *      there; waits for groups have no end. A job that forks ends its child itself (exec, _exit). Where the job that
 *      was submitted returns there, or its loop waits there for another worker, the child ends by exit(0); joining
 *      there what it forked before, and destroying the pool before, is misuse.
 *   I  Workers and the timers' thread hold all signals back but the synchronous ones (SIGSEGV, SIGBUS, SIGILL, SIGFPE,
 *      SIGTRAP, SIGSYS), whose handlers run in jobs. A job that ends its thread (pthread_exit), or throws through its
 *      function, is misuse and ends the process. Where the system cannot tell (a raw system call), the job's group
 *      never ends. Calls of other threads are no cancellation points.
 *
 * Source: Chase and Lev, "Dynamic circular work-stealing deque" (2005), with the orders of Lê, Pop, Cohen, Zappa
 * Nardelli (2013); Tzannes et al., "Lazy binary splitting" (2010). docs/pool.md draws the protocols.
 */
#ifndef INTERLOCK_POOL_H
#define INTERLOCK_POOL_H

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* The most threads of a pool. */
#define ILK_POOL_MAX_THREADS 1024
/* The most jobs that a waiting worker runs on top of each other. Guarantee G. */
#define ILK_POOL_HELP_DEPTH 64

typedef struct ilk_pool ilk_pool;
typedef struct ilk_group ilk_group;

/* Guarantees C and D. */
typedef enum { ILK_PRIORITY_NORMAL, ILK_PRIORITY_HIGH, ILK_PRIORITY_LOW } ilk_priority;

/* Fields are private. */
typedef struct ilk_job {
    void (*function)(void *context);
    void *context;
    struct ilk_job *next; /* in an inbox or a backlog */
    ilk_group *group;
    ILK_ATOMIC(uint32_t) state; /* of a forked job */
    uint32_t priority;
} ilk_job;

/* Fields are private. All zero bits are a group without jobs. Its jobs are of one pool until they have ended; then it
 * may have another pool's, which a wait that has not returned may wait for too, and the first pool may be destroyed. A
 * job that follows may be any pool's. Thread-safe, but init runs beside nothing. */
struct ilk_group {
    ILK_ATOMIC(uint32_t) word;
    ILK_ATOMIC(ilk_pool *) pool; /* of its jobs */
    ilk_pool *follower_pool;     /* this and the next: guarded by a bit of the word */
    ilk_job *follower;           /* runs after the last */
};

/* Fields are private. */
typedef struct ilk_timer {
    ilk_job job;
    uint64_t deadline_ns;
    struct ilk_timer *child, *sibling, *previous; /* a pairing heap */
    ilk_pool *pool;                               /* where it is set; NULL: it is not */
} ilk_timer;

/* All zero bits are the defaults. On Linux threads take the processors, the scheduling class and the nice value of the
 * process's first thread as they start, not those of the submitter that starts them; in place of a real-time class,
 * SCHED_OTHER. Without privilege the system lets no thread leave SCHED_IDLE or become less nice: one that such a
 * submitter starts stays so. */
typedef struct ilk_pool_options {
    const char *name;      /* of the threads, with a number; NULL: "pool". 11 bytes, in whole characters */
    uint32_t threads;      /* begin jobs; 0: one for each of the process's processors */
    uint32_t max_threads;  /* with those whose jobs are blocked; 0: threads + 64. ilk_pool_will_block */
    uint32_t kept_threads; /* that live as long as the pool; 0: threads. At least one is kept */
    uint64_t idle_ns;      /* idle for so long, a thread beyond those ends; 0: ten seconds */
    size_t stack_size;     /* of a thread, in bytes; 0: the system's */
    int nice;              /* of the threads, added to the process's; 0 to 19, below 0 for the privileged */
} ilk_pool_options;

/* A snapshot that may be old. */
typedef struct ilk_pool_info {
    uint32_t threads; /* started and not ended */
    uint32_t blocked; /* of those, between will_block and did_block, or asleep in a wait of a job */
    uint32_t refused; /* threads that the system has refused since create */
    uint32_t timers;  /* set and not due */
} ilk_pool_info;

/* Makes a pool in `*out` and starts its kept threads. Allocates. ILK_OK: at least one thread runs. Where the system
 * refuses others, the pool says so in its info, and asks again with later submissions (10 ms after a refusal, or at
 * once where all others are blocked). ILK_INVALID: more than ILK_POOL_MAX_THREADS; fewer max_threads than threads or
 * kept_threads; a stack_size above PTRDIFF_MAX. ILK_NOMEM: no memory, or no thread: none of that stack, perhaps. */
ILK_MUST_USE ilk_status ilk_pool_create(ilk_pool **out, const ilk_pool_options *options);

/* Closes `pool` if it is open, waits until its threads have ended, and frees it. Blocks while jobs run. NULL: nothing.
 * Misuse: called by one of its jobs; accepted jobs have not begun, or timers are set: wait for the pool, or close_now
 * first. A pool that lives as long as the process needs no destroy. */
void ilk_pool_destroy(ilk_pool *pool);

/* Makes `job` call `function(context)`: NORMAL, without a group. The other two change that. Not while submitted. */
void ilk_job_init(ilk_job *job, void (*function)(void *context), void *context);
void ilk_job_set_priority(ilk_job *job, ilk_priority priority);
void ilk_job_set_group(ilk_job *job, ilk_group *group);

/* Hands `job` over. Thread-safe; guarantee E. O(1). False: refused, the pool is closed. A NORMAL job submitted by a job
 * of the same pool goes to its worker's own deque. */
ILK_MUST_USE bool ilk_pool_submit(ilk_pool *pool, ilk_job *job) ILK_NONBLOCKING;

/* Hands `count` jobs of one priority over, in the order of the array: all or none. Thread-safe; guarantee E. O(count),
 * one atomic step, and one for each job of a group. False: refused, the pool is closed. Misuse: unlike priorities. */
ILK_MUST_USE bool ilk_pool_submit_many(ilk_pool *pool, ilk_job *const *jobs, size_t count) ILK_NONBLOCKING;

/* ---- Groups ---- */

void ilk_group_init(ilk_group *group);

/* Waits until all submitted jobs of `group` have ended, until `deadline_ns` at most. Thread-safe; guarantee B. Blocks;
 * a worker runs jobs of the group meanwhile (guarantee G), each to its end, by which the wait may outlast its limit; it
 * begins none after that. After ILK_OK the group may be freed, if no other thread uses it. */
ILK_MUST_USE ilk_status ilk_group_wait_until(ilk_group *group, uint64_t deadline_ns);

/* Submits `job` to `pool` when the jobs of `group` have ended: at once if it has none. A pool that is closed meanwhile
 * waits for it. False: refused, the pool is closed. Misuse: another job follows already. */
ILK_MUST_USE bool ilk_group_follow(ilk_group *group, ilk_pool *pool, ilk_job *job);

/* ---- Fork and join ---- */

/* Offers `function(context)` to the other workers. The job must stay until join. Never refused, also in a closed pool.
 * On a thread that is not the pool's, join runs it. O(1); wakes or starts a thread as a submission does (guarantee
 * E). */
void ilk_pool_fork(ilk_pool *pool, ilk_job *job, void (*function)(void *context), void *context)
    ILK_NONBLOCKING;

/* Returns when the forked job has run: runs it, if no other worker has begun it. By the thread that forked it, the last
 * forked job first. */
void ilk_pool_join(ilk_pool *pool, ilk_job *job);

/* Calls `body(context, first, end)` for parts that together are `begin` to `end` - 1, each number once, on the threads
 * of the pool, and returns when all have returned. A part is `grain` numbers long at most; 0: chosen by the length. A
 * thread splits what it has left where another is out of work (lazy binary splitting). A job of the pool takes part, in
 * a closed pool too; another thread sleeps meanwhile. False: refused, nothing was called. */
ILK_MUST_USE bool ilk_pool_for(ilk_pool *pool, size_t begin, size_t end, size_t grain,
                               void (*body)(void *context, size_t first, size_t end), void *context);

/* ---- Blocking ---- */

/* Around a call by which a job blocks: another thread takes over meanwhile, started if need be, if jobs wait and there
 * are fewer threads than max_threads. Not on a thread of a pool: nothing. May be nested. Where max_threads jobs are
 * blocked, the others wait: a server whose jobs each block for a client serves so many. With max_threads 0, a sentence
 * on standard error says so, once for each pool. A wait of this header needs neither call. */
void ilk_pool_will_block(void);
void ilk_pool_did_block(void);

/* ---- Timers ---- */

/* Makes `timer` one whose job calls `function(context)`: NORMAL, without a group. `ilk_timer_job` is that job, for
 * priority and group. Not while submitted. */
void ilk_timer_init(ilk_timer *timer, void (*function)(void *context), void *context);
ilk_job *ilk_timer_job(ilk_timer *timer);

/* Submits the timer's job when `deadline_ns` has come, not before. Thread-safe; takes a lock, which no call and no
 * thread has for longer than 64 timers take, however many are due. O(1) amortised. The first timer of a pool starts a
 * thread for them. ILK_CLOSED: refused. ILK_NOMEM: the system refuses that thread. Misuse: it is set. */
ILK_MUST_USE ilk_status ilk_pool_submit_at(ilk_pool *pool, ilk_timer *timer, uint64_t deadline_ns);

/* Takes `timer` back. True: its job will not be submitted; it may be set anew. False: it is not set, or its job is the
 * pool's already. O(log n) amortised. */
bool ilk_pool_cancel(ilk_pool *pool, ilk_timer *timer);

/* ---- Ending ---- */

/* Closes `pool`: nothing more comes in; what was accepted runs, timers at their time. Thread-safe; does not wait. */
void ilk_pool_close(ilk_pool *pool);

/* Closes `pool`: nothing more comes in. Each job that has not begun does not run, but is given to
 * `hand_back(context, job)` once: by this call or the pool's threads, several at a time. It leaves its group then.
 * Forked jobs and loops run. Thread-safe; does not wait. The first call's function is used; it must not wait for the
 * pool, which ends after the last job is handed back. */
void ilk_pool_close_now(ilk_pool *pool, void (*hand_back)(void *context, ilk_job *job), void *context);

/* Waits until `pool` is closed and all it had accepted has run or was handed back, until `deadline_ns` at most. Blocks.
 * Misuse: called by one of its jobs. */
ILK_MUST_USE ilk_status ilk_pool_wait_until(ilk_pool *pool, uint64_t deadline_ns);

/* Waits until `pool` is idle, until `deadline_ns` at most, and closes nothing. Idle: every accepted job has ended or
 * was handed back, no timer is set, no job follows a group. So a timer keeps a pool from it until its job has ended, or
 * it is cancelled; so does a worker that still looks for work, some tens of microseconds after its last job.
 * Thread-safe; blocks. ILK_OK: it was idle during the call, and may be no more where other threads submit. Misuse:
 * called by one of its jobs. */
ILK_MUST_USE ilk_status ilk_pool_wait_idle_until(ilk_pool *pool, uint64_t deadline_ns);

/* Thread-safe. Takes a lock for a moment. */
ilk_pool_info ilk_pool_get_info(ilk_pool *pool);

ILK_END_DECLARATIONS

#endif
