// SPDX-License-Identifier: Apache-2.0
//
// The kinds of light jobs. Each is a class: what differs is a method, and the node stays one object.

import InterlockSync

/// A job with an output.
// The output is written by the thread that ends the job, before the end is made known; read by those that know it.
@usableFromInline
package class OutputNode<Output: Sendable>: JobNode, @unchecked Sendable {
    deinit { OutputSlot.destroy(Output.self, in: outputSlot) }

    /// The output of a job that has ended, or its error.
    @inlinable
    final var finalOutcome: Result<Output, any Error> {
        if let error = finalError { return .failure(error) }
        return .success(OutputSlot.load(Output.self, from: outputSlot))
    }

    @inlinable
    final func finalOutput() throws -> Output {
        if let error = finalError { throw error }
        return OutputSlot.load(Output.self, from: outputSlot)
    }

    @inlinable @inline(__always)
    final func end(with body: () throws -> Output) -> Successor? {
        do {
            OutputSlot.store(try body(), in: outputSlot)
            return endRunning(error: nil)
        } catch {
            return endRunning(error: error)
        }
    }
}

/// A closure.
// Sendable for JobNode's reasons: `body` is the runner's, or the thread's that ends the job unrun. So accesses need no
// check of each.
@usableFromInline
package final class BlockNode<Output: Sendable>: OutputNode<Output>, @unchecked Sendable {
    @exclusivity(unchecked) @usableFromInline var body: (@Sendable () throws -> Output)?

    @inlinable
    package init(
        _ core: QueueCore,
        _ options: JobOptions,
        pending: Int32,
        _ body: @escaping @Sendable () throws -> Output
    ) {
        self.body = body
        super.init(core, options, pending: pending) { unsafeDowncast($0, to: BlockNode<Output>.self).run() }
    }

    @inlinable
    func run() -> Successor? {
        guard let body else { return nil }
        // Freed before the end is made known.
        self.body = nil
        return end(with: body)
    }

    override func dropWork() { body = nil }
}

/// A closure that is given the output of an upstream job.
// Sendable for BlockNode's reasons.
@usableFromInline
final class ThenNode<Input: Sendable, Output: Sendable>: OutputNode<Output>, @unchecked Sendable {
    @exclusivity(unchecked) @usableFromInline var upstream: OutputNode<Input>?
    @exclusivity(unchecked) @usableFromInline var body: (@Sendable (Input) throws -> Output)?

    @inlinable
    init(
        _ core: QueueCore,
        _ options: JobOptions,
        _ upstream: OutputNode<Input>,
        _ body: @escaping @Sendable (Input) throws -> Output
    ) {
        self.upstream = upstream
        self.body = body
        super.init(core, options, pending: 2) { unsafeDowncast($0, to: ThenNode<Input, Output>.self).run() }
    }

    @inlinable
    func run() -> Successor? {
        guard let upstream, let body else { return nil }
        self.upstream = nil
        self.body = nil
        return end { try body(upstream.finalOutput()) }
    }

    override func dropWork() {
        upstream = nil
        body = nil
    }
}

/// An `async` closure, in a task on the queue's pool.
// Sendable for BlockNode's reasons.
final class TaskNode<Output: Sendable>: OutputNode<Output>, @unchecked Sendable {
    private var body: (@Sendable () async throws -> Output)?

    init(
        _ core: QueueCore,
        _ options: JobOptions,
        pending: Int32,
        _ body: @escaping @Sendable () async throws -> Output
    ) {
        self.body = body
        super.init(core, options, pending: pending) { unsafeDowncast($0, to: TaskNode<Output>.self).run() }
    }

    private func run() -> Successor? {
        guard let body = body.take() else { return nil }
        let task = Task(executorPreference: core.isBlocking ? .blocking : core.pool) { [self] in
            do {
                OutputSlot.store(try await body(), in: outputSlot)
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
