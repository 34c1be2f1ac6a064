/* SPDX-License-Identifier: Apache-2.0
 *
 * See until_quiet.h.
 */
#include "until_quiet.h"

#include "clock.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>

namespace bench {

namespace {

/* A neighbour's pauses are shorter than three probes. A probe of 50 ms in three seconds is little load. */
const size_t calm_probes = 3;
const double between_probes_s = 3, between_reports_s = 60;
const double most_minutes = 1440;

std::string minutes_text(double minutes) {
    char text[32];
    std::snprintf(text, sizeof text, "%g minute%s", minutes, minutes == 1 ? "" : "s");
    return text;
}

} // namespace

const Options::Flag until_quiet_flag{"--until-quiet", "MINUTES",
                                     "wait until the machine is quiet, at most so long (1440)"};

double until_quiet_minutes(const Options &options) {
    if (!options.has(until_quiet_flag.name)) {
        return 0;
    }
    const double minutes = options.number(until_quiet_flag.name, 0);
    if (!(minutes > 0) || minutes > most_minutes) {
        fail(std::string(until_quiet_flag.name) + " takes minutes, more than 0 and at most 1440, not " +
             options.text(until_quiet_flag.name, ""));
    }
    return minutes;
}

bool wait_until_quiet(double minutes, const Calm &calm, Best &best) {
    const double begin = calm.seconds(), end = begin + minutes * 60;
    std::deque<Figures> last;
    double next_report = begin;
    for (;;) {
        last.push_back(calm.probe());
        best.see(last.back());
        if (last.size() > calm_probes) {
            last.pop_front();
        }
        /* A better figure makes earlier probes shared. */
        const auto is_quiet = [&](const Figures &figures) { return judge(figures, best) == State::quiet; };
        const bool all_quiet = std::all_of(last.begin(), last.end(), is_quiet);
        const double now = calm.seconds();
        if (all_quiet && last.size() == calm_probes) {
            calm.say("the machine is quiet, after " + digits(now - begin) + " s");
            return true;
        }
        std::string why;
        for (const std::string &reason : reasons(last.back(), best)) {
            why += (why.empty() ? "" : "; ") + reason;
        }
        if (now >= end) {
            calm.say("going on without a quiet machine: time is up after " + minutes_text(minutes) +
                     (why.empty() ? "" : "; " + why));
            return false;
        }
        if (now >= next_report) {
            calm.say("waiting for a quiet machine, at most " + minutes_text(minutes) +
                     (why.empty() ? "" : ": " + why));
            next_report = now + between_reports_s;
        }
        calm.sleep(std::min(between_probes_s, end - now));
    }
}

bool wait_until_quiet(double minutes, Probe &probe, Best &best) {
    return wait_until_quiet(
        minutes,
        {[&] { return probe.take(); }, [] { return static_cast<double>(now_ns()) / 1e9; },
         [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); },
         [](const std::string &text) { std::fprintf(stderr, "%s\n", text.c_str()); }},
        best);
}

} // namespace bench
