// SPDX-License-Identifier: Apache-2.0
//
// Loops over several threads at once, with closures that do not suspend. Inlinable, so that the body of a loop is
// compiled where it is written: a call an element would cost more than a light body.
//
// The blocking forms are disfavoured so that `await` before the call decides where a closure fits both forms.

extension RandomAccessCollection where Self: Sendable {
    // MARK: Blocking

    /// Calls `body` with parts of the collection that together are the whole, several at a time: of a range of numbers
    /// with ranges, of an array with slices.
    ///
    /// For bodies so light that a loop over the part is worth more than a call an element. May be called from any
    /// thread, also inside another loop. Blocks the calling thread, which works too, until all threads are done. Where
    /// the pool has too few free threads, or is closed, those there are do the work, the calling one at least. So an
    /// element that waits for another to be in progress may wait for ever, also where both are in one part.
    ///
    /// A part is one element at first, and grows while parts take less than about 2 µs for each thread. Parts
    /// are begun in order. After an error no further part is begun; all before it run, so the error thrown is the first
    /// by position, as of a sequential loop.
    ///
    /// - Parameters:
    ///   - pool: Whose threads help; `nil`: ``WorkerPool/blocking``, where elements that block starve no other.
    ///     ``WorkerPool/shared`` is better for loops inside loops that compute: it has a thread for each processor.
    ///   - maxConcurrency: How many parts are in progress at most; `nil`: as many as the process has processors, or as
    ///     the pool has threads if those are fewer. More are of use where elements block. Below 1 is misuse.
    ///   - body: Called on the calling thread or one of the pool. What it did is visible after the loop.
    /// - Complexity: O(*n*); submits one job fewer than `maxConcurrency`, or than there are elements if those are
    ///   fewer.
    @inlinable @inline(__always)
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentForEachChunk<Failure: Error>(
        on pool: WorkerPool? = nil,
        maxConcurrency: Int? = nil,
        _ body: @Sendable (SubSequence) throws(Failure) -> Void
    ) throws(Failure) {
        let loop = LoopControl("concurrentForEachChunk", count, maxConcurrency, on: pool)
        try forEachChunk(loop, body)
    }

    /// Calls `body` with each element, several at a time; otherwise as
    /// ``concurrentForEachChunk(on:maxConcurrency:_:)``.
    ///
    /// Elements that block, or take longer than about 2 µs for each thread, are handed out one by one. After an error
    /// no element behind it is begun.
    @inlinable @inline(__always)
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
        let loop = LoopControl("concurrentForEach", count, maxConcurrency, on: pool)
        try forEach(loop, body)
    }

    /// The results of `transform` for each element, in the elements' order; otherwise as
    /// ``concurrentForEach(on:maxConcurrency:_:)``.
    ///
    /// - Returns: One result for each element, written in place by the thread that computes it.
    @inlinable @inline(__always)
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
        let loop = LoopControl("concurrentMap", count, maxConcurrency, on: pool)
        return try map(loop, transform)
    }

    // MARK: Suspending

    /// Calls `body` with parts of the collection, on several threads of the pool. Suspends the task; otherwise as the
    /// blocking form.
    ///
    /// A cancellation of the task ends the loop: no further part is begun.
    ///
    /// - Parameter priority: The loop's, among the jobs of the pool.
    /// - Throws: The first error by position; `CancellationError` where a part was not begun because of the
    ///   cancellation; ``WorkerPoolError/closed(pool:)`` where the pool was closed before the loop began.
    @inlinable
    public func concurrentForEachChunk(
        on pool: WorkerPool? = nil,
        maxConcurrency: Int? = nil,
        priority: WorkerPool.Priority = .normal,
        _ body: @escaping @Sendable (SubSequence) throws -> Void
    ) async throws {
        let loop = LoopControl("concurrentForEachChunk", count, maxConcurrency, on: pool, priority)
        try await loop.suspended { try self.forEachChunk(loop, body) }
    }

    /// Calls `body` with each element, on several threads of the pool. Suspends the task; otherwise as the suspending
    /// `concurrentForEachChunk`. After a cancellation no further element is begun.
    @inlinable
    public func concurrentForEach(
        on pool: WorkerPool? = nil,
        maxConcurrency: Int? = nil,
        priority: WorkerPool.Priority = .normal,
        _ body: @escaping @Sendable (Element) throws -> Void
    ) async throws {
        let loop = LoopControl("concurrentForEach", count, maxConcurrency, on: pool, priority)
        try await loop.suspended { try self.forEach(loop, body) }
    }

    /// The results of `transform` for each element, in the elements' order. Suspends the task; otherwise as the
    /// suspending `concurrentForEach`.
    @inlinable
    public func concurrentMap<Output: Sendable>(
        on pool: WorkerPool? = nil,
        maxConcurrency: Int? = nil,
        priority: WorkerPool.Priority = .normal,
        _ transform: @escaping @Sendable (Element) throws -> Output
    ) async throws -> [Output] {
        let loop = LoopControl("concurrentMap", count, maxConcurrency, on: pool, priority)
        return try await loop.suspended { try self.map(loop, transform) }
    }

    // MARK: -

    @inlinable @inline(__always)
    func forEachChunk<Failure: Error>(
        _ loop: LoopControl,
        _ body: @Sendable (SubSequence) throws(Failure) -> Void
    ) throws(Failure) {
        loop.run { run in
            do throws(Failure) {
                try body(chunk(run))
            } catch {
                loop.fail(error, at: run.lowerBound)
                loop.abandon(run)
            }
        }
        try loop.throwFailure(Failure.self)
    }

    @inlinable @inline(__always)
    func forEach<Failure: Error>(
        _ loop: LoopControl,
        _ body: @Sendable (Element) throws(Failure) -> Void
    ) throws(Failure) {
        loop.run { run in
            loop.forEach(in: run, of: self) { element, _ throws(Failure) in try body(element) }
        }
        try loop.throwFailure(Failure.self)
    }

    @inlinable @inline(__always)
    func map<Output: Sendable, Failure: Error>(
        _ loop: LoopControl,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output] {
        // The storage of the empty array is one object of the process, which the initialiser writes to.
        if loop.count == 0 { return [] }
        let outputs = [Output](unsafeUninitializedCapacity: loop.count) { memory, initialized in
            let outputs = LoopOutputs(memory.baseAddress!)
            loop.run { run in
                loop.forEach(in: run, of: self) { element, position throws(Failure) in
                    outputs.put(try transform(element), at: position)
                }
            }
            if loop.isComplete { initialized = loop.count } else { loop.release(outputs) }
        }
        try loop.throwFailure(Failure.self)
        return outputs
    }
}
