// SPDX-License-Identifier: Apache-2.0
//
// Map and for-each over several child tasks at once; a new one starts when one has ended.

import Foundation
import InterlockPool
import InterlockSync

extension Sequence where Element: Sendable {
    /// The results of `transform` for each element, in the elements' order, computed several at a time.
    ///
    /// The first error (in time) cancels the child tasks, no further element is begun, and the error is thrown once
    /// they have ended. A cancellation of the calling task does the same: the outcome is that of the elements in
    /// progress, or `CancellationError` where an element was not begun.
    ///
    /// - Parameters:
    ///   - maxConcurrency: how many elements are in progress at most; by default the number of processors. Below 1 is
    ///     misuse.
    ///   - transform: called once for each element begun, in a child task.
    /// - Returns: one result for each element. Everything the transforms did is visible.
    /// - Complexity: O(*n*) calls and child tasks.
    public func concurrentMap<Output: Sendable>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] {
        try await mapped(maxConcurrency, until: nil, transform)!
    }

    /// As the suspending `concurrentMap(maxConcurrency:_:)`, with a limit: no element is begun after `deadline`; those in
    /// progress are waited for.
    ///
    /// - Returns: `nil` if an element was not begun in time.
    public func concurrentMap<Output: Sendable>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        until deadline: ContinuousClock.Instant,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output]? {
        try await mapped(maxConcurrency, until: deadline, transform)
    }

    /// As the suspending `concurrentMap(maxConcurrency:until:_:)`, for `timeout` at most.
    public func concurrentMap<Output: Sendable>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        timeout: Duration,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output]? {
        try await mapped(maxConcurrency, until: moment(in: timeout), transform)
    }

    private func mapped<Output: Sendable>(
        _ maxConcurrency: Int,
        until deadline: ContinuousClock.Instant?,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output]? {
        requireRoom(for: maxConcurrency)
        let elements = Array(self)
        var results = [Output?](repeating: nil, count: elements.count)
        let isLate = try await withThrowingTaskGroup(of: (Int, Output).self) { group in
            var isLate = false
            for (index, element) in elements.enumerated() {
                if index >= maxConcurrency, let (done, output) = try await group.next() {
                    results[done] = output
                }
                try Task.checkCancellation()
                isLate = deadline.map { ContinuousClock.now >= $0 } ?? false
                if isLate { break }
                group.addTask { (index, try await transform(element)) }
            }
            for try await (done, output) in group { results[done] = output }
            return isLate
        }
        return isLate ? nil : results.map { $0! }
    }

    /// As the suspending `concurrentMap(maxConcurrency:_:)`, without results.
    public func concurrentForEach(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        _ = try await concurrentMap(maxConcurrency: maxConcurrency, body)
    }

    /// As the suspending `concurrentMap(maxConcurrency:until:_:)`, without results.
    ///
    /// - Returns: whether every element was begun in time.
    public func concurrentForEach(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws -> Bool {
        try await concurrentMap(maxConcurrency: maxConcurrency, until: deadline, body) != nil
    }

    /// As the suspending `concurrentForEach(maxConcurrency:until:_:)`, for `timeout` at most.
    public func concurrentForEach(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        timeout: Duration,
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws -> Bool {
        try await concurrentMap(maxConcurrency: maxConcurrency, timeout: timeout, body) != nil
    }
}
