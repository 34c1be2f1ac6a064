// SPDX-License-Identifier: Apache-2.0
//
// The queue as its users hold it. What decides is in QueueCore.swift, which the jobs hold.

import InterlockSync

/// A queue of operations and light jobs on a ``WorkerPool``.
///
/// ```swift
/// let imports = InterlockQueue(name: "import", limit: 4)
/// imports.enqueue(AsyncOperation<Int> { 1 }, BlockOperation {})   // any Operation
/// let size = imports.job { 42 }                                   // a Job: the same without Foundation
/// let report = size.then { "\($0) bytes" }
/// try await imports.wait()
/// print(try await report.value)
/// ```
///
/// What was accepted ends: it runs, or is cancelled. A job that follows another on its thread may still run.
/// Otherwise a job or operation of a queue whose pool is closed ends with ``WorkerPoolError/closed(pool:)``, one of
/// another class than ``AsyncOperation`` cancelled. A queue that is released with work in it resumes, and what it
/// accepted runs.
///
/// Every method is thread-safe. Without a limit as many jobs run as the pool has threads; jobs that suspend or wait for
/// callbacks keep a place of the queue, and no thread. What was done before the call that adds a job is visible to the
/// job; what it did, to a wait for it or for the queue.
///
/// An operation of another class hides two things: a cancellation while it waits for its dependencies, which takes
/// effect when those have ended (``cancelAll()`` is seen at once); and that it is in an `OperationQueue` too. If its
/// own `isReady` says no, it is asked again: after 100 microseconds, and after growing pauses of up to ten
/// milliseconds.
public final class InterlockQueue: Sendable {
    @usableFromInline package let core: QueueCore

    /// A queue without work. Allocates.
    ///
    /// - Parameters:
    ///   - name: in reports.
    ///   - pool: runs the jobs; the queue keeps it.
    ///   - limit: how many jobs and operations run at a time; `nil`: as many as the pool runs. Below 1 is misuse.
    ///   - isSuspended: nothing begins until ``resume()``.
    ///   - isBlocking: the work runs on ``WorkerPool/blocking``: for work that waits.
    public init(
        name: String = "queue",
        pool: WorkerPool = .shared,
        limit: Int? = nil,
        isSuspended: Bool = false,
        isBlocking: Bool = false
    ) {
        Self.require(limit, "InterlockQueue.init", name)
        core = QueueCore(
            name: name,
            pool: pool,
            isBlocking: isBlocking,
            limit: limit,
            isSuspended: isSuspended
        )
    }

    deinit {
        // Nothing else could.
        core.isSuspended = false
    }

    /// The name it was made with.
    public var name: String { core.name }

    /// The pool that runs the jobs.
    public var pool: WorkerPool { core.pool }

    private static func require(_ limit: Int?, _ call: String, _ name: String) {
        if let limit, limit < 1 {
            let sentence = "a limit of \(limit): nothing would ever run; suspend the queue instead"
            misuse(call, "\"\(name)\"", sentence)
        }
    }

    // MARK: Options

    /// How many jobs and operations run at a time; nil: as many as the pool runs. A lower limit does not stop what has
    /// begun. Below 1 is misuse.
    public var limit: Int? {
        get { core.limit }
        set {
            Self.require(newValue, "InterlockQueue.limit", name)
            core.changeState { $0.limit = newValue }
        }
    }

    /// Whether nothing begins.
    public var isSuspended: Bool { core.isSuspended }

    /// Begins nothing more. What has begun goes on.
    public func suspend() { core.isSuspended = true }

    /// Goes on.
    public func resume() { core.isSuspended = false }

    // MARK: Barriers

    /// Adds a closure that runs alone: what was added before has ended, and what is added later waits for it.
    ///
    /// A job before it that waits for one behind it never runs.
    @discardableResult
    public func barrier<Output: Sendable>(
        name: String? = nil,
        _ body: @escaping @Sendable () throws -> Output
    ) -> Job<Output> {
        let options = JobOptions(name: name ?? "barrier")
        let node = BlockNode<Output>(core, options, pending: 1, body)
        core.addBarrier(node)
        return Job(node: node)
    }

    // MARK: Observing

    /// What the queue's operations and light jobs wait for, with names, and those upstream in whatever queues.
    ///
    /// For a report: asks each for its state, one after the other, and may be old.
    ///
    /// - Complexity: O(*v* + *e*) in what has not ended in the queues that it comes to, and the edges.
    public func explainWaiting() -> WaitExplanation { WaitWalk.explain(core.nodes) }

    /// How many operations and jobs have not ended.
    public var count: Int { core.stripes.live }

    /// Cancels all that is in the queue, waiting or running.
    public func cancelAll() { for node in core.nodes { node.cancel() } }
}

/// A queue was shut down before an operation or a job was added.
public struct OperationQueueClosed: Error, Hashable, CustomStringConvertible {
    /// The queue's name.
    public let queue: String

    /// Makes the error.
    public init(queue: String) { self.queue = queue }

    /// A sentence.
    public var description: String { "the queue \(queue) was shut down: nothing more comes in" }
}
