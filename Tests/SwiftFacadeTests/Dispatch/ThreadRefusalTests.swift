// SPDX-License-Identifier: Apache-2.0
//
// A system that makes no further thread. Each test runs in a child that limits its threads; an alarm ends a hang.

#if os(Linux)
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: ConcurrentBlockOperation, PriorityInheritingMutex, ThreadUnavailable
@Suite(.timeLimit(.minutes(10))) struct ThreadRefusalTests {
    @Test(.ownThreads, arguments: [0, 1]) func concurrentMapGoesOnWithTheThreadsThereAre(spare: Int) async {
        await #expect(processExitsWith: .success) { [spare] in
            alarm(240)
            refuseThreads(spare: spare)
            func squares() -> [Int] { (0..<100).concurrentMap(maxConcurrency: 4) { $0 * $0 } }
            exit(squares() == (0..<100).map { $0 * $0 } ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    // Each thread of the pool has a job that waits: the helpers do not begin, and the call does not wait for them.
    @Test(.ownThreads) func concurrentMapEndsThoughThePoolHasNoThreadLeft() async {
        await #expect(processExitsWith: .success) {
            alarm(240)
            let (begun, end) = (Handshake(), Handshake())
            for _ in 0..<512 {
                let accepted = WorkerPool.blocking.submit {
                    begun.give()
                    end.take()
                }
                guard accepted else { exit(2) }
            }
            begun.take(512)
            func squares() -> [Int] { (0..<100).concurrentMap(maxConcurrency: 4) { $0 * $0 } }
            let isRight = squares() == (0..<100).map { $0 * $0 }
            // The helpers are still queued, and hold no output.
            let (alive, freed) = (Counter(), Counter())
            func track() {
                _ = (0..<100).concurrentMap(maxConcurrency: 4) { _ in Tracked(alive: alive, freed: freed) }
            }
            track()
            let areFreed = alive.value == 100 && freed.value == 100
            end.give(512)
            exit(isRight ? areFreed ? EXIT_SUCCESS : 3 : EXIT_FAILURE)
        }
    }

    // One thread of three is made: its closure may wait for the others, and does not begin.
    @Test(.ownThreads, arguments: [0, 1]) func aConcurrentBlockOperationFailsBeforeAnyClosureRuns(spare: Int)
        async
    {
        await #expect(processExitsWith: .success) { [spare] in
            alarm(240)
            let ran = Counter()
            let operation = ConcurrentBlockOperation<Int>(name: "blocks")
            for _ in 0..<3 { operation.addBlock { ran.increment() } }
            refuseThreads(spare: spare)
            operation.start()
            guard case .failure(let error) = operation.result, ran.value == 0 else { exit(EXIT_FAILURE) }
            exit("\(error)".contains("thread") ? EXIT_SUCCESS : 2)
        }
    }

    // holder        task
    // has the mutex
    //               finds it taken, has no thread to wait for it: waits itself
    // unlocks
    //               has it
    @Test(.ownThreads) func aTaskGetsTheInheritingMutexWithoutAThread() async {
        await #expect(processExitsWith: .success) {
            final class Shared: Sendable { let mutex = PriorityInheritingMutex(1) }
            let shared = Shared()
            let (held, end) = (Event(), Event())
            let holder = TestThread {
                shared.mutex.withLock { _ in
                    held.happen()
                    end.wait()
                }
            }
            held.wait()
            // The runtime has its timers' and workers' threads from here on.
            try await Task.sleep(for: .milliseconds(1))
            alarm(240)
            refuseThreads()
            guard try await shared.mutex.withLock(timeout: .milliseconds(20), { $0 }) == nil else { exit(1) }
            let (begun, other) = (Counter(), Counter())
            let cancelled = Task {
                begun.increment()
                try await shared.mutex.withLock { _ in _ = other.increment() }
            }
            guard await eventuallySuspending({ begun.value == 1 }) else { exit(2) }
            cancelled.cancel()
            guard case .failure(is CancellationError) = await cancelled.result else { exit(3) }
            let task = Task { try await shared.mutex.withLock { value in value + 1 } }
            end.happen()
            guard try await task.value == 2, other.value == 0 else { exit(4) }
            holder.join()
            exit(EXIT_SUCCESS)
        }
    }

    // One asks for a thread; the others join meanwhile, and are sent away with it.
    @Test(.ownThreads) func severalTasksGetTheInheritingMutexWithoutAThread() async {
        await #expect(processExitsWith: .success) {
            final class Shared: Sendable { let mutex = PriorityInheritingMutex(0) }
            let shared = Shared()
            let (rounds, tasks) = (100, 8)
            let (begin, held, end) = (Handshake(), Handshake(), Handshake())
            let holder = TestThread {
                for _ in 0..<rounds {
                    begin.take()
                    shared.mutex.withLock { _ in
                        held.give()
                        end.take()
                    }
                }
            }
            await refuseFurtherThreads()
            for _ in 0..<rounds {
                let begun = Counter()
                begin.give()
                held.take()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<tasks {
                        group.addTask {
                            begun.increment()
                            try await shared.mutex.withLock { $0 += 1 }
                        }
                    }
                    guard await eventuallySuspending({ begun.value == tasks }) else { exit(1) }
                    end.give()
                    try await group.waitForAll()
                }
            }
            holder.join()
            exit(try await shared.mutex.withLock { $0 } == rounds * tasks ? EXIT_SUCCESS : 2)
        }
    }

    /// The timers of suspended waits have a thread; without it, a task sleeps.
    @Test(.ownThreads) func aTaskWaitsUntilItsLimitThoughNoThreadKeepsTime() async {
        await #expect(processExitsWith: .success) {
            await refuseFurtherThreads()
            let begin = ContinuousClock.now
            let isServed = try await FIFOSemaphore(permits: 0).wait(timeout: .milliseconds(20))
            exit(!isServed && begin.duration(to: .now) >= .milliseconds(20) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    // C thread      ring                        task
    //               has no thread to serve
    //                                           finds nothing, suspends
    // pushes ────▶  one signal of a semaphore
    //               a task of its own serves ─▶ has the element
    @Test(.ownThreads) func tasksAtASharedRingThatGetsNoThreadAreResumed() async {
        await #expect(processExitsWith: .success) {
            await refuseFurtherThreads()
            let ring = try MPMCRing<Int>(capacity: 1, resumingOnOwnThread: true)
            let popping = Task { try await ring.pop() }
            guard await eventuallySuspending({ waiting(ring.waiters.consumers) == 1 }) else { exit(1) }
            guard ring.tryPush(1).isPushed, try await popping.value == 1 else { exit(2) }
            _ = ring.tryPush(2)
            let pushing = Task { await ring.push(3).isPushed }
            guard await eventuallySuspending({ waiting(ring.waiters.producers) == 1 }) else { exit(3) }
            guard ring.tryPop() == 2, await pushing.value, ring.tryPop() == 3 else { exit(4) }
            let cancelled = Task { try await ring.pop() }
            cancelled.cancel()
            guard case .failure(is CancellationError) = await cancelled.result else { exit(5) }
            let last = Task { try await ring.pop() }
            guard await eventuallySuspending({ waiting(ring.waiters.consumers) == 1 }) else { exit(6) }
            ring.close()
            exit(try await last.value == nil ? EXIT_SUCCESS : 7)
        }
    }

    @Test(.ownThreads) func tasksAtASplitRingThatGetsNoThreadAreResumed() async {
        await #expect(processExitsWith: .success) {
            await refuseFurtherThreads()
            try await SPSCRing<Int>(capacity: 4, resumingOnOwnThread: true).split { producer, consumer in
                let waiters = producer.waiters
                let elements = consumer.elements()
                let sum = Task {
                    var sum = 0
                    for try await element in elements { sum += element }
                    return sum
                }
                guard await eventuallySuspending({ waiting(waiters.consumers) == 1 }) else { exit(1) }
                for number in 1...3 where !producer.tryPush(number).isPushed { exit(2) }
                producer.close()
                guard try await sum.value == 6 else { exit(3) }
            }
            try await SPSCRing<Int>(capacity: 1, resumingOnOwnThread: true).split { producer, consumer in
                let waiters = consumer.waiters
                guard producer.tryPush(1).isPushed else { exit(4) }
                let handoff = Handoff(producer)
                let pushing = Task {
                    var producer = handoff.take()
                    return await producer.push(2).isPushed
                }
                guard await eventuallySuspending({ waiting(waiters.producers) == 1 }) else { exit(5) }
                guard consumer.tryPop() == 1, await pushing.value, consumer.tryPop() == 2 else { exit(6) }
            }
            exit(EXIT_SUCCESS)
        }
    }
}

private func waiting(_ queue: WaitQueue) -> Int { queue.withWaiters { $0.count } }

/// As `refuseThreads`, once the runtime has the threads of its timer and workers: it would wait for a missing one.
private func refuseFurtherThreads() async {
    let workers = ProcessInfo.processInfo.activeProcessorCount
    let inside = Counter()
    await withTaskGroup(of: Void.self) { group in
        for _ in 0..<workers {
            group.addTask {
                inside.increment()
                let limit = ContinuousClock.now + .seconds(10)
                while inside.value < workers, ContinuousClock.now < limit { sched_yield() }
            }
        }
    }
    try? await Task.sleep(for: .milliseconds(1))
    alarm(240)
    refuseThreads()
}
#endif
