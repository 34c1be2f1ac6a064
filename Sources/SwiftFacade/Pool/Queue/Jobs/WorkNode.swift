// SPDX-License-Identifier: Apache-2.0
//
// A node for work that has a life of its own: an operation. The node says when it may start, and ends when the work
// says that it has ended.

/// What such a node is the place of.
package protocol QueuedWork: AnyObject, Sendable {
    /// The operation, as it is found in explanations.
    var waiting: any WaitingWork { get }
    /// Starts the work, on a thread of the queue's pool; it ends `node`, now or later.
    func startWork(_ node: WorkNode)
    /// Ends work that has not begun: the pool was closed.
    func refuse(_ error: any Error)
    /// Asks the work to stop.
    func cancel(_ node: WorkNode)
    /// Sees to it that the node has the work's priority before it is listed.
    func willBeListed(_ node: WorkNode)
    /// The node has ended.
    func wasDropped()
}

// Sendable for JobNode's reasons; `held` changes once, at the end, under the stripe's lock.
package final class WorkNode: JobNode, @unchecked Sendable {
    private var held: (any QueuedWork)?

    package init(_ core: QueueCore, _ work: any QueuedWork, isBlocking: Bool) {
        held = work
        super.init(core, JobOptions(isBlocking: isBlocking), pending: 2) {
            unsafeDowncast($0, to: WorkNode.self).startWork()
        }
    }

    /// Nil after the end.
    package var work: (any QueuedWork)? { withStripe { _, _ in held } }

    /// What runs its parts that the queue does not begin.
    package var taskPool: WorkerPool { fields.pointee.isBlocking || core.isBlocking ? .blocking : core.pool }

    package override var bareName: String { work?.waiting.nameInExplanations ?? super.bareName }

    private func startWork() -> Successor? {
        work?.startWork(self)
        return nil
    }

    override var endsCancelled: Bool { false }

    override func dropWork() { withStripe { _, _ in held.take() }?.wasDropped() }

    override func refuse(_ error: WorkerPoolError) {
        guard let work else { return }
        work.refuse(error)
        // Cancelled work only finishes.
        work.startWork(self)
    }

    override func cancel() { work?.cancel(self) }

    override func willBeListed() { work?.willBeListed(self) }

    /// Gives the node `priority`. True: it is listed by another one.
    package func take(_ priority: JobPriority) -> Bool {
        withStripe { fields, _ in
            let phase = fields.pointee.state.phase
            // The pool reads it from then on.
            guard phase == .waiting || phase == .listed, fields.pointee.priority != priority else {
                return false
            }
            fields.pointee.priority = priority
            return phase == .listed
        }
    }
}
