// SPDX-License-Identifier: Apache-2.0
//
// The two C rings under one protocol, so that the code for both is written once (RingPort+Elements.swift). A port is
// the address of a C ring and nothing else. Its calls are inlined into the caller and specialised for the ring, and
// cost what the C calls cost. The facade's types decide which thread may make which call: at a ring of one producer and
// one consumer, pushes are the producer's and pops the consumer's.

import CInterlock

/// A C ring, of either kind.
@usableFromInline
protocol RingPort: Sendable {
    associatedtype Ring
    init(_ ring: UnsafeMutablePointer<Ring>)
    var ring: UnsafeMutablePointer<Ring> { get }

    static func create(_ ring: inout UnsafeMutablePointer<Ring>?, capacity: Int, elementSize: Int)
        -> ilk_status
    func destroy()

    func tryPush(_ bytes: UnsafeRawPointer, _ size: Int) -> Bool
    /// `ILK_OK`, `ILK_TIMEDOUT` when there was no room in time, `ILK_CLOSED`.
    func push(_ bytes: UnsafeRawPointer, _ size: Int, until deadline: UInt64) -> ilk_status
    func tryPop(_ bytes: UnsafeMutableRawPointer, _ size: Int) -> Bool
    /// `ILK_OK`, `ILK_TIMEDOUT` when nothing came in time, `ILK_CLOSED` when nothing will ever come.
    func pop(_ bytes: UnsafeMutableRawPointer, _ size: Int, until deadline: UInt64) -> ilk_status
    /// The number of elements moved out, at most `room`.
    func tryPop(into memory: UnsafeMutableRawPointer, _ room: Int, _ size: Int) -> Int
    /// Reserves at most `slots` slots and sets how many; `commit` follows.
    func reserve(_ slots: inout Int) -> UnsafeMutableRawPointer?
    func commit(_ slots: Int)

    /// Arms the hook for room; false if there is some, or never will be.
    func armPush() -> Bool
    /// Arms the hook for elements; false if there is one, or never will be.
    func armPop() -> Bool
    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?)
    /// Adds an end of the ring to a wait set.
    func add(to set: OpaquePointer, _ event: ilk_ring_event, _ key: UnsafeMutableRawPointer) -> ilk_status

    func close()
    var isClosed: Bool { get }
    var count: Int { get }
}

/// The shared ring.
@frozen @usableFromInline
struct MPMCPort: RingPort {
    @usableFromInline let ring: UnsafeMutablePointer<ilk_mpmc>

    @inlinable @inline(__always)
    init(_ ring: UnsafeMutablePointer<ilk_mpmc>) { self.ring = ring }

    @inlinable
    static func create(
        _ ring: inout UnsafeMutablePointer<ilk_mpmc>?,
        capacity: Int,
        elementSize: Int
    ) -> ilk_status { ilk_mpmc_create(&ring, capacity, elementSize) }
    @inlinable
    func destroy() { ilk_mpmc_destroy(ring) }

    @inlinable @inline(__always)
    func tryPush(_ bytes: UnsafeRawPointer, _ size: Int) -> Bool { ilk_mpmc_try_push(ring, bytes, size) }
    @inlinable @inline(__always)
    func push(_ bytes: UnsafeRawPointer, _ size: Int, until deadline: UInt64) -> ilk_status {
        ilk_mpmc_push_until(ring, bytes, size, deadline)
    }
    @inlinable @inline(__always)
    func tryPop(_ bytes: UnsafeMutableRawPointer, _ size: Int) -> Bool { ilk_mpmc_try_pop(ring, bytes, size) }
    @inlinable @inline(__always)
    func pop(_ bytes: UnsafeMutableRawPointer, _ size: Int, until deadline: UInt64) -> ilk_status {
        ilk_mpmc_pop_until(ring, bytes, size, deadline)
    }
    @inlinable @inline(__always)
    func tryPop(into memory: UnsafeMutableRawPointer, _ room: Int, _ size: Int) -> Int {
        ilk_mpmc_try_pop_many(ring, memory, room, size)
    }
    @inlinable @inline(__always)
    func reserve(_ slots: inout Int) -> UnsafeMutableRawPointer? { ilk_mpmc_reserve(ring, &slots) }
    @inlinable @inline(__always)
    func commit(_ slots: Int) { ilk_mpmc_commit(ring, slots) }

