// SPDX-License-Identifier: Apache-2.0
//
// The end of a node: decided once, under the stripe's lock; made known outside it by the thread that decided.

extension JobNode {
    /// What is left to do after the lock of an end.
    struct Ended {
        let successor: Unmanaged<JobNode>?
        let generation: UInt32
        let hasExtras: Bool
        let isOfOldGeneration: Bool
        let freesPlace: Bool
        let isBarrier: Bool
        let leavesEmpty: Bool
        /// Nothing that comes later refers to the node.
        let isToBeReleased: Bool
    }

    /// Ends a running node. `nil`: its output is stored.
    package func end(error: (any Error)?) { endRunning(error: error)?.submit() }

    /// Ends a running node; returns a successor that is ready, and may run on this thread.
    @usableFromInline
    func endRunning(error: (any Error)?) -> Successor? {
        let ended: Ended? = withStripe { fields, stripe in
            if fields.pointee.state.hasEnded { return nil }
            let wasCancelled = fields.pointee.state.isCancelled && endsCancelled
            return markEnded(with: wasCancelled ? cancellation : error, &stripe)
        }
        return ended.flatMap(makeKnown)
    }

    /// Under the stripe's lock, once.
    @inline(__always)
    func markEnded(with error: (any Error)?, _ stripe: inout Stripe) -> Ended {
        let fields = fields
        let phase = fields.pointee.state.phase
        let wasPlaced = phase == .submitted || phase == .running
        var freesPlace = false
        if wasPlaced {
            if fields.pointee.era == stripe.era { stripe.started -= 1 } else { freesPlace = true }
        }
        fields.pointee.state.move(to: .ended)
        if let error { fields.pointee.error = error }
        return Ended(
            successor: fields.pointee.successor,
            generation: fields.pointee.generation,
            hasExtras: fields.pointee.box != nil,
            isOfOldGeneration: fields.pointee.generation != stripe.generation,
            freesPlace: freesPlace,
            isBarrier: fields.pointee.isBarrier,
            leavesEmpty: stripe.unlink(self),
            isToBeReleased: !wasPlaced && fields.pointee.pending == 0
        )
    }

    /// Makes an end known. Successors come before the place: in a queue without a limit a chain that has begun goes on
    /// before another begins; in one with a limit they are listed behind what became ready before.
    @inline(__always)
    func makeKnown(_ ended: Ended) -> Successor? {
        dropWork()
        let next = ended.successor.flatMap(releaseSuccessors)
        let follows = next?.node._withUnsafeGuaranteedRef { $0.mayFollow(self) } ?? false
        if !follows { next?.submit() }
        let hooks = ended.hasExtras ? releaseMore() : []
        if ended.freesPlace || ended.isBarrier || ended.isOfOldGeneration {
            core.left(
                generation: ended.isOfOldGeneration ? ended.generation : nil,
                freesPlace: ended.freesPlace,
                barrier: ended.isBarrier ? self : nil
            )
        }
        for hook in hooks { hook() }
        if ended.leavesEmpty { core.recheckEmpty() }
        // What `Stripe.link` retained; otherwise the pool releases it, or the last upstream node.
        if ended.isToBeReleased { Unmanaged.passUnretained(self).release() }
        return follows ? next : nil
    }

    /// Tells the successors in the list; one that may run now is the caller's, the others are the pool's.
    @inline(__always)
    func releaseSuccessors(_ first: Unmanaged<JobNode>) -> Successor? {
        var link: Unmanaged<JobNode>? = first
        var next: Successor?
        while let successor = link {
            // Read before the successor learns of the end: it may be freed right after.
            link = successor._withUnsafeGuaranteedRef { $0.fields.pointee.sibling }
            guard let ready = successor._withUnsafeGuaranteedRef({ $0.lastDependencyEnded() }) else {
                continue
            }
            next?.submit()
            next = ready
        }
        return next
    }

    /// Releases the other successors and what the box held, but for the name; returns the hooks.
    @inline(never)
    func releaseMore() -> [@Sendable () -> Void] {
        var ended = JobExtras()
        withStripe { fields, _ in
            guard let box = fields.pointee.box else { return }
            swap(&ended, &box.extras)
            box.extras.name = ended.name
        }
        for successor in ended.successors {
            successor._withUnsafeGuaranteedRef { $0.lastDependencyEnded() }?.submit()
        }
        return ended.hooks.takeAll()
    }
}
