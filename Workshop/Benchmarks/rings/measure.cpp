/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices of rings; see measure.h. Threads that do not block leave with the phase; the elements left are
 * popped afterwards. Where threads block, the last producer pushes an end stamp for each consumer behind all
 * other elements.
 */
#include "measure.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace bench {

namespace {

/* One thread's books, on cache lines of their own. */
struct alignas(128) Part {
    ProducerBooks pushed{0};
    ConsumerBooks popped;
    uint64_t before = 0; /* elements before the measuring phase */
    uint64_t during = 0; /* and in it */
};

class Ring {
  public:
    Ring(const RingLoops &loops, size_t capacity, unsigned producers, unsigned consumers)
        : loops_(loops), ring_(loops.create(capacity, producers, consumers)) {}
    ~Ring() {
        loops_.destroy(ring_);
    }
    Ring(const Ring &) = delete;

    void *get() const {
        return ring_;
    }

  private:
    const RingLoops &loops_;
    void *ring_;
};

class Member {
  public:
    Member(const RingLoops &loops, const Ring &ring, bool producer)
        : loops_(loops), producer_(producer), member_(loops.enter(ring.get(), producer)) {}
    ~Member() {
        loops_.leave(member_, producer_);
    }
    Member(const Member &) = delete;

    void *get() const {
        return member_;
    }

  private:
    const RingLoops &loops_;
    const bool producer_;
    void *const member_;
};

/* The sum of `count` stamps from `first` on, modulo 2^64 as the consumers add. One factor is even. */
uint64_t sum_of_stamps(uint64_t first, uint64_t count) {
    uint64_t pairs = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    return count == 0 ? 0 : first * count + pairs;
}

std::string fault(const std::vector<Part> &parts, unsigned producers) {
    uint64_t pushed = 0, pushed_sum = 0, popped = 0, popped_sum = 0, faults = 0;
    for (size_t index = 0; index < parts.size(); ++index) {
        if (index < producers) {
            uint64_t first = first_stamp(static_cast<unsigned>(index));
            pushed += parts[index].pushed.next - first;
            pushed_sum += sum_of_stamps(first, parts[index].pushed.next - first);
        }
        popped += parts[index].popped.count;
        popped_sum += parts[index].popped.sum;
        faults += parts[index].popped.faults;
    }
    if (pushed == popped && pushed_sum == popped_sum && faults == 0) {
        return "";
    }
    return std::to_string(pushed) + " elements went in and " + std::to_string(popped) + " came out" +
           (pushed_sum == popped_sum ? "" : ", but not the same") + "; " + std::to_string(faults) +
           " were torn or out of order";
}

double per_second(double count, const SliceResult &slice) {
    return count / slice.seconds;
}

double share(const std::vector<Part> &parts, size_t begin, size_t end) {
    uint64_t slowest = UINT64_MAX, fastest = 0;
    for (size_t index = begin; index < end; ++index) {
        slowest = std::min(slowest, parts[index].during);
        fastest = std::max(fastest, parts[index].during);
    }
    return fastest == 0 ? 0 : static_cast<double>(slowest) / static_cast<double>(fastest);
}

} // namespace

const char *to_text(Wait wait) {
    switch (wait) {
    case Wait::for_nothing:
        return "consumer, nothing comes";
    case Wait::slow_producer:
        return "consumer, producer is slow";
    case Wait::slow_consumer:
        return "producer, consumer is slow";
    }
    return "?";
}

bool runs(const RingContender &contender, const Flow &flow) {
    bool pair = flow.producers == 1 && flow.consumers == 1;
    return contender.transfer == flow.transfer && (pair || contender.sides == Sides::many) &&
           contender.takes(flow.capacity, batch_of(flow.transfer));
}

bool runs(const RingContender &contender, const Trip &trip) {
    return contender.transfer == trip.transfer && contender.sides == trip.sides;
}

bool runs(const RingContender &contender, const Idleness &) {
    return contender.transfer == blocking;
}

