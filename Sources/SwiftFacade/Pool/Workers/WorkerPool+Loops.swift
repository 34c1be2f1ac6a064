// SPDX-License-Identifier: Apache-2.0
//
// For-each and map over a collection's indices. Inlinable, so that the body of a loop is compiled where it is written:
// a generic call an element would cost more than a light body.

import CInterlock
import InterlockSync

/// Parts of a loop for each thread, where the caller does not choose. Fewer than the C core would take: a part of a
/// Swift loop costs 10 to 17 ns, and with these a very uneven loop of 10,000 iterations is level with
/// `concurrentPerform` (bench swift, loops).
private let partsPerThread = 1_024

extension WorkerPool {
    // MARK: Blocking

    /// Calls `body` for each element, on several threads of the pool. Blocks the thread; a worker of the pool takes part.
    ///
    /// Which thread has which element, and in which order, is not defined. After an error no element behind it is begun,
    /// and those before it still run, so the error thrown is the first by position.
    ///
    /// - Parameters:
    ///   - elements: Read by several threads at a time.
    ///   - grain: How many elements a thread takes at a time at most; `nil`: chosen by the length. A number below 1 is
    ///     reported and ends the process.
    /// - Throws: ``WorkerPoolRunError/failed(_:)`` with the first error by position; ``WorkerPoolRunError/notRun(_:)``
    ///   where the pool is closed: nothing was called. A loop of a job of the pool is not refused.
    /// - Complexity: O(*n*) calls. Calls `ilk_pool_for`.
    @inlinable
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await forEach` in a function"
    )
    public func forEach<Elements: RandomAccessCollection & Sendable, Failure: Error>(
        _ elements: Elements,
        grain: Int? = nil,
        _ body: @Sendable (Elements.Element) throws(Failure) -> Void
    ) throws(WorkerPoolRunError<Failure>) {
        let control = LoopControl()
        let hasRun = loop(elements.count, grain) { first, end in
            control.runPart(of: elements, first, end) { element, _ throws(Failure) in try body(element) }
        }
        try end(hasRun, control, Failure.self)
    }

    /// The results of `transform` for each element, in the elements' order; otherwise as ``forEach(_:grain:_:)``.
    ///
    /// - Returns: One result for each element.
    @inlinable
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await map` in a function"
    )
    public func map<Elements: RandomAccessCollection & Sendable, Output: Sendable, Failure: Error>(
        _ elements: Elements,
        grain: Int? = nil,
        _ transform: @Sendable (Elements.Element) throws(Failure) -> Output
    ) throws(WorkerPoolRunError<Failure>) -> [Output] {
        let control = LoopControl()
        let results = LoopResults<Output>(count: elements.count)
        let hasRun = loop(elements.count, grain) { first, end in
            control.runPart(of: elements, first, end) { element, position throws(Failure) in
                results.put(try transform(element), at: position)
            }
        }
        try end(hasRun, control, Failure.self)
        return results.take()
    }

    // MARK: Suspending

    /// Calls `body` for each element, on several threads of the pool. Suspends the task; otherwise as the blocking
    /// ``forEach(_:grain:_:)``.
    ///
    /// A cancellation of the task ends the loop: no further element is begun.
    ///
    /// - Throws: The first error by position; `CancellationError` where an element was not begun because of the
    ///   cancellation; ``WorkerPoolError/closed(pool:)`` where the pool was closed before the loop began.
    @inlinable
    public func forEach<Elements: RandomAccessCollection & Sendable>(
        _ elements: Elements,
        grain: Int? = nil,
        priority: Priority = .normal,
        _ body: @escaping @Sendable (Elements.Element) throws -> Void
    ) async throws {
        let control = LoopControl()
        try await suspendingLoop(elements.count, grain, priority, control) { first, end in
            control.runPart(of: elements, first, end) { element, _ throws(any Error) in try body(element) }
        }
    }

    /// The results of `transform` for each element, in the elements' order. Suspends the task; otherwise as the suspending
    /// `forEach`.
    ///
    /// - Returns: One result for each element.
    @inlinable
    public func map<Elements: RandomAccessCollection & Sendable, Output: Sendable>(
        _ elements: Elements,
        grain: Int? = nil,
        priority: Priority = .normal,
        _ transform: @escaping @Sendable (Elements.Element) throws -> Output
    ) async throws -> [Output] {
        let control = LoopControl()
        let results = LoopResults<Output>(count: elements.count)
        try await suspendingLoop(elements.count, grain, priority, control) { first, end in
            control.runPart(of: elements, first, end) { element, position throws(any Error) in
                results.put(try transform(element), at: position)
            }
        }
        return results.take()
    }

    // MARK: In the core

    /// Makes the loop; false if it was refused.
    @usableFromInline
    func loop(_ count: Int, _ grain: Int?, _ part: LoopPart) -> Bool {
        // The parts are a part of what this thread computes for a SingleFlightCache.
        guard let computation = FlightWaits.current else {
            return core.loop(count, checked(grain, count), part)
        }
        return core.loop(count, checked(grain, count)) { first, end in
            FlightWaits.inside(computation) { part(first, end) }
        }
    }

    /// Throws what a loop has ended with.
    @inlinable
    func end<Failure: Error>(
        _ hasRun: Bool,
        _ control: LoopControl,
        _: Failure.Type
    ) throws(WorkerPoolRunError<Failure>) {
        if !hasRun { throw .notRun(.closed(pool: name)) }
        if let failure = control.failure { throw .failed(failure as! Failure) }
    }

    @usableFromInline
    func suspendingLoop(
        _ count: Int,
        _ grain: Int?,
        _ priority: Priority,
        _ control: LoopControl,
        _ part: @escaping @Sendable (Int, Int) -> Void
    ) async throws {
        try await SuspendingLoop(core, count, checked(grain, count), control, part).wait(priority.inC)
    }

    private func checked(_ grain: Int?, _ count: Int) -> Int {
        if let grain, grain < 1 {
            misuse("WorkerPool.forEach", "grain: \(grain)", "a thread takes at least one element at a time")
        }
        return grain ?? max(count / (core.threads * partsPerThread), 1)
    }
}
