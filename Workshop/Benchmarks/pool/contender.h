/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pool of the comparison can do, and how jobs count themselves. A pool has as many threads as its library
 * starts by itself on this machine; a part that a library does not have is null.
 */
#ifndef INTERLOCK_BENCHMARKS_POOL_CONTENDER_H
#define INTERLOCK_BENCHMARKS_POOL_CONTENDER_H

#include "../runner/clock.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/* One way to hand over many jobs from a thread that is not the pool's. */
struct Submission {
    std::string name;
    /* What `count` jobs need, made before the clock starts: memory that the caller owns. */
    void *(*prepare)(void *pool, uint64_t count);
    /* Hands over `count` jobs that call count_job. */
    void (*submit)(void *pool, void *prepared, uint64_t count);
    /* By the same thread, in the time: where the library wants the submitter to take part. May be null. */
    void (*finish)(void *pool, void *prepared);
    void (*release)(void *prepared);
    uint64_t most_jobs = UINT64_MAX; /* where a job is a thread: so few that the slice ends */
};

struct Pool {
    std::string name;
    void *(*create)();
    void (*destroy)(void *pool);
    /* Hands one job over, from outside. At most 64 of them at a time. */
    void (*run_one)(void *pool, void (*function)(void *context), void *context);
    std::vector<Submission> submissions;
    uint64_t (*fibonacci)(void *pool, unsigned number) = nullptr;
    /* loop_step for 0 to `count` - 1. */
    void (*loop)(void *pool, uint64_t count, bool is_uneven) = nullptr;
    size_t job_bytes = 0; /* 0: the library allocates it */
};

struct EnlistedPool {
    EnlistedPool(int position, Pool pool);
};
/* In the order of their positions. */
std::vector<Pool> pools();

/* A number for each thread that has ever run a job: counting is a store into the thread's own line. */
struct JobCount {
    std::atomic<uint64_t> *own = nullptr;
};
extern thread_local JobCount job_count;
std::atomic<uint64_t> *enter_thread();

/* What an empty job does. */
inline void count_job() {
    std::atomic<uint64_t> *count = job_count.own;
    if (__builtin_expect(count == nullptr, 0)) {
        count = enter_thread();
    }
    count->store(count->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
/* Of all threads since the program began. */
uint64_t jobs_counted();
/* Sleeps and looks until that many have been counted; false after ten seconds. */
bool wait_for_jobs(uint64_t count);

/* One iteration of the loop: eight steps of work each; or, uneven, 512 in one stretch of a 64th of them and none in
 * the rest, which is about as much in all. */
enum : uint32_t { EVEN_STEPS = 8, UNEVEN_STEPS = 512, UNEVEN_SHARE = 64 };
inline uint64_t loop_step(uint64_t index, uint64_t count, bool is_uneven) {
    if (!is_uneven) {
        return work(EVEN_STEPS, index);
    }
    return index < count / UNEVEN_SHARE ? work(UNEVEN_STEPS, index) : index;
}
inline void loop_part(uint64_t first, uint64_t end, uint64_t count, bool is_uneven) {
    for (uint64_t index = first; index < end; ++index) {
        uint64_t value = loop_step(index, count, is_uneven);
        asm volatile("" : : "r"(value));
    }
}

} // namespace bench

#endif
