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
        let node = BlockNode<Output>(
            core,
            JobOptions(name: name, priority: priority, isBlocking: isBlocking),
            pending: 1,
            body
        )
        node.enter(done: 0)
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
        node.enter(done: 0)
        return Job(node: node)
    }

    /// A job that waits for all of `upstream`, jobs and operations in whatever queues, and is given their outputs.
    ///
    /// Where one of them failed or was cancelled, `body` is not called, and the job ends with the first error in order.
    @discardableResult
    public func job<each Above: JobUpstream, Output: Sendable>(
        after upstream: repeat each Above,
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        isBlocking: Bool = false,
        _ body: @escaping @Sendable (repeat (each Above).Output) throws -> Output
    ) -> Job<Output> {
        var count: Int32 = 0
        for _ in repeat each upstream { count += 1 }
        let node = BlockNode<Output>(
            core,
            JobOptions(name: name, priority: priority, isBlocking: isBlocking),
            pending: 1 + count
        ) {
            try body(repeat (each upstream)._settledOutput())
        }
        enter(node, after: repeat each upstream)
        return Job(node: node)
    }

    /// As the form for a plain closure, with an `async` one.
    @discardableResult
    public func job<each Above: JobUpstream, Output: Sendable>(
        after upstream: repeat each Above,
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        _ body: @escaping @Sendable (repeat (each Above).Output) async throws -> Output
    ) -> Job<Output> {
        var count: Int32 = 0
        for _ in repeat each upstream { count += 1 }
        let node = TaskNode<Output>(core, JobOptions(name: name, priority: priority), pending: 1 + count) {
            try await body(repeat (each upstream)._settledOutput())
        }
        enter(node, after: repeat each upstream)
        return Job(node: node)
    }

    /// A job that waits for all of `upstream`, and is given their outputs in order.
    ///
    /// - Complexity: O(*n*).
    @discardableResult
    public func job<Above: JobUpstream, Output: Sendable>(
        afterAll upstream: [Above],
        name: String? = nil,
        priority: WorkerPool.Priority = .normal,
        isBlocking: Bool = false,
        _ body: @escaping @Sendable ([Above.Output]) throws -> Output
    ) -> Job<Output> {
        let pending = Int32(upstream.count) + 1
        let node = BlockNode<Output>(
            core,
            JobOptions(name: name, priority: priority, isBlocking: isBlocking),
            pending: pending
        ) {
            try body(upstream.map { try $0._settledOutput() })
        }
        var done: Int32 = 0
        for (index, above) in upstream.enumerated() {
            if !above._add(JobEdge(node: node, isFirst: index == 0)) { done += 1 }
        }
        node.enter(done: done)
        return Job(node: node)
    }

    private func enter<each Above: JobUpstream>(_ node: JobNode, after upstream: repeat each Above) {
        var done: Int32 = 0
        var isFirst = true
        for above in repeat each upstream {
            if !above._add(JobEdge(node: node, isFirst: isFirst)) { done += 1 }
            isFirst = false
        }
        node.enter(done: done)
    }
}
