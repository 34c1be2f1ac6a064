// SPDX-License-Identifier: Apache-2.0
//
// Work that a thread or a task waits for, on a pool or a dispatch queue: what runs it begins it, or a cancellation, a
// limit or the pool's close gives it up, whichever is first. Without type parameters: an object with the result's type
// asks the runtime for that type at each step (half of the instructions of a run: callgrind). The result goes to memory
// whose type is known where the call is compiled.
//
//   pending ──begin──▶ begun ──its return──▶ ended(ran)
//      └────giveUp──▶ ended(not run); the work is freed
//
// The C core touches the group of a job after the job's function has returned. So a thread that withdraws leaves the
// group to a job that follows (PoolGroup.retire).

import CInterlock
import InterlockSync

/// Memory for the result of work: initialised where the run ended with `.ran`, and nowhere else.
// The work initialises it before that end, which the caller reads under the run's lock.
@frozen @usableFromInline
package struct AwaitedResult<Outcome: Sendable>: @unchecked Sendable {
    @usableFromInline package let place = UnsafeMutablePointer<Outcome>.allocate(capacity: 1)

    @inlinable
    package init() {}
}

@usableFromInline
package final class AwaitedRun: PoolObject {
    @usableFromInline
    package enum End: Sendable { case ran, cancelled, late, closed }

    private struct State {
        var work: (@Sendable () -> Void)?
        var end: End?
        var waiter: Waiter?
    }

    private enum Waiter {
        case task(CheckedContinuation<Void, Never>)
        case thread(ThreadWaiter)
    }

    private let state: VisibleMutex<State>
    /// Until when the work may begin: a task's limit, a thread's.
    private let moment: ContinuousClock.Instant?, deadline: UInt64

    @usableFromInline
    package init(
        before moment: ContinuousClock.Instant? = nil,
        deadline: UInt64 = .max,
        _ work: @escaping @Sendable () -> Void
    ) {
        // The work is a part of what the waiter computes for a SingleFlightCache.
        let computation = FlightWaits.current
        var inside = work
        if let computation { inside = { FlightWaits.inside(computation, work) } }
        (self.moment, self.deadline) = (moment, deadline)
        state = VisibleMutex(State(work: inside), isPacked: true)
    }

    private var isLate: Bool { hasPassed(moment) || hasPassed(deadline) }

    // MARK: Waiting

    /// The value of work for which this task waits; `nil` where it had not begun in time. `wait` suspends until the
    /// end of the run, and throws where there was nothing to submit it to.
    @inlinable
    package static func value<Value: Sendable>(
        of work: @escaping @Sendable () throws -> Value,
        before moment: ContinuousClock.Instant?,
        wait: (AwaitedRun) async throws -> End
    ) async throws -> Value? {
        let result = AwaitedResult<Result<Value, any Error>>()
        // Work that has not run by its end never will.
        defer { result.place.deallocate() }
        let run = AwaitedRun(before: moment) { result.place.initialize(to: Result(catching: work)) }
        switch try await wait(run) {
        case .ran: return try result.place.move().get()
        case .cancelled: throw CancellationError()
        case .late, .closed: return nil
        }
    }

    /// Submits the work unless it is too late, and suspends until its end.
    ///
    /// - Parameters:
    ///   - submit: False where nothing was submitted.
    ///   - withdraw: Called where this task gave the work up.
    package func suspend(
        _ submit: () -> Bool,
        withdraw: @escaping @Sendable () -> Void = {}
    ) async -> End {
        await withTaskCancellationHandler {
            if isLate {
                giveUp(.late)
            } else if !Task.isCancelled, !submit() {
                giveUp(.closed)
            }
            let alarm = alarm(withdraw)
            defer { alarm?.cancel() }
            await withCheckedContinuation { waiter in
                if wait(.task(waiter)) != nil { waiter.resume() }
            }
            return end
        } onCancel: {
            giveUp(.cancelled, withdraw)
        }
    }

    /// Submits the work unless it is too late, and blocks the thread until its end.
    package func block(_ submit: () -> Void) -> End {
        if isLate {
            giveUp(.late)
        } else {
            submit()
            let waiter = ThreadWaiter()
            if wait(.thread(waiter)) == nil {
                // What runs the work may need the worker that this blocks.
                ilk_pool_will_block()
                if !waiter.park(until: deadline) {
                    giveUp(.late)
                    _ = waiter.park(until: forever)
                }
                ilk_pool_did_block()
            }
        }
        return end
    }

    /// Submits the work to a pool unless it is too late, and waits for its end; a worker of the pool may run it itself.
    func block(on core: PoolCore, _ priority: ilk_priority) -> End {
        let group = PoolGroup()
        defer { withExtendedLifetime(group) {} }
        if isLate {
            giveUp(.late)
        } else if !core.submit(.object(self), priority, group: group.pointer) {
            giveUp(.closed)
        } else if ilk_group_wait_until(group.pointer, deadline) != ILK_OK {
            if giveUp(.late) {
                group.retire(on: core)
            } else {
                _ = ilk_group_wait_until(group.pointer, forever)
            }
        }
        return end
    }

    /// How the work ended; otherwise `waiter` will be resumed at its end.
    private func wait(_ waiter: Waiter) -> End? {
        state.withLock { state in
            if state.end == nil { state.waiter = waiter }
            return state.end
        }
    }

    /// Whether a task or thread waits now; for tests.
    var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// After a wait. The runtime orders a resumed task after the thread that resumed it, but ThreadSanitizer does not
    /// see that of a task resumed before it has fully suspended: the lock shows it.
    private var end: End { state.withLock { $0.end! } }

    private func alarm(_ withdraw: @escaping @Sendable () -> Void) -> Alarm? {
        guard let moment, isReached(moment) else { return nil }
        return Alarm(at: InterlockSync.deadline(at: moment)) { self.giveUp(.late, withdraw) }
    }

    // MARK: The end

    /// Runs the work, unless it was given up or is too late: the waiter's timer comes a little later.
    package func run() {
        if isLate {
            giveUp(.late)
        } else if runWork() {
            ended(.ran)
        }
    }

    package func handBack(to _: PoolCore) { giveUp(.closed) }

    /// Frees work that has not begun; false for other work.
    @discardableResult
    private func giveUp(_ end: End, _ withdraw: () -> Void = {}) -> Bool {
        guard freeWork() else { return false }
        withdraw()
        ended(end)
        return true
    }

    // These two are not inlined: their reference to the closure must be gone before the waiter goes on. They are
    // outside the lock, because the ends of what it captures are the user's.
    @inline(never)
    private func runWork() -> Bool {
        guard let work = state.withLock({ $0.work.take() }) else { return false }
        work()
        return true
    }

    @inline(never)
    private func freeWork() -> Bool { state.withLock { $0.work.take() } != nil }

    private func ended(_ end: End) {
        let waiter = state.withLock { state in
            state.end = end
            return state.waiter.take()
        }
        switch waiter {
        case .task(let task): task.resume()
        case .thread(let thread): thread.resume()
        case nil: break
        }
    }
}
