// SPDX-License-Identifier: Apache-2.0
//
// These are the same loops with closures that suspend: the workers are child tasks.

import InterlockSync

extension Sequence where Element: Sendable {
    /// The results of `transform` for each element, in the elements' order, computed several at a time.
    ///
    /// Child tasks of the calling one, as many as `maxConcurrency`, take the elements in order: one by one, where an
    /// element takes longer than about 2 µs for each of them. The first error (in time) cancels them, no further
    /// element is begun, and the error is thrown once they have ended. A cancellation of the calling task does the
    /// same: the outcome is that of the elements in progress, or `CancellationError` where an element was not begun.
    ///
    /// - Parameters:
    ///   - maxConcurrency: How many elements are in progress at most; `nil`: as many as the process has processors.
    ///     Below 1 is misuse.
    ///   - transform: Called once for each element begun, in a child task.
    /// - Returns: One result for each element. Everything the transforms did is visible.
    /// - Complexity: O(*n*) calls, and `maxConcurrency` child tasks.
    @inlinable
    public func concurrentMap<Output: Sendable>(
        maxConcurrency: Int? = nil,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] {
        try await mapped("concurrentMap", maxConcurrency, forever, transform)!
    }

    /// Works as the suspending `concurrentMap(maxConcurrency:_:)`, with a limit: after `timeout` no element is begun;
    /// those in progress are waited for.
    ///
    /// - Returns: `nil` if an element was not begun in time.
    @inlinable
    public func concurrentMap<Output: Sendable>(
        maxConcurrency: Int? = nil,
        timeout: Duration,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output]? {
        try await mapped("concurrentMap", maxConcurrency, deadline(in: timeout), transform)
    }

    /// Works as the suspending `concurrentMap(maxConcurrency:_:)`, without results.
    @inlinable
    public func concurrentForEach(
        maxConcurrency: Int? = nil,
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        _ = try await mapped("concurrentForEach", maxConcurrency, forever, body)
    }

    /// Works as the suspending `concurrentMap(maxConcurrency:timeout:_:)`, without results.
    ///
    /// - Returns: Whether every element was begun in time.
    @inlinable
    public func concurrentForEach(
        maxConcurrency: Int? = nil,
        timeout: Duration,
        _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws -> Bool {
        try await mapped("concurrentForEach", maxConcurrency, deadline(in: timeout), body) != nil
    }

    @inlinable
    func mapped<Output: Sendable>(
        _ call: StaticString,
        _ maxConcurrency: Int?,
        _ deadline: UInt64,
        _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output]? {
        let elements = Array(self)
        let loop = LoopControl(call, elements.count, maxConcurrency)
        let outputs = LoopOutputs<Output>(.allocate(capacity: elements.count))
        defer { outputs.memory.deallocate() }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<loop.workers {
                    group.addTask { try await loop.work(on: elements, until: deadline, outputs, transform) }
                }
                // Not `waitForAll`: that waits for all before it throws, and cancels nothing.
                for try await _ in group {}
            }
        } catch {
            loop.release(outputs)
            throw error
        }
        guard loop.isComplete else {
            loop.release(outputs)
            try Task.checkCancellation()
            return nil
        }
        // It is as in the blocking form: the storage of the empty array is one object of the process.
        if loop.count == 0 { return [] }
        return [Output](unsafeUninitializedCapacity: loop.count) { memory, initialized in
            memory.baseAddress?.moveInitialize(from: outputs.memory, count: loop.count)
            initialized = loop.count
        }
    }
}

extension LoopControl {
    /// One child task.
    @inlinable
    func work<Element: Sendable, Output: Sendable>(
        on elements: [Element],
        until deadline: UInt64,
        _ outputs: LoopOutputs<Output>,
        _ transform: @Sendable (Element) async throws -> Output
    ) async throws {
        var pace = LoopPace()
        while let run = take(&pace) {
            for position in run {
                if Task.isCancelled || hasPassed(deadline) { return abandon(position..<run.upperBound) }
                do {
                    outputs.put(try await transform(elements[position]), at: position)
                } catch {
                    abandon(position..<run.upperBound)
                    throw error
                }
            }
        }
    }
}
