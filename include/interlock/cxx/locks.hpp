// SPDX-License-Identifier: Apache-2.0
//
// ilk_mutex, ilk_recursive_mutex and ilk_rwlock as lockable types: std::lock_guard, std::unique_lock, std::shared_lock,
// std::scoped_lock and std::lock work with them. Contracts are those of the C headers.
//
//     #include <interlock/cxx/locks.hpp>
//     #include <cstdio>
//     #include <map>
//     #include <thread>
//
//     static interlock::upgradable_mutex mutex;
//     static std::map<int, int> squares; // guarded by the mutex
//
//     static int square_of(int number) {
//         interlock::upgradable_lock lock(mutex); // beside readers
//         const auto found = squares.find(number);
//         if (found != squares.end()) return found->second;
//         lock.upgrade(); // alone, and nothing has changed
//         return squares[number] = number * number;
//     }
//     int main() {
//         std::thread other([] { square_of(3); });
//         const int square = square_of(3);
//         other.join();
//         const std::shared_lock lock(mutex);
//         std::printf("%d %zu\n", square, squares.size()); // prints 9 1
//     }
#ifndef INTERLOCK_CXX_LOCKS_HPP
#define INTERLOCK_CXX_LOCKS_HPP

#include <interlock/cxx/deadline.hpp>
#include <interlock/cxx/failure.hpp>
#include <interlock/mutex.h>
#include <interlock/recursive_mutex.h>
#include <interlock/rwlock.h>

#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace interlock {

struct inherit_priority_t {
    explicit inherit_priority_t() = default;
};
// Asks for priority inheritance: the owner runs at the priority of its highest waiter.
inline constexpr inherit_priority_t inherit_priority{};

// A TimedLockable, which knows its owner: 8 bytes, never allocates. Misuse, reported in every build: lock by its owner,
// unlock by another thread. Undefined: its destruction while a thread owns it or waits for it, which goes unnoticed. A
// name that ilk_set_name gave its native handle is taken away before its memory goes.
class mutex {
  public:
    using native_handle_type = ilk_mutex *;

    constexpr mutex() noexcept = default;
    explicit mutex(inherit_priority_t) noexcept {
        ilk_mutex_init(&mutex_, true);
    }
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;

    void lock() noexcept {
        ilk_mutex_lock(&mutex_);
    }
    [[nodiscard]] bool try_lock() noexcept ILK_NONBLOCKING {
        return ilk_mutex_try_lock(&mutex_);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &length) {
        return ilk_mutex_lock_until(&mutex_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &limit) {
        return detail::succeeds_until(ilk_mutex_lock_until, &mutex_, limit);
    }
    void unlock() noexcept {
        ilk_mutex_unlock(&mutex_);
    }

    [[nodiscard]] native_handle_type native_handle() noexcept {
        return &mutex_;
    }

  private:
    ilk_mutex mutex_ = ILK_MUTEX_INIT;
};

// A TimedLockable that its owner may lock again; 12 bytes, never allocates. Misuse, reported in every build: unlock by
// another thread. Otherwise as mutex.
class recursive_mutex {
  public:
    using native_handle_type = ilk_recursive_mutex *;

    constexpr recursive_mutex() noexcept = default;
    explicit recursive_mutex(inherit_priority_t) noexcept {
        ilk_recursive_mutex_init(&mutex_, true);
    }
    recursive_mutex(const recursive_mutex &) = delete;
    recursive_mutex &operator=(const recursive_mutex &) = delete;

