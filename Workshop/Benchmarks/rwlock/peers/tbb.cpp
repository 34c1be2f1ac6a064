/* SPDX-License-Identifier: Apache-2.0
 *
 * oneTBB: rw_mutex, which at last sleeps by address, and spin_rw_mutex, which spins and then yields.
 */
#include "../contender.h"

#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

namespace bench {
namespace {

struct Parking : SharedMutex<tbb::rw_mutex> {
    static constexpr const char *name = "tbb::rw_mutex";
    static constexpr Waiting waiting = Waiting::parks;
};

struct Yielding : SharedMutex<tbb::spin_rw_mutex> {
    static constexpr const char *name = "tbb::spin_rw_mutex";
    static constexpr Waiting waiting = Waiting::yields;
};

const Enlisted parking{20, make_contender<Parking>()};
const Enlisted yielding{80, make_contender<Yielding>()};

} // namespace
} // namespace bench
