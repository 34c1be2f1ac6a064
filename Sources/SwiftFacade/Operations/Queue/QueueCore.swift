// SPDX-License-Identifier: Apache-2.0
//
// What decides which ready jobs of a queue run, where not all may: the limit, priorities, barriers, suspension. It
// outlives the `InterlockQueue`: each node holds it.
//
// Lock order: the waiters', the state's, a stripe's; all stripes only in the order of their indices. Jobs are given to
// the pool outside all of them.

import CInterlock

/// Jobs that are ready and may not run yet.
struct ReadyList {
    private var lists = [Deque(), Deque(), Deque()]
    private var picks: UInt64 = 0

    private struct Deque {
        var nodes: [JobNode?] = []
        var head = 0

        var isEmpty: Bool { head == nodes.count }

        mutating func popFirst() -> JobNode? {
            if isEmpty { return nil }
            let node = nodes[head].take()
            head += 1
            if head >= 64, head * 2 >= nodes.count {
                nodes.removeFirst(head)
                head = 0
            }
            return node
        }
    }

    mutating func append(_ node: JobNode) {
        switch node.fields.pointee.priority {
        case .high: lists[0].nodes.append(node)
        case .normal: lists[1].nodes.append(node)
        case .low: lists[2].nodes.append(node)
        }
    }

    /// The next job: high before normal before low, and so that none starves. Of 64 picks, one looks for a low job
    /// first, and three for a normal one.
    mutating func popFirst() -> JobNode? {
        picks &+= 1
        let order =
            switch picks & 63 {
            case 0: [2, 0, 1]
            case 16, 32, 48: [1, 0, 2]
            default: [0, 1, 2]
            }
        for index in order {
            if let node = lists[index].popFirst() { return node }
        }
        return nil
    }
}

/// A barrier that has not ended.
struct QueueBarrier {
    let node: JobNode
    /// Nodes that were added before it, after the barrier before it, and have not ended.
    var before: Int32
    /// Ready nodes that were added after it.
    var held: [JobNode] = []
}

struct QueueState {
    var limit: Int?
    var isSuspended = false
    var ready = ReadyList()
    /// Jobs that have a place, where places are counted.
    var running = 0
    var barriers: [QueueBarrier] = []
    /// Of the nodes that may run: those before the first barrier.
    var generation: UInt32 = 0
    var isHeld = false
    /// The queue was shut down, and its time is over: what is left is cancelled and only ends.
    var isOver = false

    var mustHold: Bool { !isOver && (limit != nil || isSuspended || !barriers.isEmpty) }
    var hasPlace: Bool { isOver || (!isSuspended && (limit.map { running < $0 } ?? true)) }
}

@usableFromInline
final class QueueCore: Sendable {
    let name: String
    let pool: WorkerPool
    /// Whether all jobs run on `WorkerPool.blocking`.
    let isBlocking: Bool
    let stripes = QueueStripes()
    private let state: VisibleMutex<QueueState>
    private let waiters = WaitQueue()
    /// The queue in which this one is the place of an operation (`QueueCore+Operations.swift`).
    let lender: QueueCore?

    init(
        name: String,
        pool: WorkerPool,
        isBlocking: Bool,
        limit: Int?,
        isSuspended: Bool,
        lender: QueueCore? = nil
    ) {
        self.name = name
        self.lender = lender
        self.pool = pool
        self.isBlocking = isBlocking
        state = VisibleMutex(QueueState())
        set { state in
            state.limit = limit
            state.isSuspended = isSuspended
        }
    }

    /// Ends operations that a closed queue was given.
    static let endings = QueueCore(
        name: "interlock.endings",
        pool: .shared,
        isBlocking: false,
        limit: nil,
        isSuspended: false
    )

    // MARK: Options

    /// Changes limit or suspension, and gives places to what may run now.
    func set(_ change: (inout QueueState) -> Void) {
        let submits = state.withLock { state in
            change(&state)
            return update(&state)
        }
        for node in submits { node.submit() }
    }

    /// Has all that is left begin, without places and behind no barrier.
    func letEnd() {
        set { state in
            state.isOver = true
            for index in state.barriers.indices {
                for node in state.barriers[index].held { state.ready.append(node) }
                state.barriers[index].held = []
            }
        }
    }

    var limit: Int? { state.withLock { $0.limit } }
    var isSuspended: Bool { state.withLock { $0.isSuspended } }

    // MARK: Jobs

    /// A job has become ready in a held stripe.
    func admit(_ node: JobNode) {
        admit(node, freesPlace: false)
    }

    /// A job that was submitted in a free stripe, and has not begun in a held one.
    func readmit(_ node: JobNode) {
        admit(node, freesPlace: true)
    }

    private func admit(_ node: JobNode, freesPlace: Bool) {
        let submits = state.withLock { state in
            if freesPlace { state.running -= 1 }
            list(node, &state)
            return update(&state)
        }
        for node in submits { node.submit() }
    }

