// SPDX-License-Identifier: Apache-2.0
//
// InterlockQueue: what may run when, for jobs, for this module's operations and for Foundation's.

import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: InterlockQueue, WaitReason, WorkerPool
@Suite(.timeLimit(.minutes(10))) struct InterlockQueueTests {
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
        queue.enqueue(block)
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
            if number % 2 == 0 { queue.enqueue(operation) } else { foundation.addOperation(operation) }
        }
        try await OperationQueue.finished(operations)
        try await queue.wait()
        #expect(trace.events == Array(0..<20))
    }

    @Test func foundationsOperationsInQueuesWaitForEachOtherWithoutAnythingBetween() async throws {
        let other = InterlockQueue()
        let trace = Trace<Int>()
        let operations = (0..<20).map { number in BlockOperation { trace.add(number) } }
        for (number, operation) in operations.enumerated() {
            for above in operations[max(0, number - 3)..<number] { operation.addDependency(above) }
        }
        queue.suspend()
        for (number, operation) in operations.enumerated() {
            (number % 2 == 0 ? queue : other).enqueue(operation)
        }
        for operation in operations {
            let node = try #require(ForeignOwners.node(of: operation))
            #expect(node.fields.pointee.box?.extras.arrival == nil)
        }
        queue.resume()
        try await queue.wait()
        try await other.wait()
        #expect(trace.events == Array(0..<20))
    }

    /// What has finished is freed; Foundation has an unretained pointer to it in `above`.
    @Test func anOperationThatWasCancelledMayGoBeforeTheOneItWaitedFor() async throws {
        let ran = Counter()
        let above = BlockOperation { ran.increment() }
        let other = InterlockQueue()
        queue.suspend()
        queue.enqueue(above)
        for _ in 0..<100 {
            let below = BlockOperation { ran.increment() }
            below.addDependency(above)
            other.enqueue(below)
        }
        other.cancelAll()
        try await other.wait()
        queue.resume()
        try await queue.wait()
        #expect(ran.value == 1)
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
        queue.enqueue(slow)
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
                queue.enqueue(
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

    // Its start returns long before it has finished, in most rounds.
    @Test func anOperationOfAnotherClassKeepsItsPlaceUntilItHasFinished() async throws {
        queue.limit = 1
        let early = Counter()
        for _ in 0..<100 {
            let late = Late { for _ in 0..<50 { sched_yield() } }
            queue.enqueue(late)
            queue.job { if !late.isFinished { early.increment() } }
        }
        try await queue.wait()
        #expect(early.value == 0)
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
        queue.enqueue(operation)
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

    /// As in Foundation's queue; and one that is changed in the queue moves.
    @Test func fivePrioritiesAreTakenInTheirOrderAndMayChangeInTheQueue() async throws {
        queue.limit = 1
        queue.suspend()
        let trace = Trace<String>()
        func add(_ name: String, _ priority: Operation.QueuePriority) -> Operation {
            let operation = AsyncOperation<Void>(name: name) { trace.add(name) }
            operation.queuePriority = priority
            queue.enqueue(operation)
            return operation
        }
        _ = add("very low", .veryLow)
        _ = add("low", .low)
        let raised = add("raised", .veryLow)
        _ = add("normal", .normal)
        let lowered = add("lowered", .veryHigh)
        _ = add("high", .high)
        _ = add("very high", .veryHigh)
        raised.queuePriority = .veryHigh
        lowered.queuePriority = .low
        lowered.queuePriority = .veryLow
        let foreign = BlockOperation { trace.add("foreign") }
        foreign.queuePriority = .high
        queue.enqueue(foreign)
        queue.resume()
        try await queue.wait()
        #expect(
            trace.events == [
                "very high", "raised", "high", "foreign", "normal", "low", "very low", "lowered",
            ]
        )
        #expect(raised.queuePriority == .veryHigh)
    }

    /// Behind a barrier, too.
    @Test func aPriorityThatChangesBehindABarrierDoesNotPassIt() async throws {
        let trace = Trace<String>()
        let end = await hold(queue)
        queue.barrier { trace.add("barrier") }
        let behind = AsyncOperation<Void> { trace.add("behind") }
        queue.enqueue(behind)
        behind.queuePriority = .veryHigh
        end.happen()
        try await queue.wait()
        #expect(trace.events == ["barrier", "behind"])
    }

    /// What suspends in a blocking queue goes on on its pool.
    @Test func asyncWorkOfABlockingQueueRunsOnTheBlockingPool() async throws {
        let blocking = InterlockQueue(name: "blocking", isBlocking: true)
        let plain = try await blocking.job { threadName() }.value
        let job = try await blocking.job { () async -> String in threadName() }.value
        let operation = AsyncOperation<String> { () async -> String in threadName() }
        blocking.enqueue(operation)
        let again = AsyncOperation<String>(repeating: .times(2)) { () async -> String in threadName() }
        blocking.enqueue(again)
        let pool = plain.prefix { $0 != "-" }
        #expect(job.hasPrefix(pool) && !pool.isEmpty, "\(plain), \(job)")
        #expect(try await operation.value.hasPrefix(pool))
        #expect(try await again.value.hasPrefix(pool))
        let (group, inner) = (GroupOperation<[String]>(), GroupOperation<String>())
        try inner.add(AsyncOperation { threadName() })
        try group.add(inner)
        queue.enqueue(group, isBlocking: true)
        #expect(try await group.value[0][0].hasPrefix(pool))
    }

    /// In the thread's own succession, too.
    @Test func aBlockingJobBehindAnotherOneRunsOnTheBlockingPool() async throws {
        queue.suspend()
        let above = queue.job { threadName() }
        let below = queue.job(isBlocking: true, after: above) { _ in threadName() }
        let last = queue.job(after: below) { _ in threadName() }
        queue.resume()
        let names = [try await above.value, try await below.value, try await last.value]
        let pools = names.map { name in name.prefix { $0 != "-" } }
        #expect(pools[0] == pools[2] && pools[0] != pools[1], "\(names)")
    }

    /// Counted anew each time the queue begins to count places.
    @Test func aJobThatRunsHasOnePlaceHoweverOftenALimitIsSet() {
        let end = hold(queue, name: "busy")
        for limit in [1, nil, 1, nil, 1] { queue.limit = limit }
        end.happen()
        queue.job {}
        #expect(queue.wait(timeout: .seconds(20)), "places are taken that no job has")
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
        let first = queue.barrier(name: "first") { trace.add("barrier") }
        let after = AsyncOperation<Void>(name: "after") { trace.add("after") }
        queue.enqueue(after)
        queue.barrier { trace.add("second barrier") }
        queue.job { trace.add("end") }
        begun.wait()
        #expect(after.record.withLock { $0.held.queue }?.reasonNotStarted(after) == .barrier("first"))
        #expect(trace.events.isEmpty && !first.isFinished)
        end.countDown()
        try await queue.wait()
        #expect(trace.events == ["before", "barrier", "after", "second barrier", "end"])
        #expect(before.isFinished && first.isFinished)
    }

    /// busy  [ first, cancelled ]  after  [ second ]  last
    @Test func aCancelledBarrierHoldsNothingBack() async throws {
        let end = await hold(queue, name: "busy")
        let first = queue.barrier(name: "first") { 1 }
        let after = queue.job(name: "after") { 2 }
        let second = queue.barrier(name: "second") { 3 }
        let last = queue.job(name: "last") { 4 }
        #expect(queue.explainWaiting()["after"]?.reasons == [.barrier("first")])
        first.cancel()
        #expect(try await after.value == 2)
        // What came before the cancelled one still comes before the next.
        #expect(queue.explainWaiting()["second"]?.reasons == [.before(1)])
        #expect(queue.explainWaiting()["last"]?.reasons == [.barrier("second")])
        let between = queue.barrier(name: "between") { 5 }
        between.cancel()
        let held = queue.job(name: "held") { 6 }
        #expect(queue.explainWaiting()["held"]?.reasons == [.barrier("second")])
        end.happen()
        let values = [try await second.value, try await last.value, try await held.value]
        #expect(values == [3, 4, 6])
        // An empty queue's barrier runs at once.
        try await queue.wait()
        #expect(try await queue.barrier { 7 }.value == 7)
        #expect(try await queue.job { 8 }.value == 8)
    }

    /// A barrier begins a generation and holds the stripes at one moment: a job added between the two would run beside
    /// it.
    @Test func aGenerationBehindABarrierBeginsHeld() async {
        let unheld = await blocking {
            let unheld = Atomic<Int>(0)
            for _ in 0..<repetitions(2_000, underThreadSanitizer: 200) {
                let (queue, end) = (InterlockQueue(name: "barrier"), Latch(count: 1))
                onThreads(2) { thread in
                    if thread == 0 {
                        queue.barrier { end.wait() }
                        return
                    }
                    var isHeld: Bool?
                    while isHeld == nil {
                        isHeld = queue.core.stripes.withAll {
                            let stripe = queue.core.stripes[0].value.pointee
                            return stripe.generation == 0 ? nil : stripe.isHeld
                        }
                    }
                    if isHeld == false { unheld.add(1, ordering: .relaxed) }
                    end.countDown()
                }
            }
            return unheld.load(ordering: .relaxed)
        }
        #expect(unheld == 0)
    }

    // MARK: Reasons

    @Test func whatHoldsAnOperationBackIsNamed() async throws {
        queue.limit = 1
        let end = await hold(queue, name: "busy")
        queue.enqueue(AsyncOperation<Void>(name: "held") {})
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
        end.happen()
        try await queue.wait()
        #expect(queue.explainWaiting().entries.isEmpty)
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

/// Has a say in its readiness, and posts no change of it.
// Under the lock.
private final class SlowlyReady: Operation, @unchecked Sendable {
    let mayBegin = VisibleMutex(false)
    override var isReady: Bool { super.isReady && mayBegin.withLock { $0 } }
}
