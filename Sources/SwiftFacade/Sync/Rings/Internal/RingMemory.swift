// SPDX-License-Identifier: Apache-2.0
//
// Swift elements in the C rings' memory. The rings' copies of bytes become moves: Swift gives a value up exactly when
// the ring has taken the bytes, and owns it again exactly when the ring has handed them out.
//
// A Swift value does not depend on its address; on Apple platforms only, a struct with a `weak` stored property does:
// put such an element into a class.
//
// An element occupies its stride, at least one byte, so that an array is a batch and `Void` an element. In specialised
// code the size is a constant: the C copy becomes a move between registers.

import CInterlock

@inlinable @inline(__always)
func ringElementSize<Element: ~Copyable>(_: Element.Type) -> Int {
    max(MemoryLayout<Element>.stride, 1)
}

/// Lets `give` hand the bytes of `element` to a ring. `answer` makes the result, and moves the element out of its slot
/// again unless the status is `ILK_OK`.
@inlinable @inline(__always)
@unsafe
func handOver<Element: ~Copyable, Answer: ~Copyable>(
    _ element: consuming sending Element,
    _ give: (UnsafeRawPointer) -> ilk_status,
    answer: (ilk_status, UnsafeMutablePointer<Element>) -> Answer
) -> sending Answer {
    // The optional moves the value into a closure that may consume it only once.
    var element: Element? = consume element
    // The compiler assigns the answer to the region of the closures, which keep nothing.
    nonisolated(unsafe) let result = withUnsafeTemporaryAllocation(
        byteCount: ringElementSize(Element.self),
        alignment: MemoryLayout<Element>.alignment
    ) { memory -> Answer in
        let slot = memory.baseAddress!.bindMemory(to: Element.self, capacity: 1)
        slot.initialize(to: element.take()!)
        return answer(give(slot), slot)
    }
    return result
}

/// What came out of a ring, or why nothing did.
@frozen @usableFromInline
enum Popped<Element: ~Copyable>: ~Copyable {
    case element(Element)
    case nothing(WhyNothing)

    @inlinable @inline(__always)
    consuming func element() -> Element? {
        switch consume self {
        case .element(let element): element
        case .nothing(_): nil
        }
    }
}

@frozen @usableFromInline
enum WhyNothing {
    /// Empty, or no element came in time.
    case timedOut
    /// The task was cancelled first; nothing was taken.
    case cancelled
    /// The ring is closed and drained.
    case closed

    @inlinable @inline(__always)
    init(_ status: ilk_status) {
        self = status == ILK_CLOSED ? .closed : .timedOut
    }
}

/// Lets `take` get an element's bytes out of a ring; the element, if `take` answers `ILK_OK`.
@inlinable @inline(__always)
@unsafe
func takeOver<Element: ~Copyable>(
    _: Element.Type,
    _ take: (UnsafeMutableRawPointer) -> ilk_status
) -> sending Popped<Element> {
    nonisolated(unsafe) let result = withUnsafeTemporaryAllocation(
        byteCount: ringElementSize(Element.self),
        alignment: MemoryLayout<Element>.alignment
    ) { memory -> Popped<Element> in
        let slot = memory.baseAddress!.bindMemory(to: Element.self, capacity: 1)
        let status = take(slot)
        return status == ILK_OK ? .element(slot.move()) : .nothing(WhyNothing(status))
    }
    return result
}
