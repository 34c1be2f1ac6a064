/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices of locks; see measure.h.
 */
#include "measure.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace bench {

/* One thread's part of a slice, on cache lines of its own. */
struct alignas(128) Part {
    LoopCounts warm{0, 0, 0};
    LoopCounts measured{0, 0, 0};
};

/* A contender's lock, for one slice. */
class Lock {
  public:
    explicit Lock(const Contender &contender) : contender_(contender), shared_(contender.create()) {}
    ~Lock() {
        contender_.destroy(shared_);
    }
    Lock(const Lock &) = delete;

    void *get() const {
        return shared_;
    }

    std::string fault(const std::vector<Part> &parts) const {
        uint64_t written = 0, torn = 0;
        for (const Part &part : parts) {
            written += part.warm.writes + part.measured.writes;
            torn += part.warm.torn + part.measured.torn;
        }
        Words *words = contender_.words(shared_);
        uint64_t first = words->first, second = words->second;
        if (torn == 0 && first == written && second == written) {
            return "";
        }
        return std::to_string(torn) + " reads saw half a write; of " + std::to_string(written) + " writes " +
               std::to_string(first) + " and " + std::to_string(second) + " arrived";
    }

  private:
    const Contender &contender_;
    void *shared_;
};

/* A thread's registration with the lock. */
class Membership {
  public:
    Membership(const Contender &contender, const Lock &lock)
        : contender_(contender), shared_(lock.get()), member_(contender.enter(shared_)) {}
    ~Membership() {
        contender_.leave(shared_, member_);
    }
    Membership(const Membership &) = delete;

    void mix(const Job &job, LoopCounts &counts) {
        contender_.mix(shared_, member_, &job, &counts);
    }
    void wait(const Job &job, LoopCounts &counts, Histogram &waits) {
        contender_.wait(shared_, member_, &job, &counts, &waits);
    }

  private:
    const Contender &contender_;
    void *const shared_;
    void *const member_;
};

static const uint64_t always = uint64_t{1} << 32;

static uint64_t seed_of(uint64_t seed, unsigned index) {
    return seed + index * 0xD1B54A32D192ED03;
}

std::string measure(const Contender &contender, const Mix &mix, SliceTimes times, uint64_t seed,
                    MixOutcome &outcome) {
    Lock lock(contender);
    std::vector<Part> parts(mix.threads);
    const auto threshold =
        static_cast<uint64_t>(std::llround(mix.writes / 100 * static_cast<double>(always)));
    const uint32_t section = work_steps(mix.section_ns);

    SliceResult slice = run_slice(mix.threads, stretched(times, mix.threads), [&](Worker &worker) {
        Membership membership(contender, lock);
        Part &part = parts[worker.index];
        Job job{worker.phase_word(), warming, section, 0, threshold, seed_of(seed, worker.index)};
        worker.gather();
        membership.mix(job, part.warm);
        job.during = measuring;
        job.seed = ~job.seed;
        worker.begin_measuring();
        membership.mix(job, part.measured);
        worker.end_measuring();
    });

    uint64_t sum = 0, slowest = UINT64_MAX, fastest = 0;
    for (const Part &part : parts) {
        sum += part.measured.operations;
        slowest = std::min(slowest, part.measured.operations);
        fastest = std::max(fastest, part.measured.operations);
    }
    outcome.add(sum, fastest == 0 ? 0 : static_cast<double>(slowest) / static_cast<double>(fastest), slice);
    return lock.fault(parts);
}

std::string measure(const Contender &contender, const Siege &siege, SliceTimes times, uint64_t seed,
                    SiegeOutcome &outcome) {
    Lock lock(contender);
    std::vector<Part> parts(siege.threads);
    auto waits = std::make_unique<Histogram>();
    const uint32_t section = work_steps(siege.section_ns);

    SliceResult slice = run_slice(siege.threads, stretched(times, siege.threads), [&](Worker &worker) {
        Membership membership(contender, lock);
        Part &part = parts[worker.index];
        Job job{worker.phase_word(), warming, section, 0, 0, seed_of(seed, worker.index)};
        if (worker.index == 0) {
            /* Starts when the other threads run. Its last wait counts even if it outlasts the slice. */
            job.during = measuring;
            job.threshold = siege.writer_waits ? always : 0;
            job.pause = work_steps(siege.pause_ns);
            worker.gather(measuring);
            membership.wait(job, part.measured, *waits);
            return;
        }
        job.threshold = siege.writer_waits ? 0 : always;
        worker.gather();
        membership.mix(job, part.warm);
        job.during = measuring;
        membership.mix(job, part.measured);
    });

    uint64_t besieging = 0;
    for (unsigned index = 1; index < siege.threads; ++index) {
        besieging += parts[index].measured.operations;
    }
    outcome.waits.add(*waits);
    outcome.rates.push_back(static_cast<double>(parts[0].measured.operations) / slice.seconds / 1e6);
    outcome.besieging.push_back(static_cast<double>(besieging) / slice.seconds / 1e6);
    return lock.fault(parts);
}

} // namespace bench
