// SPDX-License-Identifier: Apache-2.0
//
// What a node has, as plain values: states, edges, counts, and its place in the list of its queue.

import CInterlock
import InterlockSync

/// Which of a queue's ready nodes is begun first. Jobs have three of the five.
package enum JobPriority: Int8 {
    case veryHigh, high, normal, low, veryLow

    init(_ priority: WorkerPool.Priority) {
        self =
            switch priority {
            case .high: .high
            case .normal: .normal
            case .low: .low
            }
    }

    /// The pool's.
    var inC: ilk_priority {
        switch self {
        case .veryHigh, .high: WorkerPool.Priority.high.inC
        case .normal: WorkerPool.Priority.normal.inC
        case .low, .veryLow: WorkerPool.Priority.low.inC
        }
    }
}

/// What a node has beyond what most need. Guarded as the node.
struct JobExtras {
    var name: String?
    /// Beside `JobFields.successor`.
    var successors: [Unmanaged<JobNode>] = []
    var hooks = EndHooks<@Sendable () -> Void>()
    /// Tells running work of a cancellation.
    var cancelHandler: (@Sendable () -> Void)?
    /// What waits for an operation of another class on the node's behalf.
    var arrival: AnyObject?
    var above = JobsAbove()
}

/// What a job waits for and its queue does not know: an edge is kept by what is above it (Queue/Explaining/JobWaits.swift).
/// Until the job ends.
struct JobsAbove {
    /// Of other queues.
    var jobs: [JobNode] = []
    var operations: [WeakWork] = []
    /// Operations for which the jobs above wait.
    var operationsOfJobs: [WeakWork] = []
}

/// Known while something else keeps it.
// Set in `init`; loading a weak reference is atomic.
package final class WeakWork: @unchecked Sendable {
    package private(set) weak var work: (any WaitingWork)?

    init(_ work: any WaitingWork) { self.work = work }
}

/// A box, absent in most nodes.
// Touched under the lock of its node's stripe only.
final class JobExtrasBox: @unchecked Sendable {
    var extras = JobExtras()
}

// What those that add a successor or take the output touch comes first: with the object's count it fills a cache line.
struct JobFields {
    /// What the work gave; typed by the kind of job.
    var output = OutputSlot()
    var state = WorkState()
    var isRefused = false
    var isBarrier = false
    /// Of an operation, as it was when the operation became ready, or was changed in the list.
    var priority: JobPriority
    var listings: JobListings = []
    let isBlocking: Bool
    /// Dependencies that have not finished, and one until the node is in its queue.
    var pending: Int32
    /// Between which barriers it was added.
    var generation: UInt32 = 0
    /// The first that waits for this node; the others by `sibling`. Kept by their own counts: see `JobNode`.
    var successor: Unmanaged<JobNode>?
    /// The next of those that wait for the same node. Of the first node above; changed under the lock of that one.
    var sibling: Unmanaged<JobNode>?
    /// Of its queue; follows from the node's address.
    var stripe: QueueStripes.Reference
    var error: (any Error)?
    var box: JobExtrasBox?
    /// The queue's list of what has not finished.
    var next: Unmanaged<JobNode>?
    var previous: Unmanaged<JobNode>?
    /// In which era of its stripe it was submitted; `placedEra`: it has a place that the queue counts.
    var era: UInt32 = 0
    /// The pool's, from submission until the job begins.
    var job = ilk_job()

    init(_ options: JobOptions, pending: Int32, stripe: QueueStripes.Reference) {
        self.pending = pending
        self.stripe = stripe
        priority = JobPriority(options.priority)
        isBlocking = options.isBlocking
    }
}

/// The era of a job whose place is counted by the queue.
let placedEra = UInt32.max

/// What a job is made with.
@usableFromInline
package struct JobOptions {
    var name: String?
    var priority = WorkerPool.Priority.normal
    var isBlocking = false

    @usableFromInline
    package init(name: String? = nil, priority: WorkerPool.Priority = .normal, isBlocking: Bool = false) {
        self.name = name
        self.priority = priority
        self.isBlocking = isBlocking
    }
}
