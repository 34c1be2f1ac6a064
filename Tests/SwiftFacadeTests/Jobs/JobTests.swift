// SPDX-License-Identifier: Apache-2.0
//
// Light jobs: outputs and errors from job to job, cancellation, waits.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync

struct Broken: Error, Equatable { var number = 0 }
// contract: InterlockQueue, Job
@Suite(.timeLimit(.minutes(10))) struct JobTests {
    let queue = InterlockQueue(name: "jobs")

    // MARK: Data

    @Test func anOutputGoesToTheJobsBelow() async throws {
        let number = queue.job(name: "number") { 20 }
        let twice = number.then { $0 * 2 }
        let later = number.then { number in
            await Task.yield()
            return number + 1
        }
        let both = queue.job(after: twice, later, number) { "\($0) \($1) \($2)" }
        let suspending = queue.job(after: twice, later) { first, second in
            await Task.yield()
            return first + second
        }
        let all = queue.job(afterAll: (0..<100).map { number in queue.job { number } }) { $0.reduce(0, +) }
        #expect(try await both.value == "40 21 20")
        #expect(try await suspending.value == 61)
        #expect(try await all.value == 4_950)
        #expect(number.name == "number" && twice.name == nil && both.isFinished)
    }

    @Test func aJobRunsOnceAfterAllAboveIt() async throws {
        let trace = Trace<Int>()
        queue.suspend()
        let first = queue.job { trace.add(1) }
        let second = queue.job { trace.add(1) }
        let third = queue.job(after: first, second) { _, _ in trace.add(2) }
        let fourth = third.then { trace.add(3) }
        let fifth = queue.job(after: fourth) { trace.add(4) }
        let sixth = queue.job(after: fifth, queue.job { 5 }) {
            await Task.yield()
            trace.add(5)
        }
        #expect(sixth.result == nil && trace.events.isEmpty)
        queue.resume()
        try await sixth.value
        #expect(trace.events == [1, 1, 2, 3, 4, 5])
    }

    @Test func jobsThatTakeNoOutputsWaitForEach() async throws {
        let queue = InterlockQueue()
        let held = Latch(count: 1)
        let first = queue.job { 1 }
        let slow = queue.job(isBlocking: true) { held.wait() }
        let ran = Counter()
        let blind = queue.job(after: first, slow) { _ = ran.increment() }
        let asleep = queue.job(after: first, slow) {
            await Task.yield()
            _ = ran.increment()
        }
        _ = try await first.value
        try await Task.sleep(for: .milliseconds(50))
        #expect(ran.value == 0)
        held.countDown()
        try await blind.value
        try await asleep.value
        #expect(ran.value == 2)
    }

    @Test func anErrorPassesOnUnchangedUntilItIsRecovered() async throws {
        let ran = Counter()
        let broken = queue.job { () throws -> Int in throw Broken(number: 7) }
        let step = broken.then { ran.increment() + $0 }
        let both = queue.job(after: queue.job { 1 }, step) { _, _ in ran.increment() }
        let all = queue.job(afterAll: [queue.job { 1 }, step]) { _ in ran.increment() }
        let blind = queue.job(after: queue.job { 1 }, step) { ran.increment() }
        let asleep = queue.job(after: step) {
            await Task.yield()
            ran.increment()
        }
        let rescued = both.recover { ($0 as? Broken)?.number ?? 0 }
        let unused = queue.job { 3 }.recover { _ in ran.increment() }
        let again = both.recover { _ in throw Broken(number: 8) }
        #expect(try await rescued.value == 7)
        #expect(try await unused.value == 3)
        await #expect(throws: Broken(number: 7)) { try await all.value }
        await #expect(throws: Broken(number: 7)) { try await blind.value }
        await #expect(throws: Broken(number: 7)) { try await asleep.value }
        await #expect(throws: Broken(number: 8)) { try await again.value }
        #expect(ran.value == 0)
    }

    @Test func jobsAndOperationsDependOnEachOther() async throws {
        let foundation = OperationQueue()
        let operation = AsyncOperation<Int> { 5 }
        let job = queue.job(after: operation.asJob(in: queue), queue.job { 2 }) { $0 * $1 }
        let face = job.asOperation(name: "face")
        let last = face.then { $0 + 1 }
        #expect(!job.isFinished)
        foundation.enqueue(last, face, operation)
        #expect(try await last.value == 11)
        let failed = AsyncOperation<Int> { throw Broken() }
        let below = failed.asJob(in: queue).then { $0 }
        queue.enqueue(failed)
        await #expect(throws: Broken()) { try await below.value }
        // The operation has ended before the job is made.
        #expect(try await operation.asJob(in: queue).value == 5)
    }

    /// Whatever it waits for, and whether its closure suspends.
    @Test func everyFormTakesItsOptionsOver() {
        let queue = InterlockQueue(isSuspended: true)
        let above = queue.job { 1 }
        let blocking: [JobNode] = [
            queue.job(name: "job", priority: .high, isBlocking: true) {}.node,
            queue.job(name: "job", priority: .high, isBlocking: true, after: above) { _ in }.node,
            queue.job(name: "job", priority: .high, isBlocking: true, after: above) {}.node,
            queue.job(name: "job", priority: .high, isBlocking: true, afterAll: [above]) { _ in }.node,
        ]
        let suspending: [JobNode] = [
            queue.job(name: "job", priority: .high) { await Task.yield() }.node,
            queue.job(name: "job", priority: .high, after: above) { _ in await Task.yield() }.node,
            queue.job(name: "job", priority: .high, after: above) { await Task.yield() }.node,
        ]
        for node in blocking + suspending {
            #expect(node.givenName == "job" && node.fields.pointee.priority == .high)
        }
        #expect(blocking.allSatisfy { $0.fields.pointee.isBlocking })
        queue.cancelAll()
    }

    @Test func theEndOfAnOperationIsOneThingLessToWaitFor() {
        queue.suspend()
        let operation = AsyncOperation<Int> { 5 }
        let job = operation.asJob(in: queue)
        operation.start()
        #expect(job.node.withStripe { fields, _ in fields.pointee.pending } == 0)
        queue.resume()
        #expect((try? block(job)?.get()) == 5)
    }

    // MARK: Cancelling

    @Test func aJobThatIsCancelledBeforeItBeginsEndsAtOnceAndReleasesItsClosure() async throws {
        let freed = Counter()
        queue.suspend()
        let above = queue.job { 1 }
        let waiting = above.then(name: "waiting") { _ in }
        let ready = { [queue] in
            let tracked = Tracked(freed: freed)
            return queue.job(name: "ready") { withExtendedLifetime(tracked) {} }
        }()
        let below = waiting.then {}
        waiting.cancel()
        #expect(freed.value == 0)
        ready.cancel()
        #expect(freed.value == 1)
        ready.cancel()
        #expect(error(of: waiting) == OperationCancelled(operation: "waiting"))
        #expect(error(of: ready) == OperationCancelled(operation: "ready"))
        #expect(waiting.isCancelled && !above.isFinished && !below.isFinished)
        queue.resume()
        #expect(try await above.value == 1)
        await #expect(throws: OperationCancelled(operation: "waiting")) { try await below.value }
    }

    @Test func aRunningJobEndsCancelledWhenItsClosureReturns() async throws {
        let (begun, end) = (Event(), Latch(count: 1))
        let job = queue.job(name: "running", isBlocking: true) {
            begun.happen()
            end.wait()
            return 1
        }
        begun.wait()
        job.cancel()
        #expect(!job.isFinished && job.isCancelled)
        end.countDown()
        await #expect(throws: OperationCancelled(operation: "running")) { try await job.value }
    }

    @Test func cancellingAnAsyncJobCancelsItsTask() async throws {
        let begun = Event()
        let job = queue.job(name: "task") { () async throws -> Int in
            begun.happen()
            await untilCancelled()
            try Task.checkCancellation()
            return 1
        }
        begun.wait()
        job.cancel()
        await #expect(throws: OperationCancelled(operation: "task")) { try await job.value }
    }

    @Test func afterTheEndACancellationDoesNothing() async throws {
        let job = queue.job { 4 }
        #expect(try await job.value == 4)
        job.cancel()
        #expect(try job.result?.get() == 4 && !job.isCancelled)
    }

    // MARK: Waiting

    /// Beside `waitingGivesUpInTimeAndLeavesNothingBehind` of operations, which are waited for by the same code.
    @Test func aWaitHasALimitAndLeavesNoHookBehind() async throws {
        queue.suspend()
        let job = queue.job { 6 }
        #expect(block(job, .milliseconds(1)) == nil && job.node.hookCount == 0)
        #expect(blockUntil(job, .now) == nil)
        #expect(try await job.wait(timeout: .milliseconds(1)) == nil)
        #expect(try await job.wait(until: .now) == nil)
        let cancelled = Task { try await job.value }
        #expect(await eventuallySuspending { job.node.hookCount == 1 })
        cancelled.cancel()
        _ = await cancelled.result
        #expect(job.node.hookCount == 0)
        queue.resume()
        #expect(try await job.wait(timeout: .seconds(60))?.get() == 6)
        #expect(try await job.wait(until: .now.advanced(by: .seconds(60)))?.get() == 6)
        #expect(try block(job)?.get() == 6)
        #expect(try await job.outcome.get() == 6)
    }

    @Test func aJobThatHasEndedKeepsNoHandler() {
        queue.suspend()
        let (mayEnd, end) = (Promise<Void>(), Event())
        let job = queue.job { await mayEnd.take() }
        job.onFinish { _ in end.happen() }
        queue.resume()
        let hasHandler = {
            job.node.withStripe { fields, _ in fields.pointee.box?.extras.cancelHandler != nil }
        }
        #expect(eventually(hasHandler))
        mayEnd.fulfil(())
        end.wait()
        #expect(!hasHandler() && job.node.hookCount == 0)
    }

    @Test func aBlockedThreadWakesWithTheEnd() throws {
        queue.suspend()
        let job = queue.job { 6 }
        let waiter = TestThread { #expect(try! block(job)?.get() == 6) }
        queue.resume()
        waiter.join()
    }

    @Test func aCancelledTaskLeavesTheJobOrCancelsItAsAsked() async throws {
        queue.suspend()
        let (left, cancelled) = (queue.job { 1 }, queue.job(name: "both ways") { 2 })
        let leaving = Task { try await left.value }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        let cancelling = Task { try await cancelled.valueOrCancel() }
        cancelling.cancel()
        await #expect(throws: OperationCancelled(operation: "both ways")) { try await cancelling.value }
        #expect(!left.isCancelled && cancelled.isFinished)
        queue.resume()
        #expect(try await left.valueOrCancel() == 1)
        #expect(try await left.value == 1)
    }

    @Test func aHookRunsOnceWithTheResultAlsoAfterTheEnd() async throws {
        let trace = Trace<Int>()
        queue.suspend()
        let job = queue.job { 9 }
        job.onFinish { trace.add((try? $0.get()) ?? 0) }
        #expect(trace.events.isEmpty)
        queue.resume()
        try await queue.wait()
        #expect(eventually { trace.events == [9] })
        job.onFinish { trace.add((try? $0.get()) ?? 0) }
        #expect(trace.events == [9, 9])
    }

    @Test func cancellingTheOperationOfAJobCancelsTheJob() async throws {
        let (begun, end) = (Event(), Latch(count: 1))
        let job = queue.job(name: "job", isBlocking: true) {
            begun.happen()
            end.wait()
        }
        let face = job.asOperation()
        queue.enqueue(face)
        begun.wait()
        #expect(eventually { face.isExecuting })
        face.cancel()
        #expect(job.isCancelled && face.name == "job")
        end.countDown()
        await #expect(throws: OperationCancelled.self) { try await face.value }
    }

    @Test(.ownThreads) func anArrivalThatIsReplacedIsFreedUnderNoLock() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let (queue, asked) = (InterlockQueue(name: "arrivals"), Counter())
            queue.suspend()
            let job = queue.job {}
            job.node.setArrival(AtRelease { if !job.isFinished { asked.increment() } })
            job.node.setArrival(AtRelease {})
            exit(asked.value == 1 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    // canceller   cancels                     is announced: cancels the job
    // starter     starts     finds it, ends
    @Test func cancellingTheOperationOfAJobAsItStartsCancelsTheJob() {
        queue.suspend()
        let job = queue.job {}
        let face = job.asOperation()
        let (begun, isAsked) = (Event(), Event())
        let canceller = TestThread {
            begun.wait()
            face.cancel()
        }
        let place = InformedPlace { [weak face] in
            guard let face, face.isCancelled else { return }
            isAsked.happen()
            #expect(eventually { face.isFinished })
        }
        face.becomeArrival(place)
        face.onChange { event in
            guard event == .executing else { return }
            begun.happen()
            isAsked.wait()
        }
        face.start()
        canceller.join()
        #expect(face.isFinished && job.isCancelled)
    }
}

extension JobNode {
    fileprivate var hookCount: Int { withStripe { fields, _ in fields.pointee.box?.extras.hooks.count ?? 0 } }
}

/// The place of an operation, which is informed of its readiness and of its cancellation.
private final class InformedPlace: ExplainingQueue {
    private let inform: @Sendable () -> Void

    init(_ inform: @escaping @Sendable () -> Void) { self.inform = inform }

    func reasonNotStarted(_ operation: AnyObject) -> WaitReason? { nil }
    func operationIsReady() { inform() }
}

private func error<Output>(of job: Job<Output>) -> OperationCancelled? {
    if case .failure(let error) = job.result { error as? OperationCancelled } else { nil }
}

func block<Output>(_ job: Job<Output>) -> Job<Output>.Outcome? { job.wait() }
func block<Output>(_ job: Job<Output>, _ timeout: Duration) -> Job<Output>.Outcome? {
    job.wait(timeout: timeout)
}
func blockUntil<Output>(_ job: Job<Output>, _ deadline: ContinuousClock.Instant) -> Job<Output>.Outcome? {
    job.wait(until: deadline)
}
func block(_ queue: InterlockQueue) { queue.wait() }
