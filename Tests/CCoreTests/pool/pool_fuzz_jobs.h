/* SPDX-License-Identifier: Apache-2.0
 *
 * The jobs of fuzz_pool_test.c: what each does, and what it says if the pool breaks a promise to it. A job's memory is
 * freed as it begins, or is handed back; the slot beside it stays. What a job writes into its slot is plain memory,
 * which the test reads behind a wait only (guarantee B, for ThreadSanitizer).
 */
#ifndef INTERLOCK_TESTS_POOL_POOL_FUZZ_JOBS_H
#define INTERLOCK_TESTS_POOL_POOL_FUZZ_JOBS_H

#include "support/fuzz_crew.h"
#include <interlock/pool.h>
#include <stdlib.h>

enum { GROUPS = 3, SLOTS = 96 };

/* What a job does. */
enum deed { COUNTS, STAGED, STAGED_AS_BLOCKED, SUBMITS, FORKS, LOOPS, AWAITS, DEEDS };

enum state { UNUSED, ACCEPTED, REFUSED, CANCELLED };

struct shared;
struct slot;

/* The job's memory. */
struct owned {
    union {
        ilk_job job;
        ilk_timer timer; /* its job comes first */
    } as;
    struct slot *slot;
    bool is_timer, is_child;
};

struct slot {
    /* The test's. */
    enum state state;
    enum deed deed;
    struct shared *shared;
    struct owned *timer; /* not freed by its job: the test may cancel it */
    int group, awaited;  /* numbers of groups; -1: none. `awaited`: what it waits for or follows */
    unsigned stamp;      /* of the awaited group, as it was submitted */
    int stage;           /* the stage it waits for */
    uint32_t argument;   /* of its deed */
    bool follows;        /* the awaited group */
    bool is_far;         /* a timer that does not come due */
    bool cannot_begin;   /* it had not as the pool was closed, and is handed back */
    bool has_child;      /* it was accepted, by the job's own call */
    uint64_t deadline_ns;
    ilk_priority priority;
    uint64_t number; /* of its submission, where the order is promised; 0: it is not */
    /* What the jobs count. */
    unsigned runs, child_runs, handed_back, child_handed_back;
};

/* Of the pool, the test, and all its jobs. */
struct shared {
    ilk_pool *pool;
    ilk_group *groups[GROUPS];
    struct stage stage;
    uint64_t latest[3]; /* the number that has begun last, of each priority; of a single worker */
    ILK_ATOMIC(const char *) fault;
};

static inline void fault(struct shared *shared, const char *text) {
    ilk_atomic_store(&shared->fault, text, memory_order_relaxed);
}

/* ---- Guarantee G: what may run on top ---- */

/* The job that this thread runs, and what that waits for. */
struct running {
    bool is_any;
    const ilk_group *awaited;
};
static __thread struct running running;

static inline struct running begin_on_top(struct shared *shared, const ilk_group *group) {
    const struct running below = running;
    if (below.is_any && (group == NULL || below.awaited != group)) {
        fault(shared, "a job ran on top of one that does not wait for it");
    }
    running = (struct running){.is_any = true};
    return below;
}

/* ---- Deeds ---- */

struct tree {
    ilk_pool *pool;
    int depth;
    unsigned leaves;
};

/* Two forked branches and one called, joined in reverse. */
static inline void grow(void *context) {
    struct tree *tree = context;
    if (tree->depth == 0) {
        tree->leaves = 1;
        return;
    }
    struct tree branches[3];
    ilk_job jobs[2];
    for (int i = 0; i < 3; i++) {
        branches[i] = (struct tree){.pool = tree->pool, .depth = tree->depth - 1};
    }
    ilk_pool_fork(tree->pool, &jobs[0], grow, &branches[0]);
    ilk_pool_fork(tree->pool, &jobs[1], grow, &branches[1]);
    grow(&branches[2]);
    ilk_pool_join(tree->pool, &jobs[1]);
    ilk_pool_join(tree->pool, &jobs[0]);
    for (int i = 0; i < 3; i++) {
        tree->leaves += branches[i].leaves;
    }
}

/* Whether each leaf has grown once. */
static inline bool grows(ilk_pool *pool, int depth) {
    static const unsigned leaves[] = {1, 3, 9, 27};
    struct tree tree = {.pool = pool, .depth = depth};
    grow(&tree);
    return tree.leaves == leaves[depth];
}

enum { MOST_NUMBERS = 200 };

struct numbers {
    size_t grain;
    unsigned visits[MOST_NUMBERS];
    ILK_ATOMIC(bool) is_too_long; /* a part */
};

static inline void visit(void *context, size_t first, size_t end) {
    struct numbers *numbers = context;
    if (numbers->grain != 0 && end - first > numbers->grain) {
        ilk_atomic_store(&numbers->is_too_long, true, memory_order_relaxed);
    }
    for (size_t i = first; i < end; i++) {
        numbers->visits[i]++;
    }
}

