/* SPDX-License-Identifier: Apache-2.0
 *
 * The suite condition with a contender that waits and one that does not, for bench_state_test.py.
 */
#include "../../Workshop/Benchmarks/condition/contender.h"

#include <condition_variable>
#include <mutex>

using namespace bench;

namespace {

struct Right {
    std::mutex mutex;
    std::condition_variable condition;
    void lock() {
        mutex.lock();
    }
    void unlock() {
        mutex.unlock();
    }
    void await(size_t, bool (*predicate)(void *), void *context) {
        std::unique_lock<std::mutex> guard(mutex, std::adopt_lock);
        condition.wait(guard, [&] { return predicate(context); });
        guard.release();
    }
    void changed(size_t) {
        condition.notify_all();
    }
};
struct Hasty : Right {
    void await(size_t, bool (*)(void *), void *) {}
};
const Enlisted<Contender> right(0, contender<Right>("right"));
const Enlisted<Contender> hasty(1, contender<Hasty>("hasty"));

} // namespace

int main(int count, char **arguments) {
    Suite suite(count, arguments, {"condition", "condition: of a test", "A test", ""}, span_flags());
    return report_spans<Contender>(
        suite, "Waiting", "a hand-over",
        {{"turns", [](const Contender &one, unsigned n) { return one.turns(n); }},
         {"buffer", [](const Contender &one, unsigned n) { return one.buffer(2, 2, n); }},
         {"distinct", [](const Contender &one, unsigned n) { return one.distinct(5, n); }}});
}
