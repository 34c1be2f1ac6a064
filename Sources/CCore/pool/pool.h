/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of ilk_pool share. docs/pool.md draws the protocols. Each file calls those above it in this list, and
 * none below; scripts/check includes reads the list.
 *   deque.h        a worker's own jobs
 *   watch.c        what diagnosis sees of waits and workers
 *   queues.c       where jobs wait: inboxes, backlogs, the deques of all workers
 *   threads.c      how many threads run: starting, waking, blocking
 *   outstanding.c  what is left to do, and waiting until nothing is
 *   leaving.c      a worker becomes spare, or its thread ends
 *   group.c        groups and their followers
 *   submit.c       jobs, and submitting them
 *   timers.c       deadlines
 *   worker.c       finding work, running it, sleeping
 *   waits.c        waiting for a group, and what a worker does while its job waits
 *   fork.c         fork, join, loops
 *   registry.c     all pools of the process: fork(2), and its end
 *   pool.c         making, closing, ending
 */
#ifndef INTERLOCK_POOL_POOL_H
#define INTERLOCK_POOL_POOL_H

#include "platform/bsd.h"
#include "platform/local.h"
#include "platform/threads.h"
#include "pool/deque.h"
#include "wait/event_count.h"
#include <interlock/mutex.h>
#include <interlock/pool.h>

enum { POOL_PRIORITIES = 3, POOL_SEPARATION = 128 };

/* Bit 0 of an inbox's head: submissions are refused. */
#define POOL_CLOSED ((uintptr_t)1)
/* `outstanding`: bit 31, bit 30, and the rest. */
#define OUTSTANDING_CLOSED UINT32_C(0x80000000)
#define OUTSTANDING_WATCHED UINT32_C(0x40000000) /* a thread waits until the pool is idle */
#define OUTSTANDING_COUNT UINT32_C(0x3FFFFFFF)
/* `busy`: the low half counts workers, the high half how often one became busy. */
#define POOL_BUSY_ONE UINT64_C(0x100000001)
/* The flag of the event count: a submission that finds no idle worker takes the mutex. */
#define POOL_CALLS (ILK__EVENT_FENCED << 1)

/* Jobs of one priority from outside. */
struct pool_queue {
    ILK_ATOMIC(uintptr_t) inbox; /* the newest job, or 0; POOL_CLOSED */
    unsigned char separate_backlog[POOL_SEPARATION - sizeof(uintptr_t)];
    ILK_ATOMIC(uint32_t) locked;   /* 1: a thread has the backlog */
    ILK_ATOMIC(ilk_job *) backlog; /* the oldest job; changed under the lock */
    unsigned char separate_next[POOL_SEPARATION - 2 * sizeof(void *)];
};

/* The event count on which idle workers sleep. */
struct pool_idle {
    ILK_ATOMIC(uint64_t) waiting; /* with `epoch` the event count */
    ILK_ATOMIC(uint32_t) epoch;
    ILK_ATOMIC(uint32_t) latest; /* the mark of the worker that has parked last, or 0; a hint */
    ILK_ATOMIC(uint64_t) passes; /* publications that found FENCED and no worker; a hint */
};

struct pool_worker {
    struct deque deque;
    /* The worker's own. */
    ilk_pool *pool;
    uint32_t index;
    uint32_t random; /* where the next search for a victim begins */
    uint32_t picks;  /* jobs begun but on top of others, for the order of the search */
    uint32_t victim; /* of its last turn to steal */
    uint32_t depth;  /* jobs on top of each other */
    const void
        *scope; /* the group of what it forks: the forked job that it runs for another worker, or NULL */
    uint32_t blocked;      /* nested calls of will_block */
    uint32_t failed_spins; /* in a row */
    bool is_busy;          /* counted in the pool's `busy` */
    bool was_woken;        /* for one job of perhaps several: with a job in hand it wakes the next */
    /* Under the pool's mutex. */
    ilk__thread thread;
    bool has_ended; /* another thread may have the place */
    bool is_spare;
    struct pool_worker *next_spare;
    ILK_ATOMIC(uint32_t) wakes; /* a spare worker parks on it, and one whose job waits */
};

/* A worker's wait, on its stack. waits.c */
struct pool_wait {
    void *object;      /* the group or the forked job that is waited for */
    const void *group; /* whose jobs may be run on top, beside `object` itself */
    bool (*is_over)(void *object);
    void (*will_sleep)(void *object); /* afterwards its end calls ilk__pool_end_waits */
    uint64_t deadline_ns;
    struct pool_worker *worker;
    LIST_ENTRY(pool_wait) link;
};

struct ilk_pool {
    struct pool_queue queues[POOL_PRIORITIES];
    struct pool_idle idle;
    unsigned char separate_state[POOL_SEPARATION - sizeof(struct pool_idle)];

