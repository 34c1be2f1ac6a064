/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring in the comparison, and the loops that all rings run, made of an adapter: a class template with
 * inline calls.
 *
 * An adapter Ring<T> has:
 *     static constexpr const char *name;
 *     static constexpr Sides sides;      how many threads a side
 *     static constexpr bool bounded;     holds no more than about its capacity
 *     static constexpr unsigned transfers; how it passes elements: trying, blocking, batches (see Transfer)
 *     Ring(size_t capacity, unsigned producers, unsigned consumers)
 *     static bool takes(size_t capacity, size_t batch)
 *     struct Producer, Consumer          a thread's own state; made from the ring
 * and of these calls, BENCH_INLINE, those its transfers need, and try_pop, which counts what a slice leaves:
 *     bool try_push(Producer &, const T &)             bool try_pop(Consumer &, T &)
 *     void push(Producer &, const T &)                 void pop(Consumer &, T &)
 *     size_t try_push_many(Producer &, T *, size_t)    size_t try_pop_many(Consumer &, T *, size_t)
 * A ring whose batches are in place has, with `static constexpr bool in_place = true`,
 *     T *reserve(Producer &, size_t &count), void commit(Producer &, size_t count),
 *     const T *peek(Consumer &, size_t &count), void release(Consumer &, size_t count).
 */
#ifndef INTERLOCK_BENCHMARKS_RINGS_CONTENDER_H
#define INTERLOCK_BENCHMARKS_RINGS_CONTENDER_H

#include "../runner/clock.h"
#include "../runner/histogram.h"
#include "../runner/inline.h"
#include "../runner/slice.h"
#include "element.h"

#include <algorithm>
#include <sched.h>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

enum class Sides { single, many };

/* How elements are passed, in bits. */
enum Transfer : unsigned {
    trying = 1,   /* one at a time; backs off and yields */
    blocking = 2, /* one at a time; sleeps */
    batch_8 = 4,  /* up to 8 at a time, otherwise as trying */
    batch_64 = 8,
    batches = batch_8 | batch_64,
};
const char *to_text(Transfer transfer);
inline size_t batch_of(Transfer transfer) {
    return transfer == batch_8 ? 8 : transfer == batch_64 ? 64 : 1;
}

struct RingLoops {
    void *(*create)(size_t capacity, unsigned producers, unsigned consumers);
    void (*destroy)(void *ring);
    void *(*enter)(void *ring, bool producer);
    void (*leave)(void *member, bool producer);
    /* Push, or pop, until the phase ends; a blocking consumer at most to the end stamp. */
    void (*produce)(void *ring, void *member, const uint32_t *phase, uint32_t during, ProducerBooks *);
    void (*consume)(void *ring, void *member, const uint32_t *phase, uint32_t during, ConsumerBooks *);
    /* Pops what is left, with no other thread. */
    void (*drain)(void *ring, void *member, ConsumerBooks *);
    /* One element to and fro between two threads. The one measures until the phase ends, then sends the end
     * stamp, at which the other leaves. Transfers trying and blocking. */
    void (*ping)(void *there, void *back, void *producer, void *consumer, const uint32_t *phase,
                 uint32_t during, Histogram *trips);
    void (*pong)(void *there, void *back, void *producer, void *consumer);
    /* Blocking only: lets `count` consumers go; pushes or pops an element every `pace` ticks. */
    void (*finish)(void *ring, void *member, unsigned count);
    void (*produce_paced)(void *ring, void *member, const uint32_t *phase, uint32_t during, uint64_t pace,
                          ProducerBooks *);
    void (*consume_paced)(void *ring, void *member, const uint32_t *phase, uint32_t during, uint64_t pace,
                          ConsumerBooks *);
};

constexpr size_t element_sizes[] = {8, 64, 256};
constexpr size_t element_size_count = 3;

struct RingContender {
    std::string name;
    Transfer transfer;
    Sides sides;
    bool bounded;
    bool (*takes)(size_t capacity, size_t batch);
    RingLoops loops[element_size_count];
};

/* Adds contenders to the list, with static storage in an adapter's file. One in another language has a
 * function that takes pauses_before_yield. */
struct EnlistedRings {
    EnlistedRings(int position, const std::vector<RingContender> &contenders,
                  void (*set_pauses)(uint32_t) = nullptr);
};
std::vector<RingContender> ring_contenders();
void set_pauses(uint32_t pauses);

/* Probes of a full or empty ring, each after a pause, before a yield. Between 8 and 128 the figures differ by
 * no more than the rounds. */
inline uint32_t pauses_before_yield = 32;

