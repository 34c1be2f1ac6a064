// SPDX-License-Identifier: Apache-2.0
//
// An operation upstream of light jobs, and a job as an operation.

import Foundation
import InterlockPool
import InterlockSync

extension AsyncOperation {
    /// The operation as a job of `queue`, for the jobs that take its output: it takes its turn there when the operation
    /// has finished, in whatever queue, and ends with its outcome; with ``OperationAbandoned`` where nothing keeps the
    /// operation any more, and it has not run. Cancelling the job does not cancel the operation.
    public final func asJob(in queue: InterlockQueue) -> Job<Output> {
        let end = OperationEnd<Output>(bareName)
        let node = BlockNode<Output>(queue.core, JobOptions(name: "\(bareName) (job)"), pending: 2) {
            try end.output()
        }
        let edge = OperationEdge(end, node)
        let waits = record.withLock { $0.addFinishHook { edge.end(with: Self.own($0).result) } } != nil
        if waits { node.wait(behind: self) } else { edge.take(result) }
        node.enterQueue(done: waits ? 0 : 1)
        return Job(node: node)
    }
}

/// What an operation has ended with, for the job that stands for it: it does not keep the operation.
private final class OperationEnd<Output: Sendable>: Sendable {
    private let result: VisibleMutex<Result<Output, any Error>>

    init(_ name: String) { result = VisibleMutex(.failure(OperationAbandoned(operation: name))) }

    func set(_ result: Result<Output, any Error>) { self.result.withLock { $0 = result } }
    func output() throws -> Output { try result.withLock { $0 }.get() }
}

/// The edge from an operation to the job that stands for it. An operation that goes without an end takes it along.
// `isOver` is set by the hook, or where the edge was made after the operation's end.
private final class OperationEdge<Output: Sendable>: @unchecked Sendable {
    private let result: OperationEnd<Output>
    private let node: JobNode
    private var isOver = false

    init(_ result: OperationEnd<Output>, _ node: JobNode) {
        self.result = result
        self.node = node
    }

    /// Without the job, which does not wait for it.
    func take(_ outcome: Result<Output, any Error>?) {
        isOver = true
        if let outcome { result.set(outcome) }
    }

    func end(with outcome: Result<Output, any Error>?) {
        take(outcome)
        node.oneDependencyEnded()
    }

    deinit { if !isOver { node.oneDependencyEnded() } }
}

extension Job {
    /// The job as an operation, for Foundation's queues, for dependencies and for the steps of ``AsyncOperation``.
    ///
    /// It is added to a queue like any other, takes no thread there, and ends as the job does. Cancelling it while it
    /// executes cancels the job.
    public func asOperation(name: String? = nil) -> AsyncOperation<Output> {
        let operation = AsyncOperation<Output>(name: name ?? self.name) { completion in
            onFinish { completion($0) }
        }
        operation.stand(for: node)
        // Not a handler of the work: cancelled between its start and that, the operation does not come to it, and may
        // have finished by now.
        operation.onChange { [weak operation] event in
            if event == .cancelled, let operation, operation.record.withLock({ $0.hasStarted }) { cancel() }
        }
        return operation
    }
}

extension AsyncOperation {
    /// Makes the operation one whose work waits for `job`: for explanations, and for the check for cycles, to which it
    /// waits for the operations upstream of the job from now on.
    final func stand(for job: JobNode) {
        record.withLock { $0.job = job }
        for upstream in job.upstreamOperations {
            // Nothing waits for a new operation, so nothing is closed.
            if let operation = upstream.work as? Operation, !operation.isFinished {
                _ = pathClosed(byAwaiting: operation)
            }
        }
    }
}
