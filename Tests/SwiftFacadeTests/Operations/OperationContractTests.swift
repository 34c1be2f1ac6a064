// SPDX-License-Identifier: Apache-2.0
//
// Sentences of the operations' documentation that no other suite holds.

import Foundation
import Testing

import Interlock

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationContractTests {
    let queue = OperationQueue()

    @Test func aPlainClosureHasReturnedWhenStartReturnsAndALaterStartDoesNothing() throws {
        let ran = Counter()
        let threads = Trace<UInt>()
        let operation = AsyncOperation<Int> {
            threads.add(UInt(pthread_self()))
            return ran.increment()
        }
        #expect(operation.isAsynchronous)
        operation.start()
        #expect(operation.isFinished && threads.events == [UInt(pthread_self())])
        operation.start()
        #expect(try operation.result?.get() == 1 && ran.value == 1)
    }

    // The hook finds the waiting operation ready, on the finishing thread; one given later runs here.
    @Test func hooksRunAfterDependentsAreReleasedOnTheThreadThatFinishes() async throws {
        let above = AsyncOperation<Int> { 1 }
        let below = above.then { $0 }
        let seen = Trace<Bool>()
        let threads = Trace<UInt>()
        above.onFinish { outcome in
            seen.add(below.isReady && (try? outcome.get()) == 1)
            threads.add(UInt(pthread_self()))
        }
        let finisher = await blocking {
            above.start()
            return UInt(pthread_self())
        }
        #expect(seen.events == [true] && threads.events == [finisher])
        above.onFinish { _ in threads.add(UInt(pthread_self())) }
        #expect(threads.events.count == 2, "at once")
    }

    @Test func closuresAndStepsRunInTasksOfTheGivenPriority() async throws {
        let first = AsyncOperation<TaskPriority?>(priority: .background) {
            await Task.yield()
            return Task.basePriority
        }
        let second = first.then(priority: .utility) { above async -> [TaskPriority?] in
            await Task.yield()
            return [above, Task.basePriority]
        }
        queue.enqueue(first, second)
        #expect(try await second.value == [.background, .utility])
    }

    @Test func aRescueIsGivenTheErrorOfAnyStepAboveAndMayThrowAnother() async throws {
        let first = AsyncOperation<Int> { throw JobFailure(why: "first") }
        let between = first.then { $0 + 1 }
        let rescued = between.recover { error in
            throw JobFailure(why: "after \((error as? JobFailure)?.why ?? "?")")
        }
        queue.enqueue(first, between, rescued)
        await #expect(throws: JobFailure(why: "after first")) { try await rescued.value }
    }

    // The second fails before the first; the first error in their order is the result.
    @Test func theFirstErrorInOrderIsTheResultOfAllAndAnd() async throws {
        let (one, two) = (
            AsyncOperation<Int> { throw JobFailure(why: "one") },
            AsyncOperation<Int> { throw JobFailure(why: "two") }
        )
        let all = AsyncOperation<[Int]>.all(of: [one, two])
        let both = one.and(two)
        let fine = AsyncOperation<Int> { 3 }
        let half = fine.and(two)
        two.start()
        one.start()
        fine.start()
        queue.enqueue(all, both, half)
        await #expect(throws: JobFailure(why: "one")) { try await all.value }
        await #expect(throws: JobFailure(why: "one")) { try await both.value }
        await #expect(throws: JobFailure(why: "two")) { try await half.value }
    }
    // contract: Completion
    @Test func aCompletionKeepsItsOperationUntilItIsDropped() async throws {
        let kept = VisibleMutex<Completion<Void>?>(nil)
        let box: WeakBox
        do {
            let operation = AsyncOperation<Void> { completion in kept.withLock { $0 = completion } }
            operation.start()
            box = WeakBox(operation)
        }
        #expect(box.object != nil)
        #expect(kept.withLock { $0 }?.succeed() == true)
        do { _ = kept.withLock { $0.take() } }
        await eventually("nothing else keeps it") { box.object == nil }
    }

    @Test func theQueueIsGivenOperationsInTheirOrder() async throws {
        queue.maxConcurrentOperationCount = 1
        let trace = Trace<Int>()
        let operations = (0..<4).map { number in AsyncOperation<Void> { trace.add(number) } }
        queue.isSuspended = true
        queue.enqueue(operations[0], operations[1], operations[2], operations[3])
        #expect(queue.operations == operations)
        queue.isSuspended = false
        try await queue.allFinished()
        #expect(trace.events == [0, 1, 2, 3])
    }
    // contract: OperationAbandoned, OperationCancelled, OperationDeadlocked, OperationInputMissing
    @Test func errorsNameTheirOperations() {
        #expect("\(OperationCancelled(operation: "a"))" == "operation a was cancelled")
        #expect("\(OperationAbandoned(operation: "a"))".contains("operation a can never finish"))
        #expect("\(OperationInputMissing(operation: "a", upstream: "b"))".contains("a was started before b"))
        #expect("\(OperationDeadlocked(operation: "a", awaited: "a"))".hasSuffix("what it made waits for it"))
        #expect(
            "\(OperationDeadlocked(operation: "a", awaited: "b"))".contains("waits for b, which is behind a")
        )
    }

    // MARK: Several closures
    // contract: ConcurrentBlockOperation
    @Test func noMoreClosuresThanTheLimitRunAtOnce() async throws {
        let crowd = Crowd()
        let blocks: [@Sendable () throws -> Void] = (0..<40).map { _ in
            {
                crowd.enter()
                for _ in 0..<100 { sched_yield() }
                crowd.leave()
            }
        }
        let operation = ConcurrentBlockOperation(maxConcurrency: 3, blocks).enqueued(on: queue)
        _ = try await operation.value
        #expect(crowd.total == 40 && crowd.most <= 3)
    }
    #if os(Linux)
    // contract: ConcurrentBlockOperation
    @Test func threadsOfSeveralClosuresHaveTheOperationsName() async throws {
        let operation = ConcurrentBlockOperation<String>(
            name: "resize",
            [{ try String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8) }]
        )
        queue.addOperation(operation)
        #expect(try await operation.value == ["resize.0\n"])
    }
    #endif
}
