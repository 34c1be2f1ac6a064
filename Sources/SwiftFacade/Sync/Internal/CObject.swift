// SPDX-License-Identifier: Apache-2.0
//
// The memory of a C object that guards no Swift value (a semaphore, a latch, a mutex), with one address from init to
// deinit.

import CInterlock

@frozen @usableFromInline
package struct CObject<Object>: ~Copyable {
    @usableFromInline
    package let pointer: UnsafeMutablePointer<Object>

    @inlinable
    package init(_ initialize: (UnsafeMutablePointer<Object>) -> Void) {
        // A cache line of its own, as in GuardedStorage. Zero is a valid state of all these objects.
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

// Any number of threads may call the C objects here.
extension CObject: @unchecked Sendable {}
