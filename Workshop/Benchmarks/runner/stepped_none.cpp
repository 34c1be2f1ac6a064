/* SPDX-License-Identifier: Apache-2.0
 *
 * Where instructions are not decoded: on all processors but x86-64.
 */
#include "stepped.h"

namespace bench {

struct Stepped::Child {};

Stepped::Stepped(const std::function<std::vector<Loop>()> &, unsigned) {
    throw CannotCount("only instructions of x86-64 are decoded");
}

Stepped::~Stepped() = default;

uint64_t Stepped::run(size_t, uint64_t) {
    return 0;
}

Counts Stepped::step(size_t, uint64_t) {
    return {};
}

} // namespace bench
