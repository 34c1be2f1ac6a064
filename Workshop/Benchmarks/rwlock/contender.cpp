/* SPDX-License-Identifier: Apache-2.0
 *
 * The contenders, listed by the adapters' files before main.
 */
#include "contender.h"

#include <map>

namespace bench {

static std::map<int, Contender> &list() {
    static std::map<int, Contender> contenders;
    return contenders;
}

Enlisted::Enlisted(int position, Contender contender) {
    list().emplace(position, std::move(contender));
}

std::vector<Contender> contenders() {
    std::vector<Contender> ordered;
    for (const auto &[position, contender] : list()) {
        ordered.push_back(contender);
    }
    return ordered;
}

const char *to_text(Waiting waiting) {
    switch (waiting) {
    case Waiting::parks:
        return "parks";
    case Waiting::yields:
        return "yields";
    case Waiting::spins:
        return "spins";
    }
    return "?";
}

} // namespace bench
