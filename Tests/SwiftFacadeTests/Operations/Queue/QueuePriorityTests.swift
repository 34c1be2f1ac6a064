// SPDX-License-Identifier: Apache-2.0
//
// The priority of an operation that changes while an InterlockQueue has it: the last value counts, whenever it comes.

import Foundation
import Testing

import Interlock

/// Set anew by another thread while its queue asks for it the first time.
// Its own state is touched by the threads that ask and set, one after the other.
private final class RaisedWhileAsked: AsyncOperation<Void>, @unchecked Sendable {
    private var isAsked = false
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        super.init()
    }

    override var queuePriority: Operation.QueuePriority {
        get {
            let answer = super.queuePriority
            if !isAsked {
                isAsked = true
                super.queuePriority = .veryHigh
            }
            return answer
        }
        set { super.queuePriority = newValue }
    }

    override func execute() {
        body()
        finish(.success(()))
    }
}

/// Cancelled by another thread when its new priority is set and not yet taken over.
// A test's operation: its one variable is used while it runs.
private final class CancelledWhileRaised: AsyncOperation<Void>, @unchecked Sendable {
    private var isArmed = false

    override var queuePriority: Operation.QueuePriority {
        get {
            if isArmed {
                isArmed = false
                cancel()
            }
            return super.queuePriority
        }
        set {
            isArmed = newValue == .veryHigh
            super.queuePriority = newValue
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct QueuePriorityTests {
    // setter       sets: very high                                           finds it taken over
    // canceller                     takes very high over for the cancellation
    @Test func aCancellationThatTakesANewPriorityOverListsTheOperation() {
        let queue = InterlockQueue(name: "serial", limit: 1, isSuspended: true)
        let operation = CancelledWhileRaised()
        queue.enqueue(operation)
        operation.queuePriority = .veryHigh
        #expect(operation.isCancelled && !operation.isFinished)
        queue.resume()
        #expect(queue.wait(timeout: .seconds(20)), "the queue has lost the operation")
        #expect(operation.isFinished)
    }

    // queue        asks: normal                          takes normal over
    // setter                     sets and takes over: very high
    @Test func aPriorityThatIsSetWhileTheQueueAsksForItCounts() async throws {
        let queue = InterlockQueue(name: "serial", limit: 1, isSuspended: true)
        let trace = Trace<String>()
        queue.enqueue(AsyncOperation<Void> { trace.add("first") })
        queue.enqueue(RaisedWhileAsked { trace.add("raised") })
        queue.resume()
        try await queue.wait()
        #expect(trace.events == ["raised", "first"])
    }

    // setter   normal ... low                              normal
    // queue    lists it           takes the first entry              lists it anew
    @Test func aPriorityThatIsSetBackAfterItsEntryWasTakenListsTheOperation() {
        let queue = InterlockQueue(name: "serial", limit: 1, isSuspended: true)
        let (begun, end) = (Event(), Latch(count: 1))
        let operation = AsyncOperation<Void> {}
        queue.enqueue(operation)
        queue.job(name: "busy", isBlocking: true) {
            begun.happen()
            end.wait()
        }
        operation.queuePriority = .low
        queue.resume()
        begun.wait()
        operation.queuePriority = .normal
        end.countDown()
        #expect(queue.wait(timeout: .seconds(20)), "the queue has lost the operation")
        #expect(operation.isFinished)
    }

    // pool     [held........................]  hands three back
    // queue    gives it three      limit = 1   lists them
    // setter                 raises the second
    @Test func aPriorityThatIsSetWhileThePoolHasTheOperationCountsInTheList() async throws {
        let held = try HeldPool()
        let queue = InterlockQueue(name: "queue", pool: held.pool)
        let trace = Trace<Int>()
        let operations = (0..<3).map { number in AsyncOperation<Void> { trace.add(number) } }
        for operation in operations { queue.enqueue(operation) }
        operations[1].queuePriority = .veryHigh
        queue.limit = 1
        held.release()
        try await queue.wait()
        #expect(trace.events.first == 1 && trace.events.count == 3)
    }
}
