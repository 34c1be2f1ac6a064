/* SPDX-License-Identifier: Apache-2.0
 *
 * Three loops in turns on one core after the other. Beside a busy neighbour on the physical core a chain of
 * dependent instructions takes hardly longer, the independent additions up to twice as long.
 */
#include "probe.h"

#include "clock.h"
#include "slice.h"
#include "statistics.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

namespace bench {

namespace {

/* The goals are for two cores; slices start with the first ones. */
const unsigned probed_cores = 2;
const unsigned repetitions = 160, trip_repetitions = 5;
/* About 25 µs each on a core of 3 GHz: long beside the clock, short beside a neighbour's bursts. */
const uint32_t work_steps_each = 16000, addition_rounds = 8000, locked_each = 10000;
const uint32_t additions_a_round = 32;
/* One tick of /proc/stat in it is 0.04 cores. */
const double least_watch_s = 0.25;

void add(uint32_t rounds) {
    uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    auto once = [&] {
        ++a, ++b, ++c, ++d, ++e, ++f, ++g, ++h;
        asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
    };
    for (; rounds != 0; --rounds) {
        once(), once(), once(), once();
    }
}

double ns_of(const std::function<void()> &body) {
    const uint64_t begin = now_ns();
    body();
    return static_cast<double>(std::max<uint64_t>(now_ns() - begin, 1));
}

double cpu_ns() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/* Of times: the least, and the median. */
Sample sample_of(const std::vector<double> &times) {
    return {smallest(times), median(times)};
}

Figures figures_of_core(unsigned index) {
    Figures figures;
    std::thread([&] {
        pin(index);
        std::vector<double> steps, additions, locked;
        alignas(128) std::atomic<uint64_t> word{0};
        uint64_t seed = 1;
        const double cpu_at_begin = cpu_ns();
        const double total_ns = ns_of([&] {
            for (unsigned repetition = 0; repetition < repetitions; ++repetition) {
                steps.push_back(ns_of([&] { seed = work(work_steps_each, seed); }) / work_steps_each);
                additions.push_back(ns_of([] { add(addition_rounds); }) / addition_rounds /
                                    additions_a_round);
                locked.push_back(ns_of([&] {
                                     for (uint32_t count = 0; count < locked_each; ++count) {
                                         word.fetch_add(1, std::memory_order_seq_cst);
                                     }
                                 }) /
                                 locked_each);
            }
        });
        figures.core_share = std::min(1.0, (cpu_ns() - cpu_at_begin) / total_ns);
        const Sample addition = sample_of(additions);
        figures.additions_per_ns = {1 / addition.best, 1 / addition.usual};
        figures.additions_per_step = median(steps) / addition.usual;
        figures.locked_ns = sample_of(locked);
    }).join();
    return figures;
}

} // namespace

Figures Probe::take() {
    if (others_.seconds() < least_watch_s) {
        std::this_thread::sleep_for(std::chrono::duration<double>(least_watch_s - others_.seconds()));
    }
    const double others = others_.cores_used(), stolen = stolen_.cores(), watched_s = others_.seconds();
    Figures figures;
    for (unsigned index = 0; index < std::min<size_t>(probed_cores, cores().size()); ++index) {
        const Figures core = figures_of_core(index);
        const double share = std::min(figures.core_share, core.core_share);
        if (index == 0 || core.additions_per_ns.usual < figures.additions_per_ns.usual) {
            figures = core;
        }
        figures.core_share = share;
    }
    std::vector<double> trips;
    for (unsigned repetition = 0; repetition < trip_repetitions; ++repetition) {
        trips.push_back(line_trip_ns());
    }
    figures.trip_ns = sample_of(trips);
    figures.others_cores = others;
    figures.stolen_cores = stolen;
    figures.watched_s = watched_s;
    others_ = Neighbours();
    stolen_ = Stolen();
    return figures;
}

} // namespace bench
