/* SPDX-License-Identifier: Apache-2.0
 *
 * See watch.h.
 */
#include "pool/watch.h"

#include "diagnostics/names.h"
#include <interlock/inline/diagnose.h>
#include <stdio.h>

/* "group 0x7ffd5a2c "orders"". */
static void describe_wait(char label[ILK_NAME_SIZE], const char *what, const void *object) {
    char name[ILK_NAME_SIZE];
    if (ilk_get_name(object, name, sizeof name)) {
        snprintf(label, ILK_NAME_SIZE, "%.14s %p \"%.*s\"", what, object, ilk__name_cut(name, 27), name);
    } else {
        snprintf(label, ILK_NAME_SIZE, "%.14s %p", what, object);
    }
}

/* By the name of its threads. */
static void describe_pool(char label[ILK_NAME_SIZE], const char *what, const ilk_pool *pool) {
    snprintf(label, ILK_NAME_SIZE, "%s of pool \"%s\"", what, pool->name);
}

ILK_COLD void ilk__pool_watch_wait(struct ilk__idle_watch *watch, const char *what, const void *object,
                                   uint64_t deadline_ns, const void *site) {
    char label[ILK_NAME_SIZE];
    if (what == NULL) {
        describe_pool(label, "the end", object);
    } else {
        describe_wait(label, what, object);
    }
    ilk__watch_idle_begin(watch, object, ILK_OBJECT_WORK, label, deadline_ns, site);
}

/* ---- Waits beneath a job ---- */

enum { WAITING_WORDS = sizeof(struct ilk__waiting) / sizeof(ilk__record_word) };

static ilk__record_word *waiting_words(struct ilk__record *record) {
    return (ilk__record_word *)(void *)&record->waiting;
}

/* The calling thread's wait, which the record forgets. False: it has none. */
static bool suspend_wait(uint64_t words[WAITING_WORDS]) {
    struct ilk__record *record = ilk__record_known();
    if (record == NULL || ilk__record_get(&record->waiting.address) == 0) {
        return false;
    }
    for (unsigned index = 0; index < WAITING_WORDS; index++) {
        words[index] = ilk__record_get(&waiting_words(record)[index]);
    }
    ilk__record_begin(record);
    ilk__record_set(&record->waiting.address, 0);
    ilk__record_end(record);
    return true;
}

static void resume_wait(const uint64_t words[WAITING_WORDS]) {
    struct ilk__record *record = ilk__record_known();
    if (record != NULL) {
        ilk__record_begin(record);
        for (unsigned index = 0; index < WAITING_WORDS; index++) {
            ilk__record_set(&waiting_words(record)[index], words[index]);
        }
        ilk__record_end(record);
    }
}

/* ---- Work ---- */

/* What others may wait for that the job belongs to, beside its pool. False: nothing. */
static bool begin_work_on(const ilk_job *job) {
    char label[ILK_NAME_SIZE];
    if (ilk_atomic_load(&job->state, memory_order_relaxed) != JOB_PLAIN) { /* PL10 */
        describe_wait(label, "forked job", job);
        ilk__facade_work_begin(job, label);
    } else if (job->group != NULL) {
        describe_wait(label, "a job of group", job->group);
        ilk__facade_work_begin(job->group, label);
    } else {
        return false;
    }
    return true;
}

ILK_COLD void ilk__pool_run_watched(struct pool_worker *worker, ilk_job *job,
                                    void (*run)(struct pool_worker *worker, ilk_job *job)) {
    uint64_t wait[WAITING_WORDS];
    const bool waits = suspend_wait(wait);
    const bool is_outermost = worker->depth == 0;
    if (is_outermost) {
        char label[ILK_NAME_SIZE];
        describe_pool(label, "a job", worker->pool);
        ilk__facade_work_begin(worker->pool, label);
    }
    const bool works = begin_work_on(job); /* which its function may free */
    run(worker, job);
    if (works) {
        ilk__facade_work_end();
    }
    if (is_outermost) {
        ilk__facade_work_end();
    }
    if (waits) {
        resume_wait(wait);
    }
}
