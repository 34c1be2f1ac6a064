// SPDX-License-Identifier: Apache-2.0
//
// ilk_semaphore, ilk_latch and ilk_barrier with the calls of C++20's types, and waits with a limit. Contracts are those
// of <interlock/semaphore.h>, <interlock/latch.h> and <interlock/barrier.h>. No call but a timed one throws, and that
// one only what the clock's now() throws.
//
//     #include <interlock/cxx/sync.hpp>
//     #include <cstdio>
//     #include <thread>
//
//     static interlock::counting_semaphore permits(0);
//     static interlock::latch done(2);
//     static int result;
//
//     int main() {
//         std::thread other([] {
//             permits.acquire(); // waits for the release
//             result++;
//             done.count_down();
//         });
//         result = 1;
//         permits.release();
//         done.arrive_and_wait(); // until both have counted down
//         std::printf("%d\n", result); // prints 2
//         other.join();
//     }
#ifndef INTERLOCK_CXX_SYNC_HPP
#define INTERLOCK_CXX_SYNC_HPP

#include <interlock/barrier.h>
#include <interlock/cxx/deadline.hpp>
#include <interlock/latch.h>
#include <interlock/semaphore.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace interlock {
namespace detail {

// What is out of range becomes a number that the core reports as misuse.
constexpr std::uint32_t as_count(std::ptrdiff_t number, std::uint32_t unfit) noexcept {
    return number < 0 || number > static_cast<std::ptrdiff_t>(UINT32_MAX)
               ? unfit
               : static_cast<std::uint32_t>(number);
}

} // namespace detail

// Asks for a semaphore in which any thread may take a permit before threads that wait (semaphore.h, F).
struct barging_t {};
inline constexpr barging_t barging{};

// Serves first come, first served, unless it barges. Misuse, reported: permits below 0 or above max() in all;
// destruction while a thread waits.
class counting_semaphore {
  public:
    using native_handle_type = ilk_semaphore *;

    explicit counting_semaphore(std::ptrdiff_t permits) noexcept {
        ilk_semaphore_init(&semaphore_, detail::as_count(permits, UINT32_MAX));
    }
    counting_semaphore(std::ptrdiff_t permits, barging_t) noexcept {
        ilk_semaphore_init_barging(&semaphore_, detail::as_count(permits, UINT32_MAX));
    }
    ~counting_semaphore() {
        ilk_semaphore_destroy(&semaphore_);
    }
    counting_semaphore(const counting_semaphore &) = delete;
    counting_semaphore &operator=(const counting_semaphore &) = delete;

    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
        return ILK_SEMAPHORE_MAX;
    }

    void acquire() noexcept {
        ilk_semaphore_wait(&semaphore_);
    }
    [[nodiscard]] bool try_acquire() noexcept ILK_NONBLOCKING {
        return ilk_semaphore_try_wait(&semaphore_);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period> &length) {
        return ilk_semaphore_wait_until(&semaphore_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration> &limit) {
        return detail::succeeds_until(ilk_semaphore_wait_until, &semaphore_, limit);
    }
    void release(std::ptrdiff_t permits = 1) noexcept {
        ilk_semaphore_signal(&semaphore_, detail::as_count(permits, UINT32_MAX));
    }
    // False, and none released: there would be more than max().
    [[nodiscard]] bool try_release(std::ptrdiff_t permits = 1) noexcept {
        return ilk_semaphore_try_signal(&semaphore_, detail::as_count(permits, UINT32_MAX));
    }

    [[nodiscard]] native_handle_type native_handle() noexcept {
        return &semaphore_;
    }

  private:
    ilk_semaphore semaphore_;
};

// Misuse, reported: a count below 0 or above max(), more counted down than there was. Undefined: its destruction beside
// a call other than the count_down that opened it.
class latch {
  public:
    using native_handle_type = ilk_latch *;

    explicit latch(std::ptrdiff_t count) noexcept {
        ilk_latch_init(&latch_, detail::as_count(count, UINT32_MAX));
    }
    latch(const latch &) = delete;
    latch &operator=(const latch &) = delete;

    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
        return ILK_LATCH_MAX;
    }

    // O(steps).
    void count_down(std::ptrdiff_t steps = 1) noexcept {
        for (std::uint32_t left = detail::as_count(steps, UINT32_MAX); left > 0; left--) {
            ilk_latch_count_down(&latch_);
        }
    }
    [[nodiscard]] bool try_wait() const noexcept {
        return ilk_latch_try_wait(&latch_);
    }
    void wait() const noexcept {
        (void)(ilk_latch_wait_until(&latch_, ILK_FOREVER) == ILK_OK); // has no other end
    }
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period> &length) const {
        return ilk_latch_wait_until(&latch_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration> &limit) const {
        return detail::succeeds_until(ilk_latch_wait_until, &latch_, limit);
    }
    void arrive_and_wait(std::ptrdiff_t steps = 1) noexcept {
        count_down(steps);
        wait();
    }

    [[nodiscard]] native_handle_type native_handle() noexcept {
        return &latch_;
    }

  private:
    mutable ilk_latch latch_; // waiting leaves a mark, as in std::latch
};

// Misuse, reported: no parties, or a number out of range; its destruction while a thread waits for its round. Its
// destructor waits until the parties of a complete round have left it.
class barrier {
  public:
    using native_handle_type = ilk_barrier *;

    explicit barrier(std::ptrdiff_t parties) noexcept {
        ilk_barrier_init(&barrier_, detail::as_count(parties, 0));
    }
    ~barrier() {
        ilk_barrier_destroy(&barrier_);
    }
    barrier(const barrier &) = delete;
    barrier &operator=(const barrier &) = delete;

    // True for one party a round: the one that completed it.
    bool arrive_and_wait() noexcept {
        return ilk_barrier_wait(&barrier_);
    }
    // True for one party a round; nothing where the limit came first; then the arrival is taken back.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<bool> arrive_and_wait_for(const std::chrono::duration<Rep, Period> &length) {
        bool last = false;
        return answer(ilk_barrier_wait_until(&barrier_, deadline_in(length), &last), last);
    }
    template <class Clock, class Duration>
    [[nodiscard]] std::optional<bool>
    arrive_and_wait_until(const std::chrono::time_point<Clock, Duration> &limit) {
        bool last = false;
        const auto wait = [this, &last](std::uint64_t deadline) {
            return ilk_barrier_wait_until(&barrier_, deadline, &last);
        };
        const ilk_status status = detail::wait_until(limit, wait);
        return answer(status, last);
    }

    [[nodiscard]] native_handle_type native_handle() noexcept {
        return &barrier_;
    }

  private:
    // By reference: `last` is written by the call whose status it is.
    static std::optional<bool> answer(ilk_status status, const bool &last) noexcept {
        return status == ILK_OK ? std::optional<bool>(last) : std::nullopt;
    }

    ilk_barrier barrier_;
};

} // namespace interlock

#endif
