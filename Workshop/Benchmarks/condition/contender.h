/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a lock for a condition: what is measured, of one contender. An adapter has lock() and unlock(),
 * await(queue, predicate, context) under the lock, and changed(queue) under it, after a change that the waiters of that
 * queue wait for. Those that judge predicates ignore the queue; those with condition variables have one for each.
 */
#ifndef INTERLOCK_BENCHMARKS_CONDITION_CONTENDER_H
#define INTERLOCK_BENCHMARKS_CONDITION_CONTENDER_H

#include "../runner/spans.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace bench {

enum { most_queues = 101 };

/* Nanoseconds for each hand-over. A wait that ends before its predicate holds ends the program. */
struct Contender {
    std::string name;
    double (*turns)(unsigned count);                                          /* two threads in turn */
    double (*buffer)(unsigned producers, unsigned consumers, unsigned count); /* a buffer of 64 places */
    double (*distinct)(unsigned waiters, unsigned count); /* each waits for a number of its own */
};

template <class Lock> void await(Lock &lock, unsigned queue, bool (*predicate)(void *), void *context) {
    lock.await(queue, predicate, context);
    if (!predicate(context)) {
        std::abort();
    }
}

template <class Lock> double measure_turns(unsigned count) {
    struct State {
        Lock lock;
        unsigned turn = 0;
    } state;
    struct Side {
        State *state;
        unsigned index;
    };
    const double ns = nanoseconds([&] {
        run_threads(2, [&](unsigned index) {
            Side side{&state, index};
            for (unsigned round = 0; round < count; round++) {
                state.lock.lock();
                await(
                    state.lock, index,
                    [](void *context) {
                        const Side *mine = static_cast<const Side *>(context);
                        return mine->state->turn == mine->index;
                    },
                    &side);
                state.turn = 1 - index;
                state.lock.changed(1 - index);
                state.lock.unlock();
            }
        });
    });
    return ns / (2.0 * count);
}

template <class Lock> double measure_buffer(unsigned producers, unsigned consumers, unsigned count) {
    enum { places = 64 };
    struct State {
        Lock lock;
        unsigned filled = 0;
        unsigned to_put, to_take;
    } state;
    state.to_put = state.to_take = count;
    const double ns = nanoseconds([&] {
        run_threads(producers + consumers, [&](unsigned index) {
            const bool puts = index < producers;
            for (bool more = true; more;) {
                state.lock.lock();
                await(
                    state.lock, puts ? 0 : 1,
                    puts ? [](void *context) {
                        const State *s = static_cast<const State *>(context);
                        return s->filled < places || s->to_put == 0;
                    } : [](void *context) {
                        const State *s = static_cast<const State *>(context);
                        return s->filled > 0 || s->to_take == 0;
                    },
                    &state);
                unsigned &left = puts ? state.to_put : state.to_take;
                more = left > 0;
                if (more) {
                    left--;
                    state.filled += puts ? 1 : -1U;
                    state.lock.changed(puts ? 1 : 0);
                }
                if (left == 0) {
                    state.lock.changed(puts ? 0 : 1); /* the next of this side ends too */
                }
                state.lock.unlock();
            }
        });
    });
    return ns / count;
}

template <class Lock> double measure_distinct(unsigned waiters, unsigned count) {
    struct State {
        Lock lock;
        unsigned chosen = 0;
        bool is_answered = true;
    } state;
    struct Waiter {
        State *state;
        unsigned number;
    };
    const double ns = nanoseconds([&] {
        run_threads(waiters + 1, [&](unsigned index) {
            if (index > 0) {
                Waiter waiter{&state, index};
                for (unsigned round = index; round <= count; round += waiters) {
                    state.lock.lock();
                    await(
                        state.lock, index,
                        [](void *context) {
                            const Waiter *mine = static_cast<const Waiter *>(context);
                            return !mine->state->is_answered && mine->state->chosen == mine->number;
                        },
                        &waiter);
                    state.is_answered = true;
                    state.lock.changed(0);
                    state.lock.unlock();
                }
                return;
            }
            for (unsigned round = 1; round <= count; round++) {
                state.lock.lock();
                await(
                    state.lock, 0,
                    [](void *context) { return static_cast<const State *>(context)->is_answered; }, &state);
                state.is_answered = false;
                state.chosen = (round - 1) % waiters + 1;
                state.lock.changed(state.chosen);
                state.lock.unlock();
            }
        });
    });
    return ns / count;
}

template <class Lock> Contender contender(const char *name) {
    return {name, measure_turns<Lock>, measure_buffer<Lock>, measure_distinct<Lock>};
}

} // namespace bench

#endif
