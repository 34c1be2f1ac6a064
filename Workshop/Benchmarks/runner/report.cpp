/* SPDX-License-Identifier: Apache-2.0
 *
 * Formatting and facts; see report.h.
 */
#include "report.h"

#include "clock.h"
#include "slice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace bench {

/* Terminal columns of UTF-8 text: its bytes less the continuation bytes. */
static size_t width(const std::string &text) {
    return static_cast<size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string Table::markdown() const {
    std::vector<size_t> widths(rows_[0].size(), 3);
    for (const auto &row : rows_) {
        for (size_t column = 0; column < row.size(); ++column) {
            widths[column] = std::max(widths[column], width(row[column]));
        }
    }
    std::string text;
    for (size_t index = 0; index < rows_.size(); ++index) {
        for (size_t column = 0; column < widths.size(); ++column) {
            std::string cell = column < rows_[index].size() ? rows_[index][column] : "";
            std::string padding(widths[column] - width(cell), ' ');
            /* A label first, then figures. */
            text += "| " + (column == 0 ? cell + padding : padding + cell) + " ";
        }
        text += "|\n";
        if (index == 0) {
            for (size_t column = 0; column < widths.size(); ++column) {
                text += "|" + std::string(widths[column] + 1, '-') + (column == 0 ? "-" : ":");
            }
            text += "|\n";
        }
    }
    return text;
}

Json::Json(const std::string &text) {
    text_ = "\"";
    for (char character : text) {
        if (character == '"' || character == '\\') {
            text_ += '\\';
            text_ += character;
        } else if (static_cast<unsigned char>(character) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", character);
            text_ += escape;
        } else {
            text_ += character;
        }
    }
    text_ += '"';
}

Json::Json(const std::vector<double> &values) {
    for (double value : values) {
        text_ += (text_.empty() ? "" : ", ") + number(value);
    }
    text_ = "[" + text_ + "]";
}

Json Json::array(const std::vector<Json> &values) {
    Json json;
    for (const Json &value : values) {
        json.text_ += (json.text_.empty() ? "\n" : ",\n") + value.text_;
    }
    json.text_ = "[" + json.text_ + "\n]";
    return json;
}

Json Json::object(const std::vector<std::pair<std::string, Json>> &members) {
    Json json;
    for (const auto &[name, value] : members) {
        json.text_ += (json.text_.empty() ? "" : ", ") + Json(name).text_ + ": " + value.text_;
    }
    json.text_ = "{" + json.text_ + "}";
    return json;
}

std::string Json::number(double value) {
    if (!std::isfinite(value)) {
        return "null";
    }
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

std::string digits(double value) {
    char text[40];
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 4;
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

std::string duration(double ns) {
    if (ns < 1e3) {
        return digits(ns) + " ns";
    }
    if (ns < 1e6) {
        return digits(ns / 1e3) + " µs";
    }
    return digits(ns / 1e6) + " ms";
}

Machine machine() {
#if defined(__clang__)
    const char *compiler = __VERSION__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
    Machine facts{"unknown", "unknown", compiler, static_cast<unsigned>(cores().size()), 0};
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);) {
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) {
            facts.processor = line.substr(line.find(": ") + 2);
            break;
        }
    }
    utsname name;
    if (uname(&name) == 0) {
        facts.kernel = std::string(name.sysname) + " " + name.release + " " + name.machine;
    }
    double load;
    if (getloadavg(&load, 1) == 1) {
        facts.load = load;
    }
    return facts;
}

/* Seconds of CPU time in the columns of /proc/stat that `counts`, over all cores. */
static double seconds_in_stat(bool (*counts)(int column)) {
    std::ifstream stat("/proc/stat");
    std::string word;
    stat >> word;
    double sum = 0, field;
    for (int column = 0; column < 8 && stat >> field; ++column) {
        sum += counts(column) ? field : 0;
    }
    return sum / static_cast<double>(sysconf(_SC_CLK_TCK));
}

static double cpu_seconds(int of) {
    rusage usage;
    getrusage(of, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Seconds of CPU time of all processes less ours and our children's that have ended; idle are columns 3 and 4. */
static double used_by_others() {
    return seconds_in_stat([](int column) { return column != 3 && column != 4; }) - cpu_seconds(RUSAGE_SELF) -
           cpu_seconds(RUSAGE_CHILDREN);
}

static double stolen() {
    return seconds_in_stat([](int column) { return column == 7; });
}

static double seconds_since(uint64_t begin_ns) {
    return static_cast<double>(now_ns() - begin_ns) / 1e9;
}

Neighbours::Neighbours() : begin_ns_(now_ns()), used_at_begin_(used_by_others()) {}

double Neighbours::cores_used() const {
    return std::max(0.0, (used_by_others() - used_at_begin_) / seconds());
}

double Neighbours::seconds() const {
    return seconds_since(begin_ns_);
}

Stolen::Stolen() : begin_ns_(now_ns()), stolen_at_begin_(stolen()) {}

double Stolen::cores() const {
    return std::max(0.0, (stolen() - stolen_at_begin_) / seconds_since(begin_ns_));
}

Json to_json(const Machine &machine) {
    return Json::object({{"processor", machine.processor},
                         {"cores", machine.core_count},
                         {"kernel", machine.kernel},
                         {"compiler", machine.compiler},
                         {"load_before", machine.load}});
}

std::string to_text(const Machine &machine) {
    return machine.processor + ", " + std::to_string(machine.core_count) + " cores; " + machine.kernel +
           "; " + machine.compiler + "; load before the run " + digits(machine.load);
}

void write_json(const std::string &path, const Json &json) {
    std::ofstream file(path);
    file << json.text() << "\n";
    if (!file.flush()) {
        std::fprintf(stderr, "error: cannot write %s\n", path.c_str());
        std::exit(2);
    }
    std::fprintf(stderr, "wrote %s\n", path.c_str());
}

std::vector<std::string> missing_peers() {
    std::vector<std::string> names;
    std::string list = INTERLOCK_BENCH_MISSING;
    for (size_t begin = 0; begin < list.size();) {
        size_t end = std::min(list.find('|', begin), list.size());
        names.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return names;
}

} // namespace bench
