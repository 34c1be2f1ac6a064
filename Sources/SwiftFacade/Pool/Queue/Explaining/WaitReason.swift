// SPDX-License-Identifier: Apache-2.0
//
// A value that says what an operation waits for that is not running.

import InterlockSync

/// What an operation that is not running waits for. Operations, queues and conditions stand by their names.
public enum WaitReason: Sendable, Hashable, CustomStringConvertible {
    /// An unfinished operation on which it depends.
    case dependency(String)
    /// An unfinished operation on which it depends, and which is known to be in no queue and not started: the wait ends
    /// only if a caller starts that one.
    case dependencyInNoQueue(String)
    /// The operation is in no queue and was not started.
    case noQueue
    /// The operation was not started. Whether it is in a queue cannot be known: it may be in none.
    case notStarted
    /// The operation has its outcome from before its start, and its dependents are released when it is started.
    case outcomeRecorded
    /// Its queue is suspended.
    case queueSuspended(String)
    /// Its group is suspended, or a group around that: this one.
    case groupSuspended(String)
    /// Its queue already runs as many operations as its limit allows: these; none in an `OperationQueue` whose limit is
    /// 0.
    case queueIsFull(String, running: [String])
    /// A barrier of its queue that has not ended.
    case barrier(String)
    /// The operation is a barrier, and so many that were added to its queue before it have not ended.
    case before(Int)
    /// A condition that has not answered.
    case condition(String)
    /// A category of mutual exclusion, which another operation holds.
    case exclusion(category: String, holder: String)
    /// The end of a delay, or of the pause before another attempt.
    case delay
    /// A child of a group.
    case child(String)
    /// Its work has begun and has not ended.
    case work

    /// A sentence without a subject.
    public var description: String {
        switch self {
        case .dependency(let name): "waits for \(name)"
        case .dependencyInNoQueue(let name): "waits for \(name), which is in no queue and was not started"
        case .noQueue: "is in no queue and was not started"
        case .notStarted: "was not started, and may be in no queue"
        case .outcomeRecorded: "has its outcome, and finishes when it is started"
        case .queueSuspended(let queue): "waits in queue \(queue), which is suspended"
        case .groupSuspended(let group): "waits in group \(group), which is suspended"
        case .queueIsFull(let queue, running: []): "waits in queue \(queue), which may run none"
        case .queueIsFull(let queue, let running):
            "waits in queue \(queue), whose places are taken by \(running.joined(separator: ", "))"
        case .barrier(let name): "waits for the barrier \(name) of its queue"
        case .before(let count): "waits for \(count) that came before it into its queue"
        case .condition(let name): "waits for its condition \(name)"
        case .exclusion(let category, let holder): "waits for the category \(category), held by \(holder)"
        case .delay: "waits for a delay to end"
        case .child(let name): "waits for its child \(name)"
        case .work: "runs"
        }
    }
}
