/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings, listed by the adapters' files before main.
 */
#include "contender.h"

#include <map>

namespace bench {

static std::map<int, std::vector<RingContender>> &list() {
    static std::map<int, std::vector<RingContender>> contenders;
    return contenders;
}

static std::vector<void (*)(uint32_t)> &setters() {
    static std::vector<void (*)(uint32_t)> functions;
    return functions;
}

EnlistedRings::EnlistedRings(int position, const std::vector<RingContender> &contenders,
                             void (*set_pauses)(uint32_t)) {
    list().emplace(position, contenders);
    if (set_pauses != nullptr) {
        setters().push_back(set_pauses);
    }
}

void set_pauses(uint32_t pauses) {
    pauses_before_yield = pauses;
    for (auto setter : setters()) {
        setter(pauses);
    }
}

std::vector<RingContender> ring_contenders() {
    std::vector<RingContender> ordered;
    for (const auto &[position, contenders] : list()) {
        ordered.insert(ordered.end(), contenders.begin(), contenders.end());
    }
    return ordered;
}

const char *to_text(Transfer transfer) {
    switch (transfer) {
    case trying:
        return "try";
    case blocking:
        return "blocking";
    case batch_8:
        return "batches of 8";
    case batch_64:
        return "batches of 64";
    case batches:
        break;
    }
    return "?";
}

} // namespace bench
