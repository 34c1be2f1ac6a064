// SPDX-License-Identifier: Apache-2.0
//
// One `run`: its work, and where the outcome goes. The work is a PendingWork: the thread that runs it, the waiter that
// withdraws it and the close that hands it back race for one claim, and the claimant decides the outcome.
//
//   waiter                            worker
//   submits the run
//   sleeps, or runs it itself         claims the work, runs it, stores the outcome
//   limit: claims the work; has it    leaves the group, the last touch
//     ──▶ nothing ran
//   has it not ──▶ waits on
//   reads the outcome
//
// The C core touches the group of a job after the job's function has returned. So a waiter that withdraws leaves the
// group to a job that follows (PoolGroup.retire).

import CInterlock
import InterlockSync

/// A run for which a thread waits.
// The claimant stores the outcome, and the waiter reads it after the group's end.
final class BlockingRun<Value: Sendable, Failure: Error>: PoolObject, @unchecked Sendable {
    private let work: PendingWork<@Sendable () throws(Failure) -> Value>
    private let group = PoolGroup()
    private let computation = FlightWaits.current
    private let deadline: UInt64
    private var outcome: Result<Value, WorkerPoolRunError<Failure>>?

    init(_ work: @escaping @Sendable () throws(Failure) -> Value, before deadline: UInt64) {
        self.work = PendingWork(work)
        self.deadline = deadline
    }

    // Not inlined: its reference to the closure must be gone when it returns.
    @inline(never)
    package func run() {
        // Past the limit it is freed, and there is no outcome: the waiter wakes a little later.
        guard let work = work.claim(), !hasPassed(deadline) else { return }
        do throws(Failure) {
            outcome = .success(try FlightWaits.inside(computation, work))
        } catch {
            outcome = .failure(.failed(error))
        }
    }

    package func handBack(to core: PoolCore) {
        guard work.claim() != nil else { return }
        outcome = .failure(.notRun(.closed(pool: core.name)))
    }

    /// Submits the run and waits for its end. `nil`: it had not begun at the deadline, and will not.
    func wait(on core: PoolCore, _ priority: ilk_priority) -> Result<Value, WorkerPoolRunError<Failure>>? {
        if hasPassed(deadline) { return nil }
        guard core.submit(.object(self), priority, group: group.pointer) else {
            return .failure(.notRun(.closed(pool: core.name)))
        }
        if ilk_group_wait_until(group.pointer, deadline) != ILK_OK {
            if work.claim() != nil {
                group.retire(on: core)
                return nil
            }
            _ = ilk_group_wait_until(group.pointer, forever)
        }
        return outcome
    }
}

/// A run for which a task waits.
final class SuspendingRun<Value: Sendable>: PoolObject {
    private let work: PendingWork<@Sendable () throws -> Value>
    let result = Promise<Result<Value, any Error>>()
    private let computation = FlightWaits.current
    private let deadline: ContinuousClock.Instant?

    init(_ work: @escaping @Sendable () throws -> Value, before deadline: ContinuousClock.Instant?) {
        self.work = PendingWork(work)
        self.deadline = deadline
    }

    package func run() {
        // Left to the waiter, which wakes a little later.
        if hasPassed(deadline) { return }
        guard let work = work.claim() else { return }
        result.fulfil(FlightWaits.inside(computation) { Result(catching: work) })
    }

    package func handBack(to core: PoolCore) {
        guard work.claim() != nil else { return }
        result.fulfil(.failure(WorkerPoolError.closed(pool: core.name)))
    }

    /// Submits the run and waits for its end. `nil`: it had not begun at the deadline, and will not.
    func wait(on core: PoolCore, _ priority: ilk_priority) async throws -> Value? {
        try Task.checkCancellation()
        if hasPassed(deadline) { return nil }
        guard core.submit(.object(self), priority) else { throw WorkerPoolError.closed(pool: core.name) }
        let outcome = await result.wait(until: deadline)
        if outcome != .granted, work.claim() != nil {
            if outcome == .cancelled { throw CancellationError() }
            return nil
        }
        return try await result.take().get()
    }
}
