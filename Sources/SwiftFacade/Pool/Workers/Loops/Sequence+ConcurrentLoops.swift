// SPDX-License-Identifier: Apache-2.0
//
// These are the same loops over any sequence, whose elements are copied first, and with a limit.

import InterlockSync

extension Sequence where Element: Sendable {
    /// Works as the form of a random-access collection, of a copy of the elements.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentMap<Output: Sendable, Failure: Error>(
        on pool: WorkerPool? = nil,
        maxConcurrency: Int? = nil,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output] {
        try Array(self).concurrentMap(on: pool, maxConcurrency: maxConcurrency, transform)
    }

    /// Works as `concurrentMap(on:maxConcurrency:_:)`, with a limit: after `timeout` no element is begun; those in
    /// progress are waited for. An error of an element before all that were late is thrown.
    ///
    /// - Returns: `nil` if an element was not begun in time.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentMap<Output: Sendable, Failure: Error>(
        on pool: WorkerPool? = nil,
        maxConcurrency: Int? = nil,
        timeout: Duration,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output]? {
        try limited(pool, maxConcurrency, InterlockSync.deadline(in: timeout), transform)
    }

    /// Works as `concurrentMap(on:maxConcurrency:_:)`, without results.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentForEach<Failure: Error>(
        on pool: WorkerPool? = nil,
        maxConcurrency: Int? = nil,
        _ body: @Sendable (Element) throws(Failure) -> Void
    ) throws(Failure) {
        try Array(self).concurrentForEach(on: pool, maxConcurrency: maxConcurrency, body)
    }

    /// Works as `concurrentMap(on:maxConcurrency:timeout:_:)`, without results.
    ///
    /// - Returns: Whether every element was begun in time.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentForEach<Failure: Error>(
        on pool: WorkerPool? = nil,
        maxConcurrency: Int? = nil,
        timeout: Duration,
        _ body: @Sendable (Element) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try limited(pool, maxConcurrency, InterlockSync.deadline(in: timeout), body) != nil
    }

    /// The results; nil where the first element that failed was late.
    private func limited<Output: Sendable, Failure: Error>(
        _ pool: WorkerPool?,
        _ maxConcurrency: Int?,
        _ deadline: UInt64,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output]? {
        do throws(Failed<Failure>) {
            return try Array(self).concurrentMap(on: pool, maxConcurrency: maxConcurrency) {
                element throws(Failed<Failure>) in
                if hasPassed(deadline) { throw .late }
                do throws(Failure) { return try transform(element) } catch { throw .threw(error) }
            }
        } catch {
            switch error {
            case .late: return nil
            case .threw(let error): throw error
            }
        }
    }
}

/// Why an element of a loop with a limit has no output.
private enum Failed<Failure: Error>: Error {
    case late
    case threw(Failure)
}
