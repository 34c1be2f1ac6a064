// SPDX-License-Identifier: Apache-2.0
//
// The most frequent words of files, counted on a pool: words COUNT FILE...
//
// Each file is a job. A job hands its own counts over through a ring of move-only elements; the main thread adds them
// up while the jobs go on, and shows the totals. Words are runs of ASCII letters, in lower case. A file that cannot be
// read is named, and the others are counted; the exit status is 1 then.

#include <interlock/interlock.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using Counts = std::unordered_map<std::string, long>;

// The files that could not be read: written by jobs, read at the end.
class Failures {
  public:
    void add(const std::string &line) {
        const std::unique_lock lock(mutex_);
        lines_.push_back(line);
    }
    std::vector<std::string> lines() const {
        const std::shared_lock lock(mutex_);
        return lines_;
    }

  private:
    mutable interlock::shared_mutex mutex_;
    std::vector<std::string> lines_;
};

std::unique_ptr<Counts> count(const char *name, Failures &failures) {
    auto counts = std::make_unique<Counts>();
    errno = 0;
    std::ifstream file(name, std::ios::binary);
    std::string word;
    char buffer[1 << 16];
    while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
        for (std::streamsize i = 0; i < file.gcount(); i++) {
            const auto byte = static_cast<unsigned char>(buffer[i]);
            if (byte < 128 && std::isalpha(byte) != 0) {
                word.push_back(static_cast<char>(std::tolower(byte)));
            } else if (!word.empty()) {
                ++(*counts)[word];
                word.clear();
            }
        }
    }
    if (!word.empty()) {
        ++(*counts)[word];
    }
    if (!file.is_open() || file.bad()) {
        failures.add(std::string(name) + ": " + std::generic_category().message(errno));
    }
    return counts;
}

void show(const Counts &totals, std::size_t limit) {
    std::vector<std::pair<std::string, long>> words(totals.begin(), totals.end());
    std::sort(words.begin(), words.end(), [](const auto &one, const auto &other) {
        return one.second != other.second ? one.second > other.second : one.first < other.first;
    });
    words.resize(std::min(words.size(), limit));
    for (const auto &[word, number] : words) {
        std::printf("%8ld %s\n", number, word.c_str());
    }
}

} // namespace

int main(int argc, char **argv) {
    const long limit = argc < 3 ? 0 : std::strtol(argv[1], nullptr, 10);
    if (limit < 1) {
        std::fprintf(stderr, "usage: words COUNT FILE...\n");
        return 64;
    }
    Failures failures;
    // A job waits for room in the ring: few counts are in memory at once.
    interlock::mpmc_ring<std::unique_ptr<Counts>> counted(4);
    interlock::pool pool;
    for (int index = 2; index < argc; index++) {
        const bool accepted = pool.post([&, name = argv[index]] {
            auto counts = count(name, failures);
            const interlock::blocking_section waiting;
            (void)counted.push(std::move(counts)); // it is closed after the last
        });
        if (!accepted) {
            std::abort(); // an open pool refuses nothing
        }
    }
    Counts totals;
    for (int index = 2; index < argc; index++) {
        const std::unique_ptr<Counts> counts = std::move(*counted.pop());
        for (const auto &[word, number] : *counts) {
            totals[word] += number;
        }
    }
    show(totals, static_cast<std::size_t>(limit));
    for (const std::string &line : failures.lines()) {
        std::fprintf(stderr, "words: %s\n", line.c_str());
    }
    return failures.lines().empty() ? 0 : 1;
}