    ILK_ATOMIC(uint32_t) outstanding; /* jobs to come of timers and groups; OUTSTANDING_CLOSED, _WATCHED */
    ILK_ATOMIC(uint32_t) excess;      /* workers beyond the target; a hint */
    ILK_ATOMIC(bool) has_surplus;     /* started > kept; a hint */
    ILK_ATOMIC(bool) is_stuck;   /* every thread is blocked, some in waits, and there are no more; a hint */
    ILK_ATOMIC(uint64_t) busy;   /* workers in a job, or looking for one before they sleep */
    ILK_ATOMIC(uint32_t) done;   /* 1: closed, and all that was accepted has ended; slept on */
    ILK_ATOMIC(uint32_t) places; /* of `workers`: those in use, or used before */
    ILK_ATOMIC(bool) hands_back;
    void (*hand_back)(void *context, ilk_job *job);
    void *hand_back_context;

    /* Constant. */
    uint32_t target, most, kept;
    bool has_default_most;
    bool is_in_fork_child; /* of a child of fork: no threads */
    uint64_t idle_ns;
    void (*work)(void *worker); /* what its threads run */
    struct ilk__thread_options thread_options;
    char name[16];

    /* Under the mutex. running + blocked + spare = started. */
    ilk_mutex mutex;
    uint32_t started, running, blocked, refused;
    uint32_t closers; /* calls of close_now under way: they may have the last jobs in hand */
    struct pool_worker *spares;
    LIST_HEAD(, pool_wait) waits; /* of blocked workers */
    bool has_noted_most;
    uint32_t watchers;          /* threads that wait until the pool is idle */
    ILK_ATOMIC(uint32_t) idles; /* how often it may have become idle; slept on */
    uint64_t retry_ns;          /* no new thread before, after a refusal; 0: none was refused */
    ilk__thread last_thread;    /* to have ended; it joins the one before it as its last step */
    bool has_last_thread;

    ILK_ATOMIC(struct pool_timers *) timers; /* made with the first timer, under the mutex; then constant */
    LIST_ENTRY(ilk_pool) link;               /* all pools of the process, for fork */
    ILK_ATOMIC(struct pool_worker *) workers[];
};

/* In a child of fork, a mutex of the pool or of its timers as create made it: of zero bits. So diagnosis does not watch
 * it, which ilk_mutex_init may make it do: a wait for it would hide the wait in whose midst it is. */
static inline void ilk__pool_free_mutex(ilk_mutex *mutex) {
    ilk_atomic_store(&mutex->word, 0, memory_order_relaxed);     /* PL28 */
    ilk_atomic_store(&mutex->settings, 0, memory_order_relaxed); /* PL28 */
}

/* queues.c */
/* False: closed, which stops no job that is outstanding. */
bool ilk__pool_push(ilk_pool *pool, uint32_t priority, ilk_job *first, ilk_job *last, bool is_outstanding)
    ILK_NONBLOCKING;
ilk_job *ilk__pool_take(ilk_pool *pool, uint32_t priority, struct pool_worker *refilled) ILK_NONBLOCKING;
/* Moves the jobs of the worker's deque to the front of the backlog, the next one first. False: another thread has that.
 * Against the way that jobs go, so a thread may miss them that probes meanwhile: publish afterwards. */
bool ilk__pool_give_back(struct pool_worker *worker) ILK_NONBLOCKING;
/* The oldest job that is wanted, or NULL. `waits`: for the lock, which a worker may; elsewhere NULL without it. */
ilk_job *ilk__pool_pick(ilk_pool *pool, uint32_t priority, bool waits,
                        bool (*is_wanted)(const ilk_job *job, const void *context), const void *context);
/* Moves the jobs of all deques to the queue. False: there are none. A worker's: waits for the lock. */
bool ilk__pool_gather(ilk_pool *pool);
/* Whether jobs are seen: a hint. */
bool ilk__pool_queue_is_filled(const ilk_pool *pool, uint32_t priority) ILK_NONBLOCKING;
bool ilk__pool_deques_have_jobs(ilk_pool *pool) ILK_NONBLOCKING;
/* In any queue or deque; and true while a thread moves jobs from one place to another. */
bool ilk__pool_has_jobs(ilk_pool *pool) ILK_NONBLOCKING;

/* threads.c */
/* The calling thread's worker, of any pool; NULL for another thread. */
static inline struct pool_worker *ilk__pool_worker(void) ILK_NONBLOCKING {
    return ilk__thread_state()->worker;
}
static inline struct ilk__event_count idle_of(ilk_pool *pool) ILK_NONBLOCKING {
    return (struct ilk__event_count){&pool->idle.waiting, &pool->idle.epoch};
}
void ilk__pool_wake(ilk_pool *pool) ILK_NONBLOCKING;
/* After publishing a job: wakes an idle worker, or has one started. Inline up to there, for a fork. */
static inline void ilk__pool_publish(ilk_pool *pool) ILK_NONBLOCKING {
    if (ILK_SELDOM(ilk__event_has_waiters(idle_of(pool)))) {
        ilk__pool_wake(pool);
    }
}
/* Publishes what it sees, as another's: the next thread takes over. */
void ilk__pool_pass_on(ilk_pool *pool);
/* With the mutex held. */
bool ilk__pool_start_thread(ilk_pool *pool);
void ilk__pool_update_calls(ilk_pool *pool);
void ilk__pool_wake_spares(ilk_pool *pool);
/* `object` has ended, and may be gone. */
void ilk__pool_end_waits(ilk_pool *pool, const void *object);
/* The worker is blocked; `wait` or NULL. Afterwards ilk__pool_pass_on gives its place to another: raising CALLS has
 * fenced, so a submission that this misses sees CALLS. And it runs again. */
