// SPDX-License-Identifier: Apache-2.0
//
// A job of an `InterlockQueue`: the one object of a light job, and what an operation is to its queue. The node links
// the C job, its successors and its neighbours in the queue's list, so a job allocates the node and its closure.
//
// States, edges and counts change under the lock of the node's stripe (QueueStripes.swift). docs/operations.md draws the
// states, and the outcomes of two threads that must not happen. Nothing that users write runs under that lock, and no
// thread holds the locks of two nodes.
//
// References: a node in a queue retains itself. The thread that runs it releases that; of a node that ended before it
// was submitted, the thread that ended it, or, if something above it still knows it, the last of those. So edges down
// retain nothing. A node may hold what is above it until it has run; a finished node holds its output only. So no chain
// of nodes is ever freed in nested calls.

import CInterlock

enum JobPhase: UInt8 {
    /// Waits for dependencies, or for its barrier's turn.
    case waiting
    /// In a list of its queue, which may not start it now.
    case ready
    /// Given to the pool.
    case submitted
    /// Its work has begun.
    case running
    /// It has its result.
    case finished
}

/// What a node has beyond what most need. Guarded as the node.
struct JobExtras {
    var name: String?
    /// Beside `JobFields.successor`.
    var successors: [Unmanaged<JobNode>] = []
    var hooks: [(id: UInt64, body: @Sendable () -> Void)] = []
    var lastHook: UInt64 = 0
    /// Tells running work of a cancellation.
    var cancelHandler: (@Sendable () -> Void)?
    /// What waits for an operation of another class on the node's behalf.
    var arrival: AnyObject?
}

/// A box, absent in most nodes.
// Touched under the lock of its node's stripe only.
final class JobExtrasBox: @unchecked Sendable {
    var extras = JobExtras()
}

// What those that add a successor touch comes first: it shares a cache line with the object's count.
struct JobFields {
    var phase = JobPhase.waiting
    var isRefused = false
    var cancelRequested = false
    var isBarrier = false
    /// Dependencies that have not finished, and one until the node is in its queue.
    var pending: Int32
    /// The first that waits for this node; the others by `sibling`. Kept by their own counts: see `JobNode`.
    var successor: Unmanaged<JobNode>?
    /// The next of those that wait for the same node. Of the first node above; changed under the lock of that one.
    var sibling: Unmanaged<JobNode>?
    var box: JobExtrasBox?
    /// Between which barriers it was added.
    var generation: UInt32 = 0
    /// In which era of its stripe it was submitted; `placedEra`: it has a place that the queue counts.
    var era: UInt32 = 0
    /// The queue's list of what has not finished.
    var next: Unmanaged<JobNode>?
    var previous: Unmanaged<JobNode>?
    var error: (any Error)?
    let priority: WorkerPool.Priority
    let isBlocking: Bool
    /// The pool's, from submission until the job begins.
    var job = ilk_job()

    init(_ options: JobOptions, pending: Int32) {
        self.pending = pending
        priority = options.priority
        isBlocking = options.isBlocking
    }
}

/// The era of a job whose place is counted by the queue.
let placedEra = UInt32.max

// Fields change under the lock of the stripe; a subclass's fields belong to the thread that runs or ends the node.
class JobNode: @unchecked Sendable {
    // Only reached through `fields`: one address for the C job, and no dynamic check of each access.
    private var storage: JobFields
    final let core: QueueCore

