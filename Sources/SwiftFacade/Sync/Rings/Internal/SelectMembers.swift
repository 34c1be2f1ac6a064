// SPDX-License-Identifier: Apache-2.0
//
// The members of a select, in two parts. What any thread may touch is in the SelectPlace: it takes the member out of
// the C set. The closure and the ring's end are the select's own; it drops them between two waits, so that a key that
// the C set has answered finds them, or finds nothing.
//
//   place      moved by                                               to
//   in the set the select, at the member's turn                       its closure runs
//   in the set remove, of any thread; the ring's end; an open latch   removed, for good
//
// Must not happen:
//   - A closure begins after `remove` has returned. A turn is claimed under the lock under which a place is removed.
//   - The C set has a member whose ring has gone, or two with one key. A place keeps its ring. The select drops a
//     member, whose address is the key, after `remove` has taken it out of the C set.
//   - A permit is taken and neither handed to a closure nor given back. A semaphore's place is in the semaphore's queue
//     or has its permit while `asks` is set. `asks` and the queue are changed under the lock, so that either the turn
//     claims the permit or `remove` gives it back.

import CInterlock

/// A permit that has come for a select: the element of a ring, which is the member in the C set. A semaphore there asks
/// for its permit only in waits that find nothing ready, and would starve beside rings that stay ready.
final class PermitBell: Sendable {
    private let ring: RingStorage<MPMCPort, Void>

    init() {
        do throws(RingError) {
            ring = try RingStorage(capacity: 1)
        } catch {
            fatalError("no memory for a select's member")
        }
    }

    var port: MPMCPort { ring.port }

    /// One permit at a time: there is room.
    func tell() { _ = ring.port.tryPush(()) }

    func take() -> Bool { ring.port.tryPop(Void.self) != nil }
}

/// A select in a semaphore's queue, for one permit.
// Adds an immutable field.
private final class PermitWaiter: Waiter, @unchecked Sendable {
    private let bell: PermitBell
    init(_ bell: PermitBell) { self.bell = bell }
    override func resume() { bell.tell() }
}

/// A member's place in its select.
// `isRemoved`, `asks` and `waiter` change under the select's lock.
final class SelectPlace: @unchecked Sendable {
    enum Kind {
        /// With `closes` nothing takes elements from it once the member has left.
        case ring(RingBacking, closes: Bool)
        case room(RingBacking)
        case semaphore(FIFOSemaphore, PermitBell)
        case latch(Latch)
    }

    let kind: Kind
    /// In the C set. Written by the select before other threads know the place.
    var key: UnsafeRawPointer?
    fileprivate var isRemoved = false
    /// Whether a semaphore's queue has the place, or the place a permit.
    fileprivate var asks = false
    private var waiter: Waiter?

    init(_ kind: Kind) { self.kind = kind }

    var isRing: Bool { if case .ring = kind { true } else { false } }

    /// Joins the queue of its semaphore. Under the select's lock. True if a permit was there, which is taken.
    fileprivate func join() -> Bool {
        guard case .semaphore(let semaphore, let bell) = kind, !isRemoved, !asks else { return false }
        asks = true
        let waiter = PermitWaiter(bell)
        self.waiter = waiter
        return semaphore.join(waiter)
    }

    /// When the C set does not know the place any more; once.
    fileprivate func leave(asking asked: Bool) {
        switch kind {
        case .ring(let ring, let closes): if closes { ring.close() }
        case .room, .latch: break
        case .semaphore(let semaphore, _):
            // Not in the queue: a permit has been handed over, which no closure was given.
            if asked, let waiter, !semaphore.leave(waiter) { semaphore.signal() }
        }
    }
}

/// The part of a select that any thread may call.
final class SelectCore: Sendable {
    private struct State {
        var rings = 0
        var hasHadRing = false
        var isWoken = false
        var removed: [SelectPlace] = []
    }

    struct News {
        /// The select drops their closures.
        let removed: [SelectPlace]
        /// Whether every ring that was added has ended or been removed.
        let isOver: Bool
        let isWoken: Bool
    }

    private let state = VisibleMutex(State())
    private let listener = SelectListener()
    let set: WaitSet

    init() { set = WaitSet(listener) }

    deinit { set.destroy() }

    // MARK: By the select, between two waits

    func add(_ place: SelectPlace) {
        guard place.isRing else { return }
        state.withLock { state in
            state.rings += 1
            state.hasHadRing = true
        }
    }

    /// Has a semaphore's place ask for a permit, unless it does.
    func ask(_ place: SelectPlace) {
        guard case .semaphore(_, let bell) = place.kind else { return }
        let isTaken = state.withLock { _ in place.join() }
        if isTaken { bell.tell() }
    }

    /// Whether the member's closure may run; a permit is then its own.
    func claimTurn(_ place: SelectPlace) -> Bool {
        state.withLock { _ in
            if place.isRemoved { return false }
            place.asks = false
            return true
        }
    }

    /// What other threads have done since the last call.
    func takeNews() -> News {
        state.withLock { state in
            defer { state.removed = [] }
            return News(
                removed: state.removed,
                isOver: state.hasHadRing && state.rings == 0,
                isWoken: state.isWoken
            )
        }
    }

    func takeWake() -> Bool {
        state.withLock { state in
            defer { state.isWoken = false }
            return state.isWoken
        }
    }

    /// Before a probe of the set, after which ``suspend(isolation:until:)`` may follow.
    func expectNothing() { listener.takeMarkDown() }

    func suspend(isolation: isolated (any Actor)?, until deadline: ContinuousClock.Instant?) async
        -> WaitOutcome
    {
        await listener.queue.suspend(isolation: isolation, until: deadline) { !listener.isMarked }
    }

    // MARK: By any thread

    @discardableResult
    func remove(_ place: SelectPlace) -> Bool {
        let asked: Bool? = state.withLock { state in
            if place.isRemoved { return nil }
            place.isRemoved = true
            if place.isRing { state.rings -= 1 }
            return place.asks
        }
        guard let asked else { return false }
        // The place keeps the ring, the semaphore or the latch meanwhile.
        if let key = place.key { set.remove(key) }
        place.leave(asking: asked)
        // The select drops the closure, and may have ended. Not before: a later member may get the key.
        state.withLock { $0.removed.append(place) }
        set.wake()
        return true
    }

    func wake() {
        state.withLock { $0.isWoken = true }
        set.wake()
    }

    /// The tasks that wait; for tests.
    var suspended: Int { listener.queue.withWaiters { $0.count } }
}

/// Resumes the task that waits.
// The mark changes under the queue's lock.
private final class SelectListener: WaitSetListener, @unchecked Sendable {
    let queue = WaitQueue()
    private var mark = false

    var isMarked: Bool { queue.withWaiters { _ in mark } }
    func takeMarkDown() { queue.withWaiters { _ in mark = false } }

    func tell() {
        queue.withWaiters { waiters in
            mark = true
            return waiters.takeAll()
        }.resumeAll()
    }
}