class Backoff {
  public:
    void fail() {
        if (++failures_ <= pauses_before_yield) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#elif defined(__aarch64__)
            asm volatile("yield");
#endif
        } else {
            sched_yield();
        }
    }
    void reset() {
        failures_ = 0;
    }

  private:
    unsigned failures_ = 0;
};

inline bool ring_phase_lasts(const uint32_t *phase, uint32_t during) {
    return __atomic_load_n(phase, __ATOMIC_RELAXED) == during;
}

template <class Ring, class = void> struct IsInPlace : std::false_type {};
template <class Ring> struct IsInPlace<Ring, std::void_t<decltype(Ring::in_place)>> : std::true_type {};

template <template <class> class Adapter, class T, Transfer transfer> struct Loops {
    using Ring = Adapter<T>;
    using Producer = typename Ring::Producer;
    using Consumer = typename Ring::Consumer;
    static constexpr size_t batch = transfer == batch_8 ? 8 : transfer == batch_64 ? 64 : 1;

    static Ring &ring(void *pointer) {
        return *static_cast<Ring *>(pointer);
    }
    static Producer &producer(void *member) {
        return *static_cast<Producer *>(member);
    }
    static Consumer &consumer(void *member) {
        return *static_cast<Consumer *>(member);
    }

    /* Up to `batch` elements stamped from `next` on; the number pushed. */
    BENCH_INLINE static size_t push_some(Ring &ring, Producer &me, T *elements, uint64_t next) {
        if constexpr (transfer == blocking) {
            elements[0].stamp(next);
            ring.push(me, elements[0]);
            return 1;
        } else if constexpr (transfer == trying) {
            elements[0].stamp(next);
            return ring.try_push(me, elements[0]) ? 1 : 0;
        } else if constexpr (IsInPlace<Ring>::value) {
            size_t count = batch;
            T *slots = ring.reserve(me, count);
            for (size_t index = 0; index < count; ++index) {
                slots[index].stamp(next + index);
            }
            if (count != 0) {
                ring.commit(me, count);
            }
            return count;
        } else {
            for (size_t index = 0; index < batch; ++index) {
                elements[index].stamp(next + index);
            }
            return ring.try_push_many(me, elements, batch);
        }
    }

    /* Up to `batch` elements into the books; the number popped. */
    BENCH_INLINE static size_t pop_some(Ring &ring, Consumer &me, T *elements, ConsumerBooks &books) {
        if constexpr (transfer == blocking) {
            ring.pop(me, elements[0]);
            if (elements[0].words[0] == end_stamp) {
                books.ended = 1;
                return 1;
            }
            books.record_order(elements[0]);
            books.note(elements[0]);
            return 1;
        } else if constexpr (transfer == trying) {
            if (!ring.try_pop(me, elements[0])) {
                return 0;
            }
            books.record_order(elements[0]);
            books.note(elements[0]);
            return 1;
        } else {
            size_t count = batch;
            const T *popped = elements;
            if constexpr (IsInPlace<Ring>::value) {
                popped = ring.peek(me, count);
            } else {
                count = ring.try_pop_many(me, elements, batch);
            }
            if (count == 0) {
                return 0;
            }
            books.record_batch(popped, count);
            if constexpr (IsInPlace<Ring>::value) {
                ring.release(me, count);
            }
            return count;
        }
    }

    static void produce(void *pointer, void *member, const uint32_t *phase, uint32_t during,
                        ProducerBooks *books) {
        T elements[batch] = {};
        Backoff backoff;
        uint64_t next = books->next;
        while (ring_phase_lasts(phase, during)) {
            size_t count = push_some(ring(pointer), producer(member), elements, next);
            if (count != 0) {
                next += count;
                backoff.reset();
            } else {
                backoff.fail();
            }
        }
        books->next = next;
    }

    static void consume(void *pointer, void *member, const uint32_t *phase, uint32_t during,
                        ConsumerBooks *shared_books) {
        T elements[batch] = {};
        Backoff backoff;
        ConsumerBooks books = *shared_books;
        while (ring_phase_lasts(phase, during) && books.ended == 0) {
            if (pop_some(ring(pointer), consumer(member), elements, books) != 0) {
                backoff.reset();
            } else {
                backoff.fail();
            }
        }
        *shared_books = books;
    }

    static void drain(void *pointer, void *member, ConsumerBooks *books) {
        T element;
        while (ring(pointer).try_pop(consumer(member), element)) {
            books->note(element);
        }
    }

    BENCH_INLINE static void pass(Ring &ring, Producer &me, T &element) {
        if constexpr (transfer == blocking) {
            ring.push(me, element);
        } else {
            Backoff backoff;
            while (!ring.try_push(me, element)) {
                backoff.fail();
            }
        }
    }

    BENCH_INLINE static void take(Ring &ring, Consumer &me, T &element) {
        if constexpr (transfer == blocking) {
            ring.pop(me, element);
        } else {
            Backoff backoff;
            while (!ring.try_pop(me, element)) {
                backoff.fail();
            }
        }
    }

    static void ping(void *there, void *back, void *to, void *from, const uint32_t *phase, uint32_t during,
                     Histogram *trips) {
        T element = {};
        for (uint64_t number = 0; ring_phase_lasts(phase, during); ++number) {
            element.stamp(number);
            uint64_t begin = ticks();
            pass(ring(there), producer(to), element);
            take(ring(back), consumer(from), element);
            trips->record(ticks() - begin);
        }
        element.stamp(end_stamp);
        pass(ring(there), producer(to), element);
    }

    static void pong(void *there, void *back, void *to, void *from) {
        for (;;) {
            T element;
            take(ring(there), consumer(from), element);
            if (element.words[0] == end_stamp) {
                return;
            }
            pass(ring(back), producer(to), element);
        }
    }

    static void finish(void *pointer, void *member, unsigned count) {
        T element = {};
        element.stamp(end_stamp);
        for (; count != 0; --count) {
            ring(pointer).push(producer(member), element);
        }
    }

    static void wait_until(uint64_t due) {
        while (static_cast<int64_t>(ticks() - due) < 0) {
        }
    }

    static void produce_paced(void *pointer, void *member, const uint32_t *phase, uint32_t during,
                              uint64_t pace, ProducerBooks *books) {
        T element = {};
        for (uint64_t due = ticks(); ring_phase_lasts(phase, during); due += pace) {
            wait_until(due);
            element.stamp(books->next++);
            ring(pointer).push(producer(member), element);
        }
    }

    static void consume_paced(void *pointer, void *member, const uint32_t *phase, uint32_t during,
                              uint64_t pace, ConsumerBooks *books) {
        T element;
        for (uint64_t due = ticks(); ring_phase_lasts(phase, during) && books->ended == 0; due += pace) {
            wait_until(due);
            pop_some(ring(pointer), consumer(member), &element, *books);
        }
    }

    static RingLoops table() {
        RingLoops loops{};
        loops.create = [](size_t capacity, unsigned producers, unsigned consumers) -> void * {
            return new Ring(capacity, producers, consumers);
        };
        loops.destroy = [](void *pointer) { delete static_cast<Ring *>(pointer); };
        loops.enter = [](void *pointer, bool is_producer) -> void * {
            return is_producer ? static_cast<void *>(new Producer(ring(pointer)))
                               : static_cast<void *>(new Consumer(ring(pointer)));
        };
        loops.leave = [](void *member, bool is_producer) {
            if (is_producer) {
                delete static_cast<Producer *>(member);
            } else {
                delete static_cast<Consumer *>(member);
            }
        };
        loops.produce = produce;
        loops.consume = consume;
        loops.drain = drain;
        if constexpr (transfer == trying || transfer == blocking) {
            loops.ping = ping;
            loops.pong = pong;
        }
        if constexpr (transfer == blocking) {
            loops.finish = finish;
            loops.produce_paced = produce_paced;
            loops.consume_paced = consume_paced;
        }
        return loops;
    }
};

template <template <class> class Adapter, Transfer transfer>
void add_ring_contender(std::vector<RingContender> &contenders) {
    using Any = Adapter<Element<8>>;
    if constexpr ((Any::transfers & transfer) != 0) {
        contenders.push_back(
            {Any::name,
             transfer,
             Any::sides,
             Any::bounded,
             Any::takes,
             {Loops<Adapter, Element<8>, transfer>::table(), Loops<Adapter, Element<64>, transfer>::table(),
              Loops<Adapter, Element<256>, transfer>::table()}});
    }
}

template <template <class> class Adapter> std::vector<RingContender> make_ring_contenders() {
    std::vector<RingContender> contenders;
    add_ring_contender<Adapter, trying>(contenders);
    add_ring_contender<Adapter, blocking>(contenders);
    add_ring_contender<Adapter, batch_8>(contenders);
    add_ring_contender<Adapter, batch_64>(contenders);
    return contenders;
}

/* For adapters without state of a thread. */
struct Anonymous {
    template <class Ring> explicit Anonymous(Ring &) {}
};

/* For adapters that take any capacity. */
struct AnyCapacity {
    static bool takes(size_t, size_t) {
        return true;
    }
};

} // namespace bench

#endif
