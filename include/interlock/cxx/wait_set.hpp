// SPDX-License-Identifier: Apache-2.0
//
// ilk_wait_set for this library's C++ rings, semaphores and latches: one thread waits for several at once. Matrix and
// guarantees are those of <interlock/wait_set.h>.
//
//     #include <interlock/cxx/wait_set.hpp>
//     #include <cstdio>
//     #include <string>
//
//     int main() {
//         interlock::mpmc_ring<std::string> orders(8);
//         interlock::counting_semaphore permits(0);
//         interlock::wait_set set; // after its members, so that it is destroyed first
//         set.add_readable(orders);
//         set.add(permits);
//         std::thread other([&] {
//             (void)orders.push("tea");
//             permits.release();
//         });
//         interlock::ready_keys<4> ready;
//         for (int left = 2; left > 0;) {
//             set.wait(ready);
//             for (void *key : ready) {
//                 if (key == &permits) {
//                     left--; // the set has taken a permit, for this thread
//                 } else if (const std::optional<std::string> order = orders.try_pop()) {
//                     left--;
//                     std::puts(order->c_str()); // prints tea
//                 }
//             }
//         }
//         other.join();
//     }
//
//   Keys        A member's key is its address, or what the caller gives in its place; a null pointer is a key. A ring
//               both of whose ends are in a set needs a key of the caller's for one.
//   Answers     A wait replaces the keys of the last one. A wake ends a wait with what is ready, perhaps nothing.
//   Lifetimes   A member is removed before it is destroyed, or the set is destroyed before it. Misuse, as wait_set.h
//               has it; for a latch undefined.
//   Exceptions  A call of add that throws has added nothing. No wait throws, but for what a clock's now() throws.
#ifndef INTERLOCK_CXX_WAIT_SET_HPP
#define INTERLOCK_CXX_WAIT_SET_HPP

#include <interlock/cxx/deadline.hpp>
#include <interlock/cxx/failure.hpp>
#include <interlock/cxx/rings.hpp>
#include <interlock/cxx/sync.hpp>
#include <interlock/wait_set.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace interlock {

class wait_set;

// The keys that a wait has answered, at most `Capacity`.
template <std::size_t Capacity> class ready_keys {
    static_assert(Capacity > 0, "a wait has room for one key at least");

  public:
    [[nodiscard]] void *const *begin() const noexcept {
        return keys_;
    }
    [[nodiscard]] void *const *end() const noexcept {
        return keys_ + count_;
    }
    [[nodiscard]] std::size_t size() const noexcept {
        return count_;
    }
    [[nodiscard]] bool empty() const noexcept {
        return count_ == 0;
    }

  private:
    friend class wait_set;

    void *keys_[Capacity] = {};
    std::size_t count_ = 0;
};

// One thread waits at a time; any thread adds, removes and wakes.
class wait_set {
  public:
    using native_handle_type = ilk_wait_set *;

    // Throws std::bad_alloc.
    wait_set() {
        detail::require_ok(ilk_wait_set_create(&set_), "");
    }
    ~wait_set() {
        ilk_wait_set_destroy(set_);
    }
    wait_set(const wait_set &) = delete;
    wait_set &operator=(const wait_set &) = delete;

    // ---- Members ----

    // Adds an end of an spsc_ring or mpmc_ring: ready while an element is there, or room, and once the ring is closed.
    // Throws std::invalid_argument where a member has the key, std::bad_alloc.
    template <class Ring> void add_readable(Ring &ring) {
        add_readable(ring, std::addressof(ring));
    }
    template <class Ring> void add_readable(Ring &ring, void *key) {
        require_added(add_end(ring.native_handle(), ILK_READABLE, key));
    }
    template <class Ring> void add_writable(Ring &ring) {
        add_writable(ring, std::addressof(ring));
    }
    template <class Ring> void add_writable(Ring &ring, void *key) {
        require_added(add_end(ring.native_handle(), ILK_WRITABLE, key));
    }

    // Likewise a semaphore: an answer hands a permit over. It goes back if the member is removed unanswered.
    void add(counting_semaphore &semaphore) {
        add(semaphore, std::addressof(semaphore));
    }
    void add(counting_semaphore &semaphore, void *key) {
        require_added(ilk_wait_set_add_semaphore(set_, semaphore.native_handle(), key));
    }
    // Likewise a latch: ready once it is open.
    void add(latch &latch) {
        add(latch, std::addressof(latch));
    }
    void add(latch &latch, void *key) {
        require_added(ilk_wait_set_add_latch(set_, latch.native_handle(), key));
    }

    // False: no member has the key. Afterwards the member's object may be destroyed.
    bool remove(void *key) noexcept {
        return ilk_wait_set_remove(set_, key);
    }

    // ---- Waits ----

    // Waits until a member is ready or a wake comes.
    template <std::size_t Capacity> void wait(ready_keys<Capacity> &ready) noexcept {
        (void)(wait_by(ready, ILK_FOREVER) == ILK_OK); // has no other end
    }
    // False: no member is ready, and no wake has come. Never waits.
    template <std::size_t Capacity> [[nodiscard]] bool try_wait(ready_keys<Capacity> &ready) noexcept {
        return wait_by(ready, 0) == ILK_OK;
    }
    // False: the limit came first. A passed limit still answers what is ready.
    template <std::size_t Capacity, class Rep, class Period>
    [[nodiscard]] bool wait_for(ready_keys<Capacity> &ready,
                                const std::chrono::duration<Rep, Period> &length) {
        return wait_by(ready, deadline_in(length)) == ILK_OK;
    }
    template <std::size_t Capacity, class Clock, class Duration>
    [[nodiscard]] bool wait_until(ready_keys<Capacity> &ready,
                                  const std::chrono::time_point<Clock, Duration> &limit) {
        const auto wait = [&](std::uint64_t deadline) { return wait_by(ready, deadline); };
        return detail::wait_until(limit, wait) == ILK_OK;
    }

    // Ends the wait that is under way, or the next one.
    void wake() noexcept ILK_NONBLOCKING {
        ilk_wait_set_wake(set_);
    }

    // For a loop that waits for descriptors: readable while a try_wait may be true (wait_set.h). The set closes it.
    // Nothing: the system has none, or refuses it.
    [[nodiscard]] std::optional<int> descriptor() noexcept {
        int descriptor = -1;
        return ilk_wait_set_descriptor(set_, &descriptor) == ILK_OK ? std::optional<int>(descriptor)
                                                                    : std::nullopt;
    }

    // For members of C.
    [[nodiscard]] native_handle_type native_handle() noexcept {
        return set_;
    }

  private:
    ilk_status add_end(ilk_spsc *ring, ilk_ring_event event, void *key) noexcept {
        return ilk_wait_set_add_spsc(set_, ring, event, key);
    }
    ilk_status add_end(ilk_mpmc *ring, ilk_ring_event event, void *key) noexcept {
        return ilk_wait_set_add_mpmc(set_, ring, event, key);
    }
    static void require_added(ilk_status status) {
        detail::require_ok(status, "the key of a member of an interlock::wait_set");
    }
    template <std::size_t Capacity>
    ilk_status wait_by(ready_keys<Capacity> &ready, std::uint64_t deadline) noexcept {
        return ilk_wait_set_wait_until(set_, ready.keys_, Capacity, &ready.count_, deadline);
    }

    ilk_wait_set *set_ = nullptr;
};

} // namespace interlock

#endif
