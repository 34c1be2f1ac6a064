// SPDX-License-Identifier: Apache-2.0
//
// An array behind `Synchronization.Mutex`: what most Swift code would write today, and the fastest of the
// pure-Swift arrays as long as threads rarely meet.
//
// What the C-backed `SafeArray` can do and this array cannot: let readers run beside each other, and wait in a
// known order (here a running thread may overtake the waiters).

import Synchronization

/// An array behind a mutex. See `GuardedArray` for the calls; readers do not run beside each other.
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
