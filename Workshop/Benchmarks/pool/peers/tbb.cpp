/* SPDX-License-Identifier: Apache-2.0
 *
 * oneTBB: task_group::run and task_arena::enqueue, task_group for fork and join, parallel_for. Its arena counts the
 * thread that calls in among its threads.
 */
#include "../contender.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

namespace bench {
namespace {

using oneapi::tbb::task_arena;
using oneapi::tbb::task_group;

void *create() {
    task_arena *arena = new task_arena;
    arena->initialize();
    return arena;
}
void destroy(void *pool) {
    delete static_cast<task_arena *>(pool);
}
void run_one(void *pool, void (*function)(void *), void *context) {
    static_cast<task_arena *>(pool)->enqueue([=] { function(context); });
}

void *prepare_group(void *, uint64_t) {
    return new task_group;
}
void release_group(void *group) {
    delete static_cast<task_group *>(group);
}
void run(void *, void *prepared, uint64_t count) {
    task_group *group = static_cast<task_group *>(prepared);
    for (uint64_t index = 0; index < count; ++index) {
        group->run(count_job);
    }
}
void wait(void *, void *group) {
    static_cast<task_group *>(group)->wait();
}

void *prepare(void *, uint64_t) {
    return nullptr;
}
void release(void *) {}
void enqueue(void *pool, void *, uint64_t count) {
    for (uint64_t index = 0; index < count; ++index) {
        static_cast<task_arena *>(pool)->enqueue(count_job);
    }
}

uint64_t fibonacci(unsigned number) {
    if (number < 2) {
        return number;
    }
    uint64_t forked;
    task_group group;
    group.run([&forked, number] { forked = fibonacci(number - 1); });
    const uint64_t called = fibonacci(number - 2);
    group.wait();
    return forked + called;
}

uint64_t run_fibonacci(void *pool, unsigned number) {
    return static_cast<task_arena *>(pool)->execute([number] { return fibonacci(number); });
}

void run_loop(void *pool, uint64_t count, bool is_uneven) {
    static_cast<task_arena *>(pool)->execute([=] {
        oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<uint64_t>(0, count),
                                  [=](const oneapi::tbb::blocked_range<uint64_t> &range) {
                                      loop_part(range.begin(), range.end(), count, is_uneven);
                                  });
    });
}

const EnlistedPool tbb{4,
                       {"tbb",
                        create,
                        destroy,
                        run_one,
                        {{"tbb task_group", prepare_group, run, wait, release_group},
                         {"tbb enqueue", prepare, enqueue, nullptr, release}},
                        run_fibonacci,
                        run_loop}};

} // namespace
} // namespace bench
