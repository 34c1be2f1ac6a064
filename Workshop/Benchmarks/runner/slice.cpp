/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a slice. The coordinating thread sleeps meanwhile, pinned to no core.
 */
#include "slice.h"

#include "clock.h"
#include "statistics.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <time.h>

namespace bench {

const std::vector<int> &cores() {
    static const std::vector<int> found = [] {
        std::vector<int> list;
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(0, sizeof set, &set) == 0) {
            for (int core = 0; core < CPU_SETSIZE; ++core) {
                if (CPU_ISSET(core, &set)) {
                    list.push_back(core);
                }
            }
        }
        if (list.empty()) {
            std::fprintf(stderr, "error: cannot tell which cores this process may run on\n");
            std::exit(2);
        }
        return list;
    }();
    return found;
}

void pin(unsigned index) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cores()[index % cores().size()], &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
        std::fprintf(stderr, "error: cannot pin a thread to core %d\n", cores()[index % cores().size()]);
        std::exit(2);
    }
}

SliceTimes slice_of(double ms) {
    return {static_cast<uint64_t>(ms * 1e6 / 8), static_cast<uint64_t>(ms * 1e6)};
}

SliceTimes stretched(SliceTimes times, unsigned threads) {
    const uint64_t turns_ns = 12000000; /* four slices of a scheduler that gives 3 ms */
    uint64_t on_a_core = (threads + cores().size() - 1) / cores().size();
    return {times.warming_ns,
            on_a_core > 1 ? std::max(times.measuring_ns, on_a_core * turns_ns) : times.measuring_ns};
}

static void sleep_ns(uint64_t duration) {
    timespec left{static_cast<time_t>(duration / 1000000000), static_cast<long>(duration % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
}

static Usage usage_now() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return {usage.ru_nvcsw, usage.ru_nivcsw,
            static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9};
}

void Worker::gather(Phase phase) {
    if (!is_gathered_) {
        is_gathered_ = true;
        gathered_.fetch_add(1, std::memory_order_release);
    }
    while (phase_.load(std::memory_order_acquire) < phase) {
        sched_yield();
    }
}

void Worker::begin_measuring() {
    usage = usage_now();
}

void Worker::end_measuring() {
    Usage end = usage_now();
    usage = {end.voluntary - usage.voluntary, end.involuntary - usage.involuntary,
             end.cpu_seconds - usage.cpu_seconds};
}

SliceResult run_slice(unsigned threads, SliceTimes times, const std::function<void(Worker &)> &body) {
    /* Read by every worker in every iteration, written three times. */
    struct alignas(128) Control {
        std::atomic<uint32_t> phase{gathering};
        alignas(128) std::atomic<unsigned> gathered{0};
    };
    auto control = std::make_unique<Control>();

    SliceResult result;
    result.usage.resize(threads);
    std::vector<std::thread> workers;
    for (unsigned index = 0; index < threads; ++index) {
        workers.emplace_back([&, index] {
            pin(index);
            Worker worker(index, threads, control->phase, control->gathered);
            body(worker);
            result.usage[index] = worker.usage;
        });
    }
    while (control->gathered.load(std::memory_order_acquire) < threads) {
        sched_yield();
    }
    control->phase.store(warming, std::memory_order_release);
    sleep_ns(times.warming_ns);
    uint64_t begin = now_ns();
    control->phase.store(measuring, std::memory_order_release);
    sleep_ns(times.measuring_ns);
    control->phase.store(stopping, std::memory_order_release);
    result.seconds = static_cast<double>(now_ns() - begin) / 1e9;
    for (std::thread &worker : workers) {
        worker.join();
    }
    return result;
}

double line_trip_ns() {
    if (cores().size() < 2) {
        return 0;
    }
    struct alignas(128) Line {
        std::atomic<uint64_t> turn{0}; /* odd: the other core's */
    };
    auto line = std::make_unique<Line>();
    std::vector<double> samples;
    run_slice(2, {200000, 2000000}, [&](Worker &worker) {
        worker.gather();
        const uint64_t trips = 100, last = UINT64_MAX;
        if (worker.index == 1) {
            for (uint64_t turn; (turn = line->turn.load(std::memory_order_acquire)) != last;) {
                if (turn % 2 != 0) {
                    line->turn.store(turn + 1, std::memory_order_release);
                }
            }
            return;
        }
        uint64_t turn = 0;
        do { /* at least once, however late it came to its core */
            uint64_t begin = ticks();
            for (uint64_t trip = 0; trip < trips; ++trip, turn += 2) {
                line->turn.store(turn + 1, std::memory_order_release);
                while (line->turn.load(std::memory_order_acquire) != turn + 2) {
                }
            }
            samples.push_back(static_cast<double>(ticks() - begin) / ticks_per_ns() / trips);
        } while (!worker.in(stopping));
        line->turn.store(last, std::memory_order_release);
    });
    return median(samples);
}

} // namespace bench
