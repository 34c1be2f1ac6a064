// SPDX-License-Identifier: Apache-2.0
//
// Actors pinned to a thread, and what happens when that thread ends.

import Foundation
import Testing

import Interlock
@testable import InterlockPool

private actor Pinned {
    nonisolated let thread: ThreadExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
    private(set) var order: [Int] = []

    init(_ thread: ThreadExecutor) { self.thread = thread }

    func add(_ number: Int) { order.append(number) }
    func run<Value: Sendable>(_ body: @Sendable (isolated Pinned) throws -> Value) rethrows -> Value {
        try body(self)
    }
}

/// A job of the actor, which has begun, and what lets it go on.
private func hold(_ actor: Pinned) async -> (holder: Task<Void, Never>, open: Event) {
    let (begun, open) = (Handshake(), Event())
    let holder = Task {
        await actor.run { _ in
            begun.give()
            open.wait()
        }
    }
    await begun.taken()
    return (holder, open)
}

private func wait(_ executor: ThreadExecutor, _ limit: Duration) -> Bool { executor.wait(timeout: limit) }
private func wait(_ executor: ThreadExecutor) { executor.wait() }
// contract: ThreadExecutor
@Suite(.timeLimit(.minutes(10))) struct ThreadExecutorTests {
    @Test func theJobsOfItsActorsRunOnOneNamedThreadInOrder() async throws {
        let executor = try ThreadExecutor(name: "pinned")
        let (first, second) = (Pinned(executor), Pinned(executor))
        #expect(executor.name == "pinned" && !executor.isCurrent)
        let threads = Trace<UInt>()
        for actor in [first, second, first] {
            #expect(await actor.run { _ in threadName() } == "pinned-0")
            await actor.run { _ in threads.add(UInt(pthread_self())) }
            #expect(await actor.run { _ in executor.isCurrent })
        }
        #expect(Set(threads.events).count == 1)
    }

    // test                                   thread
    //                                        in a job: waits
    // enqueues 300 tasks, one after another
    // lets it go on                          runs them in that order, without another job between
    @Test func jobsRunInTheOrderInWhichTheyWereEnqueued() async throws {
        let executor = try ThreadExecutor()
        let actor = Pinned(executor)
        let (holder, open) = await hold(actor)
        var tasks: [Task<Void, Never>] = []
        for number in 0..<300 {
            tasks.append(Task { await actor.add(number) })
            #expect(await eventuallySuspending { executor.queue.count == number + 1 })
        }
        open.happen()
        await holder.value
        for task in tasks { await task.value }
        #expect(await actor.order == Array(0..<300))
    }

    @Test(.enabled(if: onLinux, "other systems have nice values of processes only"))
    func theThreadHasItsNiceValue() async throws {
        let actor = Pinned(try ThreadExecutor(nice: 2))
        let nice = await actor.run { _ in addedNice() }
        #expect(nice == 2)
        #expect(throws: WorkerPoolError.invalidOption("nice", "20; it is -20 to 19")) {
            _ = try ThreadExecutor(nice: 20)
        }
    }

    // MARK: Ending

    // thread            test
    // in a job: waits   enqueues two more; closes
    //                   enqueues one more: accepted, the thread has not ended
    // runs all, ends    waits for the end
    @Test func aClosedExecutorRunsWhatWasAcceptedAndEnds() async throws {
        let executor = try ThreadExecutor(name: "closing")
        let actor = Pinned(executor)
        let (holder, open) = await hold(actor)
        let early = (0..<2).map { number in Task { await actor.add(number) } }
        #expect(await eventuallySuspending { executor.queue.count == 2 })
        executor.close()
        let late = Task { await actor.add(2) }
        #expect(await eventuallySuspending { executor.queue.count == 3 })
        #expect(try await !executor.wait(timeout: .milliseconds(2)))
        #expect(try await !executor.wait(until: .now))
        #expect(!wait(executor, .milliseconds(2)))
        open.happen()
        for task in early + [holder, late] { await task.value }
        try #require(await executor.wait(timeout: hangLimit))
        try await executor.wait()
        wait(executor)
        #expect(wait(executor, .zero) && executor.queue.hasEnded)
        executor.close()
    }

    @Test func anIdleExecutorEndsWithItsClosing() async throws {
        let executor = try ThreadExecutor()
        executor.close()
        #expect(try await executor.wait(timeout: hangLimit))
    }

    // A task between closing and the end is accepted, or the process ends: here none comes after the end.
    @Test(arguments: 0..<50)
    func closingBesideTheLastJobLosesNothing(round: Int) async throws {
        let executor = try ThreadExecutor()
        let actor = Pinned(executor)
        for number in 0..<round { await actor.add(number) }
        #expect(await actor.run { $0.order.count } == round)
        async let hasEnded = executor.wait(timeout: hangLimit)
        executor.close()
        #expect(try await hasEnded)
    }

    // The last reference goes in a job: the thread does not wait for itself, and runs what was accepted.
    @Test(arguments: 0..<20)
    func anExecutorReleasedByItsOwnJobsRunsThemAndEnds(round: Int) async throws {
        let (ran, name) = (Counter(), "own-\(round)")
        func start() throws {
            let actor = Pinned(try ThreadExecutor(name: name))
            for _ in 0..<3 { Task { await actor.run { _ in _ = ran.increment() } } }
        }
        try start()
        await eventually("its jobs have run") { ran.value == 3 }
        await eventually("its thread has ended") { !threadNames().contains("\(name)-0") }
    }

    @Test(.ownThreads, arguments: [Duration?.none, .seconds(1_000)])
    func aJobThatWaitsForItsExecutorIsReported(limit: Duration?) async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [limit] in
            alarm(240)
            let executor = try ThreadExecutor(name: "itself")
            await Pinned(executor).run { _ in
                if let limit { _ = wait(executor, limit) } else { wait(executor) }
            }
        }
        let sentence =
            "interlock: ThreadExecutor.wait(\"itself\"): called by one of its own jobs, which it would wait for"
        #expect(result?.report.contains(sentence) == true)
    }

    @Test(.ownThreads) func aJobAfterTheEndIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            alarm(240)
            let executor = try ThreadExecutor(name: "gone")
            let actor = Pinned(executor)
            await actor.add(1)
            executor.close()
            try await executor.wait()
            await actor.add(2)
        }
        let sentence =
            "interlock: ThreadExecutor.enqueue(\"gone\"): a job of an actor for an executor that has ended: it cannot run "
            + "on its thread, and what awaits it would wait for ever"
        #expect(result?.report.contains(sentence) == true)
    }

    @Test(.ownThreads) func claimingTheThreadFromElsewhereIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            try ThreadExecutor(name: "claimed").checkIsolated()
        }
        #expect(
            result?.report.contains(
                "interlock: ThreadExecutor.checkIsolated(\"claimed\"): called outside the jobs of this executor"
            ) == true
        )
    }
}
