// SPDX-License-Identifier: Apache-2.0
//
// What the rings answer, and why a ring could not be made. A refused element comes back in the answer:
// an element that cannot be copied would otherwise be lost.

/// What became of an element that was offered to a ring.
@frozen
public enum PushResult<Element: ~Copyable>: ~Copyable {
    /// It is in the ring.
    case pushed
    /// There was no room; here it is again.
    case full(Element)
    /// There was no room in time; here it is again.
    case timedOut(Element)
    /// The ring is closed; here it is again.
    case closed(Element)
    /// The task was cancelled while it waited for room; here it is again.
    case cancelled(Element)

    /// Whether the element is in the ring.
    @inlinable
    public var isPushed: Bool {
        switch self {
        case .pushed: true
        case .full(_): false
        case .timedOut(_): false
        case .closed(_): false
        case .cancelled(_): false
        }
    }

    /// The element, if it was refused.
    @inlinable
    public consuming func refused() -> Element? {
        switch consume self {
        case .pushed: nil
        case .full(let element): element
        case .timedOut(let element): element
        case .closed(let element): element
        case .cancelled(let element): element
        }
    }
}

extension PushResult: Copyable where Element: Copyable {}
extension PushResult: Sendable where Element: Sendable & ~Copyable {}
extension PushResult: Equatable where Element: Equatable {}

/// What came out of a ring.
@frozen
public enum PopResult<Element: ~Copyable>: ~Copyable {
    /// The oldest element.
    case popped(Element)
    /// Nothing was there.
    case empty
    /// Nothing came in time.
    case timedOut
    /// The ring is closed and drained: nothing will ever come.
    case closed

    /// The element, if there is one.
    @inlinable
    public consuming func element() -> Element? {
        switch consume self {
        case .popped(let element): element
        case .empty: nil
        case .timedOut: nil
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
