/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of ilk_pool share. docs/pool.md draws the protocols.
 *   deque.h    a worker's own jobs
 *   queues.c   inboxes and backlogs: submission from outside
 *   worker.c   finding work, running it, sleeping
 *   threads.c  how many threads there are: starting, blocking, ending
 *   group.c    groups and their followers
 *   fork.c     fork, join, loops
 *   timers.c   deadlines
 *   pool.c     making, closing, ending; fork(2)
 */
#ifndef INTERLOCK_POOL_POOL_H
#define INTERLOCK_POOL_POOL_H

#include "platform/bsd.h"
#include "platform/threads.h"
#include "pool/deque.h"
#include "wait/event_count.h"
#include <interlock/mutex.h>
#include <interlock/pool.h>

enum { POOL_PRIORITIES = 3, POOL_SEPARATION = 128 };

/* Bit 0 of an inbox's head: no submission comes in any more. */
#define POOL_CLOSED ((uintptr_t)1)
/* Bit 31 of `promised`. */
#define POOL_PROMISES_CLOSED UINT32_C(0x80000000)

/* The jobs of one priority that came from outside. */
struct pool_queue {
    ILK_ATOMIC(uintptr_t) inbox; /* the newest job, or 0; POOL_CLOSED */
    unsigned char separate_backlog[POOL_SEPARATION - sizeof(uintptr_t)];
    ILK_ATOMIC(uint32_t) locked;   /* 1: a thread has the backlog */
    ILK_ATOMIC(ilk_job *) backlog; /* the oldest job; changed under the lock */
    unsigned char separate_next[POOL_SEPARATION - 2 * sizeof(void *)];
};

struct pool_worker {
    struct deque deque;
    /* The worker's own. */
    ilk_pool *pool;
    uint32_t index;
    uint32_t random;  /* where the next search for a victim begins */
    uint32_t ran;     /* jobs, for the order of the search */
    uint32_t depth;   /* jobs on top of each other */
    uint32_t blocked; /* nested calls of will_block */
    bool is_busy;     /* counted in the pool's `busy` */
    bool was_woken;   /* for one job of perhaps several: with a job in hand it wakes the next worker */
    /* Under the pool's mutex. */
    ilk__thread thread;
    bool has_ended; /* the place is free for another thread */
    bool is_spare;
    struct pool_worker *next_spare;
    ILK_ATOMIC(uint32_t) wakes; /* a spare worker parks on it */
};

struct ilk_pool {
    struct pool_queue queues[POOL_PRIORITIES];
    struct ilk__event_count idle;
    unsigned char separate_state[POOL_SEPARATION - sizeof(struct ilk__event_count)];

    ILK_ATOMIC(uint32_t) promised; /* timers and followers to come; POOL_PROMISES_CLOSED */
    ILK_ATOMIC(uint32_t) excess;   /* workers beyond the target; a hint */
    ILK_ATOMIC(uint32_t) busy;     /* workers that are in a job, or look for one before they sleep */
    ILK_ATOMIC(uint32_t) done;     /* 1: closed, and everything accepted has ended; slept on */
    ILK_ATOMIC(uint32_t) places;   /* workers[0 to places - 1] have been used */
    ILK_ATOMIC(bool) hands_back;
    void (*hand_back)(void *context, ilk_job *job);
    void *hand_back_context;

    /* Constant. */
    uint32_t target, most, kept;
    uint64_t idle_ns;
    struct ilk__thread_options thread_options;
    char name[16];

    /* Under the mutex. running + blocked + spare = started. */
    ilk_mutex mutex;
    uint32_t started, running, blocked, refused;
    struct pool_worker *spares;
    uint64_t retry_ns;       /* the system has refused a thread: not again before; 0: it has not */
    ilk__thread last_thread; /* that has ended; it joins the one before it as its last step */
    bool has_last_thread;

    struct pool_timers *timers; /* made with the first timer, under the mutex; then constant */
    bool is_childs;             /* of a child of fork: it has no threads */
    LIST_ENTRY(ilk_pool) link;  /* all pools of the process, for fork */
    ILK_ATOMIC(struct pool_worker *) workers[];
};

/* queues.c */
bool ilk__pool_push(ilk_pool *pool, uint32_t priority, ilk_job *first, ilk_job *last, bool promised)
    ILK_NONBLOCKING;
