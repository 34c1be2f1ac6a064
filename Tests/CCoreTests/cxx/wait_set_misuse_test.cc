// SPDX-License-Identifier: Apache-2.0
//
// What is destroyed while it is in a wait set.
#include "cxx/wait_set_calls.hpp"

#include <string>

using interlock::counting_semaphore;
using interlock::mpmc_ring;
using interlock::spsc_ring;
using interlock::wait_set;

template <class Member> static void destroy_in_a_set(Member *member, wait_set &set) {
    check(is_idle(set));
    delete member;
}
static void spsc_destroyed_in_a_set(void *) {
    wait_set set;
    auto *const ring = new spsc_ring<int>(1);
    set.add_readable(*ring);
    destroy_in_a_set(ring, set);
}
static void mpmc_destroyed_in_a_set(void *) {
    wait_set set;
    auto *const ring = new mpmc_ring<std::string>(1);
    set.add_readable(*ring);
    destroy_in_a_set(ring, set);
}
static void semaphore_destroyed_in_a_set(void *) {
    wait_set set;
    auto *const semaphore = new counting_semaphore(0);
    set.add(*semaphore);
    destroy_in_a_set(semaphore, set);
}

TEST(a_member_destroyed_before_its_set_is_misuse) {
    expect_misuse(spsc_destroyed_in_a_set, nullptr, "ilk_spsc_destroy", "in a wait set");
    expect_misuse(mpmc_destroyed_in_a_set, nullptr, "ilk_mpmc_destroy", "in a wait set");
    expect_misuse(semaphore_destroyed_in_a_set, nullptr, "ilk_semaphore_destroy", "");
}