    private func list(_ node: JobNode, _ state: inout QueueState) {
        let index = Int(node.fields.pointee.generation &- state.generation)
        if index == 0 || state.isOver || node.fields.pointee.isBarrier {
            state.ready.append(node)
        } else {
            state.barriers[index - 1].held.append(node)
        }
    }

    /// A node has ended: of an older generation, with a place, or a barrier.
    func left(generation: UInt32?, freesPlace: Bool, isBarrier: Bool) {
        let submits = state.withLock { state in
            if freesPlace { state.running -= 1 }
            if let generation { nodeLeft(generation, &state) }
            if isBarrier { barrierMayRun(&state) }
            return update(&state)
        }
        for node in submits { node.submit() }
    }

    /// What may run now, with places; and whether the stripes are held as the state wants.
    private func update(_ state: inout QueueState) -> [JobNode] {
        if state.mustHold != state.isHeld { state.mustHold ? hold(&state) : free(&state) }
        var submits: [JobNode] = []
        while state.hasPlace, let node = state.ready.popFirst() {
            if node.takePlace() {
                state.running += 1
                submits.append(node)
            }
        }
        return submits
    }

    private func hold(_ state: inout QueueState) {
        state.isHeld = true
        stripes.withAll {
            stripes.forAll { stripe in
                state.running += Int(stripe.started)
                stripe.started = 0
                stripe.era += 1
            }
        }
    }

    private func free(_ state: inout QueueState) {
        state.isHeld = false
        stripes.withAll { stripes.forAll { $0.era += 1 } }
    }

    // MARK: Barriers

    /// Adds a barrier: what is in the queue comes before it, what is added later after it.
    func addBarrier(_ node: JobNode) {
        node.fields.pointee.isBarrier = true
        let submits = state.withLock { state in
            var before: Int32 = 0
            stripes.withAll {
                stripes.forAll { stripe in
                    before += stripe.current
                    stripe.current = 0
                    stripe.generation &+= 1
                }
            }
            // A barrier waits for its turn: so nothing runs here.
            node.enter(done: 0)
            state.barriers.append(QueueBarrier(node: node, before: before))
            barrierMayRun(&state)
            return update(&state)
        }
        for node in submits { node.submit() }
    }

    private func nodeLeft(_ generation: UInt32, _ state: inout QueueState) {
        let index = Int(generation &- state.generation)
        state.barriers[index].before -= 1
        barrierMayRun(&state)
    }

    private func barrierMayRun(_ state: inout QueueState) {
        while let first = state.barriers.first, first.before == 0 {
            if first.node.becomeReadyBarrier() {
                state.ready.append(first.node)
                return
            }
            // Running, or ended: cancelled, or refused by a closed queue.
            if !first.node.isFinished { return }
            removeFirstBarrier(&state)
        }
    }

    private func removeFirstBarrier(_ state: inout QueueState) {
        let barrier = state.barriers.removeFirst()
        state.generation &+= 1
        for node in barrier.held { state.ready.append(node) }
    }

    // MARK: Waiting and ending

    /// The last node of an awaited stripe has ended.
    func recheckEmpty() {
        waiters.withWaiters { waiters in
            stripes.isEmptyOrAwaited() ? waiters.takeAll() : WaiterList()
        }.resumeAll()
    }

    func block(until deadline: UInt64) -> Bool {
        WorkerPool.withBlockingCall {
            waiters.block(until: deadline, admit: { stripes.isEmptyOrAwaited() })
        }
    }

    func suspend(until deadline: ContinuousClock.Instant?) async -> WaitOutcome {
        await waiters.suspend(until: deadline, admit: { self.stripes.isEmptyOrAwaited() })
    }

    func close() {
        stripes.withAll { stripes.forAll { $0.isClosed = true } }
    }

    var isClosed: Bool {
        stripes.withAll {
            var isClosed = false
            stripes.forAll { isClosed = $0.isClosed }
            return isClosed
        }
    }

    // MARK: Explaining

    /// Why `node`, which waits for no dependency, does not run; nil where it is about to. `running`: the names of what
    /// runs, found at the first need.
    func reason(_ node: JobNode, _ running: inout [String]?) -> WaitReason? {
        let (reason, isFull): (WaitReason?, Bool) = state.withLock { state in
            if state.isSuspended { return (.queueSuspended(name), false) }
            let index = Int(node.fields.pointee.generation &- state.generation)
            if node.fields.pointee.isBarrier {
                let before = state.barriers.first { $0.node === node }?.before ?? 0
                return (before > 0 ? .before(Int(before)) : nil, false)
            }
            if index > 0, index <= state.barriers.count {
                return (.barrier(state.barriers[index - 1].node.bareName), false)
            }
            return (nil, state.limit != nil && !state.hasPlace)
        }
        guard isFull, !node.isPlaced else { return reason }
        let names = running ?? stripes.nodes.filter(\.isPlaced).map(\.bareName).sorted()
        running = names
        return .queueIsFull(name, running: names)
    }
}
