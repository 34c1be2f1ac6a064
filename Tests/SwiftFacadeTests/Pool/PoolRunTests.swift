// SPDX-License-Identifier: Apache-2.0
//
// Work with an outcome: blocking, called back, suspending; limits, cancellation and closing.

import CInterlock
import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockPool
// contract: WorkerPool, WorkerPoolError, WorkerPoolRunError
@Suite(.timeLimit(.minutes(10))) struct PoolRunTests {
    /// The blocking form, out of reach of the suspending one.
    static func block<Value: Sendable, Failure: Error>(
        _ pool: WorkerPool,
        _ work: @Sendable () throws(Failure) -> Value
    ) throws(WorkerPoolRunError<Failure>) -> Value {
        try pool.run(work)
    }

    static func block<Value: Sendable>(
        _ pool: WorkerPool,
        timeout: Duration,
        _ work: @Sendable () -> Value
    ) throws(WorkerPoolRunError<Never>) -> Value? {
        try pool.run(timeout: timeout, work)
    }

    // MARK: Blocking

    @Test func theValueAndTheErrorComeBack() async throws {
        let pool = try WorkerPool(threads: 2)
        await blocking {
            #expect(try! Self.block(pool) { threadName() }.hasPrefix("pool-"))
            #expect(throws: WorkerPoolRunError.failed(JobFailure(why: "yes"))) {
                try Self.block(pool) { () throws(JobFailure) -> Int in throw JobFailure(why: "yes") }
            }
        }
    }

    // The only thread waits for what only it can run.
    @Test func aWorkerThatWaitsRunsWhatItWaitsFor() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        let depth = try await pool.run {
            try! Self.block(pool) { try! Self.block(pool) { 1 } + 1 } + 1
        }
        #expect(depth == 3)
    }

    // worker    in a job               ends it; finds nothing to run
    // waiter    submits, limit passes
    @Test func workThatHasNotBegunInTimeNeverRunsAndIsReleased() async throws {
        let held = try HeldPool()
        let (ran, freed) = (Counter(), Counter())
        await blocking {
            let tracked = Tracked(freed: freed)
            let value = try! Self.block(held.pool, timeout: .milliseconds(5)) {
                tracked.touch()
                return ran.increment()
            }
            #expect(value == nil)
        }
        #expect(freed.value == 1, "released by the wait, while the pool still holds the empty job")
        try await held.finish()
        #expect(ran.value == 0)
    }

    // waiter    submits          limit passes           has the value
    // worker             begins                 ends
    @Test func workThatHasBegunIsWaitedForBeyondItsLimit() async throws {
        let pool = try WorkerPool(threads: 1)
        let value = await blocking {
            let limit = Duration.milliseconds(300)
            let deadline = ContinuousClock.now + limit + .milliseconds(5)
            return try! Self.block(pool, timeout: limit) {
                while ContinuousClock.now < deadline { sched_yield() }
                return 7
            }
        }
        #expect(value == 7)
    }

    // A worker that waits with a limit helps, and its withdrawn work is gone.
    @Test func aWorkersLimitWithdrawsItsWork() async throws {
        let pool = try WorkerPool(threads: 2, maximumThreads: 2)
        let (begun, end) = (Handshake(), Handshake())
        #expect(
            pool.submit {
                begun.give()
                end.take()
            }
        )
        await begun.taken()
        let ran = Counter()
        let value = try await pool.run { () -> Int? in
            WorkerPool.withBlockingCall {
                // Between will_block and did_block a worker sleeps; the other one is in its job.
                try! Self.block(pool, timeout: .milliseconds(5)) { ran.increment() }
            }
        }
        end.give()
        pool.close()
        try await pool.wait()
        #expect(value == nil && ran.value == 0)
    }

    // held      in a job                                         ends it; takes the highest first
    // others    each waits for what it has submitted: low first
    @Test func aThreadsWorkHasItsPriority() async throws {
        let held = try HeldPool()
        let others = try WorkerPool(name: "others", threads: 3)
        let order = Trace<WorkerPool.Priority>()
        for (number, priority) in [WorkerPool.Priority.low, .normal, .high].enumerated() {
            let isAccepted = others.submit { [pool = held.pool] in
                _ = try? pool.run(priority: priority) { order.add(priority) }
            }
            #expect(isAccepted)
            await eventually("it is submitted, and the thread waits") {
                others.info.blockedThreads == number + 1
            }
        }
        try await held.finish()
        #expect(order.events == [.high, .normal, .low])
    }

    @Test func aResultIsTheCallersAlone() async throws {
        let pool = try WorkerPool(threads: 1)
        let freed = Counter()
        await blocking { _ = try! Self.block(pool) { Tracked(freed: freed) } }
        #expect(freed.value == 1)
        _ = try await pool.run { Tracked(freed: freed) }
        #expect(freed.value == 2)
    }

    @Test func aClosedPoolRunsNothing() async throws {
        let pool = try WorkerPool(name: "shut", threads: 1)
        pool.close()
        await blocking {
            let error = #expect(throws: WorkerPoolRunError<Never>.self) { try Self.block(pool) { 1 } }
            #expect(error == .notRun(.closed(pool: "shut")))
            let late = try! Self.block(pool, timeout: .zero) { 1 }
            #expect(late == nil)
        }
        await #expect(throws: WorkerPoolError.closed(pool: "shut")) { try await pool.run { 1 } }
        #expect(try await pool.run(timeout: .zero) { 1 } == nil)
        let completed = Handshake()
        pool.run(deliverOn: .global()) { () throws(JobFailure) in
            1
        } completion: { result in
            #expect(result == .failure(.notRun(.closed(pool: "shut"))))
            completed.give()
        }
        await completed.taken()
    }

    // worker    in a job                          ends it
    // waiters   submit            have an error
    // closer             closes at once
    @Test func closingAtOnceEndsTheRunsThatHaveNotBegun() async throws {
        let held = try HeldPool()
        let (ran, submitted, completed) = (Counter(), Handshake(), Handshake())
        async let blocked = blocking {
            do {
                _ = try Self.block(held.pool) { ran.increment() }
                return false
            } catch { return true }
        }
        async let suspended = Task {
            await #expect(throws: WorkerPoolError.closed(pool: "held")) {
                try await held.pool.run { ran.increment() }
            }
        }.value
        held.pool.run(deliverOn: .global()) {
            ran.increment()
        } completion: { result in
            #expect(throws: WorkerPoolRunError<Never>.self) { try result.get() }
            completed.give()
        }
        // Both are in the queue, or will be refused: each ends with the error.
        submitted.give()
        held.pool.closeNow()
        held.release()
        await completed.taken()
        _ = await suspended
        #expect(await blocked && ran.value == 0)
    }

    // The pool's thread is in a job.
    @Test func closingAtOnceEndsTheWaitOfATask() async throws {
        let held = try HeldPool()
        let ran = Counter()
        let run = AwaitedRun { ran.increment() }
        let task = Task { [pool = held.pool] in try await pool.suspend(for: run, .normal) }
        await eventually("it is submitted, and the task waits") { run.isAwaited }
        held.pool.closeNow()
        #expect(!run.isAwaited, "the thread that closes hands it back")
        task.cancel()
        await #expect(throws: WorkerPoolError.closed(pool: held.pool.name)) { try await task.value }
        held.release()
        #expect(ran.value == 0)
    }

    // MARK: Called back

    @Test func theOutcomeIsDeliveredOnceOnItsQueue() async throws {
        let pool = try WorkerPool(threads: 1)
        let queue = DispatchQueue(label: "org.interlock.delivery")
        let key = DispatchSpecificKey<Int>()
        queue.setSpecific(key: key, value: 1)
        let (deliveries, freed, done) = (Trace<Int>(), Counter(), Handshake())
        do {
            let tracked = Tracked(freed: freed)
            pool.run(deliverOn: queue) {
                tracked.touch()
                return 5
            } completion: { result in
                #expect(DispatchQueue.getSpecific(key: key) == 1)
                deliveries.add((try? result.get()) ?? -1)
                done.give()
            }
        }
        await done.taken()
        pool.run(deliverOn: queue) { () throws(JobFailure) -> Int in
            throw JobFailure()
        } completion: { result in
            #expect(result == .failure(.failed(JobFailure())))
            done.give()
        }
        await done.taken()
        #expect(deliveries.events == [5])
        await eventually("the work is released") { freed.value == 1 }
    }

    // MARK: Suspending

    @Test func theSuspendingFormReturnsAndThrows() async throws {
        let pool = try WorkerPool(threads: 1)
        #expect(try await pool.run { 3 } == 3)
        await #expect(throws: JobFailure()) { try await pool.run { () throws -> Int in throw JobFailure() } }
    }

    // task      submits, suspends   cancelled: throws
    // worker    in a job                              ends it; finds an empty job
    @Test func workOfACancelledTaskThatHasNotBegunNeverRunsAndIsReleased() async throws {
        let held = try HeldPool()
        let (ran, freed) = (Counter(), Counter())
        let run: AwaitedRun
        do {
            let tracked = Tracked(freed: freed)
            run = AwaitedRun(before: nil) {
                tracked.touch()
                ran.increment()
            }
        }
        let task = Task { [pool = held.pool] in try await pool.suspend(for: run, .normal) }
        await eventually("it is submitted, and the task waits") { run.isAwaited }
        #expect(freed.value == 0)
        task.cancel()
        #expect(try await task.value == .cancelled)
        #expect(freed.value == 1, "released before the pool comes to it")
        try await held.finish()
        #expect(ran.value == 0)
    }

    // The pool's threads are in a job: what was submitted would be kept by the pool.
    @Test func aCancelledTaskSubmitsNothing() async throws {
        // Set by the task, and read after its end.
        final class Submitted: @unchecked Sendable { weak var object: (any PoolObject)? }
        let held = try HeldPool()
        let pool = held.pool
        let run = Submitted()
        let running = Task {
            await untilCancelled()
            let submitted = AwaitedRun(before: nil) {}
            run.object = submitted
            return try await pool.suspend(for: submitted, .normal)
        }
        running.cancel()
        #expect(try await running.value == .cancelled)
        let asking = Task {
            await untilCancelled()
            return try await pool.run { 1 }
        }
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
        #expect(run.object == nil, "the pool has no job of it")
        held.release()
    }

    @Test func aRunThatIsTooLateSubmitsNothing() async throws {
        let submitted = Counter()
        let end = await AwaitedRun(before: .now - .seconds(1)) {}.suspend {
            submitted.increment()
            return true
        }
        #expect(end == .late)
        await blocking { #expect(AwaitedRun(deadline: 1) {}.block { submitted.increment() } == .late) }
        #expect(submitted.value == 0)
        // The pool's thread is in a job: what was submitted would be kept by the pool.
        let held = try HeldPool()
        let run = await blocking { [pool = held.pool] in
            let run = AwaitedRun(deadline: 1) {}
            #expect(pool.block(for: run, .normal) == .late)
            return WeakBox(run)
        }
        #expect(run.object == nil, "the pool has no job of it")
        held.release()
    }

    @Test func aLimitThatIsNotReachedLeavesNothing() async throws {
        let pool = try WorkerPool(threads: 1)
        func limited() async throws -> WeakBox {
            let run = AwaitedRun(before: .now + .seconds(90_000)) {}
            #expect(try await pool.suspend(for: run, .normal) == .ran)
            return WeakBox(run)
        }
        let run = try await limited()
        await eventually("no timer holds the run") { run.object == nil }
    }

    @Test func aTasksWorkHasItsPriority() async throws {
        let held = try HeldPool()
        let order = Trace<WorkerPool.Priority>()
        let tasks = try await withThrowingTaskGroup { group in
            for priority in [WorkerPool.Priority.low, .normal, .high] {
                let run = AwaitedRun { order.add(priority) }
                group.addTask { [pool = held.pool] in try await pool.suspend(for: run, priority) }
                await eventually("it is submitted, and the task waits") { run.isAwaited }
            }
            held.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tasks == [.ran, .ran, .ran])
        #expect(order.events == [.high, .normal, .low])
    }

    // The end of what the work captures is the user's: it finds the lock free, and the task still waiting.
    @Test(arguments: [true, false])
    func workIsReleasedOutsideTheLockBeforeItsTaskGoesOn(isCancelled: Bool) async {
        // Set before the work begins.
        final class Place: @unchecked Sendable { weak var run: AwaitedRun? }
        let (place, waits) = (Place(), Trace<Bool>())
        let run: AwaitedRun
        do {
            let last = AtRelease { waits.add(place.run?.isAwaited == true) }
            run = AwaitedRun { withExtendedLifetime(last) {} }
        }
        place.run = run
        let task = Task { await run.suspend { true } }
        await eventually("the task waits") { run.isAwaited }
        if isCancelled { task.cancel() } else { run.run() }
        #expect(await task.value == (isCancelled ? .cancelled : .ran))
        #expect(waits.events == [true])
    }

    @Test func workThatHasBegunIsWaitedForAlthoughItsTaskIsCancelled() async throws {
        let pool = try WorkerPool(threads: 1)
        let (begun, goOn) = (Handshake(), Handshake())
        let task = Task {
            try await pool.run {
                begun.give()
                goOn.take()
                return 9
            }
        }
        await begun.taken()
        task.cancel()
        goOn.give()
        #expect(try await task.value == 9)
    }

    @Test func aSuspendingRunThatHasNotBegunInTimeIsWithdrawn() async throws {
        let held = try HeldPool()
        let ran = Counter()
        #expect(try await held.pool.run(timeout: .milliseconds(5)) { ran.increment() } == nil)
        #expect(try await held.pool.run(timeout: .zero) { ran.increment() } == nil)
        held.release()
        #expect(try await held.pool.run(timeout: .seconds(60)) { 1 } == 1)
        #expect(ran.value == 0)
    }

    // A cancellation that comes while the run is submitted, begins or ends: it has run, or it was cancelled, never both
    // and never neither; and each closure is released.
    @Test func aCancellationInARaceWithTheWorkDecidesOnce() async throws {
        let pool = try WorkerPool(threads: 2)
        let (ran, freed, cancelled, returned) = (Counter(), Counter(), Counter(), Counter())
        for _ in 0..<500 {
            let tracked = Tracked(freed: freed)
            let task = Task {
                try await pool.run {
                    tracked.touch()
                    ran.increment()
                }
            }
            await Task.yield()
            task.cancel()
            switch await task.result {
            case .success: returned.increment()
            case .failure(let error):
                #expect(error is CancellationError)
                cancelled.increment()
            }
        }
        #expect(ran.value == returned.value && returned.value + cancelled.value == 500)
        await eventually("all are released") { freed.value == 500 }
    }
}