    init(_ core: QueueCore, _ options: JobOptions, pending: Int32) {
        storage = JobFields(options, pending: pending)
        self.core = core
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

    static var fieldsOffset: Int { 2 * MemoryLayout<UnsafeRawPointer>.size }
    private static var jobOffset: Int { MemoryLayout<JobFields>.offset(of: \.job)! }

    // MARK: What a kind of job overrides

    /// The work, on a thread of the pool. Ends the node, now or later; returns a node that may run next on the thread.
    func work() -> Successor? { nil }

    /// Frees the work of a node that has ended.
    func dropWork() {}

    /// The pool is closed: ends the node, on a thread of another pool.
    func refuse(_ error: WorkerPoolError) {
        end(error: error)
    }

    /// Whether a cancelled job ends with the cancellation whatever its work gives.
    var endsCancelled: Bool { true }

    /// Asks the job to stop: one that has not begun ends at once.
    func cancel() {
        var handler: (@Sendable () -> Void)?
        let ended: Ended? = withStripe { fields, stripe in
            if fields.pointee.phase == .finished { return nil }
            fields.pointee.cancelRequested = true
            if fields.pointee.phase == .running {
                handler = fields.pointee.box?.extras.cancelHandler.take()
                return nil
            }
            return finish(with: cancellation, &stripe)
        }
        handler?()
        if let ended { settle(ended)?.submit() }
    }

    // MARK: Entering

    /// Adds the node to its queue. `done` of its dependencies had finished when it was made their successor.
    final func enter(done: Int32) {
        var isClosed = false
        let next = withStripe { fields, stripe in
            fields.pointee.pending -= 1 + done
            if stripe.isClosed {
                isClosed = true
                fields.pointee.phase = .finished
                fields.pointee.error = OperationQueueClosed(queue: core.name)
                // Those above know it.
                if fields.pointee.pending > 0 { _ = Unmanaged.passRetained(self) }
                return Next.nothing
            }
            stripe.link(self)
            let isReady = fields.pointee.pending == 0 && !fields.pointee.isBarrier
            return isReady ? becomeReady(&stripe) : .nothing
        }
        // A barrier enters under the lock of the queue's state.
        if isClosed, !fields.pointee.isBarrier { dropWork() }
        perform(next)
    }

    /// Makes `successor` wait for this node. False: it has finished.
    ///
    /// - Parameter isFirst: of the nodes above the successor: the link is in the successor itself.
    final func add(_ successor: JobNode, isFirst: Bool) -> Bool {
        withStripe { fields, _ in
            if fields.pointee.phase == .finished { return false }
            if isFirst {
                successor.fields.pointee.sibling = fields.pointee.successor
                fields.pointee.successor = .passUnretained(successor)
            } else {
                extras(fields).extras.successors.append(.passUnretained(successor))
            }
            return true
        }
    }

    /// One thing less to wait for. The last one gives the node to the pool.
    final func dependencyEnded() {
        lastDependencyEnded()?.submit()
    }

    /// One thing less to wait for: the node where it may run now.
    @inline(__always)
    fileprivate final func lastDependencyEnded() -> Successor? {
        var isGone = false
        let next = withStripe { fields, stripe in
            fields.pointee.pending -= 1
            guard fields.pointee.pending == 0 else { return Next.nothing }
            if fields.pointee.phase == .waiting { return becomeReady(&stripe) }
            isGone = true
            return .nothing
        }
        switch next {
        case .submit: return Successor(node: .passUnretained(self))
        case .admit: core.admit(self)
        // It ended before what it waited for, and was kept for that.
        case .nothing: if isGone { Unmanaged.passUnretained(self).release() }
        }
        return nil
    }

    /// Waits for nothing any more, whatever it waited for. The first call counts. For nodes that are no successors.
    final func dependenciesEnded() {
        let next = withStripe { fields, stripe in
            guard fields.pointee.phase == .waiting, fields.pointee.pending > 0 else { return Next.nothing }
            fields.pointee.pending = 0
            return becomeReady(&stripe)
        }
        perform(next)
    }

    enum Next { case nothing, submit, admit }

    @inline(__always)
    private func becomeReady(_ stripe: inout Stripe) -> Next {
        if stripe.isHeld {
            fields.pointee.phase = .ready
            return .admit
        }
        fields.pointee.phase = .submitted
        fields.pointee.era = stripe.era
        stripe.started += 1
        return .submit
    }

    @inline(__always)
    private func perform(_ next: Next) {
        switch next {
        case .nothing: return
        case .submit: submit()
        case .admit: core.admit(self)
        }
    }

    // MARK: Running

    /// Gives the job to the pool.
    final func submit() {
        if submit(to: ownPool) { return }
        withStripe { fields, _ in fields.pointee.isRefused = true }
        // Never closed. Ending it here would nest the ends of a chain.
        _ = submit(to: WorkerPool.shared.core)
    }

    @inline(__always)
    private final var ownPool: PoolCore {
        fields.pointee.isBlocking || core.isBlocking ? WorkerPool.blocking.core : core.pool.core
    }

    @inline(__always)
    private func submit(to pool: PoolCore) -> Bool {
        let job = (UnsafeMutableRawPointer(fields) + JobNode.jobOffset).assumingMemoryBound(to: ilk_job.self)
        // An odd context: `handBackPoolJob` knows it by that.
        ilk_job_init(job, runJobNode, Unmanaged.passUnretained(self).toOpaque() + 1)
        if fields.pointee.priority != .normal { ilk_job_set_priority(job, fields.pointee.priority.inC) }
        return ilk_pool_submit(pool.pool, job)
    }

    private enum Begin { case run, gone, refused, turnIn }

    /// The pool has a thread for the job; a job that may follow it.
    fileprivate final func begin() -> Successor? {
        let begin: Begin = withStripe { fields, stripe in
            if fields.pointee.phase != .submitted { return .gone }
            if fields.pointee.isRefused {
                fields.pointee.phase = .running
                return .refused
            }
            if stripe.isHeld, fields.pointee.era != placedEra {
                fields.pointee.phase = .ready
                // What the pool had is the list's.
                _ = Unmanaged.passRetained(self)
                return .turnIn
            }
            fields.pointee.phase = .running
            return .run
        }
        switch begin {
        case .run: return work()
        case .gone: break
        case .refused: refuse(.closed(pool: core.pool.name))
        case .turnIn: core.readmit(self)
        }
        return nil
    }

    /// Whether the thread of `other`, which has ended, may run this one next.
    fileprivate final func mayFollow(_ other: JobNode) -> Bool {
        core === other.core && fields.pointee.isBlocking == other.fields.pointee.isBlocking
            && fields.pointee.priority == .normal
    }

    /// The queue gives a listed job a place; false: it has ended meanwhile. Under the lock of the queue's state.
    final func takePlace() -> Bool {
        withStripe { fields, _ in
            if fields.pointee.phase != .ready { return false }
            fields.pointee.phase = .submitted
            fields.pointee.era = placedEra
            return true
        }
    }

    /// A barrier whose turn has come; false: it has ended. Under the lock of the queue's state.
    final func becomeReadyBarrier() -> Bool {
        withStripe { fields, _ in
            if fields.pointee.phase != .waiting { return false }
            fields.pointee.phase = .ready
            return true
        }
    }

    // MARK: Ending

    /// What an end concerns beside one successor.
    private struct EndedExtras {
        var successors: [Unmanaged<JobNode>] = []
        var hooks: [(id: UInt64, body: @Sendable () -> Void)] = []
        var cancelHandler: (@Sendable () -> Void)?
        var arrival: AnyObject?
    }

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
        let isGone: Bool
    }

