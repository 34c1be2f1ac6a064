/* SPDX-License-Identifier: Apache-2.0
 *
 * The suite wait_set with contenders that do it right, do it wrong or do nothing, for bench_state_test.py. With TWICE in
 * the environment two have one position.
 */
#include "../../Workshop/Benchmarks/wait_set/contender.h"

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>

using namespace bench;

namespace {

struct Right {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<uint64_t> numbers, answers;

    void put(std::deque<uint64_t> &to, uint64_t number) {
        const std::lock_guard<std::mutex> guard(mutex);
        to.push_back(number);
        changed.notify_all();
    }
    uint64_t take(std::deque<uint64_t> &from) {
        std::unique_lock<std::mutex> guard(mutex);
        changed.wait(guard, [&] { return !from.empty(); });
        const uint64_t number = from.front();
        from.pop_front();
        return number;
    }
    void push(size_t, uint64_t number) {
        put(numbers, number);
    }
    void answer(uint64_t number) {
        put(answers, number);
    }
    uint64_t await_answer() {
        return take(answers);
    }
    template <class Body> void serve(unsigned count, Body body) {
        for (unsigned served = 0; served < count; served++) {
            body(take(numbers));
        }
    }
};

/* Takes the third number for the second, too. */
struct Doubling : Right {
    template <class Body> void serve(unsigned count, Body body) {
        for (unsigned served = 0; served < count; served++) {
            const uint64_t number = take(numbers);
            body(number == 1 ? 2 : number);
        }
    }
};

const Enlisted<Contender> right(0, contender<Right>("right"));
const Enlisted<Contender> doubling(1, contender<Doubling>("doubling"));
const Enlisted<Contender> idle(2, {"idle", [](unsigned, unsigned) { return nanoseconds([] {}) / 1e6; },
                                   [](unsigned) { return nanoseconds([] {}) / 1e6; }});

} // namespace

int main(int count, char **arguments) {
    if (std::getenv("TWICE") != nullptr) {
        const Enlisted<Contender> second(0, contender<Right>("second"));
    }
    Suite suite(count, arguments, {"wait_set", "wait_set: of a test", "A test", ""}, span_flags());
    return report_spans<Contender>(suite, "Waiting", "an element",
                                   {{"flow", [](const Contender &one, unsigned n) { return one.flow(3, n); }},
                                    {"trip", [](const Contender &one, unsigned n) { return one.trip(n); }}});
}
