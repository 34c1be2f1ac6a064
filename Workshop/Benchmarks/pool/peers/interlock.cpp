/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_pool: submit, submit_many in batches of 64, fork and join, loops, timers.
 */
#include "../contender.h"
#include "../timers.h"

#include <interlock/deadline.h>
#include <interlock/pool.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace bench {
namespace {

void must(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "error: %s failed\n", what);
        std::exit(2);
    }
}

struct Lone {
    ilk_pool *pool;
    ilk_job jobs[64];
    unsigned next = 0;
};

ilk_pool *pool_of(void *pool) {
    return static_cast<Lone *>(pool)->pool;
}

void *create() {
    Lone *lone = new Lone;
    must(ilk_pool_create(&lone->pool, nullptr) == ILK_OK, "ilk_pool_create");
    return lone;
}

void destroy(void *pool) {
    ilk_pool_close(pool_of(pool));
    must(ilk_pool_wait_until(pool_of(pool), ILK_FOREVER) == ILK_OK, "ilk_pool_wait_until");
    ilk_pool_destroy(pool_of(pool));
    delete static_cast<Lone *>(pool);
}

void run_one(void *pool, void (*function)(void *), void *context) {
    Lone *lone = static_cast<Lone *>(pool);
    ilk_job *job = &lone->jobs[lone->next++ % 64];
    ilk_job_init(job, function, context);
    must(ilk_pool_submit(lone->pool, job), "ilk_pool_submit");
}

void empty(void *) {
    count_job();
}

/* The caller's memory, as a program that keeps its jobs with its data has it: written once before. */
void *prepare(void *, uint64_t count) {
    ilk_job *jobs = static_cast<ilk_job *>(std::calloc(count, sizeof(ilk_job)));
    std::for_each(jobs, jobs + count, [](ilk_job &job) { ilk_job_init(&job, empty, nullptr); });
    return jobs;
}

void submit(void *pool, void *prepared, uint64_t count) {
    ilk_job *jobs = static_cast<ilk_job *>(prepared);
    ilk_pool *own = pool_of(pool);
    for (uint64_t index = 0; index < count; ++index) {
        ilk_job_init(&jobs[index], empty, nullptr);
        if (!ilk_pool_submit(own, &jobs[index])) {
            must(false, "ilk_pool_submit");
        }
    }
}

void submit_many(void *pool, void *prepared, uint64_t count) {
    enum : uint64_t { batch_size = 64 };
    ilk_job *jobs = static_cast<ilk_job *>(prepared);
    ilk_job *batch[batch_size];
    for (uint64_t first = 0; first < count; first += batch_size) {
        const uint64_t size = std::min<uint64_t>(batch_size, count - first);
        for (uint64_t index = 0; index < size; ++index) {
            batch[index] = &jobs[first + index];
            ilk_job_init(batch[index], empty, nullptr);
        }
        must(ilk_pool_submit_many(pool_of(pool), batch, size), "ilk_pool_submit_many");
    }
}

/* ---- Fork and join ---- */

struct Call {
    ilk_pool *pool;
    unsigned number;
    uint64_t result;
};

void fibonacci(void *context) {
    Call *call = static_cast<Call *>(context);
    if (call->number < 2) {
        call->result = call->number;
        return;
    }
    Call forked{call->pool, call->number - 1, 0}, called{call->pool, call->number - 2, 0};
    ilk_job job;
    ilk_pool_fork(call->pool, &job, fibonacci, &forked);
    fibonacci(&called);
    ilk_pool_join(call->pool, &job);
    call->result = forked.result + called.result;
}

uint64_t run_fibonacci(void *pool, unsigned number) {
    Call call{pool_of(pool), number, 0};
    ilk_group group;
    ilk_job job;
    ilk_group_init(&group);
    ilk_job_init(&job, fibonacci, &call);
    ilk_job_set_group(&job, &group);
    must(ilk_pool_submit(call.pool, &job), "ilk_pool_submit");
    must(ilk_group_wait_until(&group, ILK_FOREVER) == ILK_OK, "ilk_group_wait_until");
    return call.result;
}

struct Loop {
    uint64_t count;
    bool is_uneven;
};

void run_loop(void *pool, uint64_t count, bool is_uneven) {
    Loop loop{count, is_uneven};
    auto body = [](void *context, size_t first, size_t end) {
        const Loop *loop = static_cast<Loop *>(context);
        loop_part(first, end, loop->count, loop->is_uneven);
    };
    must(ilk_pool_for(pool_of(pool), 0, count, 0, body, &loop), "ilk_pool_for");
}

/* ---- Timers ---- */

struct PoolTimers {
    static constexpr bool cancels = true;
    void *pool = create();
    std::unique_ptr<ilk_timer[]> timers;

    explicit PoolTimers(size_t count) : timers(new ilk_timer[count]()) {}
    ~PoolTimers() {
        destroy(pool);
    }
    void set(size_t index, uint64_t deadline_ns) {
        ilk_timer_init(&timers[index], empty, nullptr);
        must(ilk_pool_submit_at(pool_of(pool), &timers[index], deadline_ns) == ILK_OK, "ilk_pool_submit_at");
    }
    void cancel(size_t index) {
        must(ilk_pool_cancel(pool_of(pool), &timers[index]), "ilk_pool_cancel");
    }
    bool wait(uint64_t count) {
        return wait_for_jobs(count);
    }
};

const EnlistedPool pool{0,
                        {"ilk_pool",
                         create,
                         destroy,
                         run_one,
                         {{"ilk_pool", prepare, submit, nullptr, std::free},
                          {"ilk_pool submit_many", prepare, submit_many, nullptr, std::free}},
                         run_fibonacci,
                         run_loop,
                         sizeof(ilk_job)}};
const EnlistedTimers timers{0, {"ilk_pool", measure_timers<PoolTimers>}};

} // namespace
} // namespace bench
