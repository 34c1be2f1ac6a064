/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock in the comparison, and the loops that all locks run.
 *
 * An adapter is a small class with inline calls, of which the template below makes a whole measured loop. A
 * lock in another language brings loops with the same steps. An adapter has:
 *     static constexpr const char *name;
 *     static constexpr Waiting waiting;
 *     static constexpr size_t thread_bytes;   memory per thread beside the lock, unknown_bytes
 *     struct Member                           a thread's own state; made by enter, ended by leave
 *     void enter(Member &), leave(Member &)
 * and, BENCH_INLINE,
 *     void read_lock(Member &), read_unlock(Member &), write_lock(Member &), write_unlock(Member &)
 */
#ifndef INTERLOCK_BENCHMARKS_RWLOCK_CONTENDER_H
#define INTERLOCK_BENCHMARKS_RWLOCK_CONTENDER_H

#include "../runner/clock.h"
#include "../runner/inline.h"
#include "job.h"

#include <cstddef>
#include <new>
#include <string>
#include <vector>

namespace bench {

/* How a thread waits. Only parking locks count as the best peer: the others' waiters hold cores. */
enum class Waiting { parks, yields, spins };
const char *to_text(Waiting waiting);

constexpr size_t unknown_bytes = SIZE_MAX;

struct Contender {
    std::string name;
    Waiting waiting;
    size_t lock_bytes, thread_bytes;
    void *(*create)(); /* a fresh lock and its two words */
    void (*destroy)(void *shared);
    Words *(*words)(void *shared);
    void *(*enter)(void *shared); /* by each thread, before its loops */
    void (*leave)(void *shared, void *member);
    /* Reads and writes at random until the phase ends. */
    void (*mix)(void *shared, void *member, const Job *job, LoopCounts *counts);
    /* The same, at least once, with a pause before each, and each lock call's time in ticks. */
    void (*wait)(void *shared, void *member, const Job *job, LoopCounts *counts, Histogram *waits);
};

/* Adds a contender to the list, with static storage in its adapter's file. The position orders the
 * columns. */
struct Enlisted {
    Enlisted(int position, Contender contender);
};
std::vector<Contender> contenders();

/* On cache lines of its own. */
template <class Lock> struct alignas(128) Guarded {
    Lock lock;
    alignas(128) Words words{0, 0};
};

inline bool phase_lasts(const uint32_t *phase, uint32_t during) {
    return __atomic_load_n(phase, __ATOMIC_RELAXED) == during;
}

/* `chain` is the thread's chain of work, left alone where there is none. */
inline uint64_t read_words(const Words &words, uint32_t section, uint64_t &chain) {
    uint64_t first = words.first;
    if (section != 0) {
        chain = work(section, chain ^ first);
    }
    return first != words.second ? 1 : 0;
}

inline void write_words(Words &words, uint32_t section, uint64_t &chain) {
    uint64_t first = words.first + 1;
    words.first = first;
    if (section != 0) {
        chain = work(section, chain ^ first);
    }
    words.second = words.second + 1;
}

template <class Lock> void mix_loop(void *shared, void *member, const Job *job, LoopCounts *counts) {
    auto &guarded = *static_cast<Guarded<Lock> *>(shared);
    auto &me = *static_cast<typename Lock::Member *>(member);
    Random random(job->seed);
    const uint64_t threshold = job->threshold;
    const uint32_t section = job->section, during = job->during;
    const uint32_t *const phase = job->phase;
    uint64_t operations = 0, writes = 0, torn = 0, chain = 0;
    while (phase_lasts(phase, during)) {
        if (random.next() < threshold) {
            guarded.lock.write_lock(me);
            write_words(guarded.words, section, chain);
            guarded.lock.write_unlock(me);
            ++writes;
        } else {
            guarded.lock.read_lock(me);
            torn += read_words(guarded.words, section, chain);
            guarded.lock.read_unlock(me);
        }
        ++operations;
    }
    *counts = {operations, writes, torn};
}

template <class Lock>
void wait_loop(void *shared, void *member, const Job *job, LoopCounts *counts, Histogram *waits) {
    auto &guarded = *static_cast<Guarded<Lock> *>(shared);
    auto &me = *static_cast<typename Lock::Member *>(member);
    uint64_t chain = 0;
    *counts = {0, 0, 0};
    do {
        chain = work(job->pause, chain);
        uint64_t begin = ticks();
        if (job->threshold != 0) {
            guarded.lock.write_lock(me);
            waits->record(ticks() - begin);
            write_words(guarded.words, job->section, chain);
            guarded.lock.write_unlock(me);
            ++counts->writes;
        } else {
            guarded.lock.read_lock(me);
            waits->record(ticks() - begin);
            counts->torn += read_words(guarded.words, job->section, chain);
            guarded.lock.read_unlock(me);
        }
        ++counts->operations;
    } while (phase_lasts(job->phase, job->during));
}

template <class Lock> Contender make_contender() {
    using Shared = Guarded<Lock>;
    using Member = typename Lock::Member;
    return {Lock::name,
            Lock::waiting,
            sizeof(Lock),
            Lock::thread_bytes,
            []() -> void * { return new Shared; },
            [](void *shared) { delete static_cast<Shared *>(shared); },
            [](void *shared) { return &static_cast<Shared *>(shared)->words; },
            [](void *shared) -> void * {
                auto *member = new Member;
                static_cast<Shared *>(shared)->lock.enter(*member);
                return member;
            },
            [](void *shared, void *member) {
                static_cast<Shared *>(shared)->lock.leave(*static_cast<Member *>(member));
                delete static_cast<Member *>(member);
            },
            mix_loop<Lock>,
            wait_loop<Lock>};
}

/* For adapters without state of a thread. */
struct Memberless {
    struct Member {};
    void enter(Member &) {}
    void leave(Member &) {}
};

/* For locks with the calls of std::shared_mutex. */
template <class Mutex> struct SharedMutex : Memberless {
    static constexpr size_t thread_bytes = 0;
    Mutex lock;

    BENCH_INLINE void read_lock(Member &) {
        lock.lock_shared();
    }
    BENCH_INLINE void read_unlock(Member &) {
        lock.unlock_shared();
    }
    BENCH_INLINE void write_lock(Member &) {
        lock.lock();
    }
    BENCH_INLINE void write_unlock(Member &) {
        lock.unlock();
    }
};

} // namespace bench

#endif
