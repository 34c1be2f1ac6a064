// SPDX-License-Identifier: Apache-2.0
//
// Waiting under the lockable types for a predicate, and the condition.
#include "cxx/test.hpp"

#include <csignal>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <sys/wait.h>
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
TEST(a_wait_for_a_predicate_ends_with_a_change) {
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
TEST(a_wait_on_a_condition_ends_with_a_signal) {
    a_signal_ends_the_wait<interlock::mutex, std::unique_lock<interlock::mutex>>();
    a_signal_ends_the_wait<interlock::shared_mutex, std::unique_lock<interlock::shared_mutex>>();
    a_signal_ends_the_wait<interlock::shared_mutex, std::shared_lock<interlock::shared_mutex>>();
}

// The signaller has the lock first as the wait gives it up.
TEST(a_wait_that_a_signal_ends_is_no_timeout) {
    interlock::mutex mutex;
    interlock::condition changed;
    bool ready = false;
    const auto is_ready = [&] { return ready; };
    const auto signal_during = [&](auto wait) {
        std::unique_lock lock(mutex);
        ready = false;
        const running signaller([&] {
            const std::lock_guard other(mutex);
            ready = true;
            changed.notify_all();
        });
        check(wait(lock));
        lock.unlock();
    };
    signal_during([&](auto &lock) { return changed.wait_for(lock, far) == std::cv_status::no_timeout; });
    signal_during([&](auto &lock) {
        return changed.wait_until(lock, wall::now() + far) == std::cv_status::no_timeout;
    });
    signal_during([&](auto &lock) { return changed.wait_until(lock, steady::now() + far, is_ready); });
    signal_during([&](auto &lock) { return changed.wait_until(lock, wall::now() + far, is_ready); });
}

// The limit is that of the call, whatever wakes it; the predicate is judged at the end.
TEST(a_wait_for_so_long_ends_at_its_limit) {
    interlock::mutex mutex;
    interlock::condition changed;
    bool ended = false;
    std::unique_lock lock(mutex);
    std::thread signaller([&] {
        for (bool goes_on = true; goes_on;) {
            const std::lock_guard other(mutex);
            changed.notify_all();
            goes_on = !ended;
        }
    });
    const auto begun = steady::now();
    check(!changed.wait_for(lock, 50ms, [&] { return steady::now() > begun + 20s; }));
    ended = true;
    lock.unlock();
    signaller.join();
    lock.lock();
    int judged = 0;
    check(changed.wait_for(lock, 1ms, [&] { return judged++ > 0; }));
    check_equal(judged, 2);
}

TEST(a_wait_with_a_predicate_that_holds_does_not_wait) {
    interlock::mutex mutex;
    interlock::condition changed;
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return true; });
    check(changed.wait_for(lock, far, [] { return true; }));
}

TEST(notify_one_wakes_one_thread_and_notify_all_the_rest) {
    interlock::mutex mutex;
    interlock::condition changed;
    const auto wait = [&] {
        std::unique_lock lock(mutex);
        changed.wait(lock);
    };
    running first(wait);
    first.await_sleep();
    running second(wait);
    second.await_sleep();
    running third(wait);
    third.await_sleep();
    changed.notify_one();
    while (!first.is_done()) {
        std::this_thread::yield();
    }
    second.await_sleep();
    third.await_sleep();
    changed.notify_all();
}

static void throw_in_a_predicate(void *) {
    interlock::mutex mutex;
    std::unique_lock lock(mutex);
    try {
        (void)interlock::await_for(lock, 1ms, []() -> bool { throw 1; });
    } catch (int) {
    }
}
TEST(a_predicate_that_throws_ends_the_program) {
    char output[1024];
    const int status = child_run(throw_in_a_predicate, nullptr, output, sizeof output);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
