// SPDX-License-Identifier: Apache-2.0
//
// What the tests of C++ wait sets ask a set, and the calls of the core that the linker lets them see (CMakeLists.txt).
#ifndef INTERLOCK_TESTS_CXX_WAIT_SET_CALLS_HPP
#define INTERLOCK_TESTS_CXX_WAIT_SET_CALLS_HPP

#include "cxx/test.hpp"

#include <cerrno>

inline bool no_memory = false;
inline std::uint64_t asked_deadline;

extern "C" {
ilk_status __real_ilk_wait_set_create(ilk_wait_set **out);
ilk_status __real_ilk_wait_set_add_latch(ilk_wait_set *set, ilk_latch *latch, void *key);
ilk_status __real_ilk_wait_set_wait_until(ilk_wait_set *set, void **keys, std::size_t capacity,
                                          std::size_t *count, std::uint64_t deadline);
ilk_status __wrap_ilk_wait_set_create(ilk_wait_set **out);
ilk_status __wrap_ilk_wait_set_add_latch(ilk_wait_set *set, ilk_latch *latch, void *key);
ilk_status __wrap_ilk_wait_set_wait_until(ilk_wait_set *set, void **keys, std::size_t capacity,
                                          std::size_t *count, std::uint64_t deadline);

ilk_status __wrap_ilk_wait_set_create(ilk_wait_set **out) {
    return no_memory ? ILK_NOMEM : __real_ilk_wait_set_create(out);
}
ilk_status __wrap_ilk_wait_set_add_latch(ilk_wait_set *set, ilk_latch *latch, void *key) {
    return no_memory ? ILK_NOMEM : __real_ilk_wait_set_add_latch(set, latch, key);
}
ilk_status __wrap_ilk_wait_set_wait_until(ilk_wait_set *set, void **keys, std::size_t capacity,
                                          std::size_t *count, std::uint64_t deadline) {
    asked_deadline = deadline;
    return __real_ilk_wait_set_wait_until(set, keys, capacity, count, deadline);
}
}

template <std::size_t Capacity>
bool holds_only(const interlock::ready_keys<Capacity> &ready, const void *key) {
    return ready.size() == 1 && *ready.begin() == key && ready.end() == ready.begin() + 1 && !ready.empty();
}
// Whether exactly the member with `key` is ready.
inline bool is_ready(interlock::wait_set &set, const void *key) {
    interlock::ready_keys<4> ready;
    return set.try_wait(ready) && holds_only(ready, key);
}
inline bool is_idle(interlock::wait_set &set) {
    interlock::ready_keys<1> ready;
    return !set.try_wait(ready) && ready.empty() && asked_deadline == 0; // it never waits
}

#endif
