// SPDX-License-Identifier: Apache-2.0
//
// Waiting until the entries satisfy a predicate, and going on under the same lock:
// Internal/CollectionStorage+Conditions.

extension SafeDictionary {
    /// Waits until `predicate` holds, then runs `body` with the entries in place while still holding the lock for
    /// writing. Blocks meanwhile, without holding the lock.
    ///
    /// Nothing has to be signalled: each change of the dictionary judges the predicates of those that wait, and wakes
    /// one only where its predicate holds, first come, first served.
    ///
    /// - Precondition: Neither closure calls this dictionary.
    /// - Parameters:
    ///   - predicate: Reads the entries, and nothing else that changes. Short: any thread that changes the dictionary
    ///     runs it.
    ///   - body: Changes the entries in place. `predicate` holds when it begins.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; what it changed until then stays changed.
    /// - Complexity: A change is O(*n*) in the predicates that wait, and costs nothing more while none does.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withWriteLock`")
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable ([Key: Value]) -> Bool,
        _ body: (inout [Key: Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        _ = storage.beginWriting("withWriteLock", when: predicate)
        return try changeWhole("withWriteLock", isBegun: true, body)
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the entries in place while still
    /// holding the lock for writing. Blocks meanwhile, without holding the lock.
    ///
    /// The limit is on the wait, not on `body`. A deadline that has passed still takes a free lock, and judges once.
    ///
    /// - Precondition: Neither closure calls this dictionary.
    /// - Parameter predicate: Reads the entries, and nothing else that changes. Short: any thread that changes the
    ///   dictionary runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    @inlinable
    @available(*, noasync, message: "it blocks the thread; use `try await withWriteLock`")
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable ([Key: Value]) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (inout [Key: Value]) throws(Failure) -> Result
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

    /// Waits until `predicate` holds, then runs `body` with the entries in place while still holding the lock for
    /// writing. Suspends the task meanwhile, without a thread.
    ///
    /// - Precondition: Neither closure calls this dictionary.
    /// - Parameters:
    ///   - isolation: The task stays on its actor, and `body` runs there.
    ///   - predicate: Reads the entries, and nothing else that changes. Short: any thread that changes the dictionary
    ///     runs it.
    ///   - body: Changes the entries in place. `predicate` holds when it begins.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; `body` has not run, and another waiter
    ///   has the wake-up. Where the predicate holds at once, `body` of a cancelled task runs. Otherwise what `body`
    ///   throws.
    @inlinable
    public func withWriteLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable ([Key: Value]) -> Bool,
        _ body: (inout [Key: Value]) throws(Failure) -> Output
    ) async throws -> Output {
        // Without a limit the wait never times out.
        try await suspendToWrite(when: predicate, until: nil, body)!
    }

    /// Waits until `predicate` holds, until `deadline` at most, then runs `body` with the entries in place while still
    /// holding the lock for writing. Suspends the task meanwhile, without a thread.
    ///
    /// - Precondition: Neither closure calls this dictionary.
    /// - Parameter predicate: Reads the entries, and nothing else that changes. Short: any thread that changes the
    ///   dictionary runs it.
    /// - Returns: What `body` returns, or `nil` if the predicate did not hold in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and `body` has not run; otherwise what
    ///   `body` throws.
    @inlinable
    public func withWriteLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable ([Key: Value]) -> Bool,
        until deadline: ContinuousClock.Instant,
        _ body: (inout [Key: Value]) throws(Failure) -> Output
    ) async throws -> Output? {
        try await suspendToWrite(when: predicate, until: deadline, body)
    }

    @inlinable
    func suspendToWrite<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when predicate: @escaping @Sendable ([Key: Value]) -> Bool,
        until deadline: ContinuousClock.Instant?,
        _ body: (inout [Key: Value]) throws(Failure) -> Output
    ) async throws -> Output? {
        try await storage.suspendToWrite("withWriteLock", when: predicate, until: deadline) {
            () throws(Failure) -> Output in
            try changeWhole("withWriteLock", isBegun: true, body)
        }
    }
}
