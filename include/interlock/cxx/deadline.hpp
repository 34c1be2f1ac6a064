// SPDX-License-Identifier: Apache-2.0
//
// std::chrono's durations and time points as the core's deadlines, absolute nanoseconds of CLOCK_MONOTONIC. Nothing
// wraps: what is before the epoch is the deadline 0, which has passed; what is beyond 292 years is ILK_FOREVER. A part
// of a nanosecond counts as a whole one, so that no wait ends early. A NaN has passed.
//
//     #include <interlock/cxx/deadline.hpp>
//     #include <interlock/latch.h>
//     #include <cstdio>
//
//     int main() {
//         using namespace std::chrono_literals;
//         ilk_latch latch;
//         ilk_latch_init(&latch, 1);
//         const ilk_status late = ilk_latch_wait_until(&latch, interlock::deadline_in(0.5ms));
//         std::printf("%s\n", ilk_status_name(late)); // prints ILK_TIMEDOUT
//         ilk_latch_count_down(&latch);
//         const auto soon = std::chrono::system_clock::now() + 1h;
//         const ilk_status open = ilk_latch_wait_until(&latch, interlock::deadline_at(soon));
//         std::printf("%s\n", ilk_status_name(open)); // prints ILK_OK
//     }
#ifndef INTERLOCK_CXX_DEADLINE_HPP
#define INTERLOCK_CXX_DEADLINE_HPP

#include <interlock/deadline.h>
#include <interlock/status.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ratio>
#include <type_traits>

namespace interlock {
namespace detail {

constexpr std::int64_t most_nanoseconds = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least_nanoseconds = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t nanoseconds_in_second = 1000000000;

constexpr std::int64_t rounded_up(long double nanoseconds) {
    if (nanoseconds >= static_cast<long double>(most_nanoseconds)) {
        return most_nanoseconds;
    }
    if (nanoseconds <= static_cast<long double>(least_nanoseconds)) {
        return least_nanoseconds;
    }
    if (!(nanoseconds < 0) && !(nanoseconds >= 0)) {
        return 0; // a NaN
    }
    const std::int64_t whole = static_cast<std::int64_t>(nanoseconds);
    return static_cast<long double>(whole) < nanoseconds ? whole + 1 : whole;
}

// Whole nanoseconds, rounded up. The largest and the least number stand for all beyond.
template <class Rep, class Period>
constexpr std::int64_t nanoseconds_in(const std::chrono::duration<Rep, Period> &duration) {
    if constexpr (std::is_integral_v<Rep> && Period::num <= most_nanoseconds / nanoseconds_in_second) {
        constexpr std::int64_t common = std::gcd(Period::num * nanoseconds_in_second, Period::den);
        constexpr std::int64_t factor = Period::num * nanoseconds_in_second / common;
        constexpr std::int64_t divisor = Period::den / common;
        const Rep count = duration.count();
        if constexpr (divisor == 1) {
            std::int64_t product = 0;
            if (__builtin_mul_overflow(count, factor, &product)) {
                return count > 0 ? most_nanoseconds : least_nanoseconds;
            }
            return product;
        } else if constexpr (factor == 1 && divisor <= std::numeric_limits<Rep>::max()) {
            const Rep part = static_cast<Rep>(divisor);
            return static_cast<std::int64_t>(count / part) + (count % part > 0 ? 1 : 0);
        }
    }
    using exact = std::chrono::duration<long double, Period>;
    const long double periods = std::chrono::duration_cast<exact>(duration).count();
    return rounded_up(periods * Period::num / Period::den * nanoseconds_in_second);
}

// The clock whose nanoseconds are the core's own: no reading of the clock is needed. libstdc++ and libc++ agree on
// Linux; elsewhere their steady clock may be another.
template <class Clock> inline constexpr bool is_core_clock = false;
#if defined(__linux__)
template <> inline constexpr bool is_core_clock<std::chrono::steady_clock> = true;
#endif

template <class Clock, class Duration>
bool has_passed(const std::chrono::time_point<Clock, Duration> &limit) {
    return nanoseconds_in(limit.time_since_epoch()) <= nanoseconds_in(Clock::now().time_since_epoch());
}

} // namespace detail

// The deadline so long from now.
template <class Rep, class Period>
[[nodiscard]] std::uint64_t deadline_in(const std::chrono::duration<Rep, Period> &duration) {
    const std::int64_t length = detail::nanoseconds_in(duration);
    if (length <= 0) {
        return 0;
    }
    return length == detail::most_nanoseconds ? ILK_FOREVER
                                              : ilk_deadline_in_ns(static_cast<std::uint64_t>(length));
}

// The deadline at that time: exactly for std::chrono::steady_clock, for another clock as it stands now. Throws what
// that clock's now() throws.
template <class Clock, class Duration>
[[nodiscard]] std::uint64_t deadline_at(const std::chrono::time_point<Clock, Duration> &limit) {
    const std::int64_t time = detail::nanoseconds_in(limit.time_since_epoch());
    if (time == detail::most_nanoseconds) {
        return ILK_FOREVER;
    }
    if constexpr (detail::is_core_clock<Clock>) {
        return time <= 0 ? 0 : static_cast<std::uint64_t>(time);
    } else {
        const std::int64_t now = detail::nanoseconds_in(Clock::now().time_since_epoch());
        // The difference of any two numbers fits without a sign.
        return time <= now
                   ? 0
                   : ilk_deadline_in_ns(static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(now));
    }
}

namespace detail {

// `wait(deadline)` until it succeeds or `limit` has passed by its own clock, which may be set while the wait runs.
template <class Clock, class Duration, class Wait>
ilk_status wait_until(const std::chrono::time_point<Clock, Duration> &limit, Wait wait) {
    for (;;) {
        const ilk_status status = wait(deadline_at(limit));
        if (status != ILK_TIMEDOUT || is_core_clock<Clock> || has_passed(limit)) {
            return status;
        }
    }
}

// Whether `call`, one of the core's waits, succeeds on `object` before that.
template <class Call, class Object, class Clock, class Duration>
bool succeeds_until(Call call, Object *object, const std::chrono::time_point<Clock, Duration> &limit) {
    return wait_until(limit, [&](std::uint64_t deadline) { return call(object, deadline); }) == ILK_OK;
}

} // namespace detail
} // namespace interlock

#endif
