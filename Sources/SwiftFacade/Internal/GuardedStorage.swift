// SPDX-License-Identifier: Apache-2.0
//
// The memory behind every lock-guarded value of the facade: one aligned allocation with the C lock at
// its start and the value behind it. It owns one invariant: the lock has one address from init to
// deinit. That is why it is an allocation at all: the address of a Swift stored property passed with
// `&` may be that of a temporary copy, and a lock that moves is no lock.
//
// The calls below are the C calls and nothing more, so that their inline fast paths end up in the
// caller. Who may touch `value` when is decided one level up, by the types that take closures.

import CInterlock

/// One allocation holding an `ilk_rwlock` and the value it guards.
@frozen @usableFromInline
struct GuardedStorage<Value: ~Copyable>: ~Copyable {
    @usableFromInline
    let base: UnsafeMutableRawPointer

    // Two guarded values never share a cache line: the threads of one would slow down those of the
    // other. 64 bytes is the line of every machine this runs on; the lock and a small value share one,
    // so that an uncontended access touches a single line.
    @inlinable
    static var alignment: Int {
        max(64, MemoryLayout<Value>.alignment)
    }

    @inlinable
    static var valueOffset: Int {
        let mask = MemoryLayout<Value>.alignment - 1
        return (MemoryLayout<ilk_rwlock>.size + mask) & ~mask
    }

    @inlinable
    init(_ value: consuming Value) {
        base = .allocate(
            byteCount: Self.valueOffset + MemoryLayout<Value>.size,
            alignment: Self.alignment
        )
        base.initializeMemory(as: ilk_rwlock.self, to: ilk_rwlock())
        (base + Self.valueOffset).initializeMemory(as: Value.self, to: value)
    }

    @inlinable
    deinit {
        // Reports a lock that is still held: a raw pair left open, or the value freed inside its closure.
        ilk_rwlock_destroy(lock)
        value.deinitialize(count: 1)
        base.deallocate()
    }

    @inlinable @inline(__always)
    var lock: UnsafeMutablePointer<ilk_rwlock> {
        base.assumingMemoryBound(to: ilk_rwlock.self)
    }

    /// The value; valid while the lock is held, for reading or for writing as it is held.
    @inlinable @inline(__always)
    var value: UnsafeMutablePointer<Value> {
        (base + Self.valueOffset).assumingMemoryBound(to: Value.self)
    }
}

// The allocation is reached through the lock only; readers share the value, so it must be Sendable.
extension GuardedStorage: @unchecked Sendable where Value: Sendable & ~Copyable {}
