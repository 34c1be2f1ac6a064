// SPDX-License-Identifier: Apache-2.0
//
// An operation above light jobs, and a job as an operation.

import Foundation
import InterlockPool
import InterlockSync

extension AsyncOperation: JobUpstream {
    /// For ``JobUpstream``.
    public final func _add(_ edge: JobEdge) -> Bool {
        let wait = OperationWait(edge.node)
        let waits = record.withLock { $0.addFinishHook { _ in wait.end() } } != nil
        if !waits { wait.isOver = true }
        if waits { edge.node.wait(behind: self) }
        return waits
    }

    /// For ``JobUpstream``.
    public final func _settledOutput() throws -> Output { try output(forStep: "job") }
}

/// The edge from an operation to a job. An operation that goes without an end takes it along: the job, which was
/// cancelled, is kept no longer.
// `isOver` is set by the hook, or where the edge was made after the operation's end.
private final class OperationWait: @unchecked Sendable {
    private let node: JobNode
    var isOver = false

    init(_ node: JobNode) { self.node = node }

    func end() {
        isOver = true
        node.dependencyEnded()
    }

    deinit { if !isOver { node.dependencyEnded() } }
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
            if event == .cancelled, let operation, operation.isExecuting || operation.isFinished { cancel() }
        }
        return operation
    }
}

extension AsyncOperation {
    /// Makes the operation one whose work waits for `job`: for explanations, and for the check for cycles, to which it
    /// waits for the operations above the job from now on.
    final func stand(for job: JobNode) {
        record.withLock { $0.job = job }
        for above in job.operationsAbove {
            // Nothing waits for a new operation, so nothing is closed.
            if let operation = above.work as? Operation, !operation.isFinished {
                _ = pathClosed(byAwaiting: operation)
            }
        }
    }
}
