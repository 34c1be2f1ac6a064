// SPDX-License-Identifier: Apache-2.0
//
// Typed data from operation to operation. A step depends on the upstream operation and is given its output. Where that
// one failed or was cancelled, the step's closure is not called and the error passes on unchanged: the last result
// tells where the chain broke. A step that has run frees the upstream operation with all it produced.

import Foundation
import InterlockPool
import InterlockSync

extension AsyncOperation {
    /// A step that computes something from this operation's output. Like every step, it waits for this operation, which
    /// may have finished, and is added to a queue, the same or another.
    ///
    /// Long chains belong into an ``InterlockQueue``: in an `OperationQueue` Foundation searches all that waits at each
    /// end, half a millisecond a link in a chain of 10,000.
    ///
    /// - Parameters:
    ///   - name: names the step in errors and reports.
    ///   - step: given the output, on the thread of the step's queue.
    public final func then<Next: Sendable>(
        name: String? = nil,
        _ step: @escaping @Sendable (Output) throws -> Next
    ) -> AsyncOperation<Next> {
        let work = OperationWork(windsDown: true) { [self] next in
            AsyncOperation<Next>.own(next).runBlock { try step(output(forStep: name ?? "then")) }
        }
        return following(name, work)
    }

    /// A step that computes something from this operation's output with an `async` closure. The step waits for this
    /// operation, which may have finished, and is added to a queue, the same or another. Long chains belong into an
    /// ``InterlockQueue``.
    ///
    /// - Parameters:
    ///   - priority: the priority of the task the closure runs in.
    ///   - step: given the output; its task is cancelled with the step.
    public final func then<Next: Sendable>(
        name: String? = nil,
        priority: TaskPriority? = nil,
        _ step: @escaping @Sendable (Output) async throws -> Next
    ) -> AsyncOperation<Next> {
        let work = AsyncOperation<Next>.taskWork(priority) { [self] in
            try await step(output(forStep: name ?? "then"))
        }
        return following(name, work)
    }

    /// A step that computes something from this operation's output with a completion-handler function. The step waits
    /// for this operation, which may have finished, and is added to a queue, the same or another. It ends when the
    /// completion is called. Long chains belong into an ``InterlockQueue``.
    public final func then<Next: Sendable>(
        name: String? = nil,
        _ step: @escaping @Sendable (Output, Completion<Next>) -> Void
    ) -> AsyncOperation<Next> {
        let work = AsyncOperation<Next>.handlerWork { [self] completion in
            do { step(try output(forStep: name ?? "then"), completion) } catch { completion.fail(error) }
        }
        return following(name, work)
    }

    /// A step that makes an operation from this one's output, runs it, and ends with its outcome.
    ///
    /// The step keeps its place in its own queue until then, but no thread. Where `queue` is the step's own queue, of
    /// any width, the operation runs in that place; `OperationQueue.current` is a queue of its own there.
    ///
    /// Fails with ``OperationDeadlocked``, without running the operation, if that could never begin: it waits for this
    /// step, or for an operation behind the step in the step's own serial queue. In wider queues, and around several,
    /// such cycles are not seen: run what `make` begins in a queue of its own.
    ///
    /// - Parameters:
    ///   - queue: where the operation that `make` returns is run.
    ///   - make: given the output, on the thread of the step's queue. Returns an operation in no queue and not started;
    ///     Foundation stops the program otherwise. Cancelling the step cancels it.
    public final func flatMap<Next: Sendable>(
        name: String? = nil,
        on queue: OperationQueue,
        _ make: @escaping @Sendable (Output) throws -> AsyncOperation<Next>
    ) -> AsyncOperation<Next> {
        flatMap(name, in: queue, make)
    }

    /// A step that makes an operation from this one's output, runs it in an ``InterlockQueue``, and ends with its
    /// outcome.
    ///
    /// The step keeps its place in its own queue until then, but no thread. Where `queue` is the step's own queue, the
    /// operation runs in that place. Fails with ``OperationDeadlocked``, without running the operation, if that waits
    /// for this step, or for an operation behind the step in the step's own serial queue.
    public final func flatMap<Next: Sendable>(
        name: String? = nil,
        on queue: InterlockQueue,
        _ make: @escaping @Sendable (Output) throws -> AsyncOperation<Next>
    ) -> AsyncOperation<Next> {
        flatMap(name, in: queue.core, make)
    }

    private func flatMap<Next: Sendable>(
        _ name: String?,
        in queue: any GroupQueue,
        _ make: @escaping @Sendable (Output) throws -> AsyncOperation<Next>
    ) -> AsyncOperation<Next> {
        then(name: name) { output, completion in
            do {
                let inner = try make(output)
                // The completion of a step ends the step.
                let step = completion.job as! AsyncOperation<Next>
                // Steps that make steps end and are cancelled one after the other, at any depth. A cancelled step ends
                // with its own cancellation, also where the operation ends while the step cancels it.
                inner.onFinish { outcome in
                    NestedEnds.run {
                        completion(step.isCancelled ? .failure(step.cancellationError) : outcome)
                    }
                }
                completion.onCancel { NestedEnds.run { inner.cancel() } }
                try StepPlace.run(inner, for: step, on: queue)
            } catch {
                completion.fail(error)
            }
        }
    }

    /// A step that gives this operation's output, or what `rescue` makes of its error.
    ///
    /// - Parameter rescue: given the error of this operation or of one upstream; may throw another.
    public final func recover(
        name: String? = nil,
        _ rescue: @escaping @Sendable (any Error) throws -> Output
    ) -> AsyncOperation<Output> {
        let work = Self.blockWork { [self] in
            do { return try output(forStep: name ?? "then") } catch { return try rescue(error) }
        }
        return following(name, work)
    }

    /// Adds the operation to `queue` and gives it back: `let page = AsyncOperation { … }.enqueued(on: queue)`. Once, as
    /// ``Foundation/OperationQueue/enqueue(_:)``.
    @discardableResult
    public final func enqueued(on queue: OperationQueue) -> Self {
        enlist(in: queue)
        announceEnqueued()
        queue.addOperation(self)
        return self
    }

    /// Adds the operation to `queue`, of the other kind, and gives it back.
    @discardableResult
    public final func enqueued(on queue: InterlockQueue) -> Self {
        queue.enqueue(self)
        return self
    }

    /// An operation that depends on this one and takes its output.
    private func following<Next: Sendable>(_ name: String?, _ work: OperationWork) -> AsyncOperation<Next> {
        let next = AsyncOperation<Next>(name: name, work: work)
        next.depend(on: self, as: self)
        return next
    }
}
