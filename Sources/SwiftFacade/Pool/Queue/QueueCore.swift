// SPDX-License-Identifier: Apache-2.0
//
// What decides which ready jobs of a queue run, where not all may: the limit, priorities, barriers, suspension. It
// outlives the `InterlockQueue`: each node holds it.
//
// Lock order: the waiters', the state's, a stripe's; all stripes only in the order of their indices. Jobs are given to
// the pool outside all of them.

import InterlockSync

struct QueueState {
    var limit: Int?
    var isSuspended = false
    var ready = ReadyList()
    /// Entries of lists that are of no use: freed outside the lock, with what their jobs gave.
    var gone: [JobNode] = []
    /// Jobs that have a place, where places are counted.
    var running = 0
    var barriers = QueueBarriers()
    var isHeld = false
    /// The queue was shut down, and its time is over: what is left is cancelled and only ends.
    var isOver = false

    var mustHold: Bool { !isOver && (limit != nil || isSuspended || !barriers.isEmpty) }
    mutating func addReady(_ node: JobNode) { ready.append(node, &gone) }

    mutating func takeGone() -> [JobNode] {
        if gone.isEmpty { return [] }
        defer { gone = [] }
        return gone
    }

    var hasPlace: Bool { isOver || (!isSuspended && (limit.map { running < $0 } ?? true)) }
}

