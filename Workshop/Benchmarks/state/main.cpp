/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the machine for suites that are not of this runner: one probe, as a sentence on the first line and JSON
 * below, or a wait for a quiet machine. --keep carries the best figures from one process to the next.
 */
#include "../runner/until_quiet.h"
#include "self_test.h"

#include <cstdio>
#include <fstream>

using namespace bench;

static const std::vector<Options::Flag> flags{
    {"--keep", "FILE", "the best figures so far: read, and written with those of this probe"},
    {"--self-test", "", "check the judgement, and print a line for each check"},
    {"--check", "", "check the other flags, and do nothing"},
    until_quiet_flag,
};

/* None in a file that is missing or holds something else. */
static Best read_best(const std::string &path) {
    Best best;
    std::ifstream file(path);
    if (!(file >> best.additions_per_ns >> best.locked_ns >> best.trip_ns)) {
        return {};
    }
    return best;
}

static void write_best(const std::string &path, const Best &best) {
    std::ofstream file(path);
    file << best.additions_per_ns << ' ' << best.locked_ns << ' ' << best.trip_ns << '\n';
    if (!file.flush()) {
        std::fprintf(stderr, "error: cannot write %s\n", path.c_str());
        std::exit(2);
    }
}

int main(int count, char **arguments) {
    const Options options(count, arguments, "state: the state of the machine, as a sentence and as JSON",
                          flags);
    if (options.has("--self-test")) {
        return self_test();
    }
    const std::string path = options.text("--keep", "");
    const double minutes = until_quiet_minutes(options);
    if (options.has("--check")) {
        return 0;
    }
    Best best = path.empty() ? Best() : read_best(path);
    Probe probe;
    if (minutes > 0) {
        wait_until_quiet(minutes, probe, best);
    } else {
        const Figures figures = probe.take();
        best.see(figures);
        std::printf("%s\n%s\n", to_text(figures, best).c_str(), to_json(figures, best).text().c_str());
    }
    if (!path.empty()) {
        write_best(path, best);
    }
    return 0;
}
