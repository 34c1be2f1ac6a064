// SPDX-License-Identifier: Apache-2.0
//
// What the rings answer, and why a ring could not be made. A refused element comes back in the answer: one that cannot
// be copied would otherwise be lost. An error could not bring it back: errors are copyable and Sendable, elements need
// not be. The compiler (6.3) crashes on a case with a generic noncopyable pair, and has no label with two patterns for
// noncopyable payloads.

import CInterlock

/// What became of an element that was to be pushed. It owns a refused element: a `switch` or ``refused()`` takes it
/// out, or it is released with the answer.
///
/// Every verb that pushes one element answers it, and says which of the cases it knows.
@frozen
public enum PushResult<Element: ~Copyable>: ~Copyable {
    /// The element is in the ring.
    case pushed
    /// The ring is full: at the moment, or until the limit of the wait.
    case full(Element)
    /// The task was cancelled while it waited.
    case cancelled(Element)
    /// The ring is closed.
    case closed(Element)

    /// Whether the element is in the ring.
    @inlinable
    public var isPushed: Bool {
        switch self {
        case .pushed: true
        default: false
        }
    }

    /// The element, if it was refused.
    @inlinable
    public consuming func refused() -> Element? {
        switch consume self {
        case .pushed: nil
        case .full(let element): element
        case .cancelled(let element): element
        case .closed(let element): element
        }
    }

    /// The core's answer about the element in `slot`.
    @inlinable @inline(__always)
    init(_ status: ilk_status, _ slot: UnsafeMutablePointer<Element>) {
        switch status {
        case ILK_OK: self = .pushed
        case ILK_CLOSED: self = .closed(slot.move())
        default: self = .full(slot.move())
        }
    }
}

extension PushResult: Copyable where Element: Copyable {}
extension PushResult: Sendable where Element: Sendable & ~Copyable {}
extension PushResult: Equatable where Element: Equatable {}

/// What a pop with a limit took out of a ring.
@frozen
public enum PopResult<Element: ~Copyable>: ~Copyable {
    /// The oldest element.
    case popped(Element)
    /// The ring is empty: no element came in time.
    case empty
    /// The ring is closed and drained.
    case closed

    /// The element, if there is one.
    @inlinable
    public consuming func element() -> Element? {
        switch consume self {
        case .popped(let element): element
        case .empty: nil
        case .closed: nil
        }
    }
}

extension PopResult: Copyable where Element: Copyable {}
extension PopResult: Sendable where Element: Sendable & ~Copyable {}
extension PopResult: Equatable where Element: Equatable {}

/// Why a ring could not be made.
public enum RingError: Error, Equatable {
    /// The capacity is below 1, or the memory for it would exceed the address space.
    case invalidCapacity(Int)
    /// The system has no memory for this many elements.
    case outOfMemory(capacity: Int)
}
