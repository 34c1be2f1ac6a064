// SPDX-License-Identifier: Apache-2.0
//
// The verbs of both rings for Swift elements, for those that do not suspend. The C call that does not wait comes first:
// an uncontended push or pop reads no clock and is one inlined C call.

import CInterlock

extension RingPort {
    @inlinable @inline(__always)
    func tryPush<Element: ~Copyable>(_ element: consuming sending Element) -> sending PushResult<Element> {
        handOver(element) { bytes in
            if tryPush(bytes, ringElementSize(Element.self)) { return ILK_OK }
            return isClosed ? ILK_CLOSED : ILK_TIMEDOUT
        } answer: {
            PushResult($0, $1)
        }
    }

    /// Pushes an element, waiting for room until `deadline` at most.
    @inlinable @inline(__always)
    func push<Element: ~Copyable>(
        _ element: consuming sending Element,
        until deadline: @autoclosure () -> UInt64
    ) -> sending PushResult<Element> {
        handOver(element) { bytes in
            if tryPush(bytes, ringElementSize(Element.self)) { return ILK_OK }
            return push(bytes, ringElementSize(Element.self), until: deadline())
        } answer: {
            PushResult($0, $1)
        }
    }

    @inlinable @inline(__always)
    func tryPop<Element: ~Copyable>(_: Element.Type) -> sending Element? {
        takeOver(Element.self) { bytes in
            tryPop(bytes, ringElementSize(Element.self)) ? ILK_OK : ILK_TIMEDOUT
        }.element()
    }

    /// Pops an element, waiting for one until `deadline` at most.
    @inlinable @inline(__always)
    func pop<Element: ~Copyable>(
        _: Element.Type,
        until deadline: @autoclosure () -> UInt64
    ) -> sending Popped<Element> {
        takeOver(Element.self) { bytes in
            if tryPop(bytes, ringElementSize(Element.self)) { return ILK_OK }
            return pop(bytes, ringElementSize(Element.self), until: deadline())
        }
    }

    /// One attempt to pop that knows closed from empty: a waiting call whose deadline has passed.
    func popOnce<Element: ~Copyable>(_: Element.Type) -> sending Popped<Element> {
        takeOver(Element.self) { pop($0, ringElementSize(Element.self), until: 0) }
    }

    /// One attempt to push an element's bytes, as ``popOnce(_:)``.
    func pushOnce(_ bytes: UnsafeRawPointer, _ size: Int) -> ilk_status {
        push(bytes, size, until: 0)
    }

    /// Copies in as many of the elements as fit. Returns how many, from the front.
    @inlinable @inline(__always)
    func tryPush<Element>(contentsOf elements: Span<Element>) -> Int {
        var pushed = 0
        while pushed < elements.count {
            var slots = elements.count - pushed
            guard let memory = reserve(&slots) else { break }
            let target = memory.bindMemory(to: Element.self, capacity: slots)
            for index in 0..<slots {
                (target + index).initialize(to: elements[pushed + index])
            }
            commit(slots)
            pushed += slots
        }
        return pushed
    }

    @inlinable @inline(__always)
    func tryPop<Element: ~Copyable>(into span: inout OutputSpan<Element>) -> Int {
        span.withUnsafeMutableBufferPointer { buffer, initialized in
            let room = buffer.count - initialized
            guard room > 0, let memory = buffer.baseAddress else { return 0 }
            let moved = tryPop(into: memory + initialized, room, ringElementSize(Element.self))
            initialized += moved
            return moved
        }
    }

    @inlinable @inline(__always)
    func tryPop<Element>(_: Element.Type, atMost wanted: Int) -> sending [Element] {
        let wanted = Swift.min(Swift.max(wanted, 0), count)
        nonisolated(unsafe) let popped = [Element](unsafeUninitializedCapacity: wanted) {
            buffer,
            initialized in
            guard let memory = buffer.baseAddress, wanted > 0 else { return }
            initialized = tryPop(into: memory, wanted, ringElementSize(Element.self))
        }
        return popped
    }
}
