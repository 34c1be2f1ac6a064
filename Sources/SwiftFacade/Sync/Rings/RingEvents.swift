// SPDX-License-Identifier: Apache-2.0
//
// The elements of a ring as events of a queue, and their end. Internal/RingSource.swift does the work; the queues'
// modules say how a job is given to them.

/// A closure is called with each element of a ring, on a dispatch queue or in the jobs of a queue; made by
/// `GCD.elements(of:on:_:)` and `InterlockQueue.elements(of:_:)`.
///
/// ```swift
/// let levels = try MPMCRing<Int>(capacity: 64)
/// let events = InterlockQueue(name: "levels").elements(of: levels) { level in print(level) }
/// _ = await levels.push(1)
/// levels.close()
/// try await events.finished()
/// ```
///
/// One call at a time, in the ring's order, whatever the queue. The elements that are there together are a burst: one
/// job of the queue calls the closure with 64 of them at most, then the queue's other work has its turn. While the ring
/// is empty there is no job, and no thread waits. What was done before the push is visible to the closure.
///
/// The events end when the ring is closed and drained, when they are cancelled or dropped, or when the queue ends their
/// job without running it. The closure is then released with what it captures: before ``cancel()`` returns, or when the
/// job that runs or waits in the queue has ended. An element is taken out of the ring for the closure alone: those that
/// it was not given stay in an ``MPMCRing``, and an ``SPSCRing/Consumer`` goes with the events, which closes its ring.
///
/// May be used from any thread, and from the closure, which should hold them weakly: they would keep each other until
/// the ring is closed. A thread that pushes has the queue accept the job.
public final class RingEvents: Sendable {
    private let source: RingSource
    private let queue: (any AnyObject & Sendable)?

    /// - Parameter queue: Kept as long as the events are.
    package init(_ source: RingSource, keeping queue: (any AnyObject & Sendable)? = nil) {
        self.source = source
        self.queue = queue
        source.begin()
    }

    deinit { source.cancel() }

    /// Ends the events. The closure is not called any more; if it is running, it goes on.
    ///
    /// Apart from ``finished()``, so that the closure may call it: one that waited would wait for itself.
    ///
    /// - Returns: whether this call ended them, as of each `cancel` here: of several callers one has.
    @discardableResult
    public func cancel() -> Bool { source.cancel() }

    /// The error that the ring was closed with, once the events have come to its end; or `nil`.
    public var closingError: (any Error)? { source.closingError }

    /// Suspends the task until the events have ended and the closure does not run. What it did is visible. The queue
    /// must run its work for that.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled before; the events are not touched.
    public func finished() async throws(CancellationError) {
        _ = try await source.finished(until: nil)
    }

    /// Suspends the task until the events have ended, as ``finished()``, for `timeout` at most.
    ///
    /// - Returns: Whether they had ended.
    public func finished(timeout: Duration) async throws(CancellationError) -> Bool {
        try await source.finished(until: moment(in: timeout))
    }
}
