// SPDX-License-Identifier: Apache-2.0
//
// Operations that take the outputs of several others, of any number and types: the closures of three kinds, and `zip`,
// `and` and `all`. Each depends on what it takes, and frees that when it has run.

import Foundation
import InterlockSync

extension AsyncOperation {
    /// Runs a closure on what other operations have given.
    ///
    /// ```swift
    /// let page = AsyncOperation(name: "page", after: text, pictures.substituting([])) { text, pictures in
    ///     Page(text, pictures)
    /// }
    /// ```
    ///
    /// The operation depends on each of them, in whatever queue it is. Where one failed or was cancelled, the closure
    /// does not run and the operation fails with that error, the first in order; unless the input says otherwise
    /// (``substituting(_:)``, ``asResult``). An input whose dependency was removed fails it
    /// with ``OperationInputMissing``.
    ///
    /// - Parameters:
    ///   - name: names the operation in errors and reports.
    ///   - inputs: the upstream operations, each as it is or with what is taken where it fails.
    ///   - body: given what they gave, in their order, on the thread of the operation's queue.
    public convenience init<each Input: OperationUpstream>(
        name: String? = nil,
        after inputs: repeat each Input,
        body: @escaping @Sendable (repeat (each Input).Taken) throws -> Output
    ) {
        let taken = (repeat (each inputs).upstream)
        let step = name ?? "after"
        self.init(name: name, work: Self.blockWork { try body(repeat (each taken).take(step)) })
        repeat depend(on: (each taken).operation, as: (each taken).operation)
    }

    /// Runs an `async` closure on what other operations have given. The operation depends on each of them, in whatever
    /// queue it is. Where one failed or was cancelled, the closure does not run and the operation fails with that
    /// error, the first in order; unless the input says otherwise (``substituting(_:)``, ``asResult``).
    ///
    /// - Parameters:
    ///   - priority: the priority of the task the closure runs in.
    ///   - body: given what the inputs gave; its task is cancelled with the operation.
    public convenience init<each Input: OperationUpstream>(
        name: String? = nil,
        priority: TaskPriority? = nil,
        after inputs: repeat each Input,
        body: @escaping @Sendable (repeat (each Input).Taken) async throws -> Output
    ) {
        let taken = (repeat (each inputs).upstream)
        let step = name ?? "after"
        let work = Self.taskWork(priority) { try await body(repeat try (each taken).take(step)) }
        self.init(name: name, work: work)
        repeat depend(on: (each taken).operation, as: (each taken).operation)
    }

    /// Runs a closure after other operations, whose outputs it does not take. The operation depends on each of them, in
    /// whatever queue it is. Where one failed or was cancelled, the closure does not run and the operation fails with
    /// that error, the first in order; unless the input says otherwise (``substituting(_:)``, ``asResult``). An input
    /// whose dependency was removed fails it with ``OperationInputMissing``.
    ///
    /// - Parameter body: runs on the thread of the operation's queue.
    public convenience init<each Input: OperationUpstream>(
        name: String? = nil,
        after inputs: repeat each Input,
        body: @escaping @Sendable () throws -> Output
    ) {
        self.init(name: name, after: repeat each inputs) { (_: repeat (each Input).Taken) in try body() }
    }

    /// Runs an `async` closure after other operations, whose outputs it does not take. The operation depends on each of
    /// them, in whatever queue it is. Where one failed or was cancelled, the closure does not run and the operation
    /// fails with that error, the first in order; unless the input says otherwise (``substituting(_:)``, ``asResult``).
    ///
    /// - Parameters:
    ///   - priority: the priority of the task the closure runs in.
    ///   - body: its task is cancelled with the operation.
    public convenience init<each Input: OperationUpstream>(
        name: String? = nil,
        priority: TaskPriority? = nil,
        after inputs: repeat each Input,
        body: @escaping @Sendable () async throws -> Output
    ) {
        self.init(name: name, priority: priority, after: repeat each inputs) {
            (_: repeat (each Input).Taken) in try await body()
        }
    }

    /// Runs a completion-handler function on what other operations have given. It is given the completion first: `{
    /// completion, a, b in … }`. The operation depends on each of the others, in whatever queue it is. Where one failed
    /// or was cancelled, the function is not called and the operation fails with that error, the first in order; unless
    /// the input says otherwise (``substituting(_:)``, ``asResult``).
    public convenience init<each Input: OperationUpstream>(
        name: String? = nil,
        after inputs: repeat each Input,
        body: @escaping @Sendable (Completion<Output>, repeat (each Input).Taken) -> Void
    ) {
        let taken = (repeat (each inputs).upstream)
        let step = name ?? "after"
        let work = Self.handlerWork { completion in
            do { try body(completion, repeat (each taken).take(step)) } catch { completion.fail(error) }
        }
        self.init(name: name, work: work)
        repeat depend(on: (each taken).operation, as: (each taken).operation)
    }

    /// An operation that waits for all inputs and gives what they gave, or the first error in order.
    ///
    /// `AsyncOperation.zip(a, b.asResult, c)`: any number, each as in `init(name:after:body:)`.
    public static func zip<each Input: OperationUpstream>(
        _ inputs: repeat each Input,
        name: String? = nil
    ) -> AsyncOperation<(repeat (each Input).Taken)> where Output == (repeat (each Input).Taken) {
        let taken = (repeat (each inputs).upstream)
        let step = name ?? "zip"
        let zipped = AsyncOperation(name: name, work: blockWork { (repeat try (each taken).take(step)) })
        repeat zipped.depend(on: (each taken).operation, as: (each taken).operation)
        return zipped
    }

    /// A step that waits for both operations and gives both outputs, or the first error in order.
    public final func and<Other: OperationUpstream>(
        _ other: Other,
        name: String? = nil
    ) -> AsyncOperation<(Output, Other.Taken)> {
        AsyncOperation<(Output, Other.Taken)>.zip(self, other, name: name)
    }

    /// An operation that waits for `operations` and gives their outputs, in their order, or the first error in order.
    ///
    /// - Complexity: O(*n*) edges, each as ``AsyncOperation/addDependency(_:)``.
    public static func all<Input: OperationUpstream>(
        of operations: [Input],
        name: String? = nil
    ) -> AsyncOperation<[Input.Taken]> where Output == [Input.Taken] {
        let taken = operations.map(\.upstream)
        let step = name ?? "all"
        let all = AsyncOperation(name: name, work: blockWork { try taken.map { try $0.take(step) } })
        for upstream in taken { all.depend(on: upstream.operation, as: upstream.operation) }
        return all
    }
}
