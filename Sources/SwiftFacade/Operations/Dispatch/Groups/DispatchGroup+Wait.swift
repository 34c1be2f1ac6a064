// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a group with a report, and taking the results of its jobs.

import Dispatch
import InterlockPool
import InterlockSync

/// What waiting for a group found.
public struct GroupWaitReport: Sendable, CustomStringConvertible {
    /// Whether the group became empty in time.
    public let isFinished: Bool
    /// The jobs that had not left in time, in order of entry; they go on. A job that entered with a bare `enter()` is
    /// not listed.
    public let running: [RunningJob]

    /// A sentence: finished, or which jobs are still running.
    public var description: String {
        if isFinished { return "all jobs have finished" }
        if running.isEmpty {
            return
                "not finished in time: jobs that entered the group without a token, or that have left just now"
        }
        return "still running: " + running.map(\.description).joined(separator: ", ")
    }
}

/// The results of a group's jobs, in order of entry.
public struct CollectedResults<Value: Sendable>: Sendable {
    /// One for each job; nil where it has not finished.
    public let results: [Result<Value, any Error>?]
    /// The jobs that had not finished, in order of entry.
    public let running: [RunningJob]

    @inlinable
    init(results: [Result<Value, any Error>?], running: [RunningJob]) {
        (self.results, self.running) = (results, running)
    }

    /// Whether every job has a result.
    public var isComplete: Bool { running.isEmpty }

    /// The values of the jobs that have succeeded, in order of entry.
    @inlinable public var successes: [Value] { results.compactMap { try? $0?.get() } }

    /// All values in order of entry; throws the first error in that order, or else ``GroupTimedOut`` where a job has no
    /// result.
    public func values() throws -> [Value] {
        let values = try results.compactMap { try $0?.get() }
        if !isComplete { throw GroupTimedOut(running: running) }
        return values
    }
}

/// Not all jobs of a group had finished in time.
public struct GroupTimedOut: Error, Sendable, CustomStringConvertible {
    /// The jobs that had not finished.
    public let running: [RunningJob]

    /// A sentence.
    public var description: String {
        "timed out; still running: " + running.map(\.description).joined(separator: ", ")
    }
}

extension DispatchGroup {
    // MARK: Reports

    /// Blocks until the group is empty, for `timeout` at most (nil: for ever), and says which jobs are still running.
    ///
    /// May be called from any thread but those the jobs need. Jobs may join while it waits. What the jobs did is
    /// visible.
    @available(*, noasync, message: "it blocks the thread; use `try await waitReport(timeout:)`")
    public func waitReport(timeout: Duration?) -> GroupWaitReport {
        report(isFinished: blockingWait(until: .after(timeout)))
    }

    /// Suspends until the group is empty, for `timeout` at most (nil: for ever), and says which jobs are still running.
    /// What the jobs did is visible.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the jobs go on.
    public func waitReport(timeout: Duration?) async throws(CancellationError) -> GroupWaitReport {
        report(isFinished: try await becameEmpty(until: timeout.map(moment(in:))))
    }

    private func report(isFinished: Bool) -> GroupWaitReport {
        GroupWaitReport(isFinished: isFinished, running: isFinished ? [] : GroupLedger.of(self).running)
    }

    // MARK: Results

    /// Waits as `waitReport(timeout:)`, and gives the results of type `Value` of the jobs started by `wrap` or `run`,
    /// in order of entry.
    ///
    /// Complete results are given once. After a time-out they stay, and a later call gives all of them.
    ///
    /// - Complexity: O(*n*) in the jobs.
    @available(*, noasync, message: "it blocks the thread; use `try await collect(timeout:)`")
    @inlinable
    public func collect<Value: Sendable>(
        _ type: Value.Type = Value.self,
        timeout: Duration? = nil
    ) -> CollectedResults<Value> {
        _ = blockingWait(until: .after(timeout))
        return taken(type)
    }

    /// Suspends until the group is empty, for `timeout` at most (nil: for ever), and gives the results of type `Value`
    /// of the jobs started by `wrap` or `run`, in order of entry. Complete results are given once.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the jobs go on, and the results stay.
    @inlinable
    public func collect<Value: Sendable>(
        _ type: Value.Type = Value.self,
        timeout: Duration? = nil
    ) async throws(CancellationError) -> CollectedResults<Value> {
        _ = try await becameEmpty(until: timeout.map(moment(in:)))
        return taken(type)
    }

    /// Calls `body` on `queue` once the group is empty, with the results of type `Value` of the jobs started by `wrap`
    /// or `run`, in order of entry. Does not wait.
    ///
    /// May be called from any thread, while jobs run and any number of times; each result is given once, to the first
    /// taker. The results are complete. A job that joins after the group was empty and before `body` is called is among
    /// them if it has finished; its result stays otherwise. The group is kept alive until then.
    ///
    /// - Parameter queue: by default the main queue, which needs a program that drains it.
    /// - Complexity: O(*n*) in the jobs, when `body` is called.
    public func notifyResults<Value: Sendable>(
        of type: Value.Type = Value.self,
        queue: DispatchQueue = .main,
        execute body: @escaping @Sendable (CollectedResults<Value>) -> Void
    ) {
        notify(queue: queue) {
            let entries = GroupLedger.of(self).takeFinished(ObjectIdentifier(Value.self))
            body(CollectedResults(results: entries.map { $0.result(Value.self) }, running: []))
        }
    }

    @inlinable
    func taken<Value: Sendable>(_: Value.Type) -> CollectedResults<Value> {
        let collected = GroupLedger.of(self).collect(ObjectIdentifier(Value.self))
        var unfinished = collected.unfinished[...]
        let results = collected.entries.indices.map { index in
            if index != unfinished.first { return collected.entries[index].result(Value.self) as Result? }
            unfinished.removeFirst()
            return nil
        }
        return CollectedResults(results: results, running: collected.running)
    }

    /// The jobs may need the worker that waits.
    @usableFromInline
    func blockingWait(until deadline: DispatchTime) -> Bool {
        WorkerPool.withBlockingCall { wait(timeout: deadline) == .success }
    }

    @usableFromInline
    func becameEmpty(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        let isEmpty = Promise<Void>()
        // The closure outlives a wait that gives up, and holds only the promise.
        notify(queue: .global()) { isEmpty.fulfil(()) }
        if try await isEmpty.wait(until: deadline).isGranted() { return true }
        return blockingWait(until: .now())  // it may be empty, and the notification on its way
    }
}
