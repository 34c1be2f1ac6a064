// SPDX-License-Identifier: Apache-2.0
//
// Waiting under the lockable types for a predicate, and the condition.
#include "cxx/test.hpp"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <type_traits>

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using wall = std::chrono::system_clock;

static_assert(sizeof(interlock::condition) == 4 && std::is_trivially_destructible_v<interlock::condition>);

// A producer and a consumer under `Mutex`; `Lock` is the consumer's.
template <class Mutex, class Lock> static void a_change_ends_the_wait() {
    Mutex mutex;
    int value = 0;
    std::thread producer;
    {
        const Lock lock(mutex);
        check(!interlock::await_for(lock, -1h, [&] { return value == 1; }));
        check(!interlock::await_for(lock, 1ms, [&] { return value == 1; }));
        check(!interlock::await_until(lock, steady::now() + 1ms, [&] { return value == 1; }));
        check(!interlock::await_until(lock, wall::now() + 1ms, [&] { return value == 1; }));
        producer = std::thread([&] {
            const std::lock_guard<Mutex> other(mutex);
            value = 1;
        });
        interlock::await(lock, [&] { return value == 1; });
        check(interlock::await_for(lock, -1h, [&] { return value == 1; }));
        check(interlock::await_until(lock, wall::time_point::min(), [&] { return value == 1; }));
    }
    producer.join();
}
static void a_wait_for_a_predicate_ends_with_a_change(void **) {
    a_change_ends_the_wait<interlock::mutex, std::unique_lock<interlock::mutex>>();
    a_change_ends_the_wait<interlock::shared_mutex, std::unique_lock<interlock::shared_mutex>>();
    a_change_ends_the_wait<interlock::shared_mutex, std::shared_lock<interlock::shared_mutex>>();
    a_change_ends_the_wait<interlock::upgradable_mutex, std::unique_lock<interlock::upgradable_mutex>>();
    a_change_ends_the_wait<interlock::upgradable_mutex, std::shared_lock<interlock::upgradable_mutex>>();
}

template <class Mutex, class Lock> static void a_signal_ends_the_wait() {
    Mutex mutex;
    interlock::condition changed;
    int value = 0;
    Lock lock(mutex);
    check(changed.wait_for(lock, 1ms) == std::cv_status::timeout);
    check(changed.wait_until(lock, steady::now() + 1ms) == std::cv_status::timeout);
    check(changed.wait_until(lock, wall::now() + 1ms) == std::cv_status::timeout);
    check(!changed.wait_for(lock, 1ms, [&] { return value == 1; }));
    check(!changed.wait_until(lock, steady::now() + 1ms, [&] { return value == 1; }));
    std::thread producer([&] {
        for (int next = 1; next <= 3; next++) {
            {
                const std::lock_guard<Mutex> other(mutex);
                value = next;
            }
            changed.notify_one();
            changed.notify_all();
        }
    });
    changed.wait(lock, [&] { return value == 3; });
    check(changed.wait_until(lock, wall::time_point::min(), [&] { return value == 3; }));
    check(changed.wait_for(lock, 0ms, [&] { return value == 3; }));
    lock.unlock();
    producer.join();
}
static void a_wait_on_a_condition_ends_with_a_signal(void **) {
    a_signal_ends_the_wait<interlock::mutex, std::unique_lock<interlock::mutex>>();
    a_signal_ends_the_wait<interlock::shared_mutex, std::unique_lock<interlock::shared_mutex>>();
    a_signal_ends_the_wait<interlock::shared_mutex, std::shared_lock<interlock::shared_mutex>>();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_wait_for_a_predicate_ends_with_a_change),
    cmocka_unit_test(a_wait_on_a_condition_ends_with_a_signal),
};

TEST_MAIN(tests)
