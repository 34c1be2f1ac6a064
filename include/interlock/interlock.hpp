// SPDX-License-Identifier: Apache-2.0
//
// Interlock for C++17 and later: thin types over the C calls, with the standard library's names. Each adds a
// constructor, a destructor and std::chrono; what a call promises is in its C header.
//
//     #include <interlock/interlock.hpp>
//     #include <cstdio>
//     #include <memory>
//     #include <shared_mutex>
//     #include <thread>
//
//     static interlock::shared_mutex mutex;
//     static int total; // guarded by the mutex
//
//     int main() {
//         interlock::spsc_ring<std::unique_ptr<int>> ring(3);
//         std::thread producer([&ring] {
//             for (int i = 1; i <= 4 && ring.push(std::make_unique<int>(i)) == interlock::ring_status::ok; i++) {
//             }
//             ring.close();
//         });
//         while (std::optional<std::unique_ptr<int>> number = ring.pop()) {
//             const std::lock_guard lock(mutex);
//             total += **number;
//         }
//         producer.join();
//         const std::shared_lock lock(mutex);
//         std::printf("%d\n", total); // prints 10
//     }
//
// mutex, recursive_mutex, shared_mutex and upgradable_mutex are in cxx/locks.hpp; await and condition in
// cxx/condition.hpp; counting_semaphore, latch and barrier in cxx/sync.hpp; spsc_ring and mpmc_ring in cxx/rings.hpp;
// wait_set in cxx/wait_set.hpp; pool in cxx/pool.hpp; deadline_in and deadline_at in cxx/deadline.hpp. Each can be
// included alone.
//
//   Times       A wait takes any std::chrono duration, or a time point of any clock. std::chrono::steady_clock is the
//               core's own; by another clock a wait goes on until that clock has reached the limit, also where it is
//               set meanwhile. duration::max() waits for ever, a negative length tries.
//   Exceptions  Constructors of rings, pools and wait sets, a wait set's add, post and submit, upgradable_lock and
//               downgrade where they hold nothing, and what the callables, elements and clocks of the program throw;
//               nothing else. Without exceptions (-fno-exceptions) std::abort takes their place.
//   Misuse      Is reported in one sentence, then abort, where the C header says so; the rest is undefined.
#ifndef INTERLOCK_INTERLOCK_HPP
#define INTERLOCK_INTERLOCK_HPP

#if __cplusplus < 201703L
#error "interlock.hpp needs C++17 or later: compile with -std=c++17 (the C headers need C++11)"
#endif

#include <interlock/interlock.h>

#include <interlock/cxx/condition.hpp>
#include <interlock/cxx/deadline.hpp>
#include <interlock/cxx/locks.hpp>
#include <interlock/cxx/pool.hpp>
#include <interlock/cxx/rings.hpp>
#include <interlock/cxx/sync.hpp>
#include <interlock/cxx/wait_set.hpp>

#endif
