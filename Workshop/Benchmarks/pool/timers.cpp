/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of timers; see timers.h.
 */
#include "timers.h"

#include <map>

namespace bench {

static std::map<int, Timers> &enlisted() {
    static std::map<int, Timers> list;
    return list;
}

EnlistedTimers::EnlistedTimers(int position, Timers timers) {
    enlisted().emplace(position, std::move(timers));
}

std::vector<Timers> timers() {
    std::vector<Timers> list;
    for (const auto &[position, timers] : enlisted()) {
        list.push_back(timers);
    }
    return list;
}

} // namespace bench
