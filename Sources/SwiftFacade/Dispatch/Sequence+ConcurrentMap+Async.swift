// SPDX-License-Identifier: Apache-2.0
//
// Map and for-each over several child tasks at once; a new one starts when one has ended.

import Foundation

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
        let elements = Array(self)
        let limit = validated(maxConcurrency, "concurrentMap")
        var results = [Output?](repeating: nil, count: elements.count)
        try await withThrowingTaskGroup(of: (Int, Output).self) { group in
            for (index, element) in elements.enumerated() {
                if index >= limit, let (done, output) = try await group.next() { results[done] = output }
                try Task.checkCancellation()
                group.addTask { (index, try await transform(element)) }
            }
            for try await (done, output) in group { results[done] = output }
        }
        return results.map { $0! }
    }

    /// As the suspending `concurrentMap(maxConcurrency:_:)`, without results.
    public func concurrentForEach(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        _ = try await concurrentMap(maxConcurrency: maxConcurrency, body)
    }
}
