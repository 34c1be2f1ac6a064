// SPDX-License-Identifier: Apache-2.0
//
// An array behind `Synchronization.Mutex`: the usual Swift code, and the fastest of the pure-Swift arrays while threads
// rarely meet. A running thread may overtake waiters.

import Synchronization

/// An array behind a mutex; readers do not run beside each other. See `GuardedArray`.
public final class MutexArray<Element: Sendable>: GuardedArray {
    @usableFromInline let elements: SanitizerVisibleMutex<[Element]>

    /// An array that starts with `elements`.
    public init(_ elements: [Element]) {
        self.elements = SanitizerVisibleMutex(elements)
    }

    /// Runs `body` alone with the elements. Blocks while another section runs.
    @inlinable
    public func withReadLock<Result: Sendable, Failure: Error>(
        _ body: ([Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try elements.withLock { (elements) throws(Failure) in try body(elements) }
    }

    /// Runs `body` alone with the elements, in place. Blocks while another section runs.
    @inlinable
    public func withWriteLock<Result: Sendable, Failure: Error>(
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try elements.withLock { (elements) throws(Failure) in try body(&elements) }
    }
}
