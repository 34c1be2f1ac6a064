// SPDX-License-Identifier: Apache-2.0
//
// The calls of ilk_spsc and of ilk_mpmc under common names, for <interlock/cxx/rings.hpp>, and the wait of a ring whose
// elements are not bytes to copy. The core's own waits copy bytes. This one arms the ring's hook instead, which counts
// up a word that the waiters sleep on. Include rings.hpp, not this one.
#ifndef INTERLOCK_CXX_RING_CALLS_HPP
#define INTERLOCK_CXX_RING_CALLS_HPP

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/mpmc.h>
#include <interlock/notify.h>
#include <interlock/park.h>
#include <interlock/spsc.h>

#include <cstddef>
#include <cstdint>
#include <thread>

namespace interlock {
namespace detail {

struct spsc_calls {
    using handle = ilk_spsc;
    static constexpr auto create = ilk_spsc_create;
    static constexpr auto destroy = ilk_spsc_destroy;
    static constexpr auto reserve = ilk_spsc_reserve;
    static constexpr auto commit = ilk_spsc_commit;
    static constexpr auto peek = ilk_spsc_peek;
    static constexpr auto release = ilk_spsc_release;
    static constexpr auto close = ilk_spsc_close;
    static constexpr auto is_closed = ilk_spsc_is_closed;
    static constexpr auto set_notify = ilk_spsc_set_notify;
    static constexpr auto arm_pop = ilk_spsc_arm_pop;
    static constexpr auto arm_push = ilk_spsc_arm_push;
    static constexpr auto count = ilk_spsc_count;
    static constexpr auto capacity = ilk_spsc_capacity;

    static bool try_push(handle *ring, const void *element, std::size_t size) noexcept {
        return ilk_spsc_try_push(ring, element, size);
    }
    static bool try_pop(handle *ring, void *element, std::size_t size) noexcept {
        return ilk_spsc_try_pop(ring, element, size);
    }
    static ilk_status push_until(handle *ring, const void *element, std::size_t size,
                                 std::uint64_t deadline) noexcept {
        return ilk_spsc_push_until(ring, element, size, deadline);
    }
    static ilk_status pop_until(handle *ring, void *element, std::size_t size,
                                std::uint64_t deadline) noexcept {
        return ilk_spsc_pop_until(ring, element, size, deadline);
    }
    // Before is_closed: a push must not wait for a close that is halfway.
    static bool refuses_pushes(const handle *ring) noexcept {
        return (ilk__spsc_flags(ring) & ILK__SPSC_CLOSED) != 0;
    }
    static bool is_drained(const handle *ring) noexcept {
        return ilk__spsc_is_drained(ring);
    }
};

struct mpmc_calls {
    using handle = ilk_mpmc;
    static constexpr auto create = ilk_mpmc_create;
    static constexpr auto destroy = ilk_mpmc_destroy;
    static constexpr auto reserve = ilk_mpmc_reserve;
    static constexpr auto commit = ilk_mpmc_commit;
    static constexpr auto peek = ilk_mpmc_peek;
    static constexpr auto release = ilk_mpmc_release;
    static constexpr auto close = ilk_mpmc_close;
    static constexpr auto is_closed = ilk_mpmc_is_closed;
    static constexpr auto set_notify = ilk_mpmc_set_notify;
    static constexpr auto arm_pop = ilk_mpmc_arm_pop;
    static constexpr auto arm_push = ilk_mpmc_arm_push;
    static constexpr auto count = ilk_mpmc_count;
    static constexpr auto capacity = ilk_mpmc_capacity;

    static bool try_push(handle *ring, const void *element, std::size_t size) noexcept {
        return ilk_mpmc_try_push(ring, element, size);
    }
    static bool try_pop(handle *ring, void *element, std::size_t size) noexcept {
        return ilk_mpmc_try_pop(ring, element, size);
    }
    static ilk_status push_until(handle *ring, const void *element, std::size_t size,
                                 std::uint64_t deadline) noexcept {
        return ilk_mpmc_push_until(ring, element, size, deadline);
    }
    static ilk_status pop_until(handle *ring, void *element, std::size_t size,
                                std::uint64_t deadline) noexcept {
        return ilk_mpmc_pop_until(ring, element, size, deadline);
    }
    static bool refuses_pushes(const handle *ring) noexcept {
        return ilk_mpmc_is_closed(ring);
    }
    // A closed ring claims no more slots for pushes: once none is left it stays so.
    static bool is_drained(const handle *ring) noexcept {
        return ilk_mpmc_is_closed(ring) && ilk_mpmc_count(ring) == 0;
    }
};

// One side's sleepers: an event is counted first, then the sleepers are woken.
class ring_sleepers {
  public:
    void wake() noexcept {
        events_.fetch_add(1);
        ilk_park_wake(&events_, ILK_PARK_ALL);
    }

    // `attempt` until it succeeds. `arm`: the ring's arm call. `has_ended`: whether an attempt that has just failed is
    // the last.
    template <class Attempt, class Arm, class HasEnded>
    ilk_status wait(std::uint64_t deadline, Attempt attempt, Arm arm, HasEnded has_ended) noexcept {
        for (int probe = 0; probe < spins; probe++) {
            if (attempt()) {
                return ILK_OK;
            }
            ilk_cpu_relax();
        }
        for (bool late = false;;) {
            const std::uint32_t seen = events_.load();
            if (attempt()) {
                return ILK_OK;
            }
            if (late) {
                return ILK_TIMEDOUT;
            }
            if (arm()) {
                late = ilk_park_wait(&events_, seen, deadline) == ILK_TIMEDOUT;
                continue;
            }
            if (attempt()) {
                return ILK_OK;
            }
            if (has_ended()) {
                return ILK_CLOSED;
            }
            late = deadline != ILK_FOREVER && ilk_now_ns() >= deadline;
            std::this_thread::yield(); // another thread was faster
        }
    }

  private:
    static constexpr int spins = 64;

    ILK_ATOMIC(std::uint32_t) events_{0};
};

} // namespace detail
} // namespace interlock

#endif
