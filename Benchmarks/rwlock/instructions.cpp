/* SPDX-License-Identifier: Apache-2.0
 *
 * See instructions.h. Every row has a fresh lock in a child of its own. ilk_rwlock chooses its mode by what it
 * measures (docs/rwlock.md); time has no part in it while a lock is only read, or only written:
 *     only written                      central
 *     some hundred reads                fenced
 *     hundreds of thousands of reads    fence-free
 */
#include "instructions.h"

namespace bench {

namespace {

const uint64_t always = uint64_t{1} << 32;
const uint64_t reads_to_fence_free = uint64_t{1} << 20;

/* The loop without a lock. */
struct Nothing : Memberless {
    static constexpr const char *name = "the loop alone";
    static constexpr Waiting waiting = Waiting::parks;
    static constexpr size_t thread_bytes = 0;

    BENCH_INLINE void read_lock(Member &) {}
    BENCH_INLINE void read_unlock(Member &) {}
    BENCH_INLINE void write_lock(Member &) {}
    BENCH_INLINE void write_unlock(Member &) {}
};

/* The mix loop of a new lock, in the child. */
std::vector<Loop> loop_of(const Contender &contender, uint64_t threshold) {
    void *shared = contender.create();
    void *member = contender.enter(shared);
    return {[=](const uint32_t *phase, uint32_t during) {
        Tally tally{0, 0, 0};
        Job job{phase, during, 0, 0, threshold, 1};
        contender.mix(shared, member, &job, &tally);
        return tally.operations;
    }};
}

OperationCost row(const Contender &contender, const char *operation, uint64_t threshold,
                  uint64_t warm_operations) {
    Stepped child([&] { return loop_of(contender, threshold); });
    warm_up(child, 0, warm_operations);
    return cost_of(child, 0, contender.name, operation);
}

std::vector<OperationCost> rows_of_ours(const Contender &ours) {
    std::vector<OperationCost> rows{row(ours, "read, fenced", 0, 0)};
    const OperationCost fence_free = row(ours, "read, fence-free", 0, reads_to_fence_free);
    if (fence_free.locked < 0.5) { /* never so without membarrier(2) */
        rows.push_back(fence_free);
    }
    rows.push_back(row(ours, "write, central", always, 0));
    return rows;
}

OperationCosts count(std::vector<Contender> locks,
                     const std::function<std::vector<OperationCost>(const Contender &)> &rows_of) {
    OperationCosts costs;
    if (costs.are_possible()) {
        locks.insert(locks.begin(), make_contender<Nothing>());
        for (const Contender &lock : locks) {
            costs.add(lock.name, [&] { return rows_of(lock); });
        }
    }
    return costs;
}

} // namespace

OperationCosts count_instructions(const std::vector<Contender> &locks) {
    return count(locks, [](const Contender &lock) {
        return lock.name == "ilk_rwlock"
                   ? rows_of_ours(lock)
                   : std::vector<OperationCost>{row(lock, "read", 0, 1), row(lock, "write", always, 1)};
    });
}

OperationCosts count_lock_instructions(const std::vector<Contender> &locks) {
    return count(locks, [](const Contender &lock) {
        return std::vector<OperationCost>{row(lock, "lock and unlock", always, 1)};
    });
}

} // namespace bench
