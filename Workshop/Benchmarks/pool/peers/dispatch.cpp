/* SPDX-License-Identifier: Apache-2.0
 *
 * libdispatch: dispatch_async on a concurrent queue, dispatch_apply for loops and, over two halves, for fork and
 * join, which it has nothing else for; dispatch_after and timer sources.
 */
#include "../contender.h"
#include "../timers.h"

#include <dispatch/dispatch.h>

#include <memory>

namespace bench {
namespace {

void *create() {
    return dispatch_queue_create("bench", DISPATCH_QUEUE_CONCURRENT);
}
void destroy(void *pool) {
    dispatch_release(static_cast<dispatch_queue_t>(pool));
}
void run_one(void *pool, void (*function)(void *), void *context) {
    dispatch_async_f(static_cast<dispatch_queue_t>(pool), context, function);
}
void *prepare(void *, uint64_t) {
    return nullptr;
}
void release(void *) {}

void empty(void *) {
    count_job();
}
void submit(void *pool, void *, uint64_t count) {
    for (uint64_t index = 0; index < count; ++index) {
        dispatch_async_f(static_cast<dispatch_queue_t>(pool), nullptr, empty);
    }
}

struct Call {
    dispatch_queue_t queue;
    unsigned number;
    uint64_t results[2];
};

void fibonacci(void *context, size_t half) {
    Call *call = static_cast<Call *>(context);
    const unsigned number = call->number - 1 - static_cast<unsigned>(half);
    if (number < 2) {
        call->results[half] = number;
        return;
    }
    Call halves{call->queue, number, {0, 0}};
    dispatch_apply_f(2, halves.queue, &halves, fibonacci);
    call->results[half] = halves.results[0] + halves.results[1];
}

uint64_t run_fibonacci(void *pool, unsigned number) {
    Call call{static_cast<dispatch_queue_t>(pool), number, {0, 0}};
    dispatch_apply_f(2, call.queue, &call, fibonacci);
    return call.results[0] + call.results[1];
}

struct Loop {
    uint64_t count;
    bool is_uneven;
};

void run_loop(void *pool, uint64_t count, bool is_uneven) {
    Loop loop{count, is_uneven};
    dispatch_apply_f(count, static_cast<dispatch_queue_t>(pool), &loop, [](void *context, size_t index) {
        const Loop *loop = static_cast<Loop *>(context);
        loop_part(index, index + 1, loop->count, loop->is_uneven);
    });
}

/* ---- Timers ---- */

dispatch_time_t time_of(uint64_t deadline_ns) {
    const uint64_t begin_ns = now_ns();
    return dispatch_time(DISPATCH_TIME_NOW, deadline_ns > begin_ns ? int64_t(deadline_ns - begin_ns) : 0);
}

struct After {
    static constexpr bool cancels = false;
    dispatch_queue_t queue = static_cast<dispatch_queue_t>(create());

    explicit After(size_t) {}
    ~After() {
        destroy(queue);
    }
    void set(size_t, uint64_t deadline_ns) {
        dispatch_after_f(time_of(deadline_ns), queue, nullptr, empty);
    }
    bool wait(uint64_t count) {
        return wait_for_jobs(count);
    }
};

struct Sources {
    static constexpr bool cancels = true;
    dispatch_queue_t queue = static_cast<dispatch_queue_t>(create());
    size_t count;
    std::unique_ptr<dispatch_source_t[]> sources;

    explicit Sources(size_t count) : count(count), sources(new dispatch_source_t[count]) {}
    ~Sources() {
        for (size_t index = 0; index < count; ++index) {
            dispatch_source_cancel(sources[index]);
            dispatch_release(sources[index]);
        }
        destroy(queue);
    }
    void set(size_t index, uint64_t deadline_ns) {
        dispatch_source_t source = dispatch_source_create(DISPATCH_SOURCE_TYPE_TIMER, 0, 0, queue);
        dispatch_source_set_event_handler_f(source, empty);
        dispatch_source_set_timer(source, time_of(deadline_ns), DISPATCH_TIME_FOREVER, 0);
        dispatch_resume(source);
        sources[index] = source;
    }
    void cancel(size_t index) {
        dispatch_source_cancel(sources[index]);
    }
    bool wait(uint64_t count) {
        return wait_for_jobs(count);
    }
};

const EnlistedPool dispatch{2,
                            {"libdispatch",
                             create,
                             destroy,
                             run_one,
                             {{"libdispatch async", prepare, submit, nullptr, release}},
                             run_fibonacci,
                             run_loop}};
const EnlistedTimers after{1, {"dispatch_after", measure_timers<After>}};
const EnlistedTimers sources{2, {"dispatch timer sources", measure_timers<Sources>}};

} // namespace
} // namespace bench
