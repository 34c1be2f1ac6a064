// SPDX-License-Identifier: Apache-2.0
//
// A job of an `InterlockQueue`: the one object of a light job, and what an operation is to its queue. The node links
// the C job, its successors and its neighbours in the queue's list, so a job allocates the node and its closure.
//
// States, edges and counts change under the lock of the node's stripe (QueueStripes.swift). docs/operations.md draws the
// states, and the outcomes of two threads that must not happen. Nothing that users write runs under that lock, and no
// thread holds the locks of two nodes.
//
// References: an unfinished node holds itself, and its successors; a successor may hold what is above it until it has
// run. A finished node holds its output only. So no chain of nodes is ever freed in nested calls.

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
    var successors: [JobNode] = []
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

struct JobFields {
    /// The pool's, from submission until the job begins.
    var job = ilk_job()
    /// The queue's list of what has not finished.
    var next: Unmanaged<JobNode>?
    var previous: Unmanaged<JobNode>?
    var successor: JobNode?
    var box: JobExtrasBox?
    var error: (any Error)?
    /// Dependencies that have not finished, and one for each other step that must come before the job is ready.
    var pending: Int32
    /// Between which barriers it was added.
    var generation: UInt32 = 0
    /// In which era of its stripe it was submitted; `placedEra`: it has a place that the queue counts.
    var era: UInt32 = 0
    var phase = JobPhase.waiting
    let priority: WorkerPool.Priority
    let isBlocking: Bool
    var isBarrier = false
    var cancelRequested = false
    /// The pool was closed: the job only ends.
    var isRefused = false
}

/// The era of a job whose place is counted by the queue.
let placedEra = UInt32.max

// Fields change under the lock of the stripe; a subclass's fields belong to the thread that runs or ends the node.
class JobNode: @unchecked Sendable {
    // Only reached through `fields`: one address for the C job, and no dynamic check of each access.
    private var storage: JobFields
    final let core: QueueCore

    init(_ core: QueueCore, _ options: JobOptions, pending: Int32) {
        storage = JobFields(pending: pending, priority: options.priority, isBlocking: options.isBlocking)
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

    static let fieldsOffset = 2 * MemoryLayout<UnsafeRawPointer>.size

    // MARK: What a kind of job overrides

    /// The work, on a thread of the pool. Ends the node, now or later.
    func work() {}

    /// Frees the work of a node that has ended.
    func dropWork() {}

    /// The pool is closed: ends the node, on a thread of another pool.
    func refuse(_ error: WorkerPoolError) {
        end(error: error)
    }

    /// Asks the job to stop: one that has not begun ends at once.
    func cancel() {
        let (ended, handler): (Ended?, (@Sendable () -> Void)?) = withStripe { fields, stripe in
            if fields.pointee.phase == .finished { return (nil, nil) }
            if fields.pointee.phase == .running {
                fields.pointee.cancelRequested = true
                return (nil, fields.pointee.box?.extras.cancelHandler.take())
            }
            fields.pointee.cancelRequested = true
            return (finish(with: cancellation, &stripe), nil)
        }
        handler?()
        if let ended { settle(ended) }
    }

    // MARK: Entering

    /// Adds the node to its queue. `done` of its dependencies had finished when it was made their successor.
    final func enter(done: Int32) {
        let (isClosed, next) = withStripe { fields, stripe in
            if stripe.isClosed {
                fields.pointee.phase = .finished
                fields.pointee.error = OperationQueueClosed(queue: core.name)
                return (true, Next.nothing)
            }
            stripe.link(self)
            fields.pointee.generation = stripe.generation
            fields.pointee.pending -= 1 + done
            return (false, fields.pointee.pending == 0 ? becomeReady(&stripe) : .nothing)
        }
        // A barrier enters under the lock of the queue's state.
        if isClosed, !fields.pointee.isBarrier { dropWork() }
        perform(next)
    }

    /// Makes `successor` wait for this node. False: it has finished.
    final func add(_ successor: JobNode) -> Bool {
        withStripe { fields, _ in
            if fields.pointee.phase == .finished { return false }
            if fields.pointee.successor == nil {
                fields.pointee.successor = successor
            } else {
                extras(fields).extras.successors.append(successor)
            }
            return true
        }
    }

    /// One thing less to wait for.
    final func dependencyEnded() {
        let next = withStripe { fields, stripe in
            fields.pointee.pending -= 1
            let isReady = fields.pointee.pending == 0 && fields.pointee.phase == .waiting
            return isReady ? becomeReady(&stripe) : .nothing
        }
        perform(next)
    }

    /// Waits for nothing any more, whatever it waited for. The first call counts.
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
        let isBlocking = fields.pointee.isBlocking || core.isBlocking
        let pool = isBlocking ? WorkerPool.blocking.core : core.pool.core
        if submit(to: pool) { return }
        withStripe { fields, _ in fields.pointee.isRefused = true }
        // Never closed. Ending it here would nest the ends of a chain.
        _ = submit(to: WorkerPool.shared.core)
    }

