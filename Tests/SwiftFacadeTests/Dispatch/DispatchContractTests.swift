// SPDX-License-Identifier: Apache-2.0
//
// Sentences of the dispatch helpers' documentation that no other suite holds.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

@Suite(.timeLimit(.minutes(10))) struct DispatchContractTests {
    // queue:  [work begun.......................] value
    // task:              cancelled      waits     has the value
    // contract: GCD
    @Test func workThatHasBegunIsWaitedForAlthoughItsTaskIsCancelled() async throws {
        let (begun, goOn) = (Handshake(), Handshake())
        let task = Task {
            try await GCD.run(on: GCD.serialQueue(label: "begun")) {
                begun.give()
                goOn.take()
                return 7
            }
        }
        await begun.taken()
        task.cancel()
        goOn.give()
        #expect(try await task.value == 7)
    }
    // contract: DelayedWork, GCD
    @Test func aDelayedTaskThatIsDroppedRunsAllTheSame() async {
        let ran = Handshake()
        let earliest = ContinuousClock.now
        #expect(GCD.after(.milliseconds(1), on: .global()) { ran.give() }.deadline > earliest)
        GCD.after(.seconds(-1), on: .global()) { ran.give() }
        await ran.taken(2)
    }
    // contract: GCD
    @Test func aTargetSuppliesTheThreadsOfSerialQueues() async {
        let key = DispatchSpecificKey<String>()
        let target = GCD.serialQueue(label: "target")
        target.setSpecific(key: key, value: "target")
        for queue in [
            GCD.serialQueue(label: "serial", target: target),
            GCD.concurrentQueue(label: "concurrent", target: target),
        ] {
            let seen = await blocking { queue.sync { DispatchQueue.getSpecific(key: key) } }
            #expect(seen == "target")
        }
    }

    // MARK: Groups

    @Test func aWrappedFunctionIsStartedOnTheCallingThreadBeforeTheReturn() {
        let group = DispatchGroup()
        let threads = Trace<UInt>()
        group.wrap { (completion: Completion<Void>) in
            threads.add(UInt(pthread_self()))
            completion.succeed()
        }
        #expect(threads.events == [UInt(pthread_self())])
    }
    // contract: Completion
    @Test func aJobOfAGroupHasNoCancellationAndItsCompletionKeepsTheGroup() {
        let kept = VisibleMutex<Completion<Int>?>(nil)
        weak var seen: DispatchGroup?
        do {
            let group = DispatchGroup()
            seen = group
            group.wrap { (completion: Completion<Int>) in
                completion.onCancel { Issue.record("a job of a group was cancelled") }
                kept.withLock { $0 = completion }
            }
        }
        #expect(seen != nil && kept.withLock { $0?.isCancelled } == false)
        #expect(kept.withLock { $0 }?.succeed(1) == true)
    }

    @Test func resultsStayWhenACollectionIsCancelled() async throws {
        let group = DispatchGroup()
        let stay = group.enterToken("holds the group")
        group.wrap { (completion: Completion<Int>) in completion.succeed(1) }
        let collector = Task { try await group.collect(Int.self) }
        collector.cancel()
        await #expect(throws: CancellationError.self) { try await collector.value }
        stay.leave()
        #expect(try await group.collect(String.self).values() == [])
        #expect(try await group.collect(Int.self).values() == [1])
    }
    // contract: CollectedResults, GroupTimedOut, JobAbandoned
    @Test func theFirstErrorInOrderComesBeforeATimeOut() async throws {
        let group = DispatchGroup()
        let kept = VisibleMutex<Completion<Int>?>(nil)
        group.wrap("late") { (completion: Completion<Int>) in kept.withLock { $0 = completion } }
        group.wrap("broken") { (completion: Completion<Int>) in completion.fail(JobFailure()) }
        let partial: CollectedResults<Int> = try await group.collect(timeout: .zero)
        #expect(throws: JobFailure()) { try partial.values() }
        #expect(partial.running.map(\.label) == ["late"] && !partial.isComplete)
        #expect(GroupTimedOut(running: partial.running).description.contains("still running: \"late\""))
        kept.withLock { $0 }?.succeed(2)
        #expect(try await group.waitReport(timeout: nil).description == "all jobs have finished")
        #expect(
            "\(JobAbandoned(job: "a", origin: "b"))"
                == "the callback of the job \"a\" entered at b was dropped without a call"
        )
    }
}