    @inlinable
    func armPush() -> Bool { ilk_mpmc_arm_push(ring) }
    @inlinable
    func armPop() -> Bool { ilk_mpmc_arm_pop(ring) }
    @inlinable
    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?) {
        ilk_mpmc_set_notify(ring, hook, context)
    }
    @inlinable
    func add(to set: OpaquePointer, _ event: ilk_ring_event, _ key: UnsafeMutableRawPointer) -> ilk_status {
        ilk_wait_set_add_mpmc(set, ring, event, key)
    }

    @inlinable
    func close() { ilk_mpmc_close(ring) }
    @inlinable @inline(__always)
    var isClosed: Bool { ilk_mpmc_is_closed(ring) }
    @inlinable @inline(__always)
    var count: Int { ilk_mpmc_count(ring) }
}

/// The ring of one producer and one consumer.
@frozen @usableFromInline
struct SPSCPort: RingPort {
    @usableFromInline let ring: UnsafeMutablePointer<ilk_spsc>

    @inlinable @inline(__always)
    init(_ ring: UnsafeMutablePointer<ilk_spsc>) { self.ring = ring }

    @inlinable
    static func create(
        _ ring: inout UnsafeMutablePointer<ilk_spsc>?,
        capacity: Int,
        elementSize: Int
    ) -> ilk_status { ilk_spsc_create(&ring, capacity, elementSize) }
    @inlinable
    func destroy() { ilk_spsc_destroy(ring) }

    @inlinable @inline(__always)
    func tryPush(_ bytes: UnsafeRawPointer, _ size: Int) -> Bool { ilk_spsc_try_push(ring, bytes, size) }
    @inlinable @inline(__always)
    func push(_ bytes: UnsafeRawPointer, _ size: Int, until deadline: UInt64) -> ilk_status {
        ilk_spsc_push_until(ring, bytes, size, deadline)
    }
    @inlinable @inline(__always)
    func tryPop(_ bytes: UnsafeMutableRawPointer, _ size: Int) -> Bool { ilk_spsc_try_pop(ring, bytes, size) }
    @inlinable @inline(__always)
    func pop(_ bytes: UnsafeMutableRawPointer, _ size: Int, until deadline: UInt64) -> ilk_status {
        ilk_spsc_pop_until(ring, bytes, size, deadline)
    }
    @inlinable @inline(__always)
    func tryPop(into memory: UnsafeMutableRawPointer, _ room: Int, _ size: Int) -> Int {
        ilk_spsc_try_pop_many(ring, memory, room, size)
    }
    @inlinable @inline(__always)
    func reserve(_ slots: inout Int) -> UnsafeMutableRawPointer? { ilk_spsc_reserve(ring, &slots) }
    @inlinable @inline(__always)
    func commit(_ slots: Int) { ilk_spsc_commit(ring, slots) }

    @inlinable
    func armPush() -> Bool { ilk_spsc_arm_push(ring) }
    @inlinable
    func armPop() -> Bool { ilk_spsc_arm_pop(ring) }
    @inlinable
    func setHook(_ hook: ilk_notify?, _ context: UnsafeMutableRawPointer?) {
        ilk_spsc_set_notify(ring, hook, context)
    }
    @inlinable
    func add(to set: OpaquePointer, _ event: ilk_ring_event, _ key: UnsafeMutableRawPointer) -> ilk_status {
        ilk_wait_set_add_spsc(set, ring, event, key)
    }

    @inlinable
    func close() { ilk_spsc_close(ring) }
    @inlinable @inline(__always)
    var isClosed: Bool { ilk_spsc_is_closed(ring) }
    @inlinable @inline(__always)
    var count: Int { ilk_spsc_count(ring) }
}

// The address of a C ring; the facade's types decide which thread may make which call.
extension MPMCPort: @unchecked Sendable {}
// Sendable for MPMCPort's reasons.
extension SPSCPort: @unchecked Sendable {}
