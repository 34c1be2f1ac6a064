// SPDX-License-Identifier: Apache-2.0
//
// ilk_spsc and ilk_mpmc for objects. A push moves its value into the ring's memory, a pop moves it out and ends its
// life there; what is left in a ring is destroyed with it. Matrix and guarantees are those of <interlock/spsc.h> and
// <interlock/mpmc.h>.
//
//     #include <interlock/cxx/rings.hpp>
//     #include <cstdio>
//     #include <string>
//
//     int main() {
//         interlock::mpmc_ring<std::string> ring(2);
//         std::thread producer([&ring] {
//             for (const char *word : {"one", "two", "three"}) {
//                 if (ring.push(word) != interlock::ring_status::ok) return; // waits while the ring is full
//             }
//             ring.close();
//         });
//         while (std::optional<std::string> word = ring.pop()) std::puts(word->c_str()); // prints one two three
//         producer.join();
//     }
//
//   Elements    Any type, move-only ones too, whose move constructor and destructor do not throw, with an alignment of
//               up to 128: another is refused when it is compiled.
//   Exceptions  Strong: a copy, or an object of emplace, is made before the ring is touched, and only that may throw. A
//               push that does not succeed leaves its value unmoved.
//   Waits       Elements that are not trivially copyable wait by the ring's hook, which therefore is not the program's:
//               set_notify is refused when it is compiled. Their waits are in no report of diagnosis.
//   Undefined   A call beside the constructor or the destructor; in an spsc_ring two producers, or two consumers, at a
//               time; an element's constructor or destructor that uses the ring.
#ifndef INTERLOCK_CXX_RINGS_HPP
#define INTERLOCK_CXX_RINGS_HPP

#include <interlock/cxx/deadline.hpp>
#include <interlock/cxx/failure.hpp>
#include <interlock/cxx/ring_calls.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace interlock {

// How a push or a pop ended.
enum class ring_status { ok = ILK_OK, timed_out = ILK_TIMEDOUT, closed = ILK_CLOSED };

namespace detail {

// Not deduced from an argument.
template <class T> struct same { using type = T; };
template <class T> using same_t = typename same<T>::type;

// The sleepers of a ring whose threads wait by the core's own calls: none.
struct no_sleepers {
    void wake() noexcept {}
};

template <class T, class Calls> class ring {
    static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T> && !std::is_array_v<T>,
                  "an element is an object that can be moved");
    static_assert(
        std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
        "an element's move constructor and destructor do not throw: keep it behind a std::unique_ptr");
    static_assert(alignof(T) <= 128, "elements are aligned to 128 bytes at most");
    static constexpr bool is_bytes = std::is_trivially_copyable_v<T>;

  public:
    using value_type = T;
    using native_handle_type = typename Calls::handle *;

