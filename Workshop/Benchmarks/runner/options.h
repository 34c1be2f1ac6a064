/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line that all suites share.
 */
#ifndef INTERLOCK_BENCHMARKS_OPTIONS_H
#define INTERLOCK_BENCHMARKS_OPTIONS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bench {

/* Ends the program with exit status 2, its message and a hint at --help. */
[[noreturn]] void fail(const std::string &message);

/* A flag's values, split at commas. Flags without a value hold none. */
class Options {
  public:
    /* `known` maps each flag to its value's placeholder ("" without value) and what it does; an unknown flag,
     * or --help, prints them and exits. */
    struct Flag {
        const char *name, *value, *help;
    };
    Options(int count, char **arguments, const char *title, const std::vector<Flag> &known);

    bool has(const std::string &flag) const;
    std::vector<std::string> texts(const std::string &flag) const;
    std::string text(const std::string &flag, const std::string &otherwise) const;
    std::vector<double> numbers(const std::string &flag, const std::vector<double> &otherwise) const;
    std::vector<unsigned> counts(const std::string &flag, const std::vector<unsigned> &otherwise) const;
    double number(const std::string &flag, double otherwise) const;

    /* True without --only, or if it names a part of `contender`. */
    bool selects(const std::string &contender) const;

    std::string command_line() const {
        return command_line_;
    }

  private:
    std::map<std::string, std::vector<std::string>> given_;
    std::string command_line_;
};

} // namespace bench

#endif