    void lock() noexcept {
        ilk_recursive_mutex_lock(&mutex_);
    }
    [[nodiscard]] bool try_lock() noexcept ILK_NONBLOCKING {
        return ilk_recursive_mutex_try_lock(&mutex_);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &length) {
        return ilk_recursive_mutex_lock_until(&mutex_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &limit) {
        return detail::succeeds_until(ilk_recursive_mutex_lock_until, &mutex_, limit);
    }
    void unlock() noexcept {
        ilk_recursive_mutex_unlock(&mutex_);
    }

    [[nodiscard]] native_handle_type native_handle() noexcept {
        return &mutex_;
    }

  private:
    ilk_recursive_mutex mutex_ = ILK_RECURSIVE_MUTEX_INIT;
};

// A SharedTimedMutex: many readers or one writer, phase-fair; 16 bytes. The thread that took it gives it up. Misuse,
// reported: an unlock where no thread holds the lock so; destruction while it is held or waited for. Reading again
// while the thread reads may be a deadlock: a queued writer holds back new readers.
class shared_mutex {
  public:
    using native_handle_type = ilk_rwlock *;

    constexpr shared_mutex() noexcept = default;
    ~shared_mutex() {
        ilk_rwlock_destroy(&lock_);
    }
    shared_mutex(const shared_mutex &) = delete;
    shared_mutex &operator=(const shared_mutex &) = delete;

