/* SPDX-License-Identifier: Apache-2.0
 *
 * What diagnosis costs a call: one thread, no contention, nothing watched and each feature watched, in turns.
 */
#include "../runner/statistics.h"
#include "../runner/suite.h"

#include <interlock/diagnostics.h>
#include <interlock/interlock.h>

#include <chrono>

using namespace bench;

namespace {

struct Feature {
    const char *name;
    uint32_t bits;
};
const std::vector<Feature> features{{"off", 0},
                                    {"order", ILK_DIAGNOSE_ORDER},
                                    {"contention", ILK_DIAGNOSE_CONTENTION},
                                    {"hang", ILK_DIAGNOSE_HANG},
                                    {"all", ILK_DIAGNOSE_ALL}};

/* Made while the feature is on. */
struct Objects {
    ilk_rwlock lock;
    ilk_mutex mutex, inner;
    ilk_semaphore semaphore;

    Objects() {
        ilk_rwlock_init(&lock);
        ilk_mutex_init(&mutex, false);
        ilk_mutex_init(&inner, false);
        ilk_semaphore_init(&semaphore, 1);
    }
    ~Objects() {
        ilk_rwlock_destroy(&lock);
        ilk_semaphore_destroy(&semaphore);
    }
};

struct Call {
    const char *name;
    void (*make)(Objects &objects);
};
const std::vector<Call> calls{
    {"rwlock, read",
     [](Objects &objects) {
         ilk_rwlock_read_lock(&objects.lock);
         ilk_rwlock_read_unlock(&objects.lock);
     }},
    {"rwlock, write",
     [](Objects &objects) {
         ilk_rwlock_write_lock(&objects.lock);
         ilk_rwlock_write_unlock(&objects.lock);
     }},
    {"mutex",
     [](Objects &objects) {
         ilk_mutex_lock(&objects.mutex);
         ilk_mutex_unlock(&objects.mutex);
     }},
    {"semaphore",
     [](Objects &objects) {
         ilk_semaphore_wait(&objects.semaphore);
         ilk_semaphore_signal(&objects.semaphore, 1);
     }},
    {"mutex in a mutex",
     [](Objects &objects) {
         ilk_mutex_lock(&objects.mutex);
         ilk_mutex_lock(&objects.inner);
         ilk_mutex_unlock(&objects.inner);
         ilk_mutex_unlock(&objects.mutex);
     }},
};

double ns_per_call(const Call &call, uint32_t bits, double slice_ms) {
    using clock = std::chrono::steady_clock;
    ilk_diagnose(bits);
    Objects objects;
    for (int warm = 0; warm < 100; warm++) {
        call.make(objects);
    }
    const auto begin = clock::now();
    const auto end = begin + std::chrono::duration_cast<clock::duration>(
                                 std::chrono::duration<double, std::milli>(slice_ms));
    uint64_t count = 0;
    auto now = begin;
    for (; now < end; now = clock::now()) {
        for (int batch = 0; batch < 1000; batch++) {
            call.make(objects);
        }
        count += 1000;
    }
    ilk_diagnose(0);
    return std::chrono::duration<double, std::nano>(now - begin).count() / static_cast<double>(count);
}

const std::vector<Options::Flag> flags{
    {"--quick", "", "a coarse run: fewer rounds and milliseconds"},
    {"--rounds", "N", "rounds (9); every round measures every feature once, in a new order"},
    {"--slice", "MS", "how long a feature is measured in a round (40)"},
};

} // namespace

int main(int count, char **arguments) {
    Suite suite(count, arguments,
                {"diagnosis", "diagnosis: what a watched call costs", "What diagnosis costs",
                 " One thread takes and gives back, without contention."},
                flags);
    const bool quick = suite.options.has("--quick");
    const auto rounds = static_cast<unsigned>(suite.options.number("--rounds", quick ? 3 : 9));
    const double slice_ms = suite.options.number("--slice", quick ? 10 : 40);
    const SliceTimes times = slice_of(slice_ms);
    suite.turns.expect(static_cast<unsigned>(calls.size() * features.size()) * rounds, times);

    const std::string title = "Calls, watched and not";
    std::vector<std::string> header{"ns a call"};
    for (const Feature &feature : features) {
        header.push_back(feature.name);
    }
    Table table(header);
    std::vector<Json> rows;
    suite.table(title);
    for (const Call &call : calls) {
        std::vector<std::vector<double>> measured(features.size());
        suite.turns.run(indices(features.size()), rounds, times, [&](size_t index, uint64_t) {
            measured[index].push_back(ns_per_call(call, features[index].bits, slice_ms));
            return std::string();
        });
        std::vector<std::string> row{call.name};
        std::vector<std::pair<std::string, Json>> members{{"call", call.name}};
        for (size_t index = 0; index < features.size(); index++) {
            row.push_back(digits(median(measured[index])));
            members.push_back({features[index].name, measured[index]});
        }
        table.add(row);
        rows.push_back(Json::object(members));
    }
    return suite.report(rounds, slice_ms, "## " + title + "\n\n" + table.markdown() + "\n",
                        {{"calls", Json::array(rows)}});
}
