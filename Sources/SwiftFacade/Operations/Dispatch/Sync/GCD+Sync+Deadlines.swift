// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a queue with a limit. libdispatch's `sync` has none, cannot be given up, and answers no question whether
// a queue is free: a `sync` that found it taken a moment later would wait without a limit. So the work is sent by
// `async` and claimed when it begins, or given up by the waiter, whichever is first (AwaitedRun.swift).

import Dispatch
import InterlockPool
import InterlockSync

extension GCD {
    /// Runs `body` on `queue` and blocks until it has ended, if it begins within `timeout`.
    ///
    /// The limit is on the wait for the queue, not on `body`. The queue runs `body` on a thread of its own while the
    /// calling one waits: two changes of threads, where ``sync(on:_:)`` on a free queue has none and costs less than
    /// a hundredth. Most of that is libdispatch's `async` and the wake-up. What would wait for itself is misuse, also
    /// with a limit.
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
        return withUnsafeMutablePointer(to: &frame) { frame in
            // On this thread's stack, and used only by work that it waits for.
            nonisolated(unsafe) let frame = frame
            return withoutActuallyEscaping(body) { body in
                let result = AwaitedResult<Result<Value, Failure>>()
                // Work that has not run by its end never will.
                defer { result.place.deallocate() }
                let run = AwaitedRun(deadline: deadline) {
                    EnteredQueue.with(frame) { result.place.initialize(to: Result(catching: body)) }
                }
                let end = run.block { queue.async { QueueTag.running(on: queue, run.run) } }
                return end == .ran ? result.place.move() : nil
            }
        }
    }
}
