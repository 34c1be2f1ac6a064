// SPDX-License-Identifier: Apache-2.0
//
// What an observer learns: each event once, in order, one at a time, outside the locks.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

/// Notes each event of an observer by name.
func recorder(_ trace: Trace<String>) -> OperationObserver {
    OperationObserver(
        didEnqueue: { _ in trace.add("enqueued") },
        willStart: { _ in trace.add("starting") },
        didStart: { _ in trace.add("started") },
        didProduce: { _, other in trace.add("produced \(other.name ?? "?")") },
        didCancel: { _ in trace.add("cancelled") },
        didFinish: { _, error in trace.add(error == nil ? "finished" : "failed") }
    )
}
// contract: OperationObserver, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationObserverTests {
    let queue = OperationQueue()
    let trace = Trace<String>()

    private func untilSeen(_ last: String, _ count: Int = 1) async {
        await eventually("it is announced") { [trace] in trace.events.filter { $0 == last }.count == count }
    }

    @Test func aLifeIsAnnouncedInOrder() async throws {
        let operation = AsyncOperation<Int> { [trace] in
            trace.add("works")
            return 1
        }
        operation.addObserver(recorder(trace))
        queue.enqueue(operation)
        _ = try await operation.value
        await untilSeen("finished")
        #expect(trace.events == ["enqueued", "starting", "started", "works", "finished"])
    }

    @Test func enqueuedIsAnnouncedByEachVerbOfThisModuleAndOnce() async throws {
        let first = AsyncOperation<Int> { 1 }
        let second = AsyncOperation<Int> { 2 }
        first.addObserver(recorder(trace))
        second.addObserver(recorder(trace))
        first.announceEnqueued()
        first.enqueued(on: queue)
        queue.addOperation(second)
        _ = try await (first.value, second.value)
        await untilSeen("finished", 2)
        #expect(trace.events.filter { $0 == "enqueued" }.count == 1)
    }

    @Test func aQueueOfThisModuleAnnouncesToo() async throws {
        let own = InterlockQueue()
        let (first, second, third) = (
            AsyncOperation<Int> { 1 }, AsyncOperation<Int> { 2 }, AsyncOperation<Int>(name: "third") { 3 }
        )
        for operation in [first, second, third] { operation.addObserver(recorder(trace)) }
        own.enqueue(first)
        #expect(try await second.enqueued(on: own).value == 2)
        let maker = AsyncOperation<Int>(name: "maker") { 1 }
        maker.addObserver(recorder(trace))
        maker.produce(third, on: own)
        #expect(try await (first.value, third.value) == (1, 3))
        await untilSeen("finished", 3)
        #expect(trace.events.filter { $0 == "enqueued" }.count == 3)
        #expect(trace.events.contains("produced third"))
    }

    @Test func theErrorIsAnnouncedAtTheEnd() async throws {
        let seen = Trace<JobFailure?>()
        let operation = AsyncOperation<Int> { throw JobFailure(why: "torn") }
        operation.addObserver(OperationObserver(didFinish: { _, error in seen.add(error as? JobFailure) }))
        queue.enqueue(operation)
        _ = await operation.outcome
        await eventually("the end is announced") { !seen.events.isEmpty }
        #expect(seen.events == [JobFailure(why: "torn")])
    }

    @Test func whatIsCancelledBeforeItsStartNeitherStartsNorWorks() async throws {
        let operation = AsyncOperation<Int> { 1 }
        operation.addObserver(recorder(trace))
        operation.cancel()
        operation.cancel()
        queue.enqueue(operation)
        _ = await operation.outcome
        await untilSeen("failed")
        #expect(trace.events == ["cancelled", "enqueued", "failed"])
    }

    @Test func aCancellationIsAnnouncedOnTheWay() async throws {
        let held = Held()
        held.operation.addObserver(recorder(trace))
        queue.enqueue(held.operation)
        await held.begun.taken()
        held.operation.cancel()
        #expect(trace.events == ["enqueued", "starting", "started", "cancelled", "failed"])
    }

    @Test func theEndIsAnnouncedAtOnceToALateObserver() async throws {
        let operation = AsyncOperation<Int> { 1 }
        queue.enqueue(operation)
        _ = try await operation.value
        operation.addObserver(recorder(trace))
        #expect(trace.events == ["finished"])
    }

    @Test func whatAnOperationProducesIsAnnouncedAndRuns() async throws {
        let other = AsyncOperation<Int>(name: "other") { 7 }
        let operation = AsyncOperation<Int> { completion in completion.succeed(1) }
        operation.addObserver(recorder(trace))
        operation.produce(other, on: queue)
        #expect(try await other.value == 7)
        #expect(trace.events == ["produced other"])
    }

    @Test func whatHappensWhileAnObserverRunsIsAnnouncedInOrder() async throws {
        let operation = AsyncOperation<Int> { 1 }
        var observer = recorder(trace)
        observer.didStart = { [queue] _ in
            for name in ["one", "two", "three"] {
                operation.produce(AsyncOperation<Int>(name: name) { 2 }, on: queue)
            }
        }
        operation.addObserver(observer)
        operation.start()
        #expect(trace.events == ["starting", "produced one", "produced two", "produced three", "finished"])
    }

    // One thread announces the cancellation and is held up in it; the other ends the operation meanwhile.
    @Test func theEndIsAnnouncedAfterACancellationThatIsBeingAnnounced() async throws {
        let (held, observed, ended) = (Held(), Handshake(), Handshake())
        let operation = held.operation
        var observer = recorder(trace)
        observer.didCancel = { [trace] _ in
            observed.give()
            ended.take()
            trace.add("cancelled")
        }
        operation.addObserver(observer)
        queue.enqueue(operation)
        await held.begun.taken()
        let canceller = TestThread { operation.cancel() }
        await observed.taken()
        held.end()
        #expect(operation.isFinished)
        ended.give()
        await blocking { canceller.join() }
        #expect(trace.events == ["enqueued", "starting", "started", "cancelled", "finished"])
    }

    @Test func observersAreInformedInTheOrderTheyWereAddedAndMayChangeTheOperation() async throws {
        let operation = AsyncOperation<Int> { (_: Completion<Int>) in }
        operation.addObserver(
            OperationObserver(
                didStart: { [trace] operation in
                    trace.add("first")
                    operation.cancel()
                    trace.add("first goes on")
                }
            )
        )
        operation.addObserver(
            OperationObserver(
                didStart: { [trace] _ in trace.add("second") },
                didCancel: { [trace] _ in trace.add("cancelled") }
            )
        )
        queue.enqueue(operation)
        _ = await operation.outcome
        await eventually("the cancellation is announced") { [trace] in trace.events.count == 4 }
        #expect(trace.events == ["first", "first goes on", "second", "cancelled"])
    }

    @Test func observersAreFreedWhenItHasFinished() async throws {
        let freed = Counter()
        let operation = AsyncOperation<Int> { 1 }
        do {
            let captured = Tracked(freed: freed)
            operation.addObserver(OperationObserver(didFinish: { _, _ in captured.touch() }))
        }
        #expect(freed.value == 0)
        queue.enqueue(operation)
        _ = try await operation.value
        await eventually("the observer is freed while the operation is kept") { freed.value == 1 }
    }

    @Test func observersOfWhatNeverRunsAreFreedWithIt() {
        let freed = Counter()
        do {
            let captured = Tracked(freed: freed)
            let operation = AsyncOperation<Int> { 1 }
            operation.addObserver(OperationObserver(didStart: { _ in captured.touch() }))
        }
        #expect(freed.value == 1)
    }

    // 10,000 operations, each cancelled, finished and observed by three threads at once.
    @Test func racingCancellationsAndEndsAreAnnouncedOnceAndInOrder() async throws {
        let alive = Counter()
        let freed = Counter()
        for batch in 0..<10 {
            let operations = (0..<1_000).map { _ in AsyncOperation<Int> { HeldByObserver.keep($0) } }
            let traces = operations.map { _ in Trace<String>() }
            for (operation, trace) in zip(operations, traces) {
                let captured = Tracked(alive: alive, freed: freed)
                operation.addObserver(recorder(trace))
                operation.addObserver(OperationObserver(didCancel: { _ in captured.touch() }))
                operation.start()
            }
            await blocking {
                onThreads(3) { thread in
                    for operation in operations {
                        switch thread {
                        case 0: operation.cancel()
                        case 1: operation.finish(.success(1))
                        default:
                            operation.addObserver(OperationObserver(didFinish: { _, _ in freed.increment() }))
                        }
                    }
                }
            }
            for (operation, trace) in zip(operations, traces) {
                let end = (try? operation.result?.get()) == nil ? "failed" : "finished"
                let middle = operation.isCancelled ? ["cancelled"] : []
                await eventually("the end is announced") { trace.events.last == end }
                #expect(trace.events == ["starting", "started"] + middle + [end], "batch \(batch)")
            }
        }
        // Each late observer was informed of the end, and each early one is freed.
        await eventually("all is announced and freed") { freed.value == 20_000 }
        #expect(alive.value == 10_000)
    }
}

/// Completions that are not called.
private enum HeldByObserver {
    private static let completions = VisibleMutex<[Completion<Int>]>([])
    static func keep(_ completion: Completion<Int>) { completions.withLock { $0.append(completion) } }
}
