/* SPDX-License-Identifier: Apache-2.0
 *
 * See instructions.h. One thread pushes two runs of elements, pops two shorter runs, and pops the rest outside of
 * the count. The sizes leave room for runs that do a third more operations than was estimated: a blocking
 * loop would wait for ever on a full or empty ring.
 */
#include "instructions.h"

#include <memory>

namespace bench {

namespace {

const size_t capacity = 256;
/* Of a shorter run; the longer is twice as long. Together 180 pushed, of which 135 are popped. */
const double pushes_of_a_run = 60, pops_of_a_run = 45;
const uint64_t pushes_of_an_estimate = 60, pops_of_an_estimate = 10;
/* The ring's first laps, before the samples. */
const unsigned warm_cycles = 2;

enum : size_t { push, pop, drain };

/* The loops without a ring. It would never be drained. */
template <class T> struct Nothing : AnyCapacity {
    static constexpr const char *name = "the loop alone";
    static constexpr Sides sides = Sides::single;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying;
    using Producer = Anonymous;
    using Consumer = Anonymous;

    Nothing(size_t, unsigned, unsigned) {}
    BENCH_INLINE bool try_push(Producer &, const T &element) {
        asm volatile("" : : "r"(&element) : "memory");
        return true;
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        asm volatile("" : : "r"(&element) : "memory");
        return true;
    }
};

RingContender nothing() {
    RingContender loop_alone = make_ring_contenders<Nothing>()[0];
    loop_alone.loops[0].drain = [](void *, void *, ConsumerBooks *books) { ++books->count; };
    return loop_alone;
}

/* The loops of a new ring, in the child. */
std::vector<Loop> loops_of(const RingContender &contender) {
    const RingLoops &loops = contender.loops[0];
    void *ring = loops.create(capacity, 1, 1);
    void *producer = loops.enter(ring, true), *consumer = loops.enter(ring, false);
    auto pushed = std::make_shared<ProducerBooks>(ProducerBooks{first_stamp(0)});
    auto popped = std::make_shared<ConsumerBooks>();
    auto popped_by = [=](const auto &loop) {
        const uint64_t before = popped->count;
        loop();
        return popped->count - before;
    };
    return {[=](const uint32_t *phase, uint32_t during) {
                const uint64_t before = pushed->next;
                loops.produce(ring, producer, phase, during, pushed.get());
                return pushed->next - before;
            },
            [=](const uint32_t *phase, uint32_t during) {
                return popped_by([&] { loops.consume(ring, consumer, phase, during, popped.get()); });
            },
            [=](const uint32_t *, uint32_t) {
                return popped_by([&] { loops.drain(ring, consumer, popped.get()); });
            }};
}

struct Steps {
    double push, pop; /* of one operation */
};

Steps estimate(Stepped &child) {
    const double push_steps = steps_of_operation(child, push, pushes_of_an_estimate);
    const double pop_steps = steps_of_operation(child, pop, pops_of_an_estimate);
    child.run(drain, 0);
    return {push_steps, pop_steps};
}

/* A shorter and a longer run. */
std::pair<Counts, Counts> two_runs(Stepped &child, size_t loop, double steps) {
    const Counts shorter = child.step(loop, static_cast<uint64_t>(steps));
    return {shorter, child.step(loop, static_cast<uint64_t>(2 * steps))};
}

std::vector<OperationCost> rows_of(const RingContender &contender) {
    Stepped child([&] { return loops_of(contender); });
    const Steps steps = estimate(child);
    CostSamples pushes, pops;
    for (unsigned cycle = 0; cycle < warm_cycles + cost_samples; ++cycle) {
        const auto [short_push, long_push] = two_runs(child, push, steps.push * pushes_of_a_run);
        const auto [short_pop, long_pop] = two_runs(child, pop, steps.pop * pops_of_a_run);
        const uint64_t left = child.run(drain, 0);
        if (short_push.operations + long_push.operations + 1 >= capacity || left == 0) {
            throw CannotCount("the ring ran full or empty");
        }
        if (cycle >= warm_cycles) {
            pushes.add(short_push, long_push);
            pops.add(short_pop, long_pop);
        }
    }
    const std::string transfer = contender.transfer == trying ? "try " : "";
    return {pushes.median_of(contender.name, transfer + "push"),
            pops.median_of(contender.name, transfer + "pop")};
}

bool is_counted(const RingContender &ring) {
    return ring.transfer == trying || (ring.transfer == blocking && ring.name.rfind("ilk_", 0) == 0);
}

} // namespace

OperationCosts count_instructions(const std::vector<RingContender> &rings) {
    OperationCosts costs;
    if (!costs.are_possible()) {
        return costs;
    }
    std::vector<RingContender> all{nothing()};
    all.insert(all.end(), rings.begin(), rings.end());
    for (const RingContender &ring : all) {
        if (is_counted(ring)) {
            costs.add(ring.name + ", " + to_text(ring.transfer), [&] { return rows_of(ring); });
        }
    }
    return costs;
}

} // namespace bench
