// SPDX-License-Identifier: Apache-2.0
//
// The memory behind every lock-guarded value of the facade: one aligned allocation with the C lock at its start and the
// value behind it. Invariant: the lock has one address from init to deinit. A Swift stored property cannot give that:
// its address passed with `&` may be that of a temporary copy, and a lock that moves excludes nobody.
//
// The types that take closures, one level up, decide which thread may touch `value` when.

/// The cache line of the machines this runs on.
@inlinable
var cacheLine: Int { 64 }

/// `size` rounded up to whole cache lines, so that the allocator puts no other object on the last one.
@inlinable
func wholeCacheLines(_ size: Int) -> Int {
    (size + cacheLine - 1) & ~(cacheLine - 1)
}

/// One allocation holding a C lock, for which zero is a free lock, and the value it guards. The type that knows the
/// lock destroys it.
@frozen @usableFromInline
struct GuardedStorage<Lock, Value: ~Copyable>: ~Copyable {
    @usableFromInline
    let base: UnsafeMutableRawPointer

    // A guarded value shares no cache line with other objects: the threads of one would slow down those of the other.
    // The lock and a small value do share one, so that an uncontended access touches a single cache line.
    @inlinable
    static var alignment: Int {
        max(cacheLine, MemoryLayout<Value>.alignment)
    }

    @inlinable
    static var valueOffset: Int {
        let mask = MemoryLayout<Value>.alignment - 1
        return (MemoryLayout<Lock>.size + mask) & ~mask
    }

    @inlinable
    init(_ value: consuming Value) {
        base = .allocate(
            byteCount: wholeCacheLines(Self.valueOffset + MemoryLayout<Value>.size),
            alignment: Self.alignment
        )
        base.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<Lock>.size)
        base.bindMemory(to: Lock.self, capacity: 1)
        (base + Self.valueOffset).initializeMemory(as: Value.self, to: value)
    }

    @inlinable
    deinit {
        value.deinitialize(count: 1)
        base.deallocate()
    }

    @inlinable @inline(__always)
    var lock: UnsafeMutablePointer<Lock> {
        base.assumingMemoryBound(to: Lock.self)
    }

    /// The value; valid while the lock is held, for reading or for writing as it is held.
    ///
    /// Put it into a local before passing `&value.pointee` on. ThreadSanitizer takes `&storage.value.pointee` for a
    /// write to the start of `storage`, which is the lock, and reports a race that is none.
    @inlinable @inline(__always)
    var value: UnsafeMutablePointer<Value> {
        (base + Self.valueOffset).assumingMemoryBound(to: Value.self)
    }
}

// The allocation is reached through the lock only. A type whose threads share the value at the same time, as readers
// do, requires more.
extension GuardedStorage: @unchecked Sendable where Value: ~Copyable {}

/// A lock and its value with several owners, for a lock that a thread may still be in when its maker has dropped it.
@usableFromInline
final class SharedStorage<Lock, Value: ~Copyable>: Sendable {
    @usableFromInline
    let storage: GuardedStorage<Lock, Value>

    @inlinable
    init(_ value: consuming Value) {
        storage = GuardedStorage(value)
    }

    deinit {
        forgetName(of: storage.base)
    }

    @inlinable @inline(__always)
    var lock: UnsafeMutablePointer<Lock> {
        storage.lock
    }

    /// As ``GuardedStorage/value``.
    @inlinable @inline(__always)
    var value: UnsafeMutablePointer<Value> {
        storage.value
    }
}
