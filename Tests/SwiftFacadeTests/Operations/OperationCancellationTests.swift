// SPDX-License-Identifier: Apache-2.0
//
// Cancellation in every state of an operation: each time it must finish once, release its dependents, and run no work
// after that. OperationRaceTests.swift has it in a race with the end.

import Foundation
import Testing

import Interlock

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationCancellationTests {
    let queue = OperationQueue()
    // contract: OperationAbandoned, OperationCancelled, OperationDeadlocked, OperationInputMissing
    @Test func anOperationWithoutANameIsNamedByTypeAndAddress() {
        let operation = AsyncOperation<Int> { 1 }
        let address = String(UInt(bitPattern: Unmanaged.passUnretained(operation).toOpaque()), radix: 16)
        #expect(operation.cancellationError.operation == "AsyncOperation<Int> 0x\(address)")
    }

    @Test func handlersOfOneThatNeverBeginsDoNotRun() async throws {
        let (informed, freed) = (Counter(), Counter())
        let operation = AsyncOperation<Int>(name: "early") { 1 }
        do {
            let captured = Tracked(freed: freed)
            operation.onCancel {
                captured.touch()
                informed.increment()
            }
            operation.cancel()
            operation.onCancel { informed.increment() }
        }
        queue.addOperation(operation)
        await #expect(throws: OperationCancelled(operation: "early")) { try await operation.value }
        // Its end, on another thread, may not be over.
        #expect(eventually { freed.value == 1 })
        #expect(informed.value == 0)
    }

    // above: executing ................................ succeeds
    // below: waiting    cancelled → finished at once
    // last:  waiting                → runs, is given below's error
    @Test func cancelledWhileItWaitsItFinishesBeforeItsDependency() async throws {
        let (held, ran) = (Held("above"), Counter())
        let above = held.operation
        let below = above.then(name: "below") { value in ran.increment() + value }
        let last = below.then(name: "last") { value in ran.increment() + value }
        queue.enqueue(above, below, last)
        await held.begun.taken()
        below.cancel()
        await #expect(throws: OperationCancelled(operation: "below")) { try await below.value }
        await #expect(throws: OperationCancelled(operation: "below")) { try await last.value }
        #expect(above.isExecuting && ran.value == 0)
        held.end()
        #expect(try await above.value == 1)
    }
    // contract: Completion
    @Test func cancelledWhileItRunsItFinishesAtOnceAndRefusesTheLateCallback() async throws {
        let (held, informed) = (Held("running"), Counter())
        let operation = held.operation
        let below = operation.then { $0 }
        queue.enqueue(operation, below)
        await held.begun.taken()
        let completion = try #require(held.completion)
        completion.onCancel { informed.increment() }
        operation.cancel()
        #expect(operation.isFinished && informed.value == 1)
        #expect(completion.isCancelled)
        #expect(!completion.succeed(1))
        await #expect(throws: OperationCancelled(operation: "running")) { try await below.value }
    }

    /// What has ended an operation before its work says how it is stopped.
    enum EarlyEnd: CaseIterable {
        case cancelled, cancelledTwice, timedOut, failed, succeeded, succeededAfterItsCancellation

        var stopsWork: Bool { self == .cancelled || self == .cancelledTwice || self == .timedOut }
    }

    // What the work has begun meanwhile is stopped: nothing else would stop it.
    // contract: Completion
    @Test(arguments: EarlyEnd.allCases) func aHandlerThatComesAfterTheCancellationRuns(end: EarlyEnd)
        async throws
    {
        let (held, informed, clock) = (Held(), Counter(), ManualClock())
        let operation = held.operation
        if end == .timedOut { operation.timeOut(after: .seconds(1), clock: clock) }
        operation.start()
        let completion = try #require(held.completion)
        switch end {
        case .cancelled: operation.cancel()
        case .cancelledTwice:
            operation.cancel()
            operation.cancel()
        case .timedOut: await clock.advanceSleeper(by: .seconds(1))
        case .failed: completion.fail(CancellationError())
        case .succeeded: completion.succeed(1)
        case .succeededAfterItsCancellation:
            completion.onCancel { completion.succeed(1) }
            operation.cancel()
        }
        await eventually("it has finished") { operation.isFinished }
        completion.onCancel { informed.increment() }
        #expect(informed.value == (end.stopsWork ? 1 : 0))
    }

    @Test(arguments: [false, true]) func aCancelledTasksAnswerIsTheResult(isValue: Bool) async throws {
        let begun = Handshake()
        let operation = awaitingCancellation("task", begun: begun, value: isValue ? 5 : nil)
        queue.addOperation(operation)
        await begun.taken()
        operation.cancel()
        if isValue {
            #expect(try await operation.value == 5)
        } else {
            await #expect(throws: OperationCancelled(operation: "task")) { try await operation.value }
        }
        #expect(operation.isCancelled)
    }

    // serial queue:  [closure holds the thread.....returns] [next]
    // test:               cancel
    @Test func aCancelledClosureIsWaitedForSoThatTheNextRunsAlone() async throws {
        queue.maxConcurrentOperationCount = 1
        let begun = Handshake()
        let goOn = Handshake()
        let trace = Trace<String>()
        let operation = AsyncOperation<Int>(name: "closure") {
            begun.give()
            goOn.take()
            trace.add("closure ends")
            return 1
        }
        let next = AsyncOperation<Int> {
            trace.add("next begins")
            return 2
        }
        queue.addOperation(operation)
        queue.addOperation(next)
        await begun.taken()
        operation.cancel()
        #expect(!operation.isFinished)
        goOn.give()
        #expect(try await next.value == 2)
        await #expect(throws: OperationCancelled(operation: "closure")) { try await operation.value }
        #expect(trace.events == ["closure ends", "next begins"])
    }

    @Test func aSubclassThatWindsDownIsInformedOnce() async throws {
        // Operation is; the subclass adds only what it guards or never changes.
        final class WindingDown: AsyncOperation<Int>, @unchecked Sendable {
            let (begun, informed) = (Handshake(), Counter())
            override func execute() { begun.give() }
            override func executionCancelled() { informed.increment() }
        }
        let operation = WindingDown()
        let announced = Counter()
        operation.onChange { event in if event == .cancelled { announced.increment() } }
        queue.addOperation(operation)
        await operation.begun.taken()
        for _ in 0..<3 { operation.cancel() }
        #expect(operation.informed.value == 1 && announced.value == 1 && operation.isExecuting)
        operation.finish(.success(1))
        #expect(try await operation.value == 1)
    }

    @Test func whatHasFinishedIsLeftAlone() async throws {
        let operation = AsyncOperation<Int> { 1 }
        queue.addOperation(operation)
        _ = try await operation.value
        operation.cancel()
        #expect(!operation.isCancelled)
        #expect(try await operation.value == 1)
    }

    @Test func cancelAllOperationsEndsAWholeChain() async throws {
        let held = Held("first")
        var chain = [held.operation]
        for number in 1..<20 { chain.append(chain[number - 1].then(name: "\(number)") { $0 + 1 }) }
        for operation in chain { queue.addOperation(operation) }
        await held.begun.taken()
        queue.cancelAllOperations()
        await blocking { [queue] in queue.waitUntilAllOperationsAreFinished() }
        #expect(held.operation.isCancelled)
        for operation in chain {
            // The cancellation above a step may end it before its own does. Its result is the same.
            #expect(operation.isFinished)
            #expect(throws: OperationCancelled.self) { try operation.result?.get() }
        }
    }
}
