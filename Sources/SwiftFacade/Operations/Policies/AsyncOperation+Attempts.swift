// SPDX-License-Identifier: Apache-2.0
//
// Operations whose work is run more than once: the initializers for the three kinds of closures, with a `RetryPolicy`
// or a `RepeatPolicy`.

import Foundation
import InterlockSync

extension AsyncOperation {
    /// Wraps a completion-handler function that is called again where it fails.
    ///
    /// Each attempt gets a completion of its own; calls of an earlier one are ignored. One that is dropped without a
    /// call is a failed attempt, with ``OperationAbandoned``. The last error ends the operation. In a pause the
    /// operation keeps its place in its queue, but no thread; a cancellation ends it at once.
    public convenience init(
        name: String? = nil,
        retry policy: RetryPolicy,
        _ body: @escaping @Sendable (Completion<Output>) -> Void
    ) {
        self.init(name: name, attempts: policy.terms(windsDown: false), { body(Completion($0)) })
    }

    /// Runs a closure that is run again where it fails, on the threads of the queue; else as the form for completion
    /// handlers.
    public convenience init(
        name: String? = nil,
        retry policy: RetryPolicy,
        _ body: @escaping @Sendable () throws -> Output
    ) {
        self.init(name: name, attempts: policy.terms(), { $0.finish(Result(catching: body)) })
    }

    /// Runs an `async` closure that is run again where it fails, each time in a task of its own; else as the form for
    /// completion handlers. Cancelling the operation cancels the task.
    public convenience init(
        name: String? = nil,
        priority: TaskPriority? = nil,
        retry policy: RetryPolicy,
        _ body: @escaping @Sendable () async throws -> Output
    ) {
        self.init(name: name, attempts: policy.terms(isTask: true), { $0.runTask(priority, body) })
    }

    /// Wraps a completion-handler function that is called again where it succeeds. Completions and pauses are as with a
    /// ``RetryPolicy``; the first error ends the operation.
    public convenience init(
        name: String? = nil,
        repeating policy: RepeatPolicy<Output>,
        _ body: @escaping @Sendable (Completion<Output>) -> Void
    ) {
        self.init(name: name, attempts: policy.terms(windsDown: false), { body(Completion($0)) })
    }

    /// Runs a closure that is run again where it succeeds, on the threads of the queue; else as the form for completion
    /// handlers.
    public convenience init(
        name: String? = nil,
        repeating policy: RepeatPolicy<Output>,
        _ body: @escaping @Sendable () throws -> Output
    ) {
        self.init(name: name, attempts: policy.terms(), { $0.finish(Result(catching: body)) })
    }

    /// Runs an `async` closure that is run again where it succeeds, each time in a task of its own; else as the form
    /// for completion handlers. Cancelling the operation cancels the task.
    public convenience init(
        name: String? = nil,
        priority: TaskPriority? = nil,
        repeating policy: RepeatPolicy<Output>,
        _ body: @escaping @Sendable () async throws -> Output
    ) {
        self.init(name: name, attempts: policy.terms(isTask: true), { $0.runTask(priority, body) })
    }

    private convenience init(
        name: String?,
        attempts terms: AttemptRun<Output>.Terms,
        _ body: @escaping @Sendable (Attempt<Output>) -> Void
    ) {
        let work = OperationWork(windsDown: terms.windsDown) { operation in
            AttemptRun(of: Self.own(operation), terms, body).start()
        }
        self.init(name: name, work: work)
        // The policies store the pauses.
        changePolicies("init") { _ in }
    }

    /// The end of an attempt of a cancelled operation, as `runBlock` and `runTask` end one.
    final func endCancelled(_ result: Outcome, isTask: Bool) -> Bool {
        switch result {
        case .success(let value) where isTask: finish(value: value)
        case .failure(let error) where isTask && !(error is CancellationError): finish(error: error)
        case .success, .failure: finish(error: cancellationError)
        }
    }
}

extension Attempt {
    /// If the operation is cancelled, the task's answer is the result.
    fileprivate func runTask(_ priority: TaskPriority?, _ body: @escaping @Sendable () async throws -> Output)
    {
        let priority = priority ?? TaskPriority(operation.qualityOfService)
        let task = Task(executorPreference: operation.node?.taskPool, priority: priority) { [self] in
            do { finish(.success(try await body())) } catch { finish(.failure(error)) }
        }
        onCancel { task.cancel() }
    }
}

extension RetryPolicy {
    fileprivate func terms<Output>(windsDown: Bool = true, isTask: Bool = false) -> AttemptRun<Output>.Terms {
        .init(clock: clock, limit: attemptLimit, windsDown: windsDown, isTask: isTask) { number, result in
            guard case .failure(let error) = result, number < attempts, isWorthRetrying(error) else {
                return .last(result)
            }
            return .again(after: pause(afterAttempt: number))
        }
    }
}

extension RepeatPolicy {
    fileprivate func terms(windsDown: Bool = true, isTask: Bool = false) -> AttemptRun<Value>.Terms {
        .init(clock: clock, limit: nil, windsDown: windsDown, isTask: isTask) { number, result in
            guard case .success(let value) = result, !isLast(number, value) else { return .last(result) }
            return .again(after: pause)
        }
    }
}