ilk_job *ilk__pool_take(ilk_pool *pool, uint32_t priority, struct pool_worker *refilled) ILK_NONBLOCKING;
/* The oldest job that may be handed back: a loop's own job stays. */
ilk_job *ilk__pool_take_back(ilk_pool *pool, uint32_t priority) ILK_NONBLOCKING;
/* Whether jobs are seen: a hint. */
bool ilk__pool_queue_is_filled(const ilk_pool *pool, uint32_t priority) ILK_NONBLOCKING;
/* The same, and true while a thread takes jobs out: jobs that go from one place to another are not missed. */
bool ilk__pool_queue_has_jobs(const ilk_pool *pool, uint32_t priority) ILK_NONBLOCKING;

/* worker.c */
/* The calling thread's worker, of any pool; NULL for another thread. */
struct pool_worker *ilk__pool_worker(void) ILK_NONBLOCKING;
/* After publishing a job: wakes an idle worker, or has one started. */
void ilk__pool_publish(ilk_pool *pool) ILK_NONBLOCKING;
bool ilk__pool_has_jobs(ilk_pool *pool) ILK_NONBLOCKING;
bool ilk__pool_deques_have_jobs(ilk_pool *pool) ILK_NONBLOCKING;
struct pool_limit {
    uint64_t deadline_ns; /* of the whole wait */
    uint64_t idle_ns;     /* not 0: instead of that, how long the thread may be without a job */
};
/* Runs jobs until `is_over(context)`, until the limit at most, between two jobs. `will_sleep` is called before the
 * thread registers to sleep: from then on, what makes is_over true wakes it. */
ilk_status ilk__pool_help(struct pool_worker *worker, bool (*is_over)(void *context),
                          void (*will_sleep)(void *context), void *context, struct pool_limit limit);
/* Runs a job that the worker has taken or stolen. */
void ilk__pool_run(struct pool_worker *worker, ilk_job *job);
/* The worker is at the end of what it had, or has something again. Between two jobs only. */
void ilk__pool_set_busy(struct pool_worker *worker, bool is_busy);
/* A worker's life. */
void ilk__pool_work(void *worker);
/* A job that will not run: to the function given to close_now. */
void ilk__pool_hand_back(ilk_pool *pool, ilk_job *job);

/* threads.c; the first two with the mutex held */
bool ilk__pool_start_thread(ilk_pool *pool);
void ilk__pool_update_calls(ilk_pool *pool);
/* A job waits, and no worker is idle. */
void ilk__pool_need_thread(ilk_pool *pool);
/* A thread that has ended, to be joined by the one that ends after it. The worker's place may be another thread's by
 * then: the ending thread touches it no more. */
struct pool_former {
    ilk__thread thread;
    bool is_there;
};
/* Between two jobs: parks the worker while there are too many. False: it has ended. */
bool ilk__pool_stay(struct pool_worker *worker, struct pool_former *former);
enum pool_end { POOL_ENDED, POOL_HAS_JOBS, POOL_KEPT };
/* An idle worker's time is up, or the pool is finished. HAS_JOBS: there is work again. KEPT: one of those that stay. */
enum pool_end ilk__pool_end(struct pool_worker *worker, bool is_finished, struct pool_former *former);
void ilk__pool_wake_spares(ilk_pool *pool);

/* group.c */
void ilk__group_enter(ilk_group *group, ilk_pool *pool, uint32_t count) ILK_NONBLOCKING;
void ilk__group_leave(ilk_group *group, ilk_pool *pool);

/* fork.c */
/* A forked job has run on another thread than its owner's. */
void ilk__pool_fork_done(ilk_pool *pool, ilk_job *job);
enum { JOB_PLAIN, JOB_FORKED, JOB_DONE, JOB_AWAITED, JOB_SLEPT_ON };

/* pool.c: a promise is kept, after its job was pushed and published, or given up. The pool may be gone afterwards. */
bool ilk__pool_promise(ilk_pool *pool) ILK_NONBLOCKING;
void ilk__pool_promise_kept(ilk_pool *pool);
/* Pushes a job that was promised, and keeps the promise. */
void ilk__pool_push_promised(ilk_pool *pool, ilk_job *job);
/* Closed, and nothing is left but what workers have begun, which may fork more. */
bool ilk__pool_is_drained(ilk_pool *pool) ILK_NONBLOCKING;

#endif
