// SPDX-License-Identifier: Apache-2.0
//
// Light jobs of a queue.

import InterlockSync

extension InterlockQueue {
    /// A job that runs a closure. It is in the queue when this returns.
    ///
    /// In a queue that was shut down the job has ended, with ``OperationQueueClosed``.
    ///
    /// - Parameters:
    ///   - name: names the job in errors and reports.
    ///   - priority: among the queue's jobs.
    ///   - isBlocking: runs on ``WorkerPool/blocking``, for closures that wait.
    /// - Complexity: O(1); allocates the job, and what the compiler allocates for the closure.
    @inlinable
    @discardableResult
    public func job<Output: Sendable>(
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        isBlocking: Bool = false,
        _ body: @escaping @Sendable () throws -> Output
    ) -> Job<Output> {
        let options = JobOptions(name: name, priority: priority, isBlocking: isBlocking)
        let node = BlockNode<Output>(core, options, pending: 1, body)
        node.enterQueue(done: 0)
        return Job(node: node)
    }

    /// A job that runs an `async` closure, in a task on the queue's pool. It keeps its place in the queue until the
    /// closure has returned. Cancelling the job cancels the task.
    @discardableResult
    public func job<Output: Sendable>(
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        _ body: @escaping @Sendable () async throws -> Output
    ) -> Job<Output> {
        let node = TaskNode<Output>(core, JobOptions(name: name, priority: priority), pending: 1, body)
        node.enterQueue(done: 0)
        return Job(node: node)
    }

    /// A job that waits for all of these, of whatever queues, and is given their outputs. An operation is waited for
    /// as a job (`asJob(in:)`).
    ///
    /// If one of them failed or was cancelled, `body` is not called, and the job ends with the first error in order.
    @discardableResult
    public func job<First: Sendable, each Other: Sendable, Output: Sendable>(
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        isBlocking: Bool = false,
        after first: Job<First>,
        _ others: repeat Job<each Other>,
        body: @escaping @Sendable (First, repeat each Other) throws -> Output
    ) -> Job<Output> {
        let options = JobOptions(name: name, priority: priority, isBlocking: isBlocking)
        var upstream: [JobNode] = [first.node]
        repeat upstream.append((each others).node)
        let node = BlockNode<Output>(core, options, pending: 1 + Int32(upstream.count)) {
            try body(first.node.finalOutput(), repeat (each others).node.finalOutput())
        }
        node.enterQueue(behind: upstream)
        return Job(node: node)
    }

    /// A job that waits for all of these, of whatever queues, and gives their outputs to an `async` closure, in a task
    /// on the queue's pool. Cancelling the job cancels the task. If one of the others failed or was cancelled, `body`
    /// is not called, and the job ends with the first error in order.
    @discardableResult
    public func job<First: Sendable, each Other: Sendable, Output: Sendable>(
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        after first: Job<First>,
        _ others: repeat Job<each Other>,
        body: @escaping @Sendable (First, repeat each Other) async throws -> Output
    ) -> Job<Output> {
        var upstream: [JobNode] = [first.node]
        repeat upstream.append((each others).node)
        let options = JobOptions(name: name, priority: priority)
        let node = TaskNode<Output>(core, options, pending: 1 + Int32(upstream.count)) {
            try await body(first.node.finalOutput(), repeat (each others).node.finalOutput())
        }
        node.enterQueue(behind: upstream)
        return Job(node: node)
    }

    /// A job that waits for all of these, of whatever queues, and takes no outputs.
    ///
    /// If one of them failed or was cancelled, `body` is not called, and the job ends with the first error in order.
    @discardableResult
    public func job<First: Sendable, each Other: Sendable, Output: Sendable>(
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        isBlocking: Bool = false,
        after first: Job<First>,
        _ others: repeat Job<each Other>,
        body: @escaping @Sendable () throws -> Output
    ) -> Job<Output> {
        // Without this form the compiler (6.3) crashes on a closure that ignores the output of a single job.
        job(name: name, priority: priority, isBlocking: isBlocking, after: first, repeat each others) {
            (_: First, _: repeat each Other) in try body()
        }
    }

    /// A job that waits for all of these, of whatever queues, and then runs an `async` closure, in a task on the
    /// queue's pool. Cancelling the job cancels the task. If one of the others failed or was cancelled, `body` is not
    /// called, and the job ends with the first error in order.
    @discardableResult
    public func job<First: Sendable, each Other: Sendable, Output: Sendable>(
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        after first: Job<First>,
        _ others: repeat Job<each Other>,
        body: @escaping @Sendable () async throws -> Output
    ) -> Job<Output> {
        job(name: name, priority: priority, after: first, repeat each others) {
            (_: First, _: repeat each Other) in try await body()
        }
    }

    /// A job that waits for all of `upstream`, and is given their outputs in order.
    ///
    /// - Complexity: O(*n*).
    @discardableResult
    public func job<Input: Sendable, Output: Sendable>(
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        isBlocking: Bool = false,
        afterAll upstream: [Job<Input>],
        _ body: @escaping @Sendable ([Input]) throws -> Output
    ) -> Job<Output> {
        let options = JobOptions(name: name, priority: priority, isBlocking: isBlocking)
        let node = BlockNode<Output>(core, options, pending: 1 + Int32(upstream.count)) {
            try body(upstream.map { try $0.node.finalOutput() })
        }
        node.enterQueue(behind: upstream.map { $0.node })
        return Job(node: node)
    }
}
