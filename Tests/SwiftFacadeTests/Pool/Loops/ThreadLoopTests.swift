// SPDX-License-Identifier: Apache-2.0
//
// Loops on threads: each element once, results in order, the first error by position, cancellation, whose threads.

import CInterlock
import Foundation
import Testing

import Interlock

@Suite(.timeLimit(.minutes(10))) struct ThreadLoopTests {
    let pool: WorkerPool
    init() throws { pool = try WorkerPool(name: "loops", threads: 2) }

    /// The parts that a loop over chunks had.
    static func chunks<Elements: RandomAccessCollection & Sendable>(
        _ elements: Elements,
        on pool: WorkerPool?,
        _ limit: Int?
    ) -> [Elements.SubSequence] where Elements.SubSequence: Sendable {
        let parts = Trace<Elements.SubSequence>()
        elements.concurrentForEachChunk(on: pool, maxConcurrency: limit) { parts.add($0) }
        return parts.events
    }

    @Test(arguments: [nil, 1, 2, 3, 8, 1_000] as [Int?])
    func everyElementOnceAndTheResultsInOrder(limit: Int?) async throws {
        for (count, pool) in [0, 1, 2, 7, 5_000].flatMap({ [($0, nil), ($0, pool)] }) {
            let input = (0..<count).map { $0 * 2 }
            let slice = ([-1] + input + [-1])[1..<(count + 1)]
            let seen = Trace<Int>()
            await blocking {
                input.concurrentForEach(on: pool, maxConcurrency: limit) { seen.add($0) }
                #expect(seen.events.sorted() == input)
                func map<Output: Sendable>(_ transform: @Sendable (Int) -> Output) -> [Output] {
                    slice.concurrentMap(on: pool, maxConcurrency: limit, transform)
                }
                #expect(map { $0 + 1 } == input.map { $0 + 1 })
                #expect(map { "\($0)" } == input.map { "\($0)" })
                let reversed = input.reversed().concurrentMap(on: pool, maxConcurrency: limit) { $0 }
                #expect(reversed == input.reversed())
                let ranges = Self.chunks(5..<5 + count, on: pool, limit)
                #expect(ranges.flatMap { $0 }.sorted() == Array(5..<5 + count))
                let slices = Self.chunks(slice, on: pool, limit)
                #expect(slices.allSatisfy { !$0.isEmpty && $0 == slice[$0.indices] })
                #expect(slices.flatMap(\.indices).sorted() == Array(slice.indices))
            }
            let again = Trace<Int>()
            try await input.concurrentForEach(on: pool, maxConcurrency: limit) { again.add($0) }
            #expect(again.events.sorted() == input)
            let results = try await slice.concurrentMap(on: pool, maxConcurrency: limit) { $0 + 1 }
            #expect(results == input.map { $0 + 1 })
            let parts = Trace<Range<Int>>()
            try await (0..<count).concurrentForEachChunk(on: pool, maxConcurrency: limit) { parts.add($0) }
            #expect(parts.events.flatMap { $0 }.sorted() == Array(0..<count))
        }
    }

    @Test func anySequenceWillDo() async throws {
        await blocking {
            #expect(Set([1, 2, 3]).concurrentMap { $0 }.sorted() == [1, 2, 3])
            let sum = Counter()
            stride(from: 0, to: 10, by: 5).concurrentForEach { _ in sum.increment() }
            #expect(sum.value == 2)
        }
    }

    @Test func theLimitIsNeverExceeded() async {
        let crowd = Crowd()
        await blocking {
            (0..<64).concurrentForEach(maxConcurrency: 3) { _ in
                crowd.enter()
                Thread.sleep(forTimeInterval: 0.0005)
                crowd.leave()
            }
        }
        #expect(crowd.total == 64 && crowd.most <= 3)
    }

    // Four elements wait for each other.
    @Test func elementsThatBlockHaveThreadsOfTheirOwn() async {
        let arrivals = Counter()
        let allArrived = Handshake()
        await blocking {
            (0..<4).concurrentForEach(maxConcurrency: 4) { _ in
                if arrivals.increment() == 4 { allArrived.give(4) }
                allArrived.take()
            }
        }
        #expect(arrivals.value == 4)
    }

    // Three elements wait for each other: the caller and two of the pool.
    @Test func theHelpersAreThreadsOfThePool() async {
        let pool = pool
        let (names, arrivals, allArrived) = (Trace<String>(), Counter(), Handshake())
        await blocking(named: "caller") {
            (0..<3).concurrentForEach(on: pool, maxConcurrency: 3) { _ in
                names.add(threadName())
                if arrivals.increment() == 3 { allArrived.give(3) }
                allArrived.take()
            }
        }
        #expect(names.events.filter { $0 == "caller" }.count == 1)
        #expect(names.events.filter { $0.hasPrefix("loops") }.count == 2, "\(names.events)")
    }

    // element 0   begins                           ends
    // the others          ... 99 begin and end ──▶
    @Test func oneElementThatTakesLongHoldsUpNoOther() async {
        let (others, done) = (Counter(), Handshake())
        await blocking {
            (0..<100).concurrentForEach(maxConcurrency: 2) { number in
                if number == 0 {
                    done.take()
                } else if others.increment() == 99 {
                    done.give()
                }
            }
        }
        #expect(others.value == 99)
    }

    @Test func oneAtATimeRunsOnTheCallingThreadInOrder() async {
        await blocking {
            let caller = ObjectIdentifier(Thread.current)
            let trace = Trace<Int>()
            (0..<1_000).concurrentForEach(maxConcurrency: 1) { number in
                #expect(ObjectIdentifier(Thread.current) == caller)
                trace.add(number)
            }
            #expect(trace.events == Array(0..<1_000))
        }
    }

    // MARK: Inside other work

    // A loop in a loop, on the only worker, from a task; and a loop of a job that is inside a loop of the same pool.
    @Test func aLoopMayRunInsideAnother() async throws {
        let only = try WorkerPool(threads: 1, maximumThreads: 1)
        let sums = try await (1..<20).concurrentMap(on: only, maxConcurrency: 4) { outer in
            (0..<outer).concurrentMap(on: only, maxConcurrency: 4) { $0 }.reduce(0, +)
        }
        #expect(sums == (1..<20).map { $0 * ($0 - 1) / 2 })
        let table = await blocking {
            (0..<4).concurrentMap(maxConcurrency: 4) { row in
                (0..<4).concurrentMap(maxConcurrency: 4) { column in row * 4 + column }
            }
        }
        #expect(table.flatMap { $0 } == Array(0..<16))
    }

    // Each of the pool's two threads loops on the pool, and more jobs with loops wait: none has a thread to help it.
    @Test func jobsOfThePoolMayLoopAllAtOnce() async {
        let (pool, sum, ended) = (pool, Counter(), Handshake())
        for _ in 0..<16 {
            let isAccepted = pool.submit {
                (0..<50).concurrentForEach(on: pool, maxConcurrency: 8) { _ in
                    (0..<4).concurrentForEach(on: pool, maxConcurrency: 8) { _ in sum.increment() }
                }
                ended.give()
            }
            #expect(isAccepted)
        }
        await ended.taken(16)
        #expect(sum.value == 16 * 50 * 4)
    }

    // MARK: Errors

    // Every third element fails: that of the least position is thrown, whichever thread was first.
    @Test func theFirstErrorByPositionIsThrown() async throws {
        let pool = pool
        for round in 0..<50 {
            let first = round * 7 + 1
            let below = Counter()
            await blocking {
                let error = #expect(throws: JobFailure.self) {
                    try (0..<1_000).concurrentMap(on: pool, maxConcurrency: 4) { number throws(JobFailure) in
                        if number < first { below.increment() }
                        if number >= first, (number - first).isMultiple(of: 3) {
                            throw JobFailure(why: "\(number)")
                        }
                        return number
                    }
                }
                #expect(error == JobFailure(why: "\(first)"))
            }
            #expect(below.value == first, "all elements before the error have run")
            await #expect(throws: JobFailure(why: "\(first)")) {
                try await (0..<1_000).concurrentForEach(on: pool) { number in
                    if number >= first { throw JobFailure(why: "\(number)") }
                }
            }
            await #expect(throws: JobFailure(why: "\(first)")) {
                try await blocking {
                    try (0..<1_000).concurrentForEachChunk(on: pool) { chunk throws(JobFailure) in
                        let failed = chunk.first { $0 >= first }
                        if let failed { throw JobFailure(why: "\(failed)") }
                    }
                }
            }
        }
    }

    // worker 1    0 begins                       0 ends, throws
    // worker 2              1 begins, throws
    @Test func ofTwoErrorsThatOfTheFirstPositionIsThrownThoughItIsTheLater() async throws {
        let failed = Handshake()
        await #expect(throws: JobFailure(why: "first")) {
            try await (0..<2).concurrentForEach(maxConcurrency: 2) { number in
                if number == 1 {
                    failed.give()
                    throw JobFailure(why: "late")
                }
                failed.take()
                // The error is on its way from the body to the loop.
                for _ in 0..<2_000 { sched_yield() }
                throw JobFailure(why: "first")
            }
        }
    }

    // One thread, so that what is begun is known.
    @Test func afterAnErrorNothingBehindItBegins() async {
        let begun = Counter()
        await blocking {
            let error = #expect(throws: JobFailure.self) {
                try (0..<1_000).concurrentForEach(maxConcurrency: 1) { number throws(JobFailure) in
                    begun.increment()
                    if number == 500 { throw JobFailure(why: "\(number)") }
                }
            }
            #expect(error == JobFailure(why: "500"))
        }
        #expect(begun.value == 501)
    }

    // helper:  [element]  [element, throws]  its results are released
    // caller:  [element..................... waits for that]  takes no further one
    @Test func anErrorOnOneThreadStopsTheOthers() async {
        let (begun, both, failed) = (Counter(), Handshake(), Handshake())
        await blocking {
            let caller = ObjectIdentifier(Thread.current)
            #expect(throws: JobFailure()) {
                try (0..<100).concurrentForEach(maxConcurrency: 2) { _ throws(JobFailure) in
                    let number = begun.increment()
                    if number > 3 { return }
                    if number == 3 {
                        failed.give()
                        throw JobFailure()
                    }
                    if number == 2 { both.give(2) }
                    both.take()
                    if ObjectIdentifier(Thread.current) != caller { return }
                    failed.take()
                    for _ in 0..<2_000 { sched_yield() }
                }
            }
        }
        #expect(begun.value == 3)
    }

    // MARK: Memory

    @Test func everyResultIsReleasedOnce() async throws {
        let (alive, freed) = (Counter(), Counter())
        for failing in [0, 1, 50, 99, 100] {
            await blocking {
                let results = try? (0..<100).concurrentMap(maxConcurrency: 4) { number in
                    if number == failing { throw JobFailure() }
                    return Tracked(alive: alive, freed: freed)
                }
                #expect((results == nil) == (failing < 100))
                #expect(alive.value - freed.value == results?.count ?? 0)
            }
        }
        await #expect(throws: JobFailure()) {
            _ = try await (0..<1_000).concurrentMap(on: pool) { number in
                if number == 900 { throw JobFailure() }
                return Tracked(alive: alive, freed: freed)
            }
        }
        await eventually("all are released") { alive.value == freed.value }
    }

    // MARK: Cancellation

    // element 0    begun      goes on
    // task              cancelled
    // elements                   1, 2, ...   the cancellation arrives: no further one. All would take hours.
    @Test func aCancelledTaskBeginsNoFurtherElement() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        for isChunked in [false, true] {
            let (begun, started, goOn) = (Counter(), Handshake(), Handshake())
            let body: @Sendable () -> Void = {
                if begun.increment() == 1 {
                    started.give()
                    goOn.take()
                }
                sched_yield()
            }
            let task = Task {
                let numbers = 0..<1_000_000_000
                if isChunked {
                    try await numbers.concurrentForEachChunk(on: pool) { $0.forEach { _ in body() } }
                } else {
                    try await numbers.concurrentForEach(on: pool) { _ in body() }
                }
            }
            await started.taken()
            task.cancel()
            goOn.give()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(begun.value < 1_000_000_000)
        }
    }

    // task      suspends   cancelled: throws
    // worker    in another job                 ends it; finds an empty job
    @Test func aLoopThatHasNotBegunIsCancelledAndReleased() async throws {
        let held = try HeldPool()
        let (ran, freed) = (Counter(), Counter())
        for _ in 0..<20 {
            let task: Task<Void, any Error>
            do {
                let tracked = Tracked(freed: freed)
                task = Task { [pool = held.pool] in
                    try await (0..<10).concurrentForEach(on: pool) { _ in
                        tracked.touch()
                        ran.increment()
                    }
                }
            }
            await Task.yield()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        await eventually("released before the pool comes to them") { freed.value == 20 }
        try await held.finish()
        #expect(ran.value == 0)
    }

    // MARK: The end of a pool

    // The blocking form goes on alone; a task has no thread without the pool.
    @Test func aClosedPoolHelpsNobody() async throws {
        let held = try HeldPool()
        let pool = held.pool
        let sum = Counter()
        let isAccepted = pool.submit { (0..<10).concurrentForEach(on: pool) { _ in sum.increment() } }
        #expect(isAccepted)
        pool.close()
        await blocking {
            let caller = ObjectIdentifier(Thread.current)
            let threads = (0..<10).concurrentMap(on: pool, maxConcurrency: 4) { _ in
                ObjectIdentifier(Thread.current)
            }
            #expect(threads.count == 10 && threads.allSatisfy { $0 == caller })
        }
        await #expect(throws: WorkerPoolError.closed(pool: "held")) {
            try await (0..<10).concurrentForEach(on: pool) { _ in sum.increment() }
        }
        held.release()
        try await pool.wait()
        #expect(sum.value == 10, "a job of the closed pool")
    }

    // caller   0 begins                 0 ends, 1, 2, ...
    // pool              closes at once: hands the helpers back
    @Test func aPoolThatClosesMeanwhileLeavesTheLoopToItsCaller() async throws {
        for closesAtOnce in [false, true] {
            let held = try HeldPool()
            let pool = held.pool
            let (begun, closed) = (Handshake(), Handshake())
            async let results = blocking {
                (0..<100).concurrentMap(on: pool, maxConcurrency: 4) { number in
                    if number == 0 {
                        begun.give()
                        closed.take()
                    }
                    return number
                }
            }
            await begun.taken()
            if closesAtOnce { pool.closeNow() } else { pool.close() }
            closed.give()
            #expect(await results == Array(0..<100))
            held.release()
            try await pool.wait()
        }
    }

    @Test func closingAtOnceEndsALoopThatHasNotBegun() async throws {
        let held = try HeldPool()
        let ran = Counter()
        let task = Task { [pool = held.pool] in
            try await (0..<10).concurrentMap(on: pool) { _ in ran.increment() }
        }
        held.pool.closeNow()
        held.release()
        await #expect(throws: WorkerPoolError.closed(pool: "held")) { try await task.value }
        #expect(ran.value == 0)
    }
}
