/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread that serves three queues of numbers: what is measured, of one contender. An adapter has push(queue,
 * number), serve(count, body), which takes so many numbers from all three, answer(number) and await_answer(), a fourth
 * queue from the server to its client. A queue holds 1,024, one queue in place of all three as many as they.
 */
#ifndef INTERLOCK_BENCHMARKS_WAIT_SET_CONTENDER_H
#define INTERLOCK_BENCHMARKS_WAIT_SET_CONTENDER_H

#include "../runner/spans.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace bench {

enum { queues = 3, places = 1024 };

/* Nanoseconds. A number that is lost or doubled ends the program. */
struct Contender {
    std::string name;
    double (*flow)(unsigned producers, unsigned count); /* for each number: 1 fills all in turn, 3 one each */
    double (*trip)(unsigned count);                     /* a number there, its answer back */
};

/* The sum of the numbers 0 ..< count. */
inline void check_sum(uint64_t sum, uint64_t count) {
    if (sum != count * (count - 1) / 2) {
        std::abort();
    }
}

template <class Server> double measure_flow(unsigned producers, unsigned count) {
    Server server;
    uint64_t sum = 0;
    const double ns = nanoseconds([&] {
        run_threads(producers + 1, [&](unsigned index) {
            if (index == producers) {
                server.serve(count, [&](uint64_t number) { sum += number; });
                return;
            }
            for (uint64_t number = index; number < count; number += producers) {
                server.push(number % queues, number);
            }
        });
    });
    check_sum(sum, count);
    return ns / count;
}

template <class Server> double measure_trip(unsigned count) {
    Server server;
    uint64_t sum = 0;
    const double ns = nanoseconds([&] {
        run_threads(2, [&](unsigned index) {
            if (index == 1) {
                server.serve(count, [&](uint64_t number) { server.answer(number); });
                return;
            }
            for (uint64_t number = 0; number < count; number++) {
                server.push(number % queues, number);
                sum += server.await_answer();
            }
        });
    });
    check_sum(sum, count);
    return ns / count;
}

template <class Server> Contender contender(const char *name) {
    return {name, measure_flow<Server>, measure_trip<Server>};
}

} // namespace bench

#endif
