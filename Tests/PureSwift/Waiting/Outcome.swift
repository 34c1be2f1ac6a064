// SPDX-License-Identifier: Apache-2.0
//
// The answers of a call that waits. Deadlines are points in time of `ContinuousClock`; nil waits for ever.

/// How a waiting push ended.
public enum PushOutcome: Sendable, Equatable {
    /// The element is in the ring and will be popped.
    case pushed
    /// The ring is closed; the element was not taken.
    case closed
    /// The deadline passed first; the element was not taken.
    case timedOut
}

/// How a waiting pop ended.
public enum PopOutcome<Element> {
    /// The oldest element, now the caller's.
    case element(Element)
    /// The ring is closed and drained.
    case closed
    /// The deadline passed first.
    case timedOut
}

extension PopOutcome: Sendable where Element: Sendable {}
extension PopOutcome: Equatable where Element: Equatable {}