    /// Ends a running node. `nil`: its output is stored.
    final func end(error: (any Error)?) {
        endRunning(error: error)?.submit()
    }

    /// Ends a running node; returns a successor that is ready, and may run on this thread.
    final func endRunning(error: (any Error)?) -> Successor? {
        let ended: Ended? = withStripe { fields, stripe in
            if fields.pointee.phase == .finished { return nil }
            let wasCancelled = fields.pointee.cancelRequested && endsCancelled
            return finish(with: wasCancelled ? cancellation : error, &stripe)
        }
        return ended.flatMap(settle)
    }

    /// Under the stripe's lock, once.
    @inline(__always)
    private final func finish(with error: (any Error)?, _ stripe: inout Stripe) -> Ended {
        let fields = fields
        let phase = fields.pointee.phase
        let hasBegun = phase == .submitted || phase == .running
        var freesPlace = false
        if hasBegun {
            if fields.pointee.era == stripe.era { stripe.started -= 1 } else { freesPlace = true }
        }
        fields.pointee.phase = .finished
        if let error { fields.pointee.error = error }
        return Ended(
            successor: fields.pointee.successor,
            generation: fields.pointee.generation,
            hasExtras: fields.pointee.box != nil,
            isOfOldGeneration: fields.pointee.generation != stripe.generation,
            freesPlace: freesPlace,
            isBarrier: fields.pointee.isBarrier,
            leavesEmpty: stripe.unlink(self),
            isGone: !hasBegun && fields.pointee.pending == 0
        )
    }

