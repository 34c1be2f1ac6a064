// SPDX-License-Identifier: Apache-2.0
//
// The kinds of light jobs. Each is a class: what differs is a method, and the node stays one object.

/// A job with an output.
// The output is written by the thread that ends the job, before the end is made known; read by those that know it.
class OutputNode<Output: Sendable>: JobNode, @unchecked Sendable {
    final var output: Output?

    /// The output of a job that has ended, or its error.
    final var settledOutcome: Result<Output, any Error> {
        if let error = settledError { return .failure(error) }
        return .success(output!)
    }

    final func settledOutput() throws -> Output {
        if let error = settledError { throw error }
        return output!
    }

    final func end(with body: () throws -> Output) -> Successor? {
        do {
            output = try body()
            return endRunning(error: nil)
        } catch {
            return endRunning(error: error)
        }
    }
}

/// A closure.
// As JobNode: `body` is the runner's, or of the thread that ends the job unrun.
final class BlockNode<Output: Sendable>: OutputNode<Output>, @unchecked Sendable {
    private var body: (@Sendable () throws -> Output)?

    init(
        _ core: QueueCore,
        _ options: JobOptions,
        pending: Int32,
        _ body: @escaping @Sendable () throws -> Output
    ) {
        self.body = body
        super.init(core, options, pending: pending)
    }

    override func work() -> Successor? {
        // Freed before the end is made known.
        body.take().flatMap { end(with: $0) }
    }

    override func dropWork() { body = nil }
}

/// A closure that is given the output of a job above.
// As BlockNode.
final class ThenNode<Input: Sendable, Output: Sendable>: OutputNode<Output>, @unchecked Sendable {
    private var upstream: OutputNode<Input>?
    private var body: (@Sendable (Input) throws -> Output)?

    init(
        _ core: QueueCore,
        _ options: JobOptions,
        _ upstream: OutputNode<Input>,
        _ body: @escaping @Sendable (Input) throws -> Output
    ) {
        self.upstream = upstream
        self.body = body
        super.init(core, options, pending: 2)
    }

    override func work() -> Successor? {
        guard let upstream = upstream.take(), let body = body.take() else { return nil }
        return end { try body(upstream.settledOutput()) }
    }

    override func dropWork() {
        upstream = nil
        body = nil
    }
}

/// An `async` closure, in a task on the queue's pool.
// As BlockNode.
final class TaskNode<Output: Sendable>: OutputNode<Output>, @unchecked Sendable {
    private var body: (@Sendable () async throws -> Output)?

    init(
        _ core: QueueCore,
        _ options: JobOptions,
        pending: Int32,
        _ body: @escaping @Sendable () async throws -> Output
    ) {
        self.body = body
        super.init(core, options, pending: pending)
    }

    override func work() -> Successor? {
        guard let body = body.take() else { return nil }
        let task = Task(executorPreference: core.pool) { [self] in
            do {
                output = try await body()
                end(error: nil)
            } catch {
                end(error: error)
            }
        }
        if setCancelHandler({ task.cancel() }) { task.cancel() }
        return nil
    }

    override func dropWork() { body = nil }
}
