// SPDX-License-Identifier: Apache-2.0
//
// Calls that meet where few expect them: a closed queue and a dependency, a callback out of a cancellation handler, an
// observer that cancels, cycles through jobs.

import Foundation
import Interlock
import Testing

// contract: AsyncOperation, InterlockQueue, Job, GroupOperation, ExclusionCategory
@Suite(.timeLimit(.minutes(10))) struct StrangeCallsTests {
    @Test func aClosedQueueEndsAnOperationWhateverItWaitsFor() async {
        let queue = InterlockQueue(name: "closed")
        _ = await queue.shutDown(within: .zero)
        let above = AsyncOperation<Int> { 1 }
        let below = above.then { $0 }
        queue.enqueue(below)
        await #expect(throws: OperationQueueClosed(queue: "closed")) { try await below.value }
    }

    @Test func aCallbackOutOfAHandlerDecides() async throws {
        let begun = Event()
        let answer = SafeArray<Bool>()
        let operation = AsyncOperation<Int>(name: "late") { completion in
            completion.onCancel { answer.append(completion.succeed(1)) }
            begun.happen()
        }
        InterlockQueue().enqueue(operation)
        #expect(await blocking { begun.wait() })
        operation.cancel()
        #expect(try await operation.value == 1)
        #expect(answer.snapshot == [true] && operation.isCancelled)
    }

    @Test func workThatWasEndedByAnObserverDoesNotRun() async {
        // Its counter is safe to use from any thread.
        final class Work: AsyncOperation<Int>, @unchecked Sendable {
            let ran = Counter()
            override func execute() { ran.increment() }
        }
        let work = Work()
        work.addObserver(OperationObserver(didStart: { $0.cancel() }))
        let queue = OperationQueue()
        queue.enqueue(work)
        _ = await work.outcome
        #expect(work.ran.value == 0)
    }

    @Test func aGroupRefusesAChildThatWaitsForItThroughAJob() {
        let queue = InterlockQueue()
        let group = GroupOperation<Int>(name: "group")
        let job = group.asJob(in: queue).then { $0.count }
        let refused = #expect(throws: ChildRefused.self) { try group.add(job.asOperation(name: "child")) }
        #expect(refused?.reason == .waitsForGroup)
        group.cancel()
        group.start()
    }

    @Test func aStepSeesThatWhatItMadeWaitsForItThroughAJob() async {
        let queue = InterlockQueue()
        let above = AsyncOperation<Int> { 1 }
        let made = SafeArray<AsyncOperation<Int>>()
        let step = above.flatMap(on: queue) { _ in made[0] }
        made.append(step.asJob(in: queue).asOperation())
        queue.enqueue(above, step)
        await #expect(throws: OperationDeadlocked.self) { try await step.value }
        made.removeAll()
    }

    @Test func anOperationThatWasNeverStartedLeavesItsJobAlone() async throws {
        let queue = InterlockQueue(isSuspended: true)
        let job = queue.job { 1 }
        let operation = job.asOperation()
        operation.cancel()
        operation.start()
        #expect(operation.isFinished && !job.isCancelled)
        queue.resume()
        #expect(try await job.value == 1)
    }

    @Test func hooksRunInOrderAndAreTakenBack() {
        var hooks = EndHooks<Int>()
        let ids = (0..<100).map { hooks.add($0) }
        for index in stride(from: 1, to: 100, by: 2) { #expect(hooks.remove(ids[index]) == index) }
        #expect(hooks.remove(ids[1]) == nil && hooks.count == 50)
        for index in stride(from: 0, to: 98, by: 2) { #expect(hooks.remove(ids[index]) == index) }
        let last = hooks.add(100)
        #expect(!hooks.isEmpty && last > ids[99])
        #expect(hooks.takeAll() == [98, 100] && hooks.isEmpty)
    }
}
