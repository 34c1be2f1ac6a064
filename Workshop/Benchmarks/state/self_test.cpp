/* SPDX-License-Identifier: Apache-2.0
 *
 * See self_test.h. The figures are those of two virtual cores of an AMD EPYC.
 */
#include "self_test.h"

#include "../runner/states.h"
#include "../runner/until_quiet.h"

#include <cstdio>

namespace bench {

namespace {

Figures calm() {
    Figures figures;
    figures.additions_per_ns = {14.3, 14.2};
    figures.additions_per_step = 15.4;
    figures.locked_ns = {2.0, 2.1};
    figures.trip_ns = {58, 62};
    figures.others_cores = 0.01;
    figures.watched_s = 1;
    return figures;
}

template <class Change> Figures calm_but(Change change) {
    Figures figures = calm();
    change(figures);
    return figures;
}

/* Additions and read-modify-writes as beside a busy neighbour on the physical core, for the whole probe. */
Figures beside_a_neighbour() {
    return calm_but([](Figures &figures) {
        figures.additions_per_ns = {8.4, 8.1};
        figures.additions_per_step = 8.8;
        figures.locked_ns = {2.8, 2.9};
    });
}

Best best_of(const Figures &figures) {
    Best best;
    best.see(figures);
    return best;
}

std::string why(const Figures &figures, const Best &best = best_of(calm())) {
    std::string text;
    for (const std::string &reason : reasons(figures, best)) {
        text += (text.empty() ? "" : "; ") + reason;
    }
    return text;
}

bool a_calm_machine_is_quiet() {
    return why(calm()).empty() && judge(calm(), best_of(calm())) == State::quiet;
}

bool one_core_has_no_line_trip_and_can_be_quiet() {
    const Figures one = calm_but([](Figures &figures) { figures.trip_ns = {0, 0}; });
    Best both = best_of(calm());
    both.see(one);
    return judge(calm(), both) == State::quiet && judge(one, best_of(one)) == State::quiet &&
           judge(one, best_of(calm())) == State::quiet &&
           to_text(one, best_of(one)).find("line trip") == std::string::npos;
}

bool a_neighbour_on_the_physical_core_is_seen_by_the_best_of_the_run() {
    const Figures slow = calm_but([](Figures &figures) { figures.additions_per_ns.usual = 11.3; });
    const Figures locked = calm_but([](Figures &figures) { figures.locked_ns.usual = 2.6; });
    return why(slow) == "additions run at 11.3 a ns, 14.3 at best" &&
           why(locked) == "a read-modify-write takes 2.60 ns, 2.00 at best" &&
           judge(slow, best_of(calm())) == State::shared;
}

bool a_neighbour_that_stays_for_the_whole_run_is_seen() {
#if defined(__x86_64__)
    const Figures figures = beside_a_neighbour();
    return why(figures, best_of(figures)) == "8.80 additions run beside a step of work, alone at least 13.0";
#else
    return true; /* only x86-64 has such a figure */
#endif
}

bool small_differences_are_quiet() {
    return why(calm_but([](Figures &figures) {
               figures.additions_per_ns.usual = 11.6;
               figures.locked_ns.usual = 2.45;
               figures.trip_ns.usual = 86;
               figures.core_share = 0.96;
           }))
        .empty();
}

bool a_long_line_trip_is_shared() {
    return why(calm_but([](Figures &figures) { figures.trip_ns.usual = 340; })) ==
           "a line trip takes 340 ns, 58.0 ns at best";
}

bool cores_that_are_far_apart_for_the_whole_run_are_seen() {
    const Figures far = calm_but([](Figures &figures) { figures.trip_ns = {315, 319}; });
    return why(far, best_of(far)) == "a line trip takes 319 ns, that of 160 read-modify-writes";
}

bool other_processes_and_the_host_are_named() {
    return why(calm_but([](Figures &figures) { figures.others_cores = 0.4; })) ==
               "other processes used 0.40 cores" &&
           why(calm_but([](Figures &figures) { figures.stolen_cores = 0.2; })) ==
               "the host took 0.20 cores" &&
           why(calm_but([](Figures &figures) { figures.core_share = 0.5; })) ==
               "the probe had a core for 50.0 % of the time";
}

bool two_ticks_in_a_short_time_are_no_load() {
    auto load = [](double cores, double seconds) {
        return why(calm_but([&](Figures &figures) {
            figures.others_cores = cores;
            figures.watched_s = seconds;
        }));
    };
    return load(0.12, 0.25).empty() && !load(0.14, 0.25).empty() && !load(0.12, 10).empty() &&
           load(0.05, 10).empty();
}

const std::string markdown = "# Title\n\n## First\n\n| a |\n|---|\n| 1 |\n\nNext: of another table.\n\n"
                             "## Second\n\n| b |\n|---|\n| 2 |\n";

bool a_table_of_both_states_has_changed() {
    States states;
    states.add("First", calm(), calm());
    states.add("Second", calm(), beside_a_neighbour());
    return states.of("First") == State::quiet && states.of("Second") == State::changed &&
           states.of("Third") == State::unknown && states.of_run() == State::changed;
}

bool a_run_is_judged_by_its_best_whenever_that_was() {
    States states;
    const Figures slower = calm_but([](Figures &figures) { figures.locked_ns = {3.0, 3.0}; });
    states.add("First", slower, slower);
    const State alone = states.of("First");
    states.add("Second", calm(), calm());
    const State beside_better = states.of("First");
    States growing, shrinking;
    growing.add("First", slower, calm());
    shrinking.add("First", calm(), slower);
    return alone == State::quiet && beside_better == State::shared && states.of("Second") == State::quiet &&
           growing.of("First") == State::changed && shrinking.of("First") == State::changed;
}

bool lines_stand_below_the_heading_and_below_the_last_row() {
    States states;
    states.add("First", calm(), calm());
    states.add("Second", calm(), beside_a_neighbour());
    const std::string text = states.insert(markdown), quiet = to_text(calm(), best_of(calm()));
    return text == "# Title\n\n## First\n\nBefore: " + quiet + "\n\n| a |\n|---|\n| 1 |\n\nAfter: " + quiet +
                       "\n\nNext: of another table.\n\n## Second\n\nBefore: " + quiet +
                       "\n\n| b |\n|---|\n| 2 |\n\nAfter: **changed**, " +
                       to_text(beside_a_neighbour(), best_of(calm())) + "\n";
}

bool a_state_without_its_heading_is_listed_at_the_end() {
    States states;
    states.add("Third", calm(), calm());
    states.add("Fourth", calm(), calm());
    const std::string text = states.insert(markdown);
    return text.rfind(markdown, 0) == 0 &&
           text.find("## The machine's state\n\n- Third\n  - Before: quiet") != std::string::npos &&
           text.find("\n- Fourth\n  - Before: quiet") != std::string::npos;
}

bool the_json_has_each_table_with_both_probes() {
    States states;
    states.add("First", calm(), beside_a_neighbour());
    const std::string text = states.json().text();
    return text.find("{\"table\": \"First\", \"state\": \"changed\", \"before\": {\"state\": \"quiet\"") !=
               std::string::npos &&
           text.find("\"after\": {\"state\": \"shared\"") != std::string::npos;
}

bool a_goal_of_a_changed_table_is_that_of_a_shared_machine() {
    const Wanted two(2, 1.5), same(3);
    return two.in(State::quiet) == 2 && two.in(State::unknown) == 2 && two.in(State::shared) == 1.5 &&
           two.in(State::changed) == 1.5 && same.in(State::quiet) == 3 && same.in(State::shared) == 3;
}

/* A wait among these probes, the last of which repeats. */
struct Waited {
    explicit Waited(double minutes, std::vector<Figures> probes, double probe_s = 0) {
        const Calm world{[&] {
                             time += probe_s;
                             const Figures figures = probes[std::min<size_t>(taken, probes.size() - 1)];
                             ++taken;
                             return figures;
                         },
                         [&] { return time; }, [&](double seconds) { time += seconds; },
                         [&](const std::string &text) { said.push_back(text); }};
        Best best;
        is_quiet = wait_until_quiet(minutes, world, best);
    }
    bool is_quiet = false;
    size_t taken = 0;
    double time = 1000;
    std::vector<std::string> said;
};

Figures busy() {
    return calm_but([](Figures &figures) { figures.others_cores = 1; });
}

bool the_wait_ends_after_three_quiet_probes() {
    const Waited waited(5, {busy(), calm(), calm(), busy(), calm()});
    return waited.is_quiet && waited.taken == 7 && waited.time == 1018 &&
           waited.said.front() ==
               "waiting for a quiet machine, at most 5 minutes: other processes used 1.00 cores" &&
           waited.said.back() == "the machine is quiet, after 18.0 s";
}

bool the_wait_ends_when_its_time_is_up() {
    const Waited waited(1, {busy()});
    return !waited.is_quiet && waited.time == 1060 &&
           waited.said.back() ==
               "going on without a quiet machine: time is up after 1 minute; other processes used "
               "1.00 cores";
}

bool the_wait_speaks_once_a_minute() {
    return Waited(3, {busy()}).said.size() == 4; /* at 0, 1 and 2 minutes, and at the end */
}

bool a_better_probe_makes_the_ones_before_it_shared() {
    const Figures slower = calm_but([](Figures &figures) { figures.locked_ns = {3.0, 3.0}; });
    return Waited(5, {slower, slower, calm()}).taken == 5;
}

struct Check {
    const char *claim;
    bool (*holds)();
};

#define CHECK(claim)                                                                                         \
    { #claim, claim }
const Check checks[] = {
    CHECK(a_calm_machine_is_quiet),
    CHECK(one_core_has_no_line_trip_and_can_be_quiet),
    CHECK(a_neighbour_on_the_physical_core_is_seen_by_the_best_of_the_run),
    CHECK(a_neighbour_that_stays_for_the_whole_run_is_seen),
    CHECK(small_differences_are_quiet),
    CHECK(a_long_line_trip_is_shared),
    CHECK(cores_that_are_far_apart_for_the_whole_run_are_seen),
    CHECK(other_processes_and_the_host_are_named),
    CHECK(two_ticks_in_a_short_time_are_no_load),
    CHECK(a_table_of_both_states_has_changed),
    CHECK(a_run_is_judged_by_its_best_whenever_that_was),
    CHECK(lines_stand_below_the_heading_and_below_the_last_row),
    CHECK(a_state_without_its_heading_is_listed_at_the_end),
    CHECK(the_json_has_each_table_with_both_probes),
    CHECK(a_goal_of_a_changed_table_is_that_of_a_shared_machine),
    CHECK(the_wait_ends_after_three_quiet_probes),
    CHECK(the_wait_ends_when_its_time_is_up),
    CHECK(the_wait_speaks_once_a_minute),
    CHECK(a_better_probe_makes_the_ones_before_it_shared),
};
#undef CHECK

} // namespace

int self_test() {
    unsigned passed = 0, failed = 0;
    for (const Check &check : checks) {
        const bool holds = check.holds();
        std::printf("%s %s\n", holds ? "ok" : "FAILED", check.claim);
        ++(holds ? passed : failed);
    }
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}

} // namespace bench
