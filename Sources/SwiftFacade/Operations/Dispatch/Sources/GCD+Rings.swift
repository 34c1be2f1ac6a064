// SPDX-License-Identifier: Apache-2.0
//
// The elements of rings as events of a dispatch queue.

import Dispatch
import InterlockSync

extension GCD {
    /// Calls `body` with each element of `ring` on `queue`, until the events that are returned are cancelled or
    /// dropped, or the ring is closed and drained; see ``RingEvents``. Other consumers may pop beside it.
    ///
    /// - Parameter queue: by default the main queue, which needs a program that drains it.
    public static func elements<Element: ~Copyable>(
        of ring: MPMCRing<Element>,
        on queue: DispatchQueue = .main,
        _ body: @escaping @Sendable (consuming sending Element) -> Void
    ) -> RingEvents {
        RingEvents(RingSource(ring, by: acceptJob(of: queue), body))
    }

    /// Calls `body` with each element of the ring of `consumer`, which goes with the events; otherwise as for an
    /// ``MPMCRing``.
    public static func elements<Element: ~Copyable>(
        of consumer: consuming sending SPSCRing<Element>.Consumer,
        on queue: DispatchQueue = .main,
        _ body: @escaping @Sendable (consuming sending Element) -> Void
    ) -> RingEvents {
        RingEvents(RingSource(consumer, by: acceptJob(of: queue), body))
    }

    private static func acceptJob(of queue: DispatchQueue) -> AcceptJob {
        _ = QueueTag.of(queue)
        return { job, _ in
            queue.async { QueueTag.running(on: queue) { job() } }
        }
    }
}