@usableFromInline
package final class QueueCore: Sendable {
    package let name: String
    package let pool: WorkerPool
    /// Whether all jobs run on `WorkerPool.blocking`.
    package let isBlocking: Bool
    let stripes = QueueStripes()
    private let state: VisibleMutex<QueueState>
    private let waiters = WaitQueue()
    /// The queue in which this one is the place of an operation (`QueueCore+Operations.swift`).
    package let outerQueue: QueueCore?

    package init(
        name: String,
        pool: WorkerPool,
        isBlocking: Bool = false,
        limit: Int? = nil,
        isSuspended: Bool = false,
        outerQueue: QueueCore? = nil
    ) {
        self.name = name
        self.outerQueue = outerQueue
        self.pool = pool
        self.isBlocking = isBlocking
        state = VisibleMutex(QueueState())
        changeState { state in
            state.limit = limit
            state.isSuspended = isSuspended
        }
    }

    /// Ends operations that a closed queue was given.
    package static let endings = QueueCore(name: "interlock.endings", pool: .shared)

    // MARK: Options

    /// Changes the state, and gives places to what may run now.
    func changeState(_ change: (inout QueueState) -> Void) {
        let (submits, gone) = state.withLock { state in
            change(&state)
            return (update(&state), state.takeGone())
        }
        for node in submits { node.submit() }
        withExtendedLifetime(gone) {}
    }

    /// Has all that is left begin, without places and behind no barrier.
    func letEnd() {
        changeState { state in
            state.isOver = true
            for node in state.barriers.takeHeld() { state.addReady(node) }
        }
    }

    package var limit: Int? { state.withLock { $0.limit } }
    package var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set { changeState { $0.isSuspended = newValue } }
    }
    var readyEntries: Int { state.withLock { $0.ready.count } }

    // MARK: Jobs

    /// Runs `body` as a job without a result.
    package func run(_ body: @escaping @Sendable () -> Void) {
        BlockNode<Void>(self, JobOptions(), pending: 1, body).enterQueue(done: 0)
    }

    /// What has not finished.
    package var nodes: [JobNode] { stripes.nodes }

    /// A job has become ready in a held stripe; or, with a place that it frees, it was submitted in a free stripe, and
    /// has not begun in a held one.
    package func addReady(_ node: JobNode, freesPlace: Bool = false) {
        changeState { state in
            if freesPlace { state.running -= 1 }
            let mayRun = state.isOver || node.fields.pointee.isBarrier
            if mayRun || !state.barriers.hold(node, &state.gone) { state.addReady(node) }
        }
    }

    /// A node has ended: of an older generation, with a place, or a barrier.
    func left(generation: UInt32?, freesPlace: Bool, barrier: JobNode?) {
        changeState { state in
            if freesPlace { state.running -= 1 }
            if let generation { state.barriers.nodeLeft(generation) }
            if let barrier {
                for node in state.barriers.ended(barrier, &state.gone) { state.addReady(node) }
            }
            if generation != nil || barrier != nil { barrierMayRun(&state) }
        }
    }

    /// What may run now, with places; and whether the stripes are held as the state wants.
    private func update(_ state: inout QueueState) -> [JobNode] {
        let holds = state.mustHold
        if holds != state.isHeld {
            state.isHeld = holds
            stripes.withAll { stripes.forAll { holds ? holdStripe(&$0, &state) : ($0.era += 1) } }
        }
        var submits: [JobNode] = []
        while state.hasPlace, let (node, priority) = state.ready.popFirst() {
            if node.takePlace(priority) {
                state.running += 1
                submits.append(node)
            } else {
                state.gone.append(node)
            }
        }
        return submits
    }

    /// Holds a free stripe: what was submitted in it has places that the state counts.
    private func holdStripe(_ stripe: inout Stripe, _ state: inout QueueState) {
        state.running += Int(stripe.started)
        stripe.started = 0
        stripe.era += 1
    }

    // MARK: Barriers

    /// Adds a barrier: what is in the queue comes before it, what is added later after it.
    func addBarrier(_ node: JobNode) {
        node.fields.pointee.isBarrier = true
        var isRefused = false
        changeState { state in
            guard let before = beginGeneration(&state) else { return isRefused = true }
            // A barrier waits for its turn: so nothing runs here.
            node.enterQueue(done: 0)
            state.barriers.append(node, before: before)
            barrierMayRun(&state)
        }
        // The closed queue ends it, and what it held is freed: outside the lock.
        if isRefused { node.enterQueue(done: 0) }
    }

    /// The nodes that were added after the last barrier; nil in a closed queue. In the same hold of all stripes they
    /// are held: between two holds, a job that comes after the barrier would run beside it.
    private func beginGeneration(_ state: inout QueueState) -> Int? {
        stripes.withAll {
            if stripes.isClosed { return nil }
            var before = 0
            let holds = !state.isHeld && !state.isOver
            stripes.forAll { stripe in
                before += Int(stripe.current)
                stripe.current = 0
                stripe.generation &+= 1
                if holds { holdStripe(&stripe, &state) }
            }
            if holds { state.isHeld = true }
            return before
        }
    }

    private func barrierMayRun(_ state: inout QueueState) {
        if let barrier = state.barriers.next(), barrier.becomeReadyBarrier() { state.addReady(barrier) }
    }

    // MARK: Waiting and ending

    /// The last node of an awaited stripe has ended.
    func recheckEmpty() {
        waiters.withWaiters { waiters in
            stripes.isEmptyOrAwaited() ? waiters.takeAll() : WaiterList()
        }.resumeAll()
    }

    func block(until deadline: UInt64) -> Bool {
        waiters.block(until: deadline, admit: { stripes.isEmptyOrAwaited() })
    }

    func suspend(until deadline: ContinuousClock.Instant?) async -> WaitOutcome {
        await waiters.suspend(until: deadline, admit: { self.stripes.isEmptyOrAwaited() })
    }

    func close() {
        // Under the state's lock: not between the two steps of adding a barrier.
        state.withLock { _ in stripes.withAll { stripes.forAll { $0.isClosed = true } } }
    }

    var isClosed: Bool { stripes.withAll { stripes.isClosed } }

    // MARK: Explaining

    /// Why `node`, which waits for no dependency, does not run; nil where it is about to. `running`: the names of what
    /// runs, found at the first need.
    package func reason(_ node: JobNode, _ running: inout [String]?) -> WaitReason? {
        let (reason, isFull): (WaitReason?, Bool) = state.withLock { state in
            if state.isSuspended { return (.queueSuspended(name), false) }
            if node.fields.pointee.isBarrier {
                let before = state.barriers.nodes(before: node)
                return (before > 0 ? .before(before) : nil, false)
            }
            if let barrier = state.barriers.barrier(before: node.fields.pointee.generation) {
                return (.barrier(barrier.bareName), false)
            }
            return (nil, state.limit != nil && !state.hasPlace)
        }
        guard isFull, !node.isPlaced else { return reason }
        let names = running ?? stripes.nodes.filter(\.isPlaced).map(\.bareName).sorted()
        running = names
        return .queueIsFull(name, running: names)
    }
}
