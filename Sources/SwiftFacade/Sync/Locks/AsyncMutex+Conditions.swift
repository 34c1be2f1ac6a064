// SPDX-License-Identifier: Apache-2.0
//
// Waiting until the value satisfies a predicate. A task that gives the mutex up judges, in the queue's order.

extension AsyncMutex where Value: ~Copyable {
    /// Waits until the mutex is free and `predicate` holds, then runs `body` with the value in place while holding the
    /// mutex. Suspends the task meanwhile.
    ///
    /// A task that gives the mutex up hands it to the first waiter whose predicate holds, and passes over those whose
    /// predicate does not; a waiter without one is passed over by none. So no wake-up is spurious: no task comes
    /// between the judgement and `body`.
    ///
    /// ```swift
    /// let photos = AsyncMutex<[Photo]>([])
    /// let photo = try await photos.withLock(when: { !$0.isEmpty }) { $0.removeFirst() }
    /// ```
    ///
    /// - Precondition: The task is not in a closure of this mutex.
    /// - Parameters:
    ///   - isolation: The task stays on its actor, and `body` runs there.
    ///   - predicate: Reads the value, and nothing else that changes. Short: any task that gives the mutex up runs it.
    ///   - body: May suspend; the mutex is held meanwhile. `predicate` holds when it begins.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; `body` has not run, and the mutex goes to
    ///   the next. A cancelled task still takes a free mutex whose value satisfies the predicate. Otherwise what `body`
    ///   throws; the mutex is given up first.
    /// - Complexity: Giving the mutex up is O(*n*) in the predicates that wait.
    public func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        _ body: (inout sending Value) async throws(Failure) -> sending Output
    ) async throws -> sending Output {
        // Without a limit the wait never times out.
        try await take(when: condition(predicate), body)!
    }

    /// Waits until the mutex is free and `predicate` holds, until `deadline` at most, then runs `body` with the value
    /// in place while holding the mutex. Suspends the task meanwhile.
    ///
    /// A deadline that has passed judges a free mutex once. The limit is on the wait, not on `body`.
    ///
    /// - Precondition: The task is not in a closure of this mutex.
    /// - Parameter predicate: Reads the value, and nothing else that changes. Short: any task that gives the mutex up
    ///   runs it.
    /// - Returns: What `body` returns, or `nil` if the mutex was not free with the predicate true in time and `body`
    ///   did not run.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and `body` has not run; otherwise what
    ///   `body` throws.
    public func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (inout sending Value) async throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        try await take(when: condition(predicate), until: deadline, body)
    }

    private func condition(_ predicate: @escaping @Sendable (borrowing Value) -> Bool) -> Condition {
        nonisolated(unsafe) let value = value
        return Condition { predicate(value.pointee) }
    }
}
