// SPDX-License-Identifier: Apache-2.0
//
// The states as a stream, and the waits that are given what to do with a cancelled task.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationStatesTests {
    let queue = OperationQueue()

    @Test func aStreamBeginsWithThePresentStateAndEndsWithTheLast() async throws {
        let above = AsyncOperation<Int> { 1 }
        let held = Held("held")
        let operation = held.operation
        operation.addDependency(above)
        var states = operation.states.makeAsyncIterator()
        #expect(await states.next() == .waiting)
        queue.enqueue(operation, above)
        #expect(await states.next() == .ready)
        #expect(await states.next() == .executing)
        await held.begun.taken()
        var late = operation.states.makeAsyncIterator()
        #expect(await late.next() == .executing)
        held.completion?.succeed(1)
        #expect(await states.next() == .finished)
        #expect(await states.next() == nil)
        #expect(await late.next() == .finished)
        #expect(await late.next() == nil)
        #expect(await Self.all(operation.states) == [.finished])
    }

    @Test func aCancellationWhileItWaitsIsAStateReady() async throws {
        let above = AsyncOperation<Int> { 1 }
        let operation = AsyncOperation<Int> { 1 }
        operation.addDependency(above)
        var states = operation.states.makeAsyncIterator()
        #expect(await states.next() == .waiting)
        operation.cancel()
        #expect(await states.next() == .ready)
    }

    // It becomes ready twice: a second dependency comes when the first is gone.
    @Test func aStateIsGivenOnce() async throws {
        let operation = AsyncOperation<Int> { 1 }
        let above = (0..<2).map { number in AsyncOperation<Int> { number } }
        operation.addDependency(above[0])
        let states = operation.states
        operation.removeDependency(above[0])
        operation.addDependency(above[1])
        operation.removeDependency(above[1])
        queue.enqueue(operation)
        #expect(await Self.all(states) == [.waiting, .ready, .executing, .finished])
    }

    @Test func aCancelledReaderEndsTheStreamAndLeavesNothingBehind() async throws {
        let held = Held("held")
        let operation = held.operation
        queue.enqueue(operation)
        await held.begun.taken()
        let reader = Task { await Self.all(operation.states) }
        await eventually("the reader listens") { operation.observation()?.count == 1 }
        reader.cancel()
        #expect(await reader.value.last != .finished)
        await eventually("the listener is gone") { operation.observation()?.count == 0 }
        held.completion?.succeed(1)
        #expect(operation.isFinished)
    }

    @Test func aStreamThatNoTaskReadsLeavesNothingBehind() {
        let operation = AsyncOperation<Int> { 1 }
        do {
            let stream = operation.states
            #expect(operation.observation()?.count == 1)
            withExtendedLifetime(stream) {}
        }
        #expect(operation.observation()?.count == 0)
    }

    @Test func aStreamOfAnOperationThatIsFreedEnds() async {
        let stream = {
            let operation = AsyncOperation<Int> { 1 }
            return operation.states
        }()
        #expect(await Self.all(stream) == [.ready])
    }

    // 10,000 streams begun while their operation is started and ended by another thread.
    @Test func noStreamMissesTheEnd() async throws {
        for _ in 0..<10 {
            let operations = (0..<1_000).map { number in AsyncOperation<Int> { number } }
            let readers = Task {
                await withTaskGroup(of: Bool.self) { group in
                    for operation in operations {
                        group.addTask { Self.isOrderly(await Self.all(operation.states)) }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
            }
            await blocking { for operation in operations { operation.start() } }
            #expect(await readers.value == 1_000)
        }
    }

    private static func all(_ states: AsyncStream<OperationState>) async -> [OperationState] {
        await states.reduce(into: []) { $0.append($1) }
    }

    private static func isOrderly(_ states: [OperationState]) -> Bool {
        let order: [OperationState] = [.ready, .executing, .finished]
        return states.last == .finished && states == order.filter(states.contains)
    }

    // MARK: Waits and cancelled tasks

    @Test func theOutcomeIsAwaitedAlthoughItsTaskIsCancelled() async throws {
        let held = Held("held")
        let operation = held.operation
        queue.enqueue(operation)
        await held.begun.taken()
        let waiter = Task { await operation.outcome }
        waiter.cancel()
        await eventually("the wait goes on") { operation.record.withLock { $0.hookCount } == 1 }
        #expect(!operation.isCancelled)
        held.completion?.fail(JobFailure())
        #expect(throws: JobFailure()) { try operation.result?.get() }
        await #expect(throws: JobFailure()) { try await waiter.value.get() }
        #expect(throws: JobFailure()) { try operation.result?.get() }
    }

    @Test func aCancelledTaskCancelsTheOperationWhereItSaysSo() async throws {
        let held = Held("held")
        let operation = held.operation
        queue.enqueue(operation)
        await held.begun.taken()
        let waiter = Task { try await operation.valueOrCancel() }
        let other = Task { try await operation.value }
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.value }
        #expect(!operation.isCancelled)
        waiter.cancel()
        await #expect(throws: OperationCancelled(operation: "held")) { try await waiter.value }
        #expect(operation.isFinished && held.completion?.succeed(1) == false)
    }

    // The task of an `async` closure answers its cancellation with a value.
    @Test func theEndOfACancelledOperationIsAwaited() async throws {
        let begun = Handshake()
        let operation = awaitingCancellation(begun: begun, value: 3)
        queue.enqueue(operation)
        await begun.taken()
        let waiter = Task { try await operation.valueOrCancel() }
        waiter.cancel()
        #expect(try await waiter.value == 3)
    }
}
