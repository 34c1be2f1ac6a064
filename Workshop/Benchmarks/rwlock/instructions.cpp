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
        LoopCounts counts{0, 0, 0};
        Job job{phase, during, 0, 0, threshold, 1};
        contender.mix(shared, member, &job, &counts);
        return counts.operations;
    }};
}

struct Case {
    const char *operation;
    uint64_t threshold; /* of the job: only reads, or only writes */
    uint64_t warm_operations;
    bool is_fence_free = false;
};

/* Of ilk_rwlock, of other reader–writer locks, and of locks without a reader mode. */
const std::vector<Case> our_cases{{"read, fenced", 0, 0},
                                  {"read, fence-free", 0, reads_to_fence_free, true},
                                  {"write, central", always, 0}};
const std::vector<Case> cases{{"read", 0, 1}, {"write", always, 1}};
const std::vector<Case> lock_cases{{"lock and unlock", always, 1}};

OperationCost row(const Contender &contender, const Case &wanted) {
    Stepped child([&] { return loop_of(contender, wanted.threshold); });
    warm_up(child, 0, wanted.warm_operations);
    const OperationCost cost = cost_of(child, 0, contender.name, wanted.operation);
    if (wanted.is_fence_free && cost.locked > 0) {
        throw CannotCount("its readers keep the fence, as they do without membarrier(2)");
    }
    return cost;
}

void add_rows(OperationCosts &costs, const Contender &contender, const std::vector<Case> &wanted) {
    for (const Case &one : wanted) {
        costs.add(contender.name + ", " + one.operation,
                  [&] { return std::vector<OperationCost>{row(contender, one)}; });
    }
}

} // namespace

OperationCosts count_instructions(const std::vector<Contender> &locks) {
    OperationCosts costs;
    if (costs.are_possible()) {
        add_rows(costs, make_contender<Nothing>(), cases);
        for (const Contender &lock : locks) {
            add_rows(costs, lock, lock.name == "ilk_rwlock" ? our_cases : cases);
        }
    }
    return costs;
}

OperationCosts count_lock_instructions(const std::vector<Contender> &locks) {
    OperationCosts costs;
    if (costs.are_possible()) {
        add_rows(costs, make_contender<Nothing>(), lock_cases);
        for (const Contender &lock : locks) {
            add_rows(costs, lock, lock_cases);
        }
    }
    return costs;
}

} // namespace bench
