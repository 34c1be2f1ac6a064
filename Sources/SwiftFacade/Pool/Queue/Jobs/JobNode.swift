// SPDX-License-Identifier: Apache-2.0
//
// A job of an `InterlockQueue`: the one object of a light job, and what an operation is to its queue. The node links
// the C job, its successors and its neighbours in the queue's list, so a job allocates the node and its closure.
//
// States, edges and counts change under the lock of the node's stripe (QueueStripes.swift). docs/operations.md draws
// the states, and the outcomes of two threads that must not happen. Nothing that users write runs under that lock, and
// no thread holds the locks of two nodes.
//
// References: a node in a queue retains itself. The thread that runs it releases that; of a node that ended before it
// was submitted, the thread that ended it, or, if something upstream still knows it, the last of those. So edges
// downstream retain nothing. A node may hold what is upstream until it has run; a finished node holds its output only.
// So no chain of nodes is ever freed in nested calls.

import CInterlock
import InterlockSync

// Fields change under the lock of the stripe; a subclass's fields belong to the thread that runs or ends the node.
@usableFromInline
package class JobNode: @unchecked Sendable {
    /// The work of a node, on a thread of the pool. Ends the node, now or later; returns a node that may run next on
    /// the thread.
    @usableFromInline typealias Work = (JobNode) -> Successor?

    // Only reached through `fields`: one address for the C job, and no dynamic check of each access.
    private var storage: JobFields
    @usableFromInline package final let core: QueueCore
    // Not a method: those of generic classes are not specialised, and ask the runtime for types at each step.
    private final let work: Work

    @usableFromInline
    init(_ core: QueueCore, _ options: JobOptions, pending: Int32, work: @escaping Work) {
        storage = JobFields(options, pending: pending, stripe: core.stripes[0])
        self.core = core
        self.work = work
        fields.pointee.stripe = core.stripes.stripe(of: self)
        if let name = options.name {
            let box = JobExtrasBox()
            box.extras.name = name
            fields.pointee.box = box
        }
    }

    /// The memory of an object does not move. Its first property follows the two words that every object begins with.
    final var fields: UnsafeMutablePointer<JobFields> {
        @inline(__always) get {
            (Unmanaged.passUnretained(self).toOpaque() + JobNode.fieldsOffset)
                .assumingMemoryBound(to: JobFields.self)
        }
    }

    /// `JobFields.output` is the first of the fields.
    @inlinable
    final var outputSlot: UnsafeMutablePointer<OutputSlot> {
        @inline(__always) get {
            (Unmanaged.passUnretained(self).toOpaque() + JobNode.fieldsOffset)
                .assumingMemoryBound(to: OutputSlot.self)
        }
    }

    @inlinable static var fieldsOffset: Int { 2 * MemoryLayout<UnsafeRawPointer>.size }
    private static var jobOffset: Int { MemoryLayout<JobFields>.offset(of: \.job)! }

    // MARK: What a kind of job overrides

    /// Frees the work of a node that has ended.
    func dropWork() {}

    /// The pool had the node, and its queue takes it back.
    func willBeListed() {}

    /// The pool is closed: ends the node, on a thread of another pool.
    func refuse(_ error: WorkerPoolError) { end(error: error) }

    /// Whether a cancelled job ends with the cancellation whatever its work gives.
    var endsCancelled: Bool { true }

    /// Asks the job to stop: one that has not begun ends at once.
    func cancel() {
        var handler: (@Sendable () -> Void)?
        let ended: Ended? = withStripe { fields, stripe in
            switch fields.pointee.state.cancel() {
            case .ignored: return nil
            case .beforeStart, .beforeWork: return markEnded(with: cancellation, &stripe)
            case .duringWork:
                handler = fields.pointee.box?.extras.cancelHandler.take()
                return nil
            }
        }
        handler?()
        if let ended { makeKnown(ended)?.submit() }
    }

    /// The name, or type and address.
    package var bareName: String { name(given: givenName) }

    // MARK: Waiting

    /// Adds the node to its queue. `done` of its dependencies had finished when it was made their successor.
    @usableFromInline
    package final func enterQueue(done: Int32) {
        var isClosed = false
        let next = withStripe { fields, stripe in
            fields.pointee.pending -= 1 + done
            if stripe.isClosed {
                isClosed = true
                fields.pointee.state.move(to: .ended)
                fields.pointee.error = OperationQueueClosed(queue: core.name)
                // The upstream nodes know it.
                if fields.pointee.pending > 0 { _ = Unmanaged.passRetained(self) }
                return Next.nothing
            }
            stripe.link(self)
            let isReady = fields.pointee.pending == 0 && !fields.pointee.isBarrier
            return isReady ? becomeReady(&stripe) : .nothing
        }
        if isClosed { dropWork() }
        perform(next)
    }

    /// Makes `successor` wait for this node. False: it has finished.
    ///
    /// - Parameter isFirst: this is the successor's first upstream node: the link is in the successor itself.
    @usableFromInline
    final func addSuccessor(_ successor: JobNode, isFirst: Bool) -> Bool {
        var operations: [WeakWork] = []
        let isAdded = withStripe { fields, _ in
            if fields.pointee.state.hasEnded { return false }
            if let box = fields.pointee.box { operations = box.extras.upstream.allOperations }
            if isFirst {
                successor.fields.pointee.sibling = fields.pointee.successor
                fields.pointee.successor = .passUnretained(successor)
            } else {
                extras(fields).extras.successors.append(.passUnretained(successor))
            }
            return true
        }
        if !operations.isEmpty || isAdded && successor.core !== core {
            successor.wait(behind: self, operations)
        }
        return isAdded
    }

    /// Makes the node a successor of all of `upstream`, and adds it to its queue.
    final func enterQueue(behind upstream: [JobNode]) {
        var done: Int32 = 0
        for (index, node) in upstream.enumerated() where !node.addSuccessor(self, isFirst: index == 0) {
            done += 1
        }
        enterQueue(done: done)
    }

    /// One thing less to wait for. The last one gives the node to the pool.
    package final func oneDependencyEnded() { lastDependencyEnded()?.submit() }

    /// One thing less to wait for: the node where it may run now.
    @inline(__always)
    final func lastDependencyEnded() -> Successor? {
        var isToBeReleased = false
        let next = withStripe { fields, stripe in
            fields.pointee.pending -= 1
            guard fields.pointee.pending == 0 else { return Next.nothing }
            if fields.pointee.state.phase == .waiting { return becomeReady(&stripe) }
            isToBeReleased = true
            return .nothing
        }
        switch next {
        case .submit: return Successor(node: .passUnretained(self))
        case .list: core.addReady(self)
        // It ended before what it waited for, and was kept for that.
        case .nothing: if isToBeReleased { Unmanaged.passUnretained(self).release() }
        }
        return nil
    }

    /// Waits for nothing any more, whatever it waited for. The first call counts. For nodes that are no successors.
    package final func allDependenciesEnded() {
        let next = withStripe { fields, stripe in
            guard fields.pointee.state.phase == .waiting, fields.pointee.pending > 0 else {
                return Next.nothing
            }
            fields.pointee.pending = 0
            return becomeReady(&stripe)
        }
        perform(next)
    }

    enum Next { case nothing, submit, list }

    @inline(__always)
    private func becomeReady(_ stripe: inout Stripe) -> Next {
        if stripe.isHeld {
            fields.pointee.state.move(to: .listed)
            return .list
        }
        fields.pointee.state.move(to: .submitted)
        fields.pointee.era = stripe.era
        stripe.started += 1
        return .submit
    }

    @inline(__always)
    private func perform(_ next: Next) {
        switch next {
        case .nothing: return
        case .submit: submit()
        case .list: core.addReady(self)
        }
    }

    // MARK: Running

    /// Gives the job to the pool.
    final func submit() {
        let isBlocking = fields.pointee.isBlocking || core.isBlocking
        if submit(to: isBlocking ? WorkerPool.blocking.core : core.pool.core) { return }
        withStripe { fields, _ in fields.pointee.isRefused = true }
        // Never closed. Ending it here would nest the ends of a chain.
        _ = submit(to: WorkerPool.shared.core)
    }

    @inline(__always)
    private func submit(to pool: PoolCore) -> Bool {
        let job = (UnsafeMutableRawPointer(fields) + JobNode.jobOffset).assumingMemoryBound(to: ilk_job.self)
        ilk_job_init(job, runJobNode, Unmanaged.passUnretained(self).toOpaque())
        if fields.pointee.priority != .normal { ilk_job_set_priority(job, fields.pointee.priority.inC) }
        return ilk_pool_submit(pool.pool, job)
    }

    private enum Begin { case run, gone, refused, turnIn }

    /// The pool has a thread for the job; a job that may follow it.
    final func begin() -> Successor? {
        let begin: Begin = withStripe { fields, stripe in
            if fields.pointee.state.phase != .submitted { return .gone }
            if fields.pointee.isRefused {
                fields.pointee.state.move(to: .running)
                return .refused
            }
            if stripe.isHeld, fields.pointee.era != placedEra {
                fields.pointee.state.move(to: .listed)
                // What the pool had is the list's.
                _ = Unmanaged.passRetained(self)
                return .turnIn
            }
            fields.pointee.state.move(to: .running)
            return .run
        }
        switch begin {
        case .run:
            return ThreadDiagnosis.working(on: self, nameInDiagnosis) { work(self) }
        case .gone: break
        case .refused: refuse(.closed(pool: core.pool.name))
        case .turnIn:
            willBeListed()
            core.addReady(self, freesPlace: true)
        }
        return nil
    }

    /// Whether the thread of `other`, which has ended, may run this one next.
    final func mayFollow(_ other: JobNode) -> Bool {
        core === other.core && fields.pointee.isBlocking == other.fields.pointee.isBlocking
            && fields.pointee.priority == .normal
    }

    /// A barrier whose turn has come; false: it has ended. Under the lock of the queue's state.
    final func becomeReadyBarrier() -> Bool {
        withStripe { fields, _ in
            if fields.pointee.state.phase != .waiting { return false }
            fields.pointee.state.move(to: .listed)
            return true
        }
    }

    @inline(__always)
    final func withStripe<Result>(
        _ body: (UnsafeMutablePointer<JobFields>, inout Stripe) -> Result
    ) -> Result {
        let stripe = fields.pointee.stripe
        ilk_mutex_lock(stripe.lock)
        defer { ilk_mutex_unlock(stripe.lock) }
        return body(fields, &stripe.value.pointee)
    }
}

/// A node that is ready to run, and retained by what the pool will release.
@usableFromInline
package struct Successor {
    let node: Unmanaged<JobNode>

    func submit() { node._withUnsafeGuaranteedRef { $0.submit() } }
}

/// How many jobs follow each other on a thread before others have a turn.
private let followers = 64

/// The function of a node's C job: runs it, and what it makes ready.
private func runJobNode(_ context: UnsafeMutableRawPointer?) {
    var node = Unmanaged<JobNode>.fromOpaque(context!).takeRetainedValue()
    PoolThread.runsJob {
        for _ in 0..<followers {
            guard let next = node.begin() else { return }
            node = next.node.takeRetainedValue()
        }
        // The node's retain goes back to the pool.
        Successor(node: .passRetained(node)).submit()
    }
}

extension JobNode: ReturnableWork {
    package final func handBack(to _: PoolCore) {
        withStripe { fields, _ in fields.pointee.isRefused = true }
        _ = submit(to: WorkerPool.shared.core)
    }
}
