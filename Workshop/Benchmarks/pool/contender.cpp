/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of pools, and the counts of jobs; see contender.h.
 */
#include "contender.h"

#include <map>
#include <mutex>
#include <set>
#include <time.h>

namespace bench {

static std::map<int, Pool> &enlisted() {
    static std::map<int, Pool> list;
    return list;
}

EnlistedPool::EnlistedPool(int position, Pool pool) {
    enlisted().emplace(position, std::move(pool));
}

std::vector<Pool> pools() {
    std::vector<Pool> list;
    for (const auto &[position, pool] : enlisted()) {
        list.push_back(pool);
    }
    return list;
}

namespace {

struct alignas(128) Line {
    std::atomic<uint64_t> count{0};
};

/* Never destroyed: a library's threads may end after main. */
struct Threads {
    std::mutex mutex;
    std::set<Line *> running;
    uint64_t ended = 0; /* the counts of threads that have */
};
Threads &threads() {
    static Threads *all = new Threads;
    return *all;
}

/* Adds the thread's count to the others' when the thread ends. */
struct Entry {
    Line line;
    Entry() {
        std::lock_guard<std::mutex> lock(threads().mutex);
        threads().running.insert(&line);
    }
    ~Entry() {
        std::lock_guard<std::mutex> lock(threads().mutex);
        threads().running.erase(&line);
        threads().ended += line.count.load(std::memory_order_relaxed);
        job_count.own = nullptr;
    }
};

} // namespace

thread_local JobCount job_count;

std::atomic<uint64_t> *enter_thread() {
    static thread_local Entry entry;
    return job_count.own = &entry.line.count;
}

uint64_t jobs_counted() {
    std::lock_guard<std::mutex> lock(threads().mutex);
    uint64_t sum = threads().ended;
    for (const Line *line : threads().running) {
        sum += line->count.load(std::memory_order_relaxed);
    }
    return sum;
}

bool wait_for_jobs(uint64_t count) {
    const uint64_t limit_ns = now_ns() + 10000000000;
    while (jobs_counted() < count) {
        if (now_ns() > limit_ns) {
            return false;
        }
        const timespec pause{0, 20000};
        nanosleep(&pause, nullptr);
    }
    return true;
}

} // namespace bench

/* For the peers in Rust. */
extern "C" void bench_pool_count_job() {
    bench::count_job();
}
