// SPDX-License-Identifier: Apache-2.0
//
// What a light job may wait for: another one, or an operation. And the way back: a job as an operation.

import Foundation

/// What a light job takes the output of: a ``Job`` or an ``AsyncOperation``, in whatever queue.
public protocol JobUpstream<Output>: Sendable {
    /// What it gives.
    associatedtype Output: Sendable

    /// Makes `edge` follow the end; false where it has come.
    func _add(_ edge: JobEdge) -> Bool

    /// The output of what has ended.
    func _settledOutput() throws -> Output
}

/// The end of an upstream and the beginning of a job. For ``JobUpstream``.
public struct JobEdge: Sendable {
    let node: JobNode
    let isFirst: Bool
}

extension Job: JobUpstream {
    /// For ``JobUpstream``.
    public func _add(_ edge: JobEdge) -> Bool { node.add(edge.node, isFirst: edge.isFirst) }

    /// For ``JobUpstream``.
    public func _settledOutput() throws -> Output { try node.settledOutput() }
}

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
