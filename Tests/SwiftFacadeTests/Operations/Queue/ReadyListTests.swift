// SPDX-License-Identifier: Apache-2.0
//
// What a queue keeps of jobs that wait in it: entries of those that have ended do not add up.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync

// Each is touched by the test's thread only.
private struct WeakNode {
    weak var node: JobNode?
}

/// Asks its queue when it is freed.
private final class AsksWhenFreed: Sendable {
    let queue: InterlockQueue
    let freed: Event

    init(_ queue: InterlockQueue, _ freed: Event) { (self.queue, self.freed) = (queue, freed) }

    deinit {
        _ = queue.limit
        freed.happen()
    }
}

@Suite(.timeLimit(.minutes(10))) struct ReadyListTests {
    private func nodesKept(of jobs: Int, cancelledIn queue: InterlockQueue) -> Int {
        let nodes = (0..<jobs).map { _ in
            let job = queue.job { 1 }
            job.cancel()
            return WeakNode(node: job.node)
        }
        return nodes.count { $0.node != nil }
    }

    @Test func aSuspendedQueueKeepsAConstantNumberOfCancelledJobs() {
        let queue = InterlockQueue(name: "suspended", isSuspended: true)
        #expect(nodesKept(of: 2_000, cancelledIn: queue) <= 64)
        #expect(queue.count == 0)
    }

    @Test func aBarrierThatWaitsKeepsAConstantNumberOfCancelledJobs() {
        let queue = InterlockQueue(name: "behind")
        let end = hold(queue)
        queue.barrier {}
        #expect(nodesKept(of: 2_000, cancelledIn: queue) <= 64)
        end.happen()
        queue.wait()
    }

    /// Those that wait are kept, in their order.
    @Test func jobsThatWaitAmongCancelledOnesRunInTheirOrder() {
        let queue = InterlockQueue(name: "among", limit: 1, isSuspended: true)
        let trace = Trace<Int>()
        for number in 0..<1_000 {
            let job = queue.job { trace.add(number) }
            if number % 3 != 0 { job.cancel() }
        }
        queue.resume()
        queue.wait()
        #expect(trace.events == (0..<1_000).filter { $0 % 3 == 0 })
    }

    /// One entry in each of the five lists, however often the priority changes.
    @Test func aPriorityThatChangesTenThousandTimesKeepsFiveEntries() {
        let queue = InterlockQueue(name: "changing", limit: 1, isSuspended: true)
        let trace = Trace<String>()
        let operation = AsyncOperation<Void> { trace.add("changed") }
        queue.enqueue(operation)
        let before = queue.core.readyEntries
        for _ in 0..<2_000 {
            for priority in [Operation.QueuePriority.low, .veryHigh, .veryLow, .high, .normal] {
                operation.queuePriority = priority
            }
        }
        #expect(before == 1)
        #expect(queue.core.readyEntries == 5)
        queue.enqueue(AsyncOperation<Void> { trace.add("second") })
        queue.resume()
        queue.wait()
        #expect(trace.events == ["changed", "second"])
    }

    /// Each barrier that was cancelled leaves what it held to the one before it.
    @Test func cancelledBarriersKeepAConstantNumberOfCancelledJobs() {
        let queue = InterlockQueue(name: "barriers")
        let end = hold(queue)
        queue.barrier {}
        var nodes: [WeakNode] = []
        for _ in 0..<40 {
            let barrier = queue.barrier {}
            for _ in 0..<50 {
                let job = queue.job { 1 }
                job.cancel()
                nodes.append(WeakNode(node: job.node))
            }
            barrier.cancel()
        }
        #expect(nodes.count { $0.node != nil } <= 64)
        end.happen()
        queue.wait()
    }

    /// The entry that its first priority has left in a list keeps nothing of it.
    @Test func anEndedOperationWhosePriorityWasChangedIsFreedOutsideTheQueuesLock() {
        let queue = InterlockQueue(name: "freed", limit: 1, isSuspended: true)
        let freed = Event()
        do {
            let operation = AsyncOperation<AsksWhenFreed> {
                queue.suspend()
                return AsksWhenFreed(queue, freed)
            }
            queue.enqueue(operation)
            operation.queuePriority = .high
        }
        queue.resume()
        queue.wait()
        #expect(queue.core.readyEntries == 1)
        #expect(freed.wait(.seconds(20)))
        queue.resume()
    }
}