    @inline(__always)
    private func submit(to pool: PoolCore) -> Bool {
        let job = UnsafeMutableRawPointer(fields).assumingMemoryBound(to: ilk_job.self)
        // An odd context: `handBackPoolJob` knows it by that.
        ilk_job_init(job, runJobNode, Unmanaged.passRetained(self).toOpaque() + 1)
        if fields.pointee.priority != .normal { ilk_job_set_priority(job, fields.pointee.priority.inC) }
        if ilk_pool_submit(pool.pool, job) { return true }
        Unmanaged.passUnretained(self).release()
        return false
    }

    private enum Begin { case run, gone, refused, turnIn }

    /// The pool has a thread for the job.
    final func begin() {
        let begin: Begin = withStripe { fields, stripe in
            if fields.pointee.phase != .submitted { return .gone }
            if fields.pointee.isRefused {
                fields.pointee.phase = .running
                return .refused
            }
            if stripe.isHeld, fields.pointee.era != placedEra {
                fields.pointee.phase = .ready
                return .turnIn
            }
            fields.pointee.phase = .running
            return .run
        }
        switch begin {
        case .run: work()
        case .gone: return
        case .refused: refuse(.closed(pool: core.pool.name))
        case .turnIn: core.readmit(self)
        }
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

    struct Ended {
        var successor: JobNode?
        var successors: [JobNode]
        var hooks: [(id: UInt64, body: @Sendable () -> Void)]
        var cancelHandler: (@Sendable () -> Void)?
        var arrival: AnyObject?
        var generation: UInt32?
        var freesPlace: Bool
        var isBarrier: Bool
        var leavesEmpty: Bool
    }

    /// Ends a running node. `nil`: its output is stored.
    final func end(error: (any Error)?) {
        let ended = withStripe { fields, stripe in
            if fields.pointee.phase == .finished { return Ended?.none }
            let wasCancelled = fields.pointee.cancelRequested && !(self is OperationNode)
            return finish(with: wasCancelled ? cancellation : error, &stripe)
        }
        if let ended { settle(ended) }
    }

    /// Under the stripe's lock, once.
    @inline(__always)
    private func finish(with error: (any Error)?, _ stripe: inout Stripe) -> Ended {
        let fields = fields
        var ended = Ended(
            successor: fields.pointee.successor.take(),
            successors: [],
            hooks: [],
            generation: fields.pointee.generation == stripe.generation ? nil : fields.pointee.generation,
            freesPlace: false,
            isBarrier: fields.pointee.isBarrier,
            leavesEmpty: false
        )
        if let box = fields.pointee.box {
            swap(&ended.successors, &box.extras.successors)
            swap(&ended.hooks, &box.extras.hooks)
            ended.cancelHandler = box.extras.cancelHandler.take()
            ended.arrival = box.extras.arrival.take()
        }
        if fields.pointee.phase == .submitted || fields.pointee.phase == .running {
            if fields.pointee.era == stripe.era {
                stripe.started -= 1
            } else {
                ended.freesPlace = true
            }
        }
        fields.pointee.phase = .finished
        fields.pointee.error = error
        ended.leavesEmpty = stripe.unlink(self)
        return ended
    }

    /// Makes an end known. Successors come before the place: a chain that has begun goes on before another begins.
    private func settle(_ ended: consuming Ended) {
        dropWork()
        ended.successor?.dependencyEnded()
        for successor in ended.successors { successor.dependencyEnded() }
        let generation = ended.generation
        let freesPlace = ended.freesPlace
        let isBarrier = ended.isBarrier
        if freesPlace || isBarrier || generation != nil {
            core.left(generation: generation, freesPlace: freesPlace, isBarrier: isBarrier)
        }
        for hook in ended.hooks { hook.body() }
        if ended.leavesEmpty { core.recheckEmpty() }
        // What `Stripe.link` retained.
        Unmanaged.passUnretained(self).release()
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
    private final func withStripe<Result>(
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

/// The function of a node's C job.
private func runJobNode(_ context: UnsafeMutableRawPointer?) {
    let node = Unmanaged<JobNode>.fromOpaque(context! - 1).takeRetainedValue()
    PoolThread.runsJob { node.begin() }
}

/// A pool that was closed at once hands a job back, if its context is a node's: true.
func handBackJobNode(_ context: UnsafeMutableRawPointer) -> Bool {
    guard UInt(bitPattern: context) & 1 == 1 else { return false }
    let node = Unmanaged<JobNode>.fromOpaque(context - 1).takeRetainedValue()
    node.wasHandedBack()
    return true
}

extension JobNode {
    fileprivate func wasHandedBack() {
        withStripe { fields, _ in fields.pointee.isRefused = true }
        _ = submit(to: WorkerPool.shared.core)
    }
}
