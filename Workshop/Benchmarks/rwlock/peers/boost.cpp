/* SPDX-License-Identifier: Apache-2.0
 *
 * boost::shared_mutex: a mutex and condition variables around a state.
 */
#include "../contender.h"

#include <boost/thread/shared_mutex.hpp>

namespace bench {
namespace {

struct Boost : SharedMutex<boost::shared_mutex> {
    static constexpr const char *name = "boost::shared_mutex";
    static constexpr Waiting waiting = Waiting::parks;
};

const Enlisted boost_mutex{60, make_contender<Boost>()};

} // namespace
} // namespace bench
