// SPDX-License-Identifier: Apache-2.0
//
// The memory behind every lock-guarded value of the facade: one aligned allocation, the C lock and then the value.
// Invariant: the lock has one address from init to deinit. A Swift stored property cannot give that: `&` may pass the
// address of a temporary copy, and a lock that moves excludes no thread. The types that take closures decide which
// thread may touch `value` when.

@inlinable
package var cacheLine: Int { 64 }

/// `size` rounded up to whole cache lines: the allocator puts no other object on the last one.
@inlinable
package func wholeCacheLines(_ size: Int) -> Int {
    (size + cacheLine - 1) & ~(cacheLine - 1)
}

/// A C lock, for which zero is a free lock, and the value it guards. The type that knows the lock destroys it.
@frozen @usableFromInline
package struct GuardedStorage<Lock, Value: ~Copyable>: ~Copyable {
    @usableFromInline
    package let base: UnsafeMutableRawPointer

    // A guarded value shares no cache line with other objects, whose threads it would slow down. The lock and a small
    // value share one. A packed one may: of many small ones that few threads contend for.
    @inlinable
    package static var alignment: Int {
        max(cacheLine, MemoryLayout<Value>.alignment)
    }

    @inlinable
    package static var valueOffset: Int {
        let mask = MemoryLayout<Value>.alignment - 1
        return (MemoryLayout<Lock>.size + mask) & ~mask
    }

    @inlinable
    package init(_ value: consuming Value, isPacked: Bool = false) {
        let size = Self.valueOffset + MemoryLayout<Value>.size
        base = .allocate(
            byteCount: isPacked ? size : wholeCacheLines(size),
            alignment: isPacked ? MemoryLayout<Value>.alignment : Self.alignment
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
    package var lock: UnsafeMutablePointer<Lock> {
        base.assumingMemoryBound(to: Lock.self)
    }

    /// The value; valid while the lock is held, for reading or for writing as it is held.
    ///
    /// Put it into a local before passing `&value.pointee` on. ThreadSanitizer takes `&storage.value.pointee` for a
    /// write to the lock at the start of `storage`, and reports a race that is none.
    @inlinable @inline(__always)
    package var value: UnsafeMutablePointer<Value> {
        (base + Self.valueOffset).assumingMemoryBound(to: Value.self)
    }
}

// The allocation is reached through the lock only. A type whose threads share the value, as readers do, requires more.
extension GuardedStorage: @unchecked Sendable where Value: ~Copyable {}
