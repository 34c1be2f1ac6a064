// SPDX-License-Identifier: Apache-2.0
//
// The memory of a C object that guards nothing in Swift (a semaphore, a latch, a barrier, a mutex): one
// aligned allocation, so that its address stays the same from init to deinit.

import CInterlock

/// One C object in memory of its own.
@frozen @usableFromInline
struct CObject<Object>: ~Copyable {
    @usableFromInline
    let pointer: UnsafeMutablePointer<Object>

    /// Makes room for an object, which `initialize` must make valid.
    @inlinable
    init(_ initialize: (UnsafeMutablePointer<Object>) -> Void) {
        // A cache line of its own, for the reason given in GuardedStorage. C zeroes nothing by itself,
        // and to all these objects zero is a valid state.
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: wholeCacheLines(MemoryLayout<Object>.size),
            alignment: cacheLine
        )
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<Object>.size)
        pointer = memory.bindMemory(to: Object.self, capacity: 1)
        initialize(pointer)
    }

    @inlinable
    deinit {
        forgetName(of: pointer)
        pointer.deallocate()
    }
}

// The C objects here are made for any number of threads.
extension CObject: @unchecked Sendable {}
