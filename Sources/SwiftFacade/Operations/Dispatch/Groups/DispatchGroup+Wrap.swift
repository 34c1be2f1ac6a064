// SPDX-License-Identifier: Apache-2.0
//
// Jobs that balance by themselves: a completion-handler function enters before it is called and leaves when its
// callback has come or was dropped. A callback kept for ever and not called remains a fault; `waitReport` names it.

import Dispatch

/// A job of a `DispatchGroup` that a ``Completion`` ends: its result is recorded, then it leaves.
private final class GroupJob<Output: Sendable>: CompletableJob {
    private let token: LeaveToken

    init(_ token: LeaveToken) { self.token = token }

    func finish(_ outcome: Result<Output, any Error>) -> Bool { token.leaveIfInside { $0.store(outcome) } }

    func completionDropped() { _ = finish(.failure(JobAbandoned(job: token.label, origin: token.origin))) }
}

/// The result of a job whose callback was dropped without a call.
public struct JobAbandoned: Error, Hashable, CustomStringConvertible {
    /// The job's label.
    public let job: String
    /// The file and line at which it entered its group.
    public let origin: String

    /// Makes the error.
    public init(job: String, origin: String) {
        self.job = job
        self.origin = origin
    }

    /// A sentence.
    public var description: String {
        "the callback of the job \(job.isEmpty ? "" : "\"\(job)\" ")entered at \(origin) was dropped without a call"
    }
}

extension DispatchGroup {
    /// Starts a completion-handler function as a job of the group.
    ///
    /// May be called from any thread; `start` runs on this one, before the return. An error that it throws becomes the
    /// job's result. The result is kept until `collect` takes it or the group is gone.
    ///
    /// - Parameters:
    ///   - label: names the job in reports, as `file` and `line` do; leave their defaults.
    ///   - start: given the completion, which it or its callback calls.
    public func wrap<Value: Sendable>(
        _ label: String = "",
        file: StaticString = #fileID,
        line: UInt = #line,
        _ start: (Completion<Value>) throws -> Void
    ) {
        let entry = GroupEntry(RunningJob(label: label, file: file, line: line), yielding: Value.self)
        let completion = Completion(GroupJob<Value>(LeaveToken(group: self, entry)))
        do { try start(completion) } catch { completion.fail(error) }
    }

    /// A callback that calls `handler` and then leaves the group: `fetch(url, completion: group.leaving("page") { data,
    /// error in … })`.
    ///
    /// May be called from any thread; the job enters before the return. The handler runs for the first call only, and
    /// has returned before the group sees the job leave. A callback dropped without a call leaves then. Parameters as
    /// in `wrap`.
    public func leaving<each Argument>(
        _ label: String = "",
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (repeat each Argument) -> Void
    ) -> @Sendable (repeat each Argument) -> Void {
        let stay = SilentStay(enterToken(label, file: file, line: line))
        return { (argument: repeat each Argument) in
            stay.end { handler(repeat each argument) }
        }
    }

    // Inlinable: unspecialised, each job looks the types of its result up.
    /// Runs a closure on `queue` as a job of the group; its value or error is the job's result.
    ///
    /// May be called from any thread; returns at once, with the job entered. Result and parameters as in `wrap`.
    @inlinable
    public func run<Value: Sendable>(
        _ label: String = "",
        on queue: DispatchQueue,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ work: @escaping @Sendable () throws -> Value
    ) {
        let ledger = GroupLedger.of(self)
        let entry = GroupEntry(RunningJob(label: label, file: file, line: line), yielding: Value.self)
        ledger.enter(entry)
        queue.async(group: self) {
            entry.store(QueueTag.running(on: queue) { Result(catching: work) })
            ledger.leave(entry)
        }
    }
}

/// A token that may be dropped: a callback need not be called.
private final class SilentStay: Sendable {
    private let token: LeaveToken

    init(_ token: LeaveToken) { self.token = token }

    deinit { token.leaveIfInside() }

    func end(_ last: () -> Void) { token.leaveIfInside { _ in last() } }
}
