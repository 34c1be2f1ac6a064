// SPDX-License-Identifier: Apache-2.0
//
// The two C rings as the lines of tasks behind them see them: one attempt each way, and the hook.

import CInterlock

/// A C ring whose elements have the given size.
protocol RingPort: Sendable {
    /// One attempt: `ILK_OK`, `ILK_TIMEDOUT` when there is no room, `ILK_CLOSED`.
    func push(_ bytes: UnsafeRawPointer, _ size: Int) -> ilk_status
    /// One attempt: `ILK_OK`, `ILK_TIMEDOUT` when there is nothing, `ILK_CLOSED` when nothing will ever come.
    func pop(_ bytes: UnsafeMutableRawPointer, _ size: Int) -> ilk_status
    /// Arms the hook for room; false if there is some, or never will be.
    func armPush() -> Bool
    /// Arms the hook for elements; false if there is one, or never will be.
    func armPop() -> Bool
    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?)
    func close()
}

struct MPMCPort: RingPort {
    let ring: UnsafeMutablePointer<ilk_mpmc>

    // A deadline that has passed makes one attempt of the waiting calls, which know closed from empty.
    func push(_ bytes: UnsafeRawPointer, _ size: Int) -> ilk_status {
        ilk_mpmc_push_until(ring, bytes, size, 0)
    }
    func pop(_ bytes: UnsafeMutableRawPointer, _ size: Int) -> ilk_status {
        ilk_mpmc_pop_until(ring, bytes, size, 0)
    }
    func armPush() -> Bool { ilk_mpmc_arm_push(ring) }
    func armPop() -> Bool { ilk_mpmc_arm_pop(ring) }
    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?) {
        ilk_mpmc_set_notify(ring, hook, context)
    }
    func close() { ilk_mpmc_close(ring) }
}

struct SPSCPort: RingPort {
    let ring: UnsafeMutablePointer<ilk_spsc>

    func push(_ bytes: UnsafeRawPointer, _ size: Int) -> ilk_status {
        ilk_spsc_push_until(ring, bytes, size, 0)
    }
    func pop(_ bytes: UnsafeMutableRawPointer, _ size: Int) -> ilk_status {
        ilk_spsc_pop_until(ring, bytes, size, 0)
    }
    func armPush() -> Bool { ilk_spsc_arm_push(ring) }
    func armPop() -> Bool { ilk_spsc_arm_pop(ring) }
    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?) {
        ilk_spsc_set_notify(ring, hook, context)
    }
    func close() { ilk_spsc_close(ring) }
}

// The address of a C ring; who may call what is the caller's business.
extension MPMCPort: @unchecked Sendable {}
// It is a pointer to the C ring, whose calls are made for two threads; who calls what is the ring's rule.
extension SPSCPort: @unchecked Sendable {}