/* Whether each number was visited once, or none where the loop is refused. */
static inline bool loops(ilk_pool *pool, size_t begin, size_t end, size_t grain, bool is_accepted) {
    struct numbers numbers = {.grain = grain};
    bool agrees = ilk_pool_for(pool, begin, end, grain, visit, &numbers) == is_accepted;
    for (size_t i = 0; i < MOST_NUMBERS; i++) {
        agrees = agrees && numbers.visits[i] == (is_accepted && i >= begin && i < end ? 1 : 0);
    }
    return agrees && !ilk_atomic_load(&numbers.is_too_long, memory_order_relaxed);
}

static inline bool only_tries(const struct slot *slot) {
    return slot->argument % 4 == 0;
}

static inline void await_group(struct slot *slot) {
    ilk_group *group = slot->shared->groups[slot->awaited];
    running.awaited = group;
    const bool tries = only_tries(slot);
    const ilk_status status = ilk_group_wait_until(group, tries ? 0 : ILK_FOREVER);
    running.awaited = NULL;
    if (!tries && status != ILK_OK) {
        fault(slot->shared, "a job's wait for a group timed out");
    }
}

static inline void run_owned(void *context);

static inline struct owned *owned_make(struct slot *slot, bool is_timer, bool is_child) {
    struct owned *owned = malloc(sizeof *owned);
    check(owned != NULL);
    owned->slot = slot;
    owned->is_timer = is_timer;
    owned->is_child = is_child;
    if (is_timer) {
        ilk_timer_init(&owned->as.timer, run_owned, owned);
        check(ilk_timer_job(&owned->as.timer) == &owned->as.job);
    } else {
        ilk_job_init(&owned->as.job, run_owned, owned);
    }
    ilk_job_set_priority(&owned->as.job, slot->priority);
    ilk_job_set_group(&owned->as.job, slot->group < 0 ? NULL : slot->shared->groups[slot->group]);
    return owned;
}

static inline void submit_child(struct slot *slot) {
    struct owned *child = owned_make(slot, false, true);
    slot->has_child = ilk_pool_submit(slot->shared->pool, &child->as.job);
    if (!slot->has_child) {
        free(child);
    }
}

static inline void do_deed(struct slot *slot) {
    struct shared *shared = slot->shared;
    switch (slot->deed) {
    case STAGED:
        stage_await(&shared->stage, slot->stage);
        return;
    case STAGED_AS_BLOCKED:
        ilk_pool_will_block();
        stage_await(&shared->stage, slot->stage);
        ilk_pool_did_block();
        return;
    case SUBMITS:
        submit_child(slot);
        return;
    case FORKS:
        if (!grows(shared->pool, (int)(slot->argument % 4))) {
            fault(shared, "a forked job did not run once");
        }
        return;
    case LOOPS:
        if (!loops(shared->pool, 3, MOST_NUMBERS, slot->argument % 4, true)) {
            fault(shared, "a job's loop did not visit each number once");
        }
        return;
    case AWAITS:
        await_group(slot);
        return;
    default: /* COUNTS */
        return;
    }
}

static inline void begin_in_order(struct slot *slot) {
    if (slot->number == 0) {
        return;
    }
    uint64_t *latest = &slot->shared->latest[slot->priority];
    if (slot->number < *latest) {
        fault(slot->shared, "a job began before an older one of its priority");
    }
    *latest = slot->number;
}

static inline void run_owned(void *context) {
    struct owned *owned = context;
    struct slot *slot = owned->slot;
    struct shared *shared = slot->shared;
    const bool is_child = owned->is_child;
    if (owned->is_timer && ilk_now_ns() < slot->deadline_ns) {
        fault(shared, "a timer's job began before its time");
    }
    if (!owned->is_timer) {
        free(owned);
    }
    const struct running below = begin_on_top(shared, slot->group < 0 ? NULL : shared->groups[slot->group]);
    if (is_child) {
        slot->child_runs++;
    } else {
        begin_in_order(slot);
        do_deed(slot);
        slot->runs++;
    }
    running = below;
}

static inline void on_hand_back(void *context, ilk_job *job) {
    struct owned *owned = (struct owned *)(void *)job;
    struct slot *slot = owned->slot;
    if (context != slot->shared) {
        fault(slot->shared, "a job was handed back with another context");
    }
    *(owned->is_child ? &slot->child_handed_back : &slot->handed_back) += 1;
    if (!owned->is_timer) {
        free(owned);
    }
}

/* Whether the pool has done with the slot what it promises. After a wait for it, or the pool's end. */
static inline bool is_right(const struct slot *slot) {
    const unsigned once = slot->state == ACCEPTED ? 1 : 0, child_once = slot->has_child ? 1 : 0;
    return slot->runs + slot->handed_back == once && !(slot->cannot_begin && slot->runs > 0) &&
           slot->child_runs + slot->child_handed_back == child_once;
}

#endif
