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

    /// The priority that the pool gives it.
    var inC: ilk_priority {
        switch self {
        case .veryHigh, .high: WorkerPool.Priority.high.inC
        case .normal: WorkerPool.Priority.normal.inC
        case .low, .veryLow: WorkerPool.Priority.low.inC
        }
    }
}

/// What a node has beyond what most need. The lock of the node's stripe guards it.
struct JobExtras {
    var name: String?
    /// The successors beside `JobFields.successor`.
    var successors: [Unmanaged<JobNode>] = []
    var hooks = EndHooks<@Sendable () -> Void>()
    /// Tells running work of a cancellation.
    var cancelHandler: (@Sendable () -> Void)?
    /// What waits for an operation of another class on the node's behalf.
    var arrival: AnyObject?
    var upstream = UpstreamWork()
}

/// What a job waits for and its queue does not know: an edge is kept by its upstream end
/// (Queue/Explaining/JobWaits.swift). Until the job ends.
struct UpstreamWork {
    /// Jobs of other queues.
    var jobs: [JobNode] = []
    var operations: [WeakWork] = []
    /// Operations for which the upstream jobs wait.
    var operationsOfJobs: [WeakWork] = []
}

/// A reference to work that something else keeps.
// Set in `init`; loading a weak reference is atomic.
package final class WeakWork: @unchecked Sendable {
    package private(set) weak var work: (any WaitingWork)?

    init(_ work: any WaitingWork) { self.work = work }
}

/// A box, absent in most nodes.
// Touched under the lock of its node's stripe only.
final class JobExtrasBox: @unchecked Sendable { var extras = JobExtras() }

// What those that add a successor or take the output touch comes first: with the object's count it fills a cache line.
struct JobFields {
    /// What the work gave; typed by the kind of job.
    var output = OutputSlot()
    var state = WorkState()
    var isRefused = false
    var isBarrier = false
    /// The priority. An operation's is the one that it had when it became ready, or that was changed while it was
    /// listed.
    var priority: JobPriority
    var listings: JobListings = []
    let isBlocking: Bool
    /// Dependencies that have not finished, and one until the node is in its queue.
    var pending: Int32
    /// The generation tells between which barriers it was added.
    var generation: UInt32 = 0
    /// The first node that waits for this one; `sibling` leads to the others. Their own counts keep them: see
    /// `JobNode`.
    var successor: Unmanaged<JobNode>?
    /// The next of the nodes that wait for the same node. Belongs to the first upstream node; changed under its lock.
    var sibling: Unmanaged<JobNode>?
    /// The stripe of its queue, which follows from the node's address.
    var stripe: QueueStripes.Reference
    var error: (any Error)?
    var box: JobExtrasBox?
    /// The queue's list of what has not finished.
    var next: Unmanaged<JobNode>?
    var previous: Unmanaged<JobNode>?
    /// The era of its stripe in which it was submitted; `placedEra`: it has a place that the queue counts.
    var era: UInt32 = 0
    /// Belongs to the pool from submission until the job begins.
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