    // Room for exactly `capacity` elements. Throws std::invalid_argument where it is 0 or too large, std::bad_alloc.
    explicit ring(std::size_t capacity) {
        require_ok(Calls::create(&ring_, capacity, sizeof(T)), "the capacity of an interlock ring");
        if constexpr (!is_bytes) {
            Calls::set_notify(ring_, wake, this);
        }
    }
    ~ring() {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            while (try_pop()) {
            }
        }
        Calls::destroy(ring_);
    }
    ring(const ring &) = delete;
    ring &operator=(const ring &) = delete;

    // ---- Pushes ----

    // True when pushed; false when full or closed, `value` is then unchanged. Never waits.
    [[nodiscard]] bool try_push(T &&value) noexcept {
        return attempt_push(value);
    }
    [[nodiscard]] bool try_push(const T &value) {
        return push_copy(value, [this](T &copy) { return attempt_push(copy); });
    }
    // Makes the element first, in a full ring too.
    template <class... Arguments> [[nodiscard]] bool try_emplace(Arguments &&...arguments) {
        T value(std::forward<Arguments>(arguments)...);
        return attempt_push(value);
    }

    // Waits for room as long as it takes: ok or closed.
    [[nodiscard]] ring_status push(T &&value) noexcept {
        return answer(wait_push(value, ILK_FOREVER));
    }
    [[nodiscard]] ring_status push(const T &value) {
        return push_copy(value, [this](T &copy) { return answer(wait_push(copy, ILK_FOREVER)); });
    }
    // Waits for room until a limit at most: ok, timed_out or closed. A passed limit still pushes where there is room.
    template <class Rep, class Period>
    [[nodiscard]] ring_status push_for(T &&value, const std::chrono::duration<Rep, Period> &length) {
        return answer(wait_push(value, deadline_in(length)));
    }
    template <class Rep, class Period>
    [[nodiscard]] ring_status push_for(const T &value, const std::chrono::duration<Rep, Period> &length) {
        return push_copy(value, [&](T &copy) { return answer(wait_push(copy, deadline_in(length))); });
    }
    template <class Clock, class Duration>
    [[nodiscard]] ring_status push_until(T &&value, const std::chrono::time_point<Clock, Duration> &limit) {
        return answer(
            detail::wait_until(limit, [&](std::uint64_t deadline) { return wait_push(value, deadline); }));
    }
    template <class Clock, class Duration>
    [[nodiscard]] ring_status push_until(const T &value,
                                         const std::chrono::time_point<Clock, Duration> &limit) {
        return push_copy(value, [&](T &copy) { return push_until(std::move(copy), limit); });
    }

    // ---- Pops ----

    // The oldest element; nothing where there is none. Never waits.
    [[nodiscard]] std::optional<T> try_pop() noexcept {
        std::optional<T> element;
        (void)attempt_pop(element);
        return element;
    }
    // Waits for an element as long as it takes: nothing means closed and drained.
    [[nodiscard]] std::optional<T> pop() noexcept {
        std::optional<T> element;
        (void)(wait_pop(element, ILK_FOREVER) == ILK_OK);
        return element;
    }
    // Waits for an element until a limit at most: `*status` says whether none came (timed_out) or none will (closed).
    template <class Rep, class Period>
    [[nodiscard]] std::optional<T> pop_for(const std::chrono::duration<Rep, Period> &length,
                                           ring_status *status = nullptr) {
        std::optional<T> element;
        tell(status, wait_pop(element, deadline_in(length)));
        return element;
    }
    template <class Clock, class Duration>
    [[nodiscard]] std::optional<T> pop_until(const std::chrono::time_point<Clock, Duration> &limit,
                                             ring_status *status = nullptr) {
        std::optional<T> element;
        tell(status,
             detail::wait_until(limit, [&](std::uint64_t deadline) { return wait_pop(element, deadline); }));
        return element;
    }

    // ---- The rest ----

    // Pushes fail from now on; pops drain the ring, then end. Any thread.
    void close() noexcept {
        Calls::close(ring_);
    }
    [[nodiscard]] bool is_closed() const noexcept {
        return Calls::is_closed(ring_);
    }
    // Beside other calls an estimate.
    [[nodiscard]] std::size_t size() const noexcept {
        return Calls::count(ring_);
    }
    [[nodiscard]] std::size_t capacity() const noexcept {
        return Calls::capacity(ring_);
    }
    // For names and diagnosis; for its other calls only where T is trivially copyable.
    [[nodiscard]] native_handle_type native_handle() noexcept {
        return ring_;
    }

    // The hook of <interlock/notify.h>, for trivially copyable elements (pointers are).
    void set_notify(ilk_notify function, void *context) noexcept {
        static_assert(is_bytes,
                      "the hook serves the waits of this ring: its elements are not trivially copyable");
        Calls::set_notify(ring_, function, context);
    }
    [[nodiscard]] bool arm_pop() noexcept {
        static_assert(is_bytes,
                      "the hook serves the waits of this ring: its elements are not trivially copyable");
        return Calls::arm_pop(ring_);
    }
    [[nodiscard]] bool arm_push() noexcept {
        static_assert(is_bytes,
                      "the hook serves the waits of this ring: its elements are not trivially copyable");
        return Calls::arm_push(ring_);
    }

  private:
    static void wake(void *self, ilk_ring_event event) {
        ring *const woken = static_cast<ring *>(self);
        (event == ILK_READABLE ? woken->consumers_ : woken->producers_).wake();
    }
    static ring_status answer(ilk_status status) noexcept {
        return static_cast<ring_status>(status);
    }
    static void tell(ring_status *out, ilk_status status) noexcept {
        if (out != nullptr) {
            *out = answer(status);
        }
    }

    template <class Push> static auto push_copy(const T &value, Push push) {
        T copy(value);
        return push(copy);
    }

    // Moves `value` only if it succeeds.
    bool attempt_push(T &value) noexcept {
        if constexpr (is_bytes) {
            return Calls::try_push(ring_, std::addressof(value), sizeof(T));
        } else {
            std::size_t count = 1;
            void *const slot = Calls::reserve(ring_, &count);
            if (slot == nullptr) {
                return false;
            }
            ::new (slot) T(std::move(value));
            Calls::commit(ring_, 1);
            return true;
        }
    }
    bool attempt_pop(std::optional<T> &element) noexcept {
        if constexpr (is_bytes) {
            alignas(T) unsigned char bytes[sizeof(T)];
            if (!Calls::try_pop(ring_, bytes, sizeof(T))) {
                return false;
            }
            element.emplace(std::move(*object_in(bytes)));
        } else {
            std::size_t count = 1;
            const void *const slot = Calls::peek(ring_, &count);
            if (slot == nullptr) {
                return false;
            }
            T *const object = object_in(const_cast<void *>(slot));
            element.emplace(std::move(*object));
            object->~T();
            Calls::release(ring_, 1);
        }
        return true;
    }

    ilk_status wait_push(T &value, std::uint64_t deadline) noexcept {
        if constexpr (is_bytes) {
            return Calls::push_until(ring_, std::addressof(value), sizeof(T), deadline);
        } else {
            return producers_.wait(
                deadline, [&] { return attempt_push(value); }, [this] { return Calls::arm_push(ring_); },
                [this] { return Calls::refuses_pushes(ring_); });
        }
    }
    ilk_status wait_pop(std::optional<T> &element, std::uint64_t deadline) noexcept {
        if constexpr (is_bytes) {
            alignas(T) unsigned char bytes[sizeof(T)];
            const ilk_status status = Calls::pop_until(ring_, bytes, sizeof(T), deadline);
            if (status == ILK_OK) {
                element.emplace(std::move(*object_in(bytes)));
            }
            return status;
        } else {
            return consumers_.wait(
                deadline, [&] { return attempt_pop(element); }, [this] { return Calls::arm_pop(ring_); },
                [this] { return Calls::is_drained(ring_); });
        }
    }

    static T *object_in(void *memory) noexcept {
        return std::launder(static_cast<T *>(memory));
    }

    using sleepers = std::conditional_t<is_bytes, no_sleepers, ring_sleepers>;

    native_handle_type ring_ = nullptr;
    sleepers consumers_, producers_;
};

} // namespace detail

// One producer thread, one consumer thread.
template <class T> class spsc_ring : public detail::ring<T, detail::spsc_calls> {
  public:
    using detail::ring<T, detail::spsc_calls>::ring;
};

// Any number of both.
template <class T> class mpmc_ring : public detail::ring<T, detail::mpmc_calls> {
  public:
    using detail::ring<T, detail::mpmc_calls>::ring;

    // Pushes in any case: a full ring gives up its oldest element, a closed one gives back `value`. Trivially copyable
    // elements only.
    template <class Element = T> // so that instantiating the class does not instantiate it
    [[nodiscard]] std::optional<T> push_overwriting(const detail::same_t<Element> &value) noexcept {
        static_assert(std::is_trivially_copyable_v<Element>, "an overwriting push copies bytes");
        alignas(T) unsigned char evicted[sizeof(T)];
        std::optional<T> element;
        if (ilk_mpmc_push_overwriting(this->native_handle(), std::addressof(value), sizeof(T), evicted)) {
            element.emplace(std::move(*std::launder(reinterpret_cast<T *>(evicted))));
        }
        return element;
    }
};

} // namespace interlock

#endif
