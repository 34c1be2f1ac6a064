/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops are in rust/src/select.rs: one with the macro, which takes one element, one that asks which is ready and
 * empties it, as a user of a wait set does.
 */
#include "../contender.h"

using namespace bench;

extern "C" {
double bench_crossbeam_select_flow(bool drains, unsigned producers, unsigned count);
double bench_crossbeam_select_trip(bool drains, unsigned count);
}

namespace {

template <bool drains> Contender crossbeam(const char *name) {
    return {name,
            [](unsigned producers, unsigned count) { return bench_crossbeam_select_flow(drains, producers, count); },
            [](unsigned count) { return bench_crossbeam_select_trip(drains, count); }};
}
const Enlisted<Contender> macro(3, crossbeam<false>("crossbeam select!"));
const Enlisted<Contender> ready(4, crossbeam<true>("crossbeam Select::ready"));

} // namespace
