// SPDX-License-Identifier: Apache-2.0
//
// Work in the background, its result on a chosen queue. The completion of work that throws takes a `Result`, by which
// the compiler picks the form.

import Dispatch
import InterlockPool
import InterlockSync

extension GCD {
    /// Runs `work` on `queue` and delivers its value on another. Returns at once.
    ///
    /// - Parameters:
    ///   - queue: by default the global queue for work the user waits for.
    ///   - delivery: where `completion` runs, by default the main queue, which needs a program that drains it.
    ///   - completion: called exactly once; it sees everything the work did.
    @inlinable
    public static func run<Value: Sendable>(
        on queue: DispatchQueue = .global(qos: .userInitiated),
        deliverOn delivery: DispatchQueue = .main,
        _ work: @escaping @Sendable () -> Value,
        completion: @escaping @Sendable (Value) -> Void
    ) {
        queue.async {
            let value = QueueTag.running(on: queue, work)
            delivery.async { completion(value) }
        }
    }

    /// Runs `work` on `queue` and delivers its value, or the error that it throws, on another. Returns at once.
    ///
    /// `completion` is called exactly once; it sees everything the work did.
    @inlinable
    public static func run<Value: Sendable>(
        on queue: DispatchQueue = .global(qos: .userInitiated),
        deliverOn delivery: DispatchQueue = .main,
        _ work: @escaping @Sendable () throws -> Value,
        completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        run(on: queue, deliverOn: delivery, { Result(catching: work) }, completion: completion)
    }

    /// Runs a closure on `queue` and suspends until its value is there.
    ///
    /// Keeps blocking or long computation off the cooperative threads. If the task is cancelled before the work has
    /// begun, the work never runs and its captures are freed. Work that has begun is waited for.
    ///
    /// - Returns: the closure's value. Everything the work did is visible.
    /// - Throws: the closure's error; `CancellationError` at once where the work never runs.
    @inlinable
    public static func run<Value: Sendable>(
        on queue: DispatchQueue = .global(qos: .userInitiated),
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await begun(on: queue, until: nil, work)!
    }

    /// Runs a closure on `queue`, if it begins within `timeout`, and suspends until its value is there. Work that has
    /// begun is waited for.
    ///
    /// - Returns: `nil` if the work had not begun in time: it will not run, and its captures are freed.
    /// - Throws: the closure's error; `CancellationError` at once if the task is cancelled and the work never runs.
    @inlinable
    public static func run<Value: Sendable>(
        on queue: DispatchQueue = .global(qos: .userInitiated),
        timeout: Duration,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value? {
        try await begun(on: queue, until: moment(in: timeout), work)
    }

    /// The value of the work, or nil if it did not begin in time.
    @inlinable
    static func begun<Value: Sendable>(
        on queue: DispatchQueue,
        until deadline: ContinuousClock.Instant?,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value? {
        try await AwaitedRun.value(of: work, before: deadline) { await suspend(for: $0, on: queue) }
    }

    @usableFromInline
    static func suspend(for run: AwaitedRun, on queue: DispatchQueue) async -> AwaitedRun.End {
        await run.suspend {
            queue.async { QueueTag.running(on: queue, run.run) }
            return true
        }
    }
}