    void lock() noexcept {
        ilk_rwlock_write_lock(&lock_);
    }
    [[nodiscard]] bool try_lock() noexcept ILK_NONBLOCKING {
        return ilk_rwlock_try_write_lock(&lock_);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &length) {
        return ilk_rwlock_write_lock_until(&lock_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &limit) {
        return detail::succeeds_until(ilk_rwlock_write_lock_until, &lock_, limit);
    }
    void unlock() noexcept {
        ilk_rwlock_write_unlock(&lock_);
    }

    void lock_shared() noexcept {
        ilk_rwlock_read_lock(&lock_);
    }
    [[nodiscard]] bool try_lock_shared() noexcept ILK_NONBLOCKING {
        return ilk_rwlock_try_read_lock(&lock_);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &length) {
        return ilk_rwlock_read_lock_until(&lock_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &limit) {
        return detail::succeeds_until(ilk_rwlock_read_lock_until, &lock_, limit);
    }
    void unlock_shared() noexcept {
        ilk_rwlock_read_unlock(&lock_);
    }

    // From lock to lock_shared: no writer comes in between. interlock::downgrade does it for lock objects.
    void downgrade() noexcept {
        ilk_rwlock_downgrade(&lock_);
    }

    [[nodiscard]] native_handle_type native_handle() noexcept {
        return &lock_;
    }

  protected:
    ilk_rwlock lock_ = ILK_RWLOCK_INIT;
};

// Turns the write lock of `lock`, which is empty then, into a read lock without a gap. Throws std::system_error if
// `lock` holds nothing.
template <class Mutex> [[nodiscard]] std::shared_lock<Mutex> downgrade(std::unique_lock<Mutex> &&lock) {
    if (!lock.owns_lock()) {
        detail::fail_not_held("interlock::downgrade");
    }
    Mutex *const mutex = lock.release();
    mutex->downgrade();
    return std::shared_lock<Mutex>(*mutex, std::adopt_lock);
}

// A shared_mutex with a third mode: one upgradable holder reads beside the readers, and may become the writer without
// giving the lock up. interlock::upgradable_lock holds it.
class upgradable_mutex : public shared_mutex {
  public:
    void lock_upgradable() noexcept {
        ilk_rwlock_upgradable_lock(&lock_);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_upgradable_for(const std::chrono::duration<Rep, Period> &length) {
        return ilk_rwlock_upgradable_lock_until(&lock_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_upgradable_until(const std::chrono::time_point<Clock, Duration> &limit) {
        return detail::succeeds_until(ilk_rwlock_upgradable_lock_until, &lock_, limit);
    }
    void unlock_upgradable() noexcept {
        ilk_rwlock_upgradable_unlock(&lock_);
    }

    // From lock_upgradable to lock; waits for the present readers. Where the timed forms answer false, the lock is
    // still held upgradable.
    void upgrade() noexcept {
        ilk_rwlock_upgrade(&lock_);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_upgrade_for(const std::chrono::duration<Rep, Period> &length) {
        return ilk_rwlock_upgrade_until(&lock_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_upgrade_until(const std::chrono::time_point<Clock, Duration> &limit) {
        return detail::succeeds_until(ilk_rwlock_upgrade_until, &lock_, limit);
    }
};

// Holds an upgradable_mutex upgradable, and gives it up at its end in the mode that it has by then. As
// std::unique_lock, it moves, belongs to one thread at a time, and throws std::system_error from a call that needs a
// lock it has not.
class upgradable_lock {
  public:
    upgradable_lock() noexcept = default;
    explicit upgradable_lock(upgradable_mutex &mutex) noexcept : mutex_(&mutex), mode_(mode::upgradable) {
        mutex.lock_upgradable();
    }
    template <class Rep, class Period>
    upgradable_lock(upgradable_mutex &mutex, const std::chrono::duration<Rep, Period> &length)
        : mutex_(&mutex), mode_(mutex.try_lock_upgradable_for(length) ? mode::upgradable : mode::none) {}
    template <class Clock, class Duration>
    upgradable_lock(upgradable_mutex &mutex, const std::chrono::time_point<Clock, Duration> &limit)
        : mutex_(&mutex), mode_(mutex.try_lock_upgradable_until(limit) ? mode::upgradable : mode::none) {}
    upgradable_lock(upgradable_lock &&other) noexcept
        : mutex_(std::exchange(other.mutex_, nullptr)), mode_(std::exchange(other.mode_, mode::none)) {}
    upgradable_lock &operator=(upgradable_lock &&other) noexcept {
        upgradable_lock moved(std::move(other));
        std::swap(mutex_, moved.mutex_);
        std::swap(mode_, moved.mode_);
        return *this;
    }
    ~upgradable_lock() {
        give_up();
    }

    [[nodiscard]] bool owns_lock() const noexcept {
        return mode_ != mode::none;
    }
    explicit operator bool() const noexcept {
        return owns_lock();
    }
    // Whether it is the writer.
    [[nodiscard]] bool is_upgraded() const noexcept {
        return mode_ == mode::exclusive;
    }

    void upgrade() {
        require(mode::upgradable);
        mutex_->upgrade();
        mode_ = mode::exclusive;
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_upgrade_for(const std::chrono::duration<Rep, Period> &length) {
        require(mode::upgradable);
        return upgraded(mutex_->try_upgrade_for(length));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_upgrade_until(const std::chrono::time_point<Clock, Duration> &limit) {
        require(mode::upgradable);
        return upgraded(mutex_->try_upgrade_until(limit));
    }

    // From the writer to a reader without a gap; this object is empty then.
    [[nodiscard]] std::shared_lock<upgradable_mutex> downgrade() {
        require(mode::exclusive);
        mode_ = mode::none;
        mutex_->downgrade();
        return std::shared_lock<upgradable_mutex>(*std::exchange(mutex_, nullptr), std::adopt_lock);
    }
    void unlock() {
        if (!owns_lock()) {
            detail::fail_not_held("interlock::upgradable_lock::unlock");
        }
        give_up();
    }

  private:
    enum class mode { none, upgradable, exclusive };

    void require(mode needed) const {
        if (mode_ != needed) {
            detail::fail_not_held("interlock::upgradable_lock");
        }
    }
    bool upgraded(bool succeeded) noexcept {
        mode_ = succeeded ? mode::exclusive : mode_;
        return succeeded;
    }
    void give_up() noexcept {
        const mode held = std::exchange(mode_, mode::none);
        if (held == mode::exclusive) {
            mutex_->unlock();
        } else if (held == mode::upgradable) {
            mutex_->unlock_upgradable();
        }
    }

    upgradable_mutex *mutex_ = nullptr;
    mode mode_ = mode::none;
};

} // namespace interlock

#endif