void ilk__pool_leave_place(struct pool_worker *worker, struct pool_wait *wait);
void ilk__pool_take_place(struct pool_worker *worker, struct pool_wait *wait);

/* outstanding.c */
/* The pool may have become idle. With the mutex held, or by one of its workers. */
void ilk__pool_wake_watchers(ilk_pool *pool);
/* A job that will come. False: the pool is closed. */
bool ilk__pool_outstanding_add(ilk_pool *pool) ILK_NONBLOCKING;
/* After it was published, or taken back. The pool may be gone afterwards. */
void ilk__pool_outstanding_remove(ilk_pool *pool);
/* It has come: pushes it, and removes it. */
void ilk__pool_push_outstanding(ilk_pool *pool, ilk_job *job);
/* Closed, and nothing is left but what workers have begun, which may fork more. */
bool ilk__pool_is_drained(ilk_pool *pool) ILK_NONBLOCKING;
/* Between two jobs. */
void ilk__pool_set_busy(struct pool_worker *worker, bool is_busy);
/* Misuse where one of the pool's own jobs calls. */
void ilk__pool_require_outside(const char *call, const ilk_pool *pool);
ilk_status ilk__pool_wait_until_done(ilk_pool *pool, uint64_t deadline_ns, const void *site);

/* leaving.c */
/* The thread that ended before, for the one that ends now to join: not in its worker, whose place may be another
 * thread's by then. */
struct pool_predecessor {
    ilk__thread thread;
    bool is_there;
};
/* Between two jobs: parks the worker while running > target. False: it has ended. */
bool ilk__pool_keep_worker(struct pool_worker *worker, struct pool_predecessor *predecessor);
/* An idle worker's time is up, or the pool is finished. False: there are jobs again, or the thread is kept. */
bool ilk__pool_end_worker(struct pool_worker *worker, bool is_finished, struct pool_predecessor *predecessor);
/* With the mutex held: the pool is done where neither a thread nor a call of close_now is left. */
void ilk__pool_end_if_left(ilk_pool *pool);

/* group.c */
/* The word of a group. */
#define GROUP_SLEEPERS UINT32_C(1) /* a thread sleeps on the word; stays up */
#define GROUP_WORKERS                                                                                        \
    UINT32_C(2) /* a worker of the jobs' pool waits for it, in the list of waits; stays up */
#define GROUP_FOLLOWER UINT32_C(4) /* follower and follower_pool are set */
#define GROUP_ONE UINT32_C(8)      /* the rest: jobs submitted and not ended */
void ilk__group_enter(ilk_group *group, ilk_pool *pool) ILK_NONBLOCKING;
void ilk__group_leave(ilk_group *group, ilk_pool *pool);

/* timers.c */
/* How many are set. */
uint32_t ilk__pool_timers_count(ilk_pool *pool);
/* In a child of fork. */
void ilk__pool_timers_forget(ilk_pool *pool);
/* Submits all to the pool, which hands them back. */
void ilk__pool_timers_hand_back(ilk_pool *pool);
/* Ends the thread, but in a child of fork, and frees the timers. */
void ilk__pool_timers_end(ilk_pool *pool, bool has_thread);

/* worker.c */
/* The states of a job; fork.c draws them. */
enum { JOB_PLAIN, JOB_FORKED, JOB_DONE, JOB_AWAITED, JOB_SLEPT_ON };
/* From another worker's deque, from a random one on; `group` as deque_steal has it. */
ilk_job *ilk__pool_steal(struct pool_worker *worker, const void *group) ILK_NONBLOCKING;
void ilk__pool_run(struct pool_worker *worker, ilk_job *job);
/* Guarantee H: a job has forked and returned in the child, which has nothing to go on with. Else nothing. */
void ilk__pool_end_child(const ilk_pool *pool);
void ilk__pool_work(void *worker);
void ilk__pool_hand_back(ilk_pool *pool, ilk_job *job);

/* waits.c */
/* Waits until `wait` is over: ILK_OK. The caller is a worker that is not blocked. */
ilk_status ilk__pool_await(struct pool_worker *worker, struct pool_wait *wait);
/* The worker's own job of `group`, or `job` itself, also beneath others in its deque; or NULL. */
ilk_job *ilk__pool_dig(struct pool_worker *worker, const void *group, const ilk_job *job);

/* registry.c */
void ilk__pool_register(ilk_pool *pool);
void ilk__pool_unregister(ilk_pool *pool);

#endif
