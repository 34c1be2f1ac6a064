// SPDX-License-Identifier: Apache-2.0
//
// What the rings answer, and why a ring could not be made. A refused element comes back in the answer: one that cannot
// be copied would otherwise be lost. Each verb answers in a type with only the cases it can give. The compiler (6.3)
// crashes on a case with a generic noncopyable pair, and has no label with two patterns for noncopyable payloads.

import CInterlock

/// What became of an element offered to a ring without waiting. It owns a refused element: a `switch` or ``refused()``
/// takes it out, or it is released with the answer.
@frozen
public enum OfferResult<Element: ~Copyable>: ~Copyable {
    /// The element is in the ring.
    case pushed
    /// The ring is full.
    case full(Element)
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

extension OfferResult: Copyable where Element: Copyable {}
extension OfferResult: Sendable where Element: Sendable & ~Copyable {}
extension OfferResult: Equatable where Element: Equatable {}

/// As ``OfferResult``, where a thread waited without a limit.
@frozen
public enum PushResult<Element: ~Copyable>: ~Copyable {
    /// The element is in the ring.
    case pushed
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
        case .closed(let element): element
        }
    }

    @inlinable @inline(__always)
    init(_ status: ilk_status, _ slot: UnsafeMutablePointer<Element>) {
        switch status {
        case ILK_OK: self = .pushed
        default: self = .closed(slot.move())
        }
    }
}

extension PushResult: Copyable where Element: Copyable {}
extension PushResult: Sendable where Element: Sendable & ~Copyable {}
extension PushResult: Equatable where Element: Equatable {}

/// As ``OfferResult``, where a thread waited with a limit.
@frozen
public enum TimedPushResult<Element: ~Copyable>: ~Copyable {
    /// The element is in the ring.
    case pushed
    /// There was no room in time.
    case timedOut(Element)
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
        case .timedOut(let element): element
        case .closed(let element): element
        }
    }

    @inlinable @inline(__always)
    init(_ status: ilk_status, _ slot: UnsafeMutablePointer<Element>) {
        switch status {
        case ILK_OK: self = .pushed
        case ILK_TIMEDOUT: self = .timedOut(slot.move())
        default: self = .closed(slot.move())
        }
    }
}

extension TimedPushResult: Copyable where Element: Copyable {}
extension TimedPushResult: Sendable where Element: Sendable & ~Copyable {}
extension TimedPushResult: Equatable where Element: Equatable {}

/// As ``OfferResult``, where a task waited without a limit.
@frozen
public enum TaskPushResult<Element: ~Copyable>: ~Copyable {
    /// The element is in the ring.
    case pushed
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
        case .cancelled(let element): element
        case .closed(let element): element
        }
    }

    /// The answer of a wait without a limit.
    @inlinable @inline(__always)
    init(_ result: consuming TimedTaskPushResult<Element>) {
        switch consume result {
        case .pushed: self = .pushed
        case .timedOut(let element): self = .cancelled(element)
        case .cancelled(let element): self = .cancelled(element)
        case .closed(let element): self = .closed(element)
        }
    }
}

extension TaskPushResult: Copyable where Element: Copyable {}
extension TaskPushResult: Sendable where Element: Sendable & ~Copyable {}
extension TaskPushResult: Equatable where Element: Equatable {}

/// As ``OfferResult``, where a task waited with a limit.
@frozen
public enum TimedTaskPushResult<Element: ~Copyable>: ~Copyable {
    /// The element is in the ring.
    case pushed
    /// There was no room in time.
    case timedOut(Element)
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
        case .timedOut(let element): element
        case .cancelled(let element): element
        case .closed(let element): element
        }
    }
}

extension TimedTaskPushResult: Copyable where Element: Copyable {}
extension TimedTaskPushResult: Sendable where Element: Sendable & ~Copyable {}
extension TimedTaskPushResult: Equatable where Element: Equatable {}

/// What a pop with a limit took out of a ring.
@frozen
public enum PopResult<Element: ~Copyable>: ~Copyable {
    /// The oldest element.
    case popped(Element)
    /// No element came in time.
    case timedOut
    /// The ring is closed and drained.
    case closed

    /// The element, if there is one.
    @inlinable
    public consuming func element() -> Element? {
        switch consume self {
        case .popped(let element): element
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
