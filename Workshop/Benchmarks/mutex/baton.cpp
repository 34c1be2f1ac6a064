/* SPDX-License-Identifier: Apache-2.0
 *
 * The semaphores, listed by the adapters' files before main.
 */
#include "baton.h"

#include <map>

namespace bench {

static std::map<int, Baton> &list() {
    static std::map<int, Baton> batons;
    return batons;
}

EnlistedBaton::EnlistedBaton(int position, Baton baton) {
    list().emplace(position, std::move(baton));
}

std::vector<Baton> batons() {
    std::vector<Baton> ordered;
    for (const auto &[position, baton] : list()) {
        ordered.push_back(baton);
    }
    return ordered;
}

} // namespace bench
