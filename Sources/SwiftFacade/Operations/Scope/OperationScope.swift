// SPDX-License-Identifier: Apache-2.0
//
// A structured scope of operations, as a task group is one of tasks: the call returns when everything begun in it has
// ended. The ledger is that of a group (ChildLedger.swift); the closure itself counts as a child, so that the scope
// does not end before it.

import Foundation
import InterlockPool
import InterlockSync

/// The operations of one call of `withOperations(on:onFailure:isolation:_:)`. To be used from any thread, until the
/// call ends.
public final class OperationScope: Sendable {
    private let queue: any GroupQueue
    private let ledger: ChildLedger
    private let end = Promise<Void>()

    init(_ queue: any GroupQueue, _ policy: FailurePolicy) {
        self.queue = queue
        ledger = ChildLedger(policy)
        _ = ledger.begin(holding: true)
    }

    /// The operations that have not finished, in the order they were added.
    public var unfinishedChildren: [Operation] { ledger.unfinished }

    /// Starts an operation of any class in the scope's queue, when it is ready. The scope's call does not return before
    /// it has finished. It is run by the scope alone.
    ///
    /// - Returns: the operation.
    /// - Throws: ``ChildRefused``, and the operation stays the caller's: when the scope has ended or is ending, because
    ///   of an error or a cancellation; for one that was started.
    @discardableResult
    public func add<Child: Operation>(_ child: Child) throws(ChildRefused) -> Child {
        let refusal = ChildEnd.isUnstarted(child) ? ledger.admit(child).refusal : .hasStarted
        if let refusal {
            throw ChildRefused(group: "the scope", child: child.nameInExplanations, reason: refusal)
        }
        ChildEnd.of(child) { [self] error in
            let removal = ledger.remove(child, error: error)
            if removal.cancelsOthers { ledger.cancelAll() }
            if removal.isLast { end.fulfil(()) }
        }
        (child as? any ObservedOperation)?.announceEnqueued()
        queue.addChild(child)
        return child
    }

    /// Adds several operations to the scope, in their order. If one is refused, those before it stay in the scope.
    public func add(_ first: Operation, _ second: Operation, _ others: Operation...) throws(ChildRefused) {
        for child in [first, second] + others { try add(child) }
    }

    /// Cancels what runs and what waits, and takes nothing more. The scope's call throws `CancellationError` if nothing
    /// failed before, and with ``FailurePolicy/runAll`` in any case.
    public func cancelAll() {
        ledger.closeCancelled()
        ledger.cancelAll()
    }

    /// What `withOperations` does.
    func run<Result: Sendable>(
        isolation: isolated (any Actor)?,
        _ body: (OperationScope) async throws -> Result
    ) async throws -> Result {
        try await withTaskCancellationHandler {
            let result: Result
            do { result = try await body(self) } catch { throw await drain(error) ?? error }
            if let error = await drain(nil) { throw error }
            return result
        } onCancel: {
            cancelAll()
        }
    }

    /// The closure has ended, well or with `error`. Returns when everything has.
    private func drain(_ error: (any Error)?) async -> (any Error)? {
        let removal = ledger.release(error: error)
        if removal.cancelsOthers { ledger.cancelAll() }
        if !removal.isLast { await end.take() }
        return ledger.error
    }
}

/// Runs `body` with a scope, and returns when it and every operation added to the scope have ended: none outlives the
/// call.
///
/// ```swift
/// let page = try await withOperations { scope in
///     let head = try scope.add(AsyncOperation { try await load(urls[0]) })
///     let body = try scope.add(AsyncOperation { try await load(urls[1]) })
///     return try await Page(head.value, body.value)
/// }
/// ```
///
/// An error, the closure's or an operation's, cancels the rest and is thrown once all have ended; the first in time,
/// also where the closure has caught it. A cancellation of the calling task cancels all of them, the closure's waits
/// included.
///
/// Operations may be added while the closure runs, and after it by other operations of the scope. The closure must not
/// wait for operations that are never started.
///
/// - Parameters:
///   - queue: where the operations run; without it, in a queue of the call's own. In the serial queue of an operation
///     that makes this call and waits for it, nothing would ever run.
///   - onFailure: with ``FailurePolicy/runAll`` an operation's error cancels nothing; it is thrown in the end all the
///     same, the first in the order of addition. An error of the closure cancels the rest in any case.
///   - isolation: The task stays on its actor.
///   - body: given the scope, which takes nothing after the call.
/// - Returns: the closure's result. What the operations did is visible.
/// - Throws: the first error; `CancellationError` where the task was cancelled before anything failed, and with
///   ``FailurePolicy/runAll`` wherever it was cancelled.
@discardableResult
public func withOperations<Result: Sendable>(
    on queue: OperationQueue? = nil,
    onFailure: FailurePolicy = .cancelOthers,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (OperationScope) async throws -> Result
) async throws -> Result {
    try await OperationScope(queue ?? OperationQueue(), onFailure).run(isolation: isolation, body)
}

/// Runs `body` with a scope whose operations run in an ``InterlockQueue``, and returns when it and every operation
/// added to the scope have ended: none outlives the call.
///
/// An error, the closure's or an operation's, cancels the rest and is thrown once all have ended. A cancellation of the
/// calling task cancels all of them.
///
/// - Returns: the closure's result. What the operations did is visible.
/// - Throws: the first error; `CancellationError` where the task was cancelled before anything failed, and with
///   ``FailurePolicy/runAll`` wherever it was cancelled.
@discardableResult
public func withOperations<Result: Sendable>(
    on queue: InterlockQueue,
    onFailure: FailurePolicy = .cancelOthers,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (OperationScope) async throws -> Result
) async throws -> Result {
    try await OperationScope(queue.core, onFailure).run(isolation: isolation, body)
}
