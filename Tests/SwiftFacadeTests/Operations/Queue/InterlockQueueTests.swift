// SPDX-License-Identifier: Apache-2.0
//
// InterlockQueue: what may run when, for jobs, for this module's operations and for Foundation's.

import Foundation
import Testing

@testable import Interlock

@Suite(.timeLimit(.minutes(5))) struct InterlockQueueTests {
    let queue = InterlockQueue(name: "queue")

    // MARK: Operations

    @Test func operationsOfAllKindsRunInTheOrderOfTheirDependencies() async throws {
        let trace = Trace<String>()
        let block = BlockOperation { trace.add("block") }
        let own = AsyncOperation<Void> { trace.add("own") }
        let late = Late { trace.add("late") }
        let last = BlockOperation { trace.add("last") }
        own.addDependency(block)
        late.addDependency(own)
        last.addDependency(late)
        queue.enqueue(last, late, own)
        #expect(queue.count == 3 && queue.operations.count == 3)
        queue.add(block)
        try await queue.wait()
        #expect(trace.events == ["block", "own", "late", "last"])
        #expect(last.isFinished && queue.operations.isEmpty && queue.count == 0)
    }

    @Test func dependenciesCrossQueuesOfBothKinds() async throws {
        let foundation = OperationQueue()
        let trace = Trace<Int>()
        let operations: [Operation] = (0..<20).map { number in
            number % 3 == 0
                ? BlockOperation { trace.add(number) } : AsyncOperation<Void> { trace.add(number) }
        }
        for (above, below) in zip(operations, operations.dropFirst()) { below.addDependency(above) }
        for (number, operation) in operations.enumerated().reversed() {
            if number % 2 == 0 { queue.add(operation) } else { foundation.addOperation(operation) }
        }
        try await OperationQueue.finished(operations)
        try await queue.wait()
        #expect(trace.events == Array(0..<20))
    }

    @Test func anOperationCancelledWhileItWaitsFinishesAndNeverRuns() async throws {
        let ran = Counter()
        let never = AsyncOperation<Void> {}
        let own = AsyncOperation<Int>(name: "own") { ran.increment() }
        let foreign = BlockOperation { ran.increment() }
        own.addDependency(never)
        foreign.addDependency(never)
        queue.enqueue(own, foreign)
        own.cancel()
        await #expect(throws: OperationCancelled(operation: "own")) { try await own.value }
        queue.cancelAll()
        try await queue.wait()
        #expect(foreign.isFinished && foreign.isCancelled && ran.value == 0)
    }

    @Test func anOperationMayTakeItsTimeToSayThatItIsReady() async throws {
        let slow = SlowlyReady()
        queue.add(slow)
        #expect(!slow.isFinished)
        slow.mayBegin.withLock { $0 = true }
        try await queue.wait()
        #expect(slow.isFinished)
    }

    // MARK: Limit and priorities

    @Test func theLimitHoldsForJobsAndOperationsUntilTheyEnd() async throws {
        queue.limit = 2
        let crowd = Crowd()
        for number in 0..<30 {
            if number % 2 == 0 {
                queue.add(
                    AsyncOperation<Void> { completion in
                        crowd.enter()
                        DispatchQueue.global().async {
                            crowd.leave()
                            completion.succeed()
                        }
                    }
                )
            } else {
                queue.job { () async in
                    crowd.enter()
                    await Task.yield()
                    crowd.leave()
                }
            }
        }
        try await queue.wait()
        #expect(crowd.total == 30 && (1...2).contains(crowd.most) && queue.limit == 2)
    }

    @Test func aLimitHoldsForJobsThatThePoolHasAndThatHaveNotBegun() async throws {
        let held = try HeldPool()
        let queue = InterlockQueue(pool: held.pool)
        let ran = Counter()
        for _ in 0..<10 { queue.job { ran.increment() } }
        queue.suspend()
        held.release()
        try await WorkerGroup(on: held.pool).wait()
        _ = try await held.pool.run(priority: .low) {}
        #expect(ran.value == 0 && queue.count == 10 && queue.isSuspended)
        queue.resume()
        try await queue.wait()
        #expect(ran.value == 10)
    }

    @Test func ofJobsThatWaitTheUrgentBeginFirstAndNoneStarves() async throws {
        let queue = InterlockQueue(limit: 1, isSuspended: true)
        let trace = Trace<String>()
        queue.job(priority: .low) { trace.add("low") }
        queue.job { trace.add("normal") }
        let operation = AsyncOperation<Void> { trace.add("high") }
        operation.queuePriority = .veryHigh
        queue.add(operation)
        queue.resume()
        try await queue.wait()
        #expect(trace.events == ["high", "normal", "low"])

        queue.suspend()
        for number in 0..<200 { queue.job(priority: .high) { trace.add("\(number)") } }
        queue.job(priority: .low) { trace.add("starved?") }
        queue.job { trace.add("normal?") }
        queue.resume()
        try await queue.wait()
        let later = Array(trace.events.dropFirst(3))
        #expect(later.count == 202)
        #expect(later.firstIndex(of: "starved?")! < 70 && later.firstIndex(of: "normal?")! < 40)
        let high = later.compactMap { Int($0) }
        #expect(high == high.sorted())
    }

    // MARK: Barriers

    @Test func aBarrierRunsAloneBetweenWhatCameBeforeAndAfter() async throws {
        let (begun, end) = (Event(), Latch(count: 1))
        let trace = Trace<String>()
        let before = queue.job(isBlocking: true) {
            begun.happen()
            end.wait()
            trace.add("before")
        }
        let first = queue.addBarrier(name: "first") { trace.add("barrier") }
        let after = AsyncOperation<Void>(name: "after") { trace.add("after") }
        queue.add(after)
        queue.addBarrier { trace.add("second barrier") }
        queue.job { trace.add("end") }
        begun.wait()
        #expect(after.record.withLock { $0.held.queue }?.reasonNotStarted(after) == .barrier("first"))
        #expect(trace.events.isEmpty && !first.isFinished)
        end.countDown()
        try await queue.wait()
        #expect(trace.events == ["before", "barrier", "after", "second barrier", "end"])
        #expect(before.isFinished && first.isFinished)
    }

    @Test func aCancelledBarrierLetsTheOthersPass() async throws {
        let (begun, end) = (Event(), Latch(count: 1))
        queue.job(isBlocking: true) {
            begun.happen()
            end.wait()
        }
        begun.wait()
        let barrier = queue.addBarrier { 1 }
        let after = queue.job { 2 }
        barrier.cancel()
        #expect(barrier.isFinished && !after.isFinished)
        end.countDown()
        #expect(try await after.value == 2)
        // An empty queue's barrier runs at once.
        try await queue.wait()
        #expect(try await queue.addBarrier { 3 }.value == 3)
        #expect(try await queue.job { 4 }.value == 4)
    }

    // MARK: Reasons

    @Test func whatHoldsAnOperationBackIsNamed() async throws {
        let (begun, end) = (Event(), Latch(count: 1))
        queue.limit = 1
        queue.job(name: "busy", isBlocking: true) {
            begun.happen()
            end.wait()
        }
        begun.wait()
        queue.add(AsyncOperation<Void>(name: "held") {})
        queue.job(name: "light") {}
        for name in ["held", "light"] {
            #expect(queue.explainWaiting()[name]?.reasons == [.queueIsFull("queue", running: ["busy"])])
        }
        #expect(queue.explainWaiting()["busy"]?.reasons == [.work])
        queue.suspend()
        for name in ["held", "light"] {
            #expect(queue.explainWaiting()[name]?.reasons == [.queueSuspended("queue")])
        }
        queue.resume()
        end.countDown()
        try await queue.wait()
        #expect(queue.explainWaiting().entries.isEmpty)
    }

    // MARK: Misuse

    @Test func aSecondEnqueueIsReported() async {
        let twice = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(20)
            let operation = AsyncOperation<Void>(name: "twice") {}
            InterlockQueue(name: "first", isSuspended: true).add(operation)
            let first = InterlockQueue(name: "held", isSuspended: true)
            let held = AsyncOperation<Void>(name: "twice") {}
            first.add(held)
            first.add(held)
        }
        #expect(
            sentence(twice).contains(
                "interlock: InterlockQueue.add(\"twice\"): it is in the queue held already"
            )
        )
        let foreign = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(20)
            let first = InterlockQueue(name: "held", isSuspended: true)
            let operation = BlockOperation {}
            operation.name = "block"
            first.add(operation)
            InterlockQueue().add(operation)
        }
        #expect(
            sentence(foreign).contains(
                "interlock: InterlockQueue.add(\"block\"): it is in the queue held already"
            )
        )
        let finished = await #expect(
            processExitsWith: .signal(SIGABRT),
            observing: [\.standardErrorContent]
        ) {
            alarm(20)
            let operation = AsyncOperation<Void>(name: "done") {}
            operation.start()
            InterlockQueue().add(operation)
        }
        #expect(sentence(finished).contains("InterlockQueue.add(\"done\"): it has finished already"))
    }

    @Test func aLimitBelowOneIsReported() async {
        let limit = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(20)
            _ = InterlockQueue(name: "none", limit: 0)
        }
        #expect(sentence(limit).contains("interlock: InterlockQueue.init(\"none\"): a limit of 0"))
    }
}

/// An asynchronous operation as its users write it on Linux.
// Under the lock; the closure is constant.
private final class Late: Operation, @unchecked Sendable {
    private let state = VisibleMutex((isExecuting: false, isFinished: false))
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { state.withLock { $0.isExecuting } }
    override var isFinished: Bool { state.withLock { $0.isFinished } }

    override func start() {
        state.withLock { $0.isExecuting = true }
        DispatchQueue.global().async { [self] in
            body()
            willChangeValue(for: \.isFinished)
            state.withLock { $0 = (false, true) }
            didChangeValue(for: \.isFinished)
        }
    }
}

/// Has a say in its readiness, and nobody is told.
// Under the lock.
private final class SlowlyReady: Operation, @unchecked Sendable {
    let mayBegin = VisibleMutex(false)
    override var isReady: Bool { super.isReady && mayBegin.withLock { $0 } }
}
