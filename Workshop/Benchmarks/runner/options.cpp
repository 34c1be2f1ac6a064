/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line: --flag value, --flag=value, values separated by commas, repeated flags.
 */
#include "options.h"

#include <cstdio>
#include <cstdlib>

namespace bench {

static void usage(FILE *to, const char *title, const std::vector<Options::Flag> &known) {
    std::fprintf(to, "%s\n\n", title);
    for (const Options::Flag &flag : known) {
        std::string left = std::string(flag.name) + (*flag.value != 0 ? " " : "") + flag.value;
        std::fprintf(to, "  %-24s %s\n", left.c_str(), flag.help);
    }
}

void fail(const std::string &message) {
    std::fprintf(stderr, "error: %s; --help lists what there is\n", message.c_str());
    std::exit(2);
}

static std::vector<std::string> split(const std::string &list) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= list.size();) {
        size_t end = std::min(list.find(',', begin), list.size());
        if (end > begin) {
            parts.push_back(list.substr(begin, end - begin));
        }
        begin = end + 1;
    }
    return parts;
}

Options::Options(int count, char **arguments, const char *title, const std::vector<Flag> &known) {
    for (int index = 1; index < count; ++index) {
        std::string argument = arguments[index];
        command_line_ += (index > 1 ? " " : "") + argument;
        if (argument == "--help" || argument == "-h") {
            usage(stdout, title, known);
            std::exit(0);
        }
        size_t equals = argument.find('=');
        std::string name = argument.substr(0, equals);
        const Flag *flag = nullptr;
        for (const Flag &candidate : known) {
            flag = name == candidate.name ? &candidate : flag;
        }
        if (flag == nullptr) {
            fail("unknown argument " + argument);
        }
        std::vector<std::string> &values = given_[name];
        if (*flag->value == 0) {
            if (equals != std::string::npos) {
                fail(name + " takes no value");
            }
            continue;
        }
        std::string value;
        if (equals != std::string::npos) {
            value = argument.substr(equals + 1);
        } else if (index + 1 < count) {
            value = arguments[++index];
            command_line_ += " " + value;
        }
        std::vector<std::string> parts = split(value);
        if (parts.empty()) {
            fail(name + " needs a value");
        }
        values.insert(values.end(), parts.begin(), parts.end());
    }
}

bool Options::has(const std::string &flag) const {
    return given_.count(flag) != 0;
}

std::vector<std::string> Options::texts(const std::string &flag) const {
    auto found = given_.find(flag);
    return found == given_.end() ? std::vector<std::string>() : found->second;
}

std::string Options::text(const std::string &flag, const std::string &otherwise) const {
    return has(flag) ? texts(flag).back() : otherwise;
}

std::vector<double> Options::numbers(const std::string &flag, const std::vector<double> &otherwise) const {
    if (!has(flag)) {
        return otherwise;
    }
    std::vector<double> values;
    for (const std::string &text : texts(flag)) {
        char *end;
        values.push_back(std::strtod(text.c_str(), &end));
        if (*end != 0 || !(values.back() >= 0)) {
            fail(flag + ": not a number: " + text);
        }
    }
    return values;
}

std::vector<unsigned> Options::counts(const std::string &flag, const std::vector<unsigned> &otherwise) const {
    if (!has(flag)) {
        return otherwise;
    }
    std::vector<unsigned> values;
    for (double value : numbers(flag, {})) {
        if (value < 1 || value > 1 << 30 || value != static_cast<unsigned>(value)) {
            fail(flag + ": not a count");
        }
        values.push_back(static_cast<unsigned>(value));
    }
    return values;
}

double Options::number(const std::string &flag, double otherwise) const {
    return numbers(flag, {otherwise}).back();
}

bool Options::selects(const std::string &contender) const {
    if (!has("--only")) {
        return true;
    }
    for (const std::string &name : texts("--only")) {
        if (contender.find(name) != std::string::npos) {
            return true;
        }
    }
    return false;
}

} // namespace bench
