// SPDX-License-Identifier: Apache-2.0
//
// Durations and time points of std::chrono become deadlines: exactly, rounded up, and without wrapping.
#include "cxx/test.hpp"

#include <limits>
#include <thread>

using namespace std::chrono_literals;
using interlock::deadline_at;
using interlock::deadline_in;
using interlock::detail::nanoseconds_in;

template <class Rep, class Period = std::ratio<1>> using lengths = std::chrono::duration<Rep, Period>;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

TEST(whole_nanoseconds_are_exact) {
    static_assert(nanoseconds_in(7ns) == 7 && nanoseconds_in(-7ns) == -7);
    static_assert(nanoseconds_in(3us) == 3000 && nanoseconds_in(2h) == 7200000000000);
    static_assert(nanoseconds_in(std::chrono::nanoseconds::max()) == most);
    static_assert(nanoseconds_in(std::chrono::nanoseconds::min()) == least);
    static_assert(nanoseconds_in(lengths<std::int64_t>(9223372036)) == 9223372036000000000);
    static_assert(nanoseconds_in(lengths<unsigned char>(200)) == 200000000000);
    check(nanoseconds_in(lengths<std::uint64_t, std::nano>(most)) == most);
}

// The compiler does not know it.
static double at_run_time(double value) {
    const volatile double kept = value;
    return kept;
}

TEST(parts_of_a_nanosecond_count_as_whole_ones) {
    static_assert(nanoseconds_in(lengths<int, std::pico>(1)) == 1);
    static_assert(nanoseconds_in(lengths<int, std::pico>(1000)) == 1);
    static_assert(nanoseconds_in(lengths<int, std::pico>(1001)) == 2);
    static_assert(nanoseconds_in(lengths<int, std::pico>(-1)) == 0);
    static_assert(nanoseconds_in(lengths<signed char, std::pico>(1)) == 1);
    static_assert(nanoseconds_in(lengths<std::uint64_t, std::pico>(~0ULL)) == 18446744073709552);
    check(nanoseconds_in(lengths<int, std::ratio<1, 3>>(1)) == 333333334);
    check(nanoseconds_in(lengths<double>(1.5)) == 1500000000);
    check(nanoseconds_in(lengths<double, std::nano>(0.25)) == 1);
    check(nanoseconds_in(lengths<double, std::nano>(-0.25)) == 0);
    check(nanoseconds_in(lengths<double, std::nano>(at_run_time(2.25))) == 3);
    check(nanoseconds_in(lengths<double, std::nano>(at_run_time(-2.25))) == -2);
    check(nanoseconds_in(lengths<double, std::nano>(at_run_time(3))) == 3);
}

TEST(lengths_beyond_the_range_saturate) {
    static_assert(nanoseconds_in(std::chrono::hours::max()) == most);
    static_assert(nanoseconds_in(std::chrono::hours::min()) == least);
    static_assert(nanoseconds_in(lengths<std::int64_t>(9223372037)) == most);
    static_assert(nanoseconds_in(lengths<std::uint64_t, std::nano>(~0ULL)) == most);
    static_assert(nanoseconds_in(lengths<std::int64_t, std::exa>(1)) == most);
    static_assert(nanoseconds_in(lengths<std::int64_t, std::exa>(-1)) == least);
    check(nanoseconds_in(lengths<double>(at_run_time(1e300))) == most);
    check(nanoseconds_in(lengths<double>(at_run_time(-1e300))) == least);
    check(nanoseconds_in(lengths<double>(at_run_time(std::numeric_limits<double>::infinity()))) == most);
    check(nanoseconds_in(lengths<double>(at_run_time(std::numeric_limits<double>::quiet_NaN()))) == 0);
}

TEST(a_length_begins_now) {
    const std::uint64_t before = ilk_now_ns(), deadline = deadline_in(5ms), after = ilk_now_ns();
    check(deadline >= before + 5000000 && deadline <= after + 5000000);
    check(deadline_in(0s) == 0 && deadline_in(-1s) == 0);
    check(deadline_in(std::chrono::nanoseconds::min()) == 0 && deadline_in(std::chrono::hours::min()) == 0);
    check(deadline_in(std::chrono::nanoseconds::max()) == ILK_FOREVER);
    check(deadline_in(std::chrono::hours::max()) == ILK_FOREVER);
    check(deadline_in(lengths<double>::max()) == ILK_FOREVER);
}

