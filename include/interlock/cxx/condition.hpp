// SPDX-License-Identifier: Apache-2.0
//
// Waiting under a lock for a predicate, and a condition to signal. Contracts are those of <interlock/condition.h>.
//
//     #include <interlock/cxx/condition.hpp>
//     #include <cstdio>
//     #include <deque>
//     #include <thread>
//
//     static interlock::mutex mutex;
//     static std::deque<int> queue; // guarded by the mutex
//
//     int main() {
//         std::thread other([] {
//             const std::lock_guard lock(mutex);
//             queue.push_back(42); // the end of the lock judges the predicate below
//         });
//         std::unique_lock lock(mutex);
//         interlock::await(lock, [] { return !queue.empty(); });
//         std::printf("%d\n", queue.front()); // prints 42
//         lock.unlock();
//         other.join();
//     }
#ifndef INTERLOCK_CXX_CONDITION_HPP
#define INTERLOCK_CXX_CONDITION_HPP

#include <interlock/condition.h>
#include <interlock/cxx/deadline.hpp>
#include <interlock/cxx/locks.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

namespace interlock {
namespace detail {

// A predicate is called by threads of C, which know no exceptions: one that throws ends the program.
template <class Predicate> bool judged(void *predicate) noexcept {
    return static_cast<bool>((*static_cast<Predicate *>(predicate))());
}

inline ilk_status await_alone(ilk_mutex *mutex, ilk_predicate predicate, void *context,
                              std::uint64_t deadline) noexcept {
    return ilk_mutex_await_until(mutex, predicate, context, deadline);
}
inline ilk_status await_alone(ilk_rwlock *lock, ilk_predicate predicate, void *context,
                              std::uint64_t deadline) noexcept {
    return ilk_rwlock_write_await_until(lock, predicate, context, deadline);
}
template <class Mutex>
ilk_status await_under(const std::unique_lock<Mutex> &lock, ilk_predicate predicate, void *context,
                       std::uint64_t deadline) noexcept {
    return await_alone(lock.mutex()->native_handle(), predicate, context, deadline);
}
template <class Mutex>
ilk_status await_under(const std::shared_lock<Mutex> &lock, ilk_predicate predicate, void *context,
                       std::uint64_t deadline) noexcept {
    return ilk_rwlock_read_await_until(lock.mutex()->native_handle(), predicate, context, deadline);
}

inline ilk_status wait_alone(ilk_condition *condition, ilk_mutex *mutex, std::uint64_t deadline) noexcept {
    return ilk_condition_wait_until(condition, mutex, deadline);
}
inline ilk_status wait_alone(ilk_condition *condition, ilk_rwlock *lock, std::uint64_t deadline) noexcept {
    return ilk_condition_write_wait_until(condition, lock, deadline);
}
template <class Mutex>
ilk_status wait_under(ilk_condition *condition, const std::unique_lock<Mutex> &lock,
                      std::uint64_t deadline) noexcept {
    return wait_alone(condition, lock.mutex()->native_handle(), deadline);
}
template <class Mutex>
ilk_status wait_under(ilk_condition *condition, const std::shared_lock<Mutex> &lock,
                      std::uint64_t deadline) noexcept {
    return ilk_condition_read_wait_until(condition, lock.mutex()->native_handle(), deadline);
}

} // namespace detail

// Waits until `predicate` holds. `lock`, a std::unique_lock of a mutex or shared_mutex or a std::shared_lock, owns its
// lock before and after. The predicate may be called by other threads while this one sleeps.
template <class Lock, class Predicate> void await(const Lock &lock, Predicate predicate) noexcept {
    (void)!detail::await_under(lock, detail::judged<Predicate>, &predicate, ILK_FOREVER);
}

// Likewise for so long at most: whether the predicate holds.
template <class Lock, class Predicate, class Rep, class Period>
[[nodiscard]] bool await_for(const Lock &lock, const std::chrono::duration<Rep, Period> &length,
                             Predicate predicate) {
    return detail::await_under(lock, detail::judged<Predicate>, &predicate, deadline_in(length)) == ILK_OK;
}

// Likewise until that time.
template <class Lock, class Predicate, class Clock, class Duration>
[[nodiscard]] bool await_until(const Lock &lock, const std::chrono::time_point<Clock, Duration> &limit,
                               Predicate predicate) {
    const auto wait = [&](std::uint64_t deadline) {
        return detail::await_under(lock, detail::judged<Predicate>, &predicate, deadline);
    };
    return detail::wait_until(limit, wait) == ILK_OK;
}

// std::condition_variable's verbs for these locks. A wait without predicate ends with a signal, not otherwise; another
// thread may undo what it was for. 4 bytes; nothing to destroy.
class condition {
  public:
    using native_handle_type = ilk_condition *;

    constexpr condition() noexcept = default;
    condition(const condition &) = delete;
    condition &operator=(const condition &) = delete;

    void notify_one() noexcept {
        ilk_condition_signal(&condition_);
    }
    void notify_all() noexcept {
        ilk_condition_broadcast(&condition_);
    }

    template <class Lock> void wait(Lock &lock) noexcept {
        (void)!detail::wait_under(&condition_, lock, ILK_FOREVER);
    }
    template <class Lock, class Predicate> void wait(Lock &lock, Predicate predicate) {
        while (!predicate()) {
            wait(lock);
        }
    }
    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &length) {
        return status_of(detail::wait_under(&condition_, lock, deadline_in(length)));
    }
    template <class Lock, class Rep, class Period, class Predicate>
    [[nodiscard]] bool wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &length,
                                Predicate predicate) {
        const std::uint64_t deadline = deadline_in(length);
        while (!predicate()) {
            if (detail::wait_under(&condition_, lock, deadline) != ILK_OK) {
                return predicate();
            }
        }
        return true;
    }
    template <class Lock, class Clock, class Duration>
    std::cv_status wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &limit) {
        const auto wait = [&](std::uint64_t deadline) {
            return detail::wait_under(&condition_, lock, deadline);
        };
        return status_of(detail::wait_until(limit, wait));
    }

    template <class Lock, class Clock, class Duration, class Predicate>
    [[nodiscard]] bool wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &limit,
                                  Predicate predicate) {
        while (!predicate()) {
            if (wait_until(lock, limit) == std::cv_status::timeout) {
                return predicate();
            }
        }
        return true;
    }

    [[nodiscard]] native_handle_type native_handle() noexcept {
        return &condition_;
    }

  private:
    static std::cv_status status_of(ilk_status status) noexcept {
        return status == ILK_OK ? std::cv_status::no_timeout : std::cv_status::timeout;
    }

    ilk_condition condition_ = ILK_CONDITION_INIT;
};

} // namespace interlock

#endif
