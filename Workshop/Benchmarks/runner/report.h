/* SPDX-License-Identifier: Apache-2.0
 *
 * What the suites print: Markdown tables, JSON, and the facts about machine and build without which a figure
 * means nothing.
 */
#ifndef INTERLOCK_BENCHMARKS_REPORT_H
#define INTERLOCK_BENCHMARKS_REPORT_H

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

/* A Markdown table whose columns line up. */
class Table {
  public:
    explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
    void add(std::vector<std::string> row) {
        rows_.push_back(std::move(row));
    }
    std::string markdown() const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

/* A JSON value, written out as it is built. */
class Json {
  public:
    Json(const std::string &text);
    Json(const char *text) : Json(std::string(text)) {}
    Json(bool value) : text_(value ? "true" : "false") {}
    template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
    Json(Number value) : text_(number(static_cast<double>(value))) {}
    Json(const std::vector<double> &values);
    static Json array(const std::vector<Json> &values);
    static Json object(const std::vector<std::pair<std::string, Json>> &members);

    const std::string &text() const {
        return text_;
    }

  private:
    Json() = default;
    static std::string number(double value);
    std::string text_;
};

/* Three significant digits, no exponent. */
std::string digits(double value);

/* A duration in the unit that suits it. */
std::string duration(double ns);

struct Machine {
    std::string processor, kernel, compiler;
    unsigned core_count;
    double load; /* runnable threads over the last minute, before the run */
};
Machine machine();
Json to_json(const Machine &machine);
std::string to_text(const Machine &machine);

/* Load by other processes while this object lived: repeat figures taken beside more than a few hundredths of
 * a core. */
class Neighbours {
  public:
    Neighbours();
    double cores_used() const;
    double seconds() const; /* that it has lived */

  private:
    uint64_t begin_ns_;
    double used_at_begin_;
};

/* What the host took from this machine's cores while this object lived, where it tells. */
class Stolen {
  public:
    Stolen();
    double cores() const;

  private:
    uint64_t begin_ns_;
    double stolen_at_begin_;
};

/* Exits with a message on failure. */
void write_json(const std::string &path, const Json &json);

/* Peers that the build did not find: "name: package". */
std::vector<std::string> missing_peers();

} // namespace bench

#endif
