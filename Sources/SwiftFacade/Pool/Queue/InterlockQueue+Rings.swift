// SPDX-License-Identifier: Apache-2.0
//
// The elements of rings as jobs of the queue.

import InterlockSync

extension InterlockQueue {
    /// Calls `body` with each element of `ring`, in jobs of this queue, until the events that are returned are
    /// cancelled or dropped, or the ring is closed and drained; see ``RingEvents``, which keep the queue. Other
    /// consumers may pop beside it.
    ///
    /// A job that the queue ends without running it, because it was cancelled, shut down or its pool closed, ends the
    /// events.
    public func elements<Element: ~Copyable>(
        of ring: MPMCRing<Element>,
        _ body: @escaping @Sendable (consuming sending Element) -> Void
    ) -> RingEvents {
        RingEvents(RingSource(ring, by: Self.acceptJob(of: core), body), keeping: self)
    }

    /// Calls `body` with each element of the ring of `consumer`, which goes with the events; otherwise as for an
    /// ``MPMCRing``.
    public func elements<Element: ~Copyable>(
        of consumer: consuming sending SPSCRing<Element>.Consumer,
        _ body: @escaping @Sendable (consuming sending Element) -> Void
    ) -> RingEvents {
        RingEvents(RingSource(consumer, by: Self.acceptJob(of: core), body), keeping: self)
    }

    /// Keeps no queue: one that is suspended and has no other owner resumes as it goes.
    private static func acceptJob(of core: QueueCore) -> AcceptJob {
        { job, dropped in
            // A job that is cancelled while it runs ends as cancelled, too.
            let pending = PendingWork(job)
            let options = JobOptions(name: "elements of a ring")
            let node = BlockNode<Void>(core, options, pending: 1) { pending.claim()?() }
            node.enterQueue(done: 0)
            Job(node: node).onFinish { _ in if pending.claim() != nil { dropped() } }
        }
    }
}