    /// Makes an end known. Successors come before the place: a chain that has begun goes on before another begins.
    @inline(__always)
    private final func settle(_ ended: Ended) -> Successor? {
        dropWork()
        let next = ended.successor.flatMap(releaseSuccessors)
        let hooks = ended.hasExtras ? releaseMore() : []
        if ended.freesPlace || ended.isBarrier || ended.isOfOldGeneration {
            core.left(
                generation: ended.isOfOldGeneration ? ended.generation : nil,
                freesPlace: ended.freesPlace,
                isBarrier: ended.isBarrier
            )
        }
        for hook in hooks { hook.body() }
        if ended.leavesEmpty { core.recheckEmpty() }
        let follows = next?.node._withUnsafeGuaranteedRef { $0.mayFollow(self) } ?? false
        if !follows { next?.submit() }
        // What `Stripe.link` retained; otherwise the pool releases it, or the last of those above.
        if ended.isGone { Unmanaged.passUnretained(self).release() }
        return follows ? next : nil
    }

    /// Tells the successors in the list; one that may run now is the caller's, the others are the pool's.
    @inline(__always)
    private final func releaseSuccessors(_ first: Unmanaged<JobNode>) -> Successor? {
        var link: Unmanaged<JobNode>? = first
        var next: Successor?
        while let successor = link {
            // Read before it is told: it may be freed right after.
            link = successor._withUnsafeGuaranteedRef { $0.fields.pointee.sibling }
            guard let ready = successor._withUnsafeGuaranteedRef({ $0.lastDependencyEnded() }) else { continue }
            next?.submit()
            next = ready
        }
        return next
    }

    /// Releases the other successors and what the box held; returns the hooks.
    @inline(never)
    private final func releaseMore() -> [(id: UInt64, body: @Sendable () -> Void)] {
        var ended = EndedExtras()
        withStripe { fields, _ in
            guard let box = fields.pointee.box else { return }
            swap(&ended.successors, &box.extras.successors)
            swap(&ended.hooks, &box.extras.hooks)
            ended.cancelHandler = box.extras.cancelHandler.take()
            ended.arrival = box.extras.arrival.take()
        }
        for successor in ended.successors {
            successor._withUnsafeGuaranteedRef { $0.lastDependencyEnded() }?.submit()
        }
        return ended.hooks
    }

    // MARK: Seeing

    final var isFinished: Bool { withStripe { fields, _ in fields.pointee.phase == .finished } }
    final var phase: JobPhase { withStripe { fields, _ in fields.pointee.phase } }
    /// Whether it was given to the pool, and has not ended.
    final var isPlaced: Bool {
        withStripe { fields, _ in fields.pointee.phase == .submitted || fields.pointee.phase == .running }
    }
    final var isCancelled: Bool { withStripe { fields, _ in fields.pointee.cancelRequested } }

    /// Of a node that is known to have ended: the error is not written any more.
    final var settledError: (any Error)? { fields.pointee.error }

