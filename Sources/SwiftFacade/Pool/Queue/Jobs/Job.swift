// SPDX-License-Identifier: Apache-2.0
//
// A light job: what an `AsyncOperation` is, without Foundation's superclass. A value over one node
// (JobNode.swift).

import InterlockSync

/// A piece of work in an ``InterlockQueue`` with a result of type `Output`: a light operation.
///
/// ```swift
/// let numbers = InterlockQueue(name: "numbers")
/// let half = numbers.job(name: "half") { 21 }
/// let whole = half.then { $0 * 2 }
/// let both = numbers.job(after: half, whole) { half, whole in "\(half) of \(whole)" }
/// print(try await both.value)
/// ```
///
/// A job is in its queue from the moment it is made, and runs once, when its upstream jobs have ended. So jobs cannot
/// form a cycle. If one of those failed or was cancelled, its closure is not called and the error passes on
/// unchanged; ``recover(name:_:)`` takes it. A copy is the same job. All of it may be used from any thread. A job that
/// nothing refers to runs all the same.
public struct Job<Output: Sendable>: Sendable {
    /// A value or an error.
    public typealias Outcome = Result<Output, any Error>

    @usableFromInline package let node: OutputNode<Output>

    @inlinable
    package init(node: OutputNode<Output>) { self.node = node }

    /// The name it was made with.
    public var name: String? { node.givenName }

    /// The result; nil until there is one. Does not wait. What the work did is visible to the thread that reads it.
    public var result: Outcome? { node.isFinished ? node.finalOutcome : nil }

    /// Whether there is a result.
    public var isFinished: Bool { node.isFinished }

    /// Whether the job was asked to stop before it ended.
    public var isCancelled: Bool { node.isCancelled }

    // MARK: Steps

    /// A job that computes something from this one's output, in the same queue.
    ///
    /// - Complexity: O(1); allocates the job and what the compiler allocates for the closure.
    @inlinable
    @discardableResult
    public func then<Next: Sendable>(
        name: String? = nil,
        _ step: @escaping @Sendable (Output) throws -> Next
    ) -> Job<Next> {
        let next = ThenNode<Output, Next>(node.core, JobOptions(name: name), node, step)
        next.enterQueue(done: node.addSuccessor(next, isFirst: true) ? 0 : 1)
        return Job<Next>(node: next)
    }

    /// A job that computes something from this one's output with an `async` closure, in the same queue. The closure
    /// runs in a task of its own, which is cancelled with the job.
    @discardableResult
    public func then<Next: Sendable>(
        name: String? = nil,
        _ step: @escaping @Sendable (Output) async throws -> Next
    ) -> Job<Next> {
        let next = TaskNode<Next>(node.core, JobOptions(name: name), pending: 2) { [node] in
            try await step(node.finalOutput())
        }
        next.enterQueue(done: node.addSuccessor(next, isFirst: true) ? 0 : 1)
        return Job<Next>(node: next)
    }

    /// A job that gives this one's output, or what `rescue` makes of its error, which may be of an upstream job.
    @inlinable
    @discardableResult
    public func recover(
        name: String? = nil,
        _ rescue: @escaping @Sendable (any Error) throws -> Output
    ) -> Job<Output> {
        let next = BlockNode<Output>(node.core, JobOptions(name: name), pending: 2) { [node] in
            do { return try node.finalOutput() } catch { return try rescue(error) }
        }
        next.enterQueue(done: node.addSuccessor(next, isFirst: true) ? 0 : 1)
        return Job(node: next)
    }

    // MARK: Cancelling

    /// Asks the job to stop.
    ///
    /// One that has not begun ends at once with ``OperationCancelled``, without waiting for its upstream jobs; its
    /// closure is released and never runs. The task of an `async` one is cancelled. A plain closure that runs is not
    /// interrupted. A running job ends with ``OperationCancelled`` whatever its closure gives. After the end, nothing
    /// happens.
    ///
    /// Runs the ``onFinish(_:)`` hooks of a job that it ends.
    public func cancel() { node.cancel() }

    // MARK: Explaining

    /// What this job waits for, and what that waits for: by name.
    ///
    /// - Complexity: O(*v* + *e*) in what has not ended in the queues that it comes to, and the edges.
    public func explainWaiting() -> WaitExplanation { WaitWalk.explain([node]) }

    // MARK: The end

    /// Runs `hook` with the result when the job has ended, at once if it has: once, on the thread that ends it, or on
    /// this one.
    public func onFinish(_ hook: @escaping @Sendable (Outcome) -> Void) {
        // The node holds its hook until its end.
        if node.addEndHook({ [node] in hook(node.finalOutcome) }) == nil { hook(node.finalOutcome) }
    }
}
