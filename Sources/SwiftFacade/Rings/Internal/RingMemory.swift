// SPDX-License-Identifier: Apache-2.0
//
// Swift elements in the C rings' memory. The rings copy bytes; here those copies become moves, so that each element has
// one owner at every moment. Swift gives a value up exactly when the ring has taken the bytes, and owns it again
// exactly when the ring has handed them out.
//
// Bytes may be moved like this because a Swift value does not depend on its address. The exception, on Apple platforms
// only, is a struct with a `weak` stored property: put such an element into a class.
//
// An element occupies its stride, at least one byte, so that an array of them is a batch, and `Void` is an element like
// any other. In specialised code both are constants, which turns the C copy into a move between registers.

import CInterlock

/// The bytes an element occupies in a ring.
@inlinable @inline(__always)
func ringElementSize<Element: ~Copyable>(_: Element.Type) -> Int {
    max(MemoryLayout<Element>.stride, 1)
}

/// Lets `give` hand the bytes of `element` to a ring. `answer` makes the result of the status, and moves the element
/// out of its slot again unless the status is `ILK_OK`.
@inlinable @inline(__always)
@unsafe
func handOver<Element: ~Copyable, Answer: ~Copyable>(
    _ element: consuming sending Element,
    _ give: (UnsafeRawPointer) -> ilk_status,
    answer: (ilk_status, UnsafeMutablePointer<Element>) -> Answer
) -> sending Answer {
    // The optional moves the value into a closure that may consume it only once.
    var element: Element? = consume element
    // The compiler assigns the answer to the region of the closures, which pass bytes on and keep nothing.
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
    /// The oldest element.
    case element(Element)
    case nothing(WhyNothing)

    /// The element, if there is one.
    @inlinable @inline(__always)
    consuming func element() -> Element? {
        switch consume self {
        case .element(let element): element
        case .nothing(_): nil
        }
    }
}

/// Why nothing came out of a ring.
@frozen @usableFromInline
enum WhyNothing {
    /// No element was there, or came in time.
    case timedOut
    /// The task was cancelled first; nothing was taken.
    case cancelled
    /// The ring is closed and drained.
    case closed

    /// The reason for a status of the C call.
    @inlinable @inline(__always)
    init(_ status: ilk_status) {
        self = status == ILK_CLOSED ? .closed : .timedOut
    }
}

/// Lets `take` get the bytes of an element out of a ring. The element, if `take` answers `ILK_OK`.
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