    /// Written before the node is shared.
    final var givenName: String? { fields.pointee.box?.extras.name }

    /// The name, or type and address.
    var bareName: String { bareMisuseName(givenName, of: self) }

    final var cancellation: OperationCancelled { OperationCancelled(operation: bareName) }

    // MARK: Hooks

    /// Keeps a hook for the end; nil after the end.
    final func addHook(_ body: @escaping @Sendable () -> Void) -> UInt64? {
        withStripe { fields, _ in
            if fields.pointee.phase == .finished { return nil }
            let box = extras(fields)
            box.extras.lastHook += 1
            box.extras.hooks.append((box.extras.lastHook, body))
            return box.extras.lastHook
        }
    }

    final func removeHook(_ id: UInt64) {
        let removed = withStripe { fields, _ in
            guard let box = fields.pointee.box,
                let index = box.extras.hooks.firstIndex(where: { $0.id == id })
            else { return (@Sendable () -> Void)?.none }
            return box.extras.hooks.remove(at: index).body
        }
        // Freed outside the lock.
        withExtendedLifetime(removed) {}
    }

    /// Keeps what tells the running work of a cancellation; true: it was cancelled, and the caller tells it.
    final func setCancelHandler(_ handler: @escaping @Sendable () -> Void) -> Bool {
        withStripe { fields, _ in
            if fields.pointee.phase == .finished { return false }
            if fields.pointee.cancelRequested { return true }
            extras(fields).extras.cancelHandler = handler
            return false
        }
    }

    /// Keeps `arrival` until the node ends, or releases the last one.
    final func setArrival(_ arrival: AnyObject & Sendable) {
        withStripe { fields, _ in
            if fields.pointee.phase != .finished { extras(fields).extras.arrival = arrival }
        }
    }

    private func extras(_ fields: UnsafeMutablePointer<JobFields>) -> JobExtrasBox {
        if let box = fields.pointee.box { return box }
        let box = JobExtrasBox()
        fields.pointee.box = box
        return box
    }

    @inline(__always)
    final func withStripe<Result>(
        _ body: (UnsafeMutablePointer<JobFields>, inout Stripe) -> Result
    ) -> Result {
        let stripe = core.stripes.stripe(of: self)
        ilk_mutex_lock(stripe.lock)
        defer { ilk_mutex_unlock(stripe.lock) }
        return body(fields, &stripe.value.pointee)
    }
}

/// What a job is made with.
struct JobOptions {
    var name: String?
    var priority = WorkerPool.Priority.normal
    var isBlocking = false
}

/// A node that is ready to run, and retained by what the pool will release.
struct Successor {
    fileprivate let node: Unmanaged<JobNode>

    func submit() {
        node._withUnsafeGuaranteedRef { $0.submit() }
    }
}

/// How many jobs follow each other on a thread before others have a turn.
private let followers = 64

/// The function of a node's C job: runs it, and what it makes ready.
private func runJobNode(_ context: UnsafeMutableRawPointer?) {
    var node = Unmanaged<JobNode>.fromOpaque(context! - 1).takeRetainedValue()
    PoolThread.runsJob {
        for _ in 0..<followers {
            guard let next = node.begin() else { return }
            node = next.node.takeRetainedValue()
        }
        // The node's retain goes back to the pool.
        Successor(node: .passRetained(node)).submit()
    }
}

/// A pool that was closed at once hands a job back, if its context is a node's: true.
func handBackJobNode(_ context: UnsafeMutableRawPointer) -> Bool {
    guard UInt(bitPattern: context) & 1 == 1 else { return false }
    let node = Unmanaged<JobNode>.fromOpaque(context - 1)
    node._withUnsafeGuaranteedRef { $0.wasHandedBack() }
    return true
}

extension JobNode {
    fileprivate final func wasHandedBack() {
        withStripe { fields, _ in fields.pointee.isRefused = true }
        _ = submit(to: WorkerPool.shared.core)
    }
}
