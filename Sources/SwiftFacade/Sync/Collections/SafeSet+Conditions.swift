// SPDX-License-Identifier: Apache-2.0
//
// Waiting until the members satisfy a predicate, and going on under the same lock:
// Internal/CollectionStorage+Conditions.

extension SafeSet {
    /// Waits until `predicate` holds, then runs `body` with the members in place while still holding the lock for
    /// writing. Blocks meanwhile, without holding the lock.
    ///
    /// Nothing has to be signalled: each change of the set judges the predicates of those that wait, and wakes one only
    /// where its predicate holds, first come, first served.
    ///
    /// - Precondition: Neither closure calls this set.
    /// - Parameters:
    ///   - predicate: Reads the members, and nothing else that changes. Short: any thread that changes the set runs it.
    ///   - body: Changes the members in place. `predicate` holds when it begins.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; what it changed until then stays changed.
    /// - Complexity: A change is O(*n*) in the predicates that wait, and costs nothing more while none does.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withWriteLock`")
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (Set<Element>) -> Bool,
        _ body: (inout Set<Element>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        _ = storage.beginWriting("withWriteLock", when: predicate)
        return try changeWhole("withWriteLock", isBegun: true, body)
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the members in place while still
    /// holding the lock for writing. Blocks meanwhile, without holding the lock.
    ///
    /// The limit is on the wait, not on `body`. A deadline that has passed still takes a free lock, and judges once.
    ///
    /// - Precondition: Neither closure calls this set.
    /// - Parameter predicate: Reads the members, and nothing else that changes. Short: any thread that changes the set
    ///   runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withWriteLock`")
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (Set<Element>) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (inout Set<Element>) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard
            storage.beginWriting(
                "withWriteLock",
                when: predicate,
                until: { InterlockSync.deadline(at: deadline) }
            )
        else { return nil }
        return try changeWhole("withWriteLock", isBegun: true, body)
    }

    /// Waits until `predicate` holds, then runs `body` with the members in place while still holding the lock for
    /// writing. Suspends the task meanwhile, without a thread.
    ///
    /// - Precondition: Neither closure calls this set.
    /// - Parameters:
    ///   - isolation: The task stays on its actor, and `body` runs there.
    ///   - predicate: Reads the members, and nothing else that changes. Short: any thread that changes the set runs it.
    ///   - body: Changes the members in place. `predicate` holds when it begins.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; `body` has not run, and another waiter
    ///   has the wake-up. Where the predicate holds at once, `body` of a cancelled task runs. Otherwise what `body`
    ///   throws.
    @inlinable
    public func withWriteLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (Set<Element>) -> Bool,
        _ body: (inout Set<Element>) throws(Failure) -> Output
    ) async throws -> Output {
        // Without a limit the wait never times out.
        try await suspendToWrite(when: predicate, until: nil, body)!
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the members in place while still
    /// holding the lock for writing. Suspends the task meanwhile, without a thread.
    ///
    /// - Precondition: Neither closure calls this set.
    /// - Parameter predicate: Reads the members, and nothing else that changes. Short: any thread that changes the set
    ///   runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and `body` has not run; otherwise what
    ///   `body` throws.
    @inlinable
    public func withWriteLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (Set<Element>) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (inout Set<Element>) throws(Failure) -> Output
    ) async throws -> Output? {
        try await suspendToWrite(when: predicate, until: deadline, body)
    }

    @inlinable
    func suspendToWrite<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable (Set<Element>) -> Bool,
        until deadline: ContinuousClock.Instant?,
        _ body: (inout Set<Element>) throws(Failure) -> Output
    ) async throws -> Output? {
        try await storage.suspendToWrite("withWriteLock", when: predicate, until: deadline) {
            () throws(Failure) -> Output in
            try changeWhole("withWriteLock", isBegun: true, body)
        }
    }
}
