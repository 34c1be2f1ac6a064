// SPDX-License-Identifier: Apache-2.0
//
// Races of jobs, in batches, and their lifetimes. Two threads begin together by a handshake of counters; each batch has
// 10,000 rounds, fewer under ThreadSanitizer.

import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockPool
// contract: InterlockQueue, Job
@Suite(.timeLimit(.minutes(10))) struct JobRaceTests {
    /// Rounds in which the threads meet at each.
    static let rounds = repetitions(10_000, underThreadSanitizer: 1_000)

    /// Runs both for each round, at the same time.
    private func race<Round: Sendable>(
        _ make: @escaping @Sendable (Int) -> Round,
        _ first: @escaping @Sendable (Round) -> Void,
        _ second: @escaping @Sendable (Round) -> Void,
        _ check: @escaping @Sendable (Round) -> Void
    ) {
        let barrier = Barrier(parties: 2)
        let round = VisibleMutex<Round?>(nil)
        onThreads(2) { thread in
            for number in 0..<Self.rounds {
                if thread == 0 {
                    let made = make(number)
                    round.withLock { $0 = made }
                }
                barrier.wait()
                let made = round.withLock { $0! }
                if thread == 0 { first(made) } else { second(made) }
                barrier.wait()
                if thread == 0 { check(made) }
            }
        }
    }

    // cancel × finish × the end of what is above
    @Test func aCancellationInARaceWithTheEndDecidesOnce() {
        let queue = InterlockQueue()
        let (ran, ends) = (Counter(), Counter())
        race(
            { _ in
                let above = AsyncOperation<Int> { 1 }
                let job = above.asJob(in: queue).then { _ in ran.increment() }
                job.onFinish { _ in ends.increment() }
                let below = job.recover { _ in -1 }
                return (above, job, below)
            },
            { $0.0.start() },
            { $0.1.cancel() },
            { round in
                let outcome = block(round.1)!
                let below = try? block(round.2)?.get()
                switch outcome {
                case .success: #expect(below != -1)
                case .failure: #expect(below == -1)
                }
            }
        )
        block(queue)
        #expect(eventually { ends.value == Self.rounds })
        #expect(ran.value <= Self.rounds && queue.count == 0)
    }

    // the last dependency × the last dependency: one of the two starts the job
    @Test func ofTwoLastDependenciesOneStartsTheJob() {
        let queue = InterlockQueue()
        let ran = Counter()
        race(
            { _ in
                let (left, right) = (AsyncOperation<Int> { 1 }, AsyncOperation<Int> { 2 })
                return (
                    left, right,
                    queue.job(after: left.asJob(in: queue), right.asJob(in: queue)) {
                        ran.increment(); return $0 + $1
                    }
                )
            },
            { $0.0.start() },
            { $0.1.start() },
            { round in #expect(try! block(round.2)!.get() == 3) }
        )
        #expect(ran.value == Self.rounds && queue.count == 0)
    }

    // cancel × the beginning of an async closure: its task is informed by the canceller, or by the thread that made it
    @Test func aJobThatIsCancelledWhileItsTaskIsMadeEnds() {
        let queue = InterlockQueue()
        let lost = Counter()
        race(
            { _ in queue.job { await untilCancelled() } },
            { job in
                while lost.value == 0, job.node.phase != .running {}
                job.cancel()
            },
            { _ in },
            { job in if lost.value == 0, block(job, .seconds(10)) == nil { lost.increment() } }
        )
        #expect(lost.value == 0, "a task was not informed of the cancellation")
    }

    // a step added × the end of what is above it
    @Test func aStepAddedBesideTheEndRunsOnce() {
        let queue = InterlockQueue()
        let ran = Counter()
        race(
            { number in
                let above = AsyncOperation<Int> { number }
                return (above, above.asJob(in: queue), number)
            },
            { $0.0.start() },
            { round in
                for _ in 0..<3 { round.1.then { _ in ran.increment() } }
            },
            { _ in }
        )
        block(queue)
        #expect(ran.value == 3 * Self.rounds)
    }

    // resume × suspend × cancel × limit, with jobs in the pool
    @Test func optionsThatChangeBesideJobsLoseNone() async throws {
        let queue = InterlockQueue(limit: 2)
        let (ended, made) = (Counter(), Counter())
        let isOver = Atomic(false)
        let changer = TestThread {
            var number = 0
            while !isOver.load(ordering: .acquiring) {
                number += 1
                switch number % 5 {
                case 0: queue.suspend()
                case 1: queue.limit = nil
                case 2: queue.resume()
                case 3: queue.limit = 1 + number % 3
                default: queue.barrier {}.onFinish { _ in }
                }
            }
        }
        onThreads(2) { _ in
            for number in 0..<Self.rounds {
                let job = queue.job { number }
                job.onFinish { _ in ended.increment() }
                made.increment()
                if number % 7 == 0 { job.cancel() }
            }
        }
        isOver.store(true, ordering: .releasing)
        changer.join()
        queue.resume()
        queue.limit = nil
        try await queue.wait()
        #expect(eventually { ended.value == made.value } && made.value == 2 * Self.rounds)
        #expect(queue.count == 0)
    }

    // the release of the queue × its work
    @Test func whatAReleasedQueueAcceptedRuns() {
        let ran = Counter()
        for number in 0..<Self.rounds / 10 {
            let queue = InterlockQueue(isSuspended: number % 2 == 0)
            let above = queue.job { ran.increment() }
            above.then { _ in ran.increment() }
        }
        #expect(eventually { ran.value == 2 * (Self.rounds / 10) })
    }

    // MARK: Lifetimes

    @Test func aCancelledGraphLeavesNothing() async throws {
        let count = 10_000
        let freed = Counter()
        let alive = Counter()
        weak var core: QueueCore?
        do {
            let queue = InterlockQueue(name: "graph", isSuspended: true)
            core = queue.core
            var jobs: [Job<Int>] = []
            for number in 0..<count {
                let tracked = Tracked(alive: alive, freed: freed)
                let body: @Sendable (Int) -> Int = { number in withExtendedLifetime(tracked) { number &+ 1 } }
                if jobs.isEmpty {
                    jobs.append(queue.job { body(0) })
                } else if number % 3 == 0 {
                    let (left, right) = (jobs[number / 2], jobs[number - 1])
                    jobs.append(queue.job(after: left, right) { left, _ in body(left) })
                } else {
                    jobs.append(jobs[(number * 7) % jobs.count].then { body($0) })
                }
            }
            #expect(alive.value == count && freed.value == 0 && queue.count == count)
            queue.cancelAll()
            #expect(queue.count == 0)
        }
        #expect(eventually { freed.value == count })
        #expect(eventually { core == nil })
    }

    @Test func aLongChainIsFreedWithoutNesting() {
        let count = 100_000
        for isCancelled in [false, true] {
            let freed = Counter()
            do {
                let queue = InterlockQueue(isSuspended: true)
                let tracked = Tracked(freed: freed)
                var last = queue.job { 0 }
                let first = last
                for _ in 1..<count {
                    last = last.then { number in withExtendedLifetime(tracked) { number + 1 } }
                }
                if isCancelled { first.cancel() }
                queue.resume()
                let outcome = block(last)
                #expect(isCancelled ? (try? outcome?.get()) == nil : (try? outcome?.get()) == count - 1)
            }
            #expect(eventually { freed.value == 1 })
        }
    }

    @Test func aJobThatHasEndedKeepsItsOutputOnly() async throws {
        let (freed, outputs) = (Counter(), Counter())
        let queue = InterlockQueue()
        weak var above: JobNode?
        var last: Job<Tracked>?
        do {
            let tracked = Tracked(freed: freed)
            let first = queue.job { withExtendedLifetime(tracked) { Tracked(freed: outputs) } }
            above = first.node
            last = first.then { $0 }
        }
        _ = try await last!.value
        #expect(eventually { freed.value == 1 && above == nil })
        #expect(outputs.value == 0)
        last = nil
        #expect(eventually { outputs.value == 1 })
    }

    @Test func theFieldsOfANodeAreWhereTheirAddressSays() async throws {
        let queue = InterlockQueue(isSuspended: true)
        let job = queue.job(name: "here") { 1 }
        let object = UnsafeRawPointer(Unmanaged.passUnretained(job.node).toOpaque())
        #expect(UnsafeRawPointer(job.node.fields) == object + JobNode.fieldsOffset)
        let names = Mirror(reflecting: job.node as JobNode).children.map(\.label)
        #expect(names.contains("storage") || !names.isEmpty)
        #expect(job.node.fields.pointee.state.phase == .listed && job.node.givenName == "here")
    }
}
