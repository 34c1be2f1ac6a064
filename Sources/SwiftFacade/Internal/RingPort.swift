// SPDX-License-Identifier: Apache-2.0
//
// The two C rings as what stands behind them sees them: one attempt each way, the hook, and the end.

import CInterlock

/// A C ring, of either kind.
protocol RingPort: Sendable {
    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?)
    func close()
    var isClosed: Bool { get }
}

/// The shared ring.
struct MPMCPort: RingPort {
    let ring: UnsafeMutablePointer<ilk_mpmc>

    // A deadline that has passed makes one attempt of the waiting calls, which know closed from empty.

    /// One attempt: `ILK_OK`, `ILK_TIMEDOUT` when there is no room, `ILK_CLOSED`.
    func push(_ bytes: UnsafeRawPointer, _ size: Int) -> ilk_status {
        ilk_mpmc_push_until(ring, bytes, size, 0)
    }
    /// One attempt: `ILK_OK`, `ILK_TIMEDOUT` when there is nothing, `ILK_CLOSED` when nothing will ever come.
    func pop(_ bytes: UnsafeMutableRawPointer, _ size: Int) -> ilk_status {
        ilk_mpmc_pop_until(ring, bytes, size, 0)
    }
    /// Arms the hook for room; false if there is some, or never will be.
    func armPush() -> Bool { ilk_mpmc_arm_push(ring) }
    /// Arms the hook for elements; false if there is one, or never will be.
    func armPop() -> Bool { ilk_mpmc_arm_pop(ring) }

    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?) {
        ilk_mpmc_set_notify(ring, hook, context)
    }
    func close() { ilk_mpmc_close(ring) }
    var isClosed: Bool { ilk_mpmc_is_closed(ring) }
}

/// The ring of one producer and one consumer: what is said of each call says who may call it.
struct SPSCPort: RingPort {
    let ring: UnsafeMutablePointer<ilk_spsc>

    /// One attempt, as ``MPMCPort/push(_:_:)``. The producer's.
    func push(_ bytes: UnsafeRawPointer, _ size: Int) -> ilk_status {
        ilk_spsc_push_until(ring, bytes, size, 0)
    }
    /// One attempt, as ``MPMCPort/pop(_:_:)``. The consumer's.
    func pop(_ bytes: UnsafeMutableRawPointer, _ size: Int) -> ilk_status {
        ilk_spsc_pop_until(ring, bytes, size, 0)
    }
    /// As ``MPMCPort/armPush()``. The producer's.
    func armPush() -> Bool { ilk_spsc_arm_push(ring) }
    /// As ``MPMCPort/armPop()``. The consumer's.
    func armPop() -> Bool { ilk_spsc_arm_pop(ring) }

    // Anybody's.
    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?) {
        ilk_spsc_set_notify(ring, hook, context)
    }
    func close() { ilk_spsc_close(ring) }
    var isClosed: Bool { ilk_spsc_is_closed(ring) }
}

// The address of a C ring; who may call what is the caller's business.
extension MPMCPort: @unchecked Sendable {}
// It is a pointer to the C ring, whose calls are made for two threads; who calls what is the ring's rule.
extension SPSCPort: @unchecked Sendable {}