TEST(steady_time_is_the_cores_own) {
    const std::uint64_t before = ilk_now_ns();
    const std::uint64_t deadline = deadline_at(std::chrono::steady_clock::now());
    check(before <= deadline && deadline <= ilk_now_ns());
    using point = std::chrono::steady_clock::time_point;
    check(deadline_at(point(123ns)) == 123);
    check(deadline_at(point(-1ns)) == 0 && deadline_at(point::min()) == 0);
    check(deadline_at(point::max()) == ILK_FOREVER);
    using hours = std::chrono::time_point<std::chrono::steady_clock, std::chrono::hours>;
    check(deadline_at(hours::max()) == ILK_FOREVER && deadline_at(hours::min()) == 0);
}

TEST(another_clock_counts_from_its_now) {
    set_clock::current = 1000;
    const std::uint64_t before = ilk_now_ns();
    const std::uint64_t deadline = deadline_at(set_clock::time_point(1020ms));
    check(deadline >= before + 20000000 && deadline <= ilk_now_ns() + 20000000);
    check(deadline_at(set_clock::time_point(1000ms)) == 0);
    check(deadline_at(set_clock::time_point::max()) == ILK_FOREVER);
    check(deadline_at(set_clock::time_point::min()) == 0);
    set_clock::current = std::numeric_limits<set_clock::rep>::min(); // now is 292 years before the epoch
    check(deadline_at(set_clock::time_point(0ms)) > static_cast<std::uint64_t>(most));
    check(deadline_at(std::chrono::system_clock::time_point::max()) == ILK_FOREVER);
    check(deadline_at(std::chrono::system_clock::time_point::min()) == 0);
}

// A wait that timed out by the core's clock goes on until the limit has come by its own.
TEST(a_clock_that_is_set_back_is_waited_for) {
    set_clock::current = 0;
    set_clock::step = 10;
    int waits = 0;
    const auto wait = [&](std::uint64_t) {
        waits++;
        return ILK_TIMEDOUT;
    };
    // Read twice a wait: at 0 and 10, 20 and 30, 40 and 50.
    check(interlock::detail::wait_until(set_clock::time_point(45ms), wait) == ILK_TIMEDOUT);
    check_equal(waits, 3);
    check(interlock::detail::wait_until(std::chrono::steady_clock::time_point::min(), wait) == ILK_TIMEDOUT);
    check_equal(waits, 4);
    const auto success = [](std::uint64_t) { return ILK_OK; };
    check(interlock::detail::wait_until(set_clock::time_point::max(), success) == ILK_OK);
}

template <class Wait> static void goes_by_its_clock(Wait wait) {
    set_clock::current = 0;
    set_clock::step = 1;
    check(!wait(set_clock::time_point(5ms)));
    check(set_clock::current > 5);
}

TEST(the_wait_of_each_type_goes_by_the_clock_of_its_limit) {
    interlock::mutex mutex;
    interlock::recursive_mutex recursive;
    interlock::upgradable_mutex shared;
    interlock::counting_semaphore semaphore(0);
    interlock::latch latch(1);
    interlock::pool pool;
    mutex.lock();
    recursive.lock();
    shared.lock();
    std::thread([&] {
        goes_by_its_clock([&](auto limit) { return mutex.try_lock_until(limit); });
        goes_by_its_clock([&](auto limit) { return recursive.try_lock_until(limit); });
        goes_by_its_clock([&](auto limit) { return shared.try_lock_until(limit); });
        goes_by_its_clock([&](auto limit) { return shared.try_lock_shared_until(limit); });
        goes_by_its_clock([&](auto limit) { return shared.try_lock_upgradable_until(limit); });
    }).join();
    goes_by_its_clock([&](auto limit) { return semaphore.try_acquire_until(limit); });
    goes_by_its_clock([&](auto limit) { return latch.wait_until(limit); });
    goes_by_its_clock([&](auto limit) { return pool.wait_until(limit); });
    shared.unlock();
    recursive.unlock();
    mutex.unlock();
}
