// SPDX-License-Identifier: Apache-2.0
//
// The place of a job's or an operation's output: in the slot if it is small, otherwise in memory of its own. With an
// `Output?` each output would give its owner another layout, which unspecialised code asks the runtime for, at each
// access.

@usableFromInline
package struct OutputSlot {
    @usableFromInline var words: (UInt, UInt) = (0, 0)
    @usableFromInline
    package var isStored = false

    @inlinable
    package init() {}

    @inlinable @inline(__always)
    package static func isInline<Value>(_: Value.Type) -> Bool {
        MemoryLayout<Value>.size <= 2 * MemoryLayout<UInt>.size
            && MemoryLayout<Value>.alignment <= MemoryLayout<UInt>.alignment
    }

    /// A copy of the value, which is stored.
    @inlinable @inline(__always)
    package static func load<Value>(_: Value.Type, from slot: UnsafeMutablePointer<OutputSlot>) -> Value {
        address(of: slot, Value.self).pointee
    }

    @inlinable @inline(__always)
    package static func address<Value>(
        of slot: UnsafeMutablePointer<OutputSlot>,
        _: Value.Type
    ) -> UnsafeMutablePointer<Value> {
        let words = UnsafeMutableRawPointer(slot)
        if isInline(Value.self) { return words.assumingMemoryBound(to: Value.self) }
        return words.assumingMemoryBound(to: UnsafeMutablePointer<Value>.self).pointee
    }

    @inlinable @inline(__always)
    package static func store<Value>(_ value: consuming Value, in slot: UnsafeMutablePointer<OutputSlot>) {
        let words = UnsafeMutableRawPointer(slot)
        if isInline(Value.self) {
            words.initializeMemory(as: Value.self, to: value)
        } else {
            let own = UnsafeMutablePointer<Value>.allocate(capacity: 1)
            own.initialize(to: value)
            words.initializeMemory(as: UnsafeMutablePointer<Value>.self, to: own)
        }
        slot.pointee.isStored = true
    }

    /// Frees the value, if there is one.
    @inlinable @inline(__always)
    package static func destroy<Value>(_: Value.Type, in slot: UnsafeMutablePointer<OutputSlot>) {
        guard slot.pointee.isStored else { return }
        let value = address(of: slot, Value.self)
        value.deinitialize(count: 1)
        if !isInline(Value.self) { value.deallocate() }
    }
}
