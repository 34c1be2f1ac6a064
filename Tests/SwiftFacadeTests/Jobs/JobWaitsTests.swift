// SPDX-License-Identifier: Apache-2.0
//
// How light jobs that do not run are explained, and cycles that lead through them.

import Foundation
import Testing

import Interlock
// contract: InterlockQueue, Job, WaitReason
@Suite(.timeLimit(.minutes(10))) struct JobWaitsTests {
    let queue = InterlockQueue(name: "told")

    @Test func aJobExplainsAllThatItWaitsFor() async throws {
        let other = InterlockQueue(name: "other")
        let held = Latch(count: 1)
        let running = other.job(name: "running", isBlocking: true) { held.wait() }
        let nowhere = AsyncOperation<Void>(name: "nowhere") {}
        let first = queue.job(name: "first", after: running) { _ in }
        let second = queue.job(name: "second", after: first, nowhere.asJob(in: queue)) { _, _ in }
        let third = queue.job(name: "third", after: first, second) { _, _ in }
        let explanation = third.explainWaiting()
        #expect(Set(explanation["third"]?.reasons ?? []) == [.dependency("first"), .dependency("second")])
        #expect(
            Set(explanation["second"]?.reasons ?? []) == [.dependency("first"), .dependency("nowhere (job)")]
        )
        #expect(explanation["first"]?.reasons == [.dependency("running")])
        #expect(explanation["nowhere (job)"]?.reasons == [.dependencyInNoQueue("nowhere")])
        #expect(explanation["nowhere"]?.reasons == [.noQueue])
        #expect(explanation.entries.count == 6 && explanation.cycle == nil)
        // Of the queue: the same, from all of its jobs.
        let ofQueue = queue.explainWaiting()
        #expect(Set(ofQueue.entries.map(\.operation)) == Set(explanation.entries.map(\.operation)))
        held.countDown()
        _ = await first.outcome
        #expect(second.explainWaiting()["nowhere (job)"]?.reasons == [.dependencyInNoQueue("nowhere")])
        other.enqueue(nowhere)
        try await third.value
        #expect(third.explainWaiting().entries.isEmpty)
    }

    @Test func aBarrierTellsHowManyComeBeforeIt() async throws {
        let held = Latch(count: 1)
        for _ in 0..<3 { queue.job(isBlocking: true) { held.wait() } }
        let barrier = queue.barrier(name: "wall") {}
        let behind = queue.job(name: "behind") {}
        #expect(queue.explainWaiting()["wall"]?.reasons == [.before(3)])
        #expect(
            queue.explainWaiting()["wall"]?.description
                == "wall: waits for 3 that came before it into its queue"
        )
        #expect(queue.explainWaiting()["behind"]?.reasons == [.barrier("wall")])
        held.countDown()
        try await barrier.value
        try await behind.value
    }

    @Test func anOperationThatStandsForAJobTellsTheJob() async throws {
        let running = Latch(count: 1)
        let held = Latch(count: 1)
        let job = queue.job(name: "job", isBlocking: true) {
            running.countDown()
            held.wait()
        }
        let face = job.asOperation(name: "face")
        let below = face.then(name: "below") {}
        queue.enqueue(face, below)
        #expect(await eventuallySuspending { face.isExecuting })
        try await running.wait()
        let explanation = below.explainWaiting()
        #expect(explanation["below"]?.reasons == [.dependency("face")])
        #expect(explanation["face"]?.reasons == [.dependency("job")])
        #expect(explanation["job"]?.reasons == [.work])
        held.countDown()
        try await below.value
    }

    @Test func anOperationBelowAnotherJobIsNoCycle() async throws {
        let top = AsyncOperation(name: "top") { 1 }
        let middle = AsyncOperation(name: "middle") { 1 }
        let face = top.asJob(in: queue).asOperation(name: "face")
        middle.addDependency(face)
        #expect(top.cycle(byDependingOn: middle)?.map(\.name) == ["top", "middle", "face", "top"])
        let free = queue.job { 1 }.asOperation(name: "free")
        top.addDependency(free)
        queue.enqueue(top, middle, face, free)
        #expect(try await middle.value == 1)
    }

    // What waits keeps nothing above it but by its closure: no operation outlives its use.
    @Test func whatAJobWaitedForIsFreedWithItsEnd() async throws {
        let counter = LifetimeCounter()
        let kept = try await { () async throws -> Job<Int> in
            let operation = AsyncOperation { Counted(1, counter) }
            let job = operation.asJob(in: queue).then { $0.id }
            let below = InterlockQueue(name: "other").job(after: job) { $0 + 1 }
            queue.enqueue(operation)
            #expect(try await below.value == 2)
            return below
        }()
        #expect(await eventuallySuspending { counter.living == 0 })
        #expect(try kept.result?.get() == 2)
    }
}
