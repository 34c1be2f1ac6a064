// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a queue with a limit. libdispatch's `sync` has none, cannot be given up, and answers no question whether
// a queue is free: a `sync` that found it taken a moment later would wait without a limit. So the work is sent by
// `async` and claimed when it begins, or given up by the waiter, whichever is first.

import Dispatch
import InterlockPool
import InterlockSync

extension GCD {
    /// Runs `body` on `queue` and blocks until it has ended, if it begins within `timeout`.
    ///
    /// The limit is on the wait for the queue, not on `body`. The queue runs `body` on a thread of its own while the
    /// calling one waits: two changes of threads, where ``sync(on:_:)`` on a free queue has none and costs a hundredth.
    /// Most of that is libdispatch's `async` and the wake-up. What would wait for itself is misuse, also with a limit.
    ///
    /// - Returns: `nil` if `body` had not begun in time: it will not run, and nothing of it is left.
    @available(*, noasync, message: "it blocks the thread; use `try await GCD.run(on:timeout:)`")
    public static func sync<Value: Sendable, Failure: Error>(
        on queue: DispatchQueue,
        timeout: Duration,
        _ body: @Sendable () throws(Failure) -> Value
    ) throws(Failure) -> Value? {
        try claimed(on: queue, InterlockSync.deadline(in: timeout), body)?.get()
    }

    private static func claimed<Value: Sendable, Failure: Error>(
        on queue: DispatchQueue,
        _ deadline: UInt64,
        _ body: @Sendable () throws(Failure) -> Value
    ) -> Result<Value, Failure>? {
        var frame = EnteredQueue(queue)
        frame.requireEnterable("GCD.sync")
        if hasPassed(deadline) { return nil }
        return withUnsafeMutablePointer(to: &frame) { frame in
            withoutActuallyEscaping(body) { body in
                let call = LimitedCall(body, in: frame)
                queue.async { QueueTag.running(on: queue) { call.run(before: deadline) } }
                return call.wait(until: deadline)
            }
        }
    }
}

/// One call with a limit: the queue's work and the waiter claim its body.
// The frame is on the waiter's stack, and used only by work that the waiter waits for.
private final class LimitedCall<Value: Sendable, Failure: Error>: @unchecked Sendable {
    private let frame: UnsafeMutablePointer<EnteredQueue>
    private let body: PendingWork<@Sendable () throws(Failure) -> Value>
    private let result = Promise<Result<Value, Failure>>()
    /// The work is a part of what the waiter computes for a SingleFlightCache.
    private let computation = FlightWaits.current

    init(
        _ body: @escaping @Sendable () throws(Failure) -> Value,
        in frame: UnsafeMutablePointer<EnteredQueue>
    ) {
        self.body = PendingWork(body)
        self.frame = frame
    }

    func run(before deadline: UInt64) {
        // Left to the waiter, which wakes a little later.
        if hasPassed(deadline) { return }
        if let outcome = outcome() { result.fulfil(outcome) }
    }

    func wait(until deadline: UInt64) -> Result<Value, Failure>? {
        if !result.block(until: deadline), body.claim() != nil { return nil }
        result.block()
        return result.value
    }

    /// Not inlined: its reference to the closure must be gone when it returns.
    @inline(never)
    private func outcome() -> Result<Value, Failure>? {
        guard let body = body.claim() else { return nil }
        var outcome: Result<Value, Failure>?
        EnteredQueue.with(frame) {
            outcome = FlightWaits.inside(computation) {
                do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
            }
        }
        return outcome
    }
}