/* Producers are threads 0 to producers - 1, then consumers: one of each have a core each. */
std::string measure(const RingContender &contender, const Flow &flow, SliceTimes times,
                    FlowOutcome &outcome) {
    const RingLoops &loops = contender.loops[flow.element];
    const unsigned threads = flow.producers + flow.consumers;
    auto ring = std::make_unique<Ring>(loops, flow.capacity, flow.producers, flow.consumers);
    std::vector<Part> parts(threads);
    std::atomic<unsigned> producers_left{flow.producers};

    SliceResult slice = run_slice(threads, stretched(times, threads), [&](Worker &worker) {
        const bool is_producer = worker.index < flow.producers;
        Member member(loops, *ring, is_producer);
        Part &part = parts[worker.index];
        part.pushed.next = first_stamp(worker.index);
        part.popped.lone = flow.producers == 1 ? 1 : 0;
        auto work_during = [&](Phase phase) {
            if (is_producer) {
                loops.produce(ring->get(), member.get(), worker.phase_word(), phase, &part.pushed);
            } else {
                loops.consume(ring->get(), member.get(), worker.phase_word(), phase, &part.popped);
            }
            return is_producer ? part.pushed.next - first_stamp(worker.index) : part.popped.count;
        };
        worker.gather();
        part.before = work_during(warming);
        worker.begin_measuring();
        part.during = work_during(measuring) - part.before;
        worker.end_measuring();
        if (flow.transfer == blocking && !is_producer) {
            work_during(stopping);
        } else if (flow.transfer == blocking && producers_left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            loops.finish(ring->get(), member.get(), flow.consumers);
        }
    });
    {
        Member member(loops, *ring, false);
        loops.drain(ring->get(), member.get(), &parts[flow.producers].popped);
    }

    uint64_t popped = 0;
    for (unsigned index = flow.producers; index < threads; ++index) {
        popped += parts[index].during;
    }
    outcome.add(popped, std::min(share(parts, 0, flow.producers), share(parts, flow.producers, threads)),
                slice);
    return fault(parts, flow.producers);
}

std::string measure(const RingContender &contender, const Trip &, SliceTimes times, TripOutcome &outcome) {
    const RingLoops &loops = contender.loops[0];
    const size_t capacity = 64;
    auto there = std::make_unique<Ring>(loops, capacity, 1, 1),
         back = std::make_unique<Ring>(loops, capacity, 1, 1);
    auto trips = std::make_unique<Histogram>();

    SliceResult slice = run_slice(2, times, [&](Worker &worker) {
        const bool asks = worker.index == 0;
        Member to(loops, asks ? *there : *back, true);
        Member from(loops, asks ? *back : *there, false);
        worker.gather(asks ? measuring : warming);
        if (asks) {
            loops.ping(there->get(), back->get(), to.get(), from.get(), worker.phase_word(), measuring,
                       trips.get());
        } else {
            loops.pong(there->get(), back->get(), to.get(), from.get());
        }
    });
    outcome.trips.add(*trips);
    outcome.medians.push_back(trips->quantile(0.5));
    outcome.rates.push_back(per_second(static_cast<double>(trips->count()), slice) / 1e6);
    return "";
}

/* Thread 0 waits, thread 1 is slow or idle. */
std::string measure(const RingContender &contender, const Idleness &idleness, SliceTimes times,
                    IdleOutcome &outcome) {
    const RingLoops &loops = contender.loops[0];
    auto ring = std::make_unique<Ring>(loops, 64, 1, 1);
    std::vector<Part> parts(2);
    Part &producer = parts[0], &consumer = parts[1];
    const auto pace = static_cast<uint64_t>(idleness.pace_ns * ticks_per_ns());
    const bool consumer_waits = idleness.wait != Wait::slow_consumer;

    SliceResult slice = run_slice(2, times, [&](Worker &worker) {
        const bool is_producer = consumer_waits == (worker.index == 1);
        Member member(loops, *ring, is_producer);
        const uint32_t *phase = worker.phase_word();
        producer.pushed.next = is_producer ? first_stamp(0) : producer.pushed.next;
        worker.gather(measuring);
        worker.begin_measuring();
        if (is_producer && !consumer_waits) {
            loops.produce(ring->get(), member.get(), phase, measuring, &producer.pushed);
        } else if (is_producer && idleness.wait == Wait::slow_producer) {
            loops.produce_paced(ring->get(), member.get(), phase, measuring, pace, &producer.pushed);
        } else if (is_producer) {
            worker.gather(stopping);
        } else if (consumer_waits) {
            loops.consume(ring->get(), member.get(), phase, measuring, &consumer.popped);
        } else {
            loops.consume_paced(ring->get(), member.get(), phase, measuring, pace, &consumer.popped);
        }
        worker.end_measuring();
        (is_producer ? producer : consumer).during =
            is_producer ? producer.pushed.next - first_stamp(0) : consumer.popped.count;
        if (is_producer) {
            loops.finish(ring->get(), member.get(), 1);
        } else {
            loops.consume(ring->get(), member.get(), phase, stopping, &consumer.popped);
        }
    });
    outcome.cpu.push_back(slice.usage[0].cpu_seconds / slice.seconds);
    outcome.switches.push_back(
        per_second(static_cast<double>(slice.usage[0].voluntary + slice.usage[0].involuntary), slice));
    outcome.rates.push_back(per_second(static_cast<double>(consumer.during), slice) / 1e6);
    return fault(parts, 1);
}

} // namespace bench
