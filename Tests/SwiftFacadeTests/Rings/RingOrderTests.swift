// SPDX-License-Identifier: Apache-2.0
//
// How often later tasks may go before one that is suspended at a shared ring.
//
//     first                  later tasks                        the test
//     suspends
//                                                               is a service under way
//                            call by call: not suspended        serves nothing after each
//                            one more joins the queue, whose
//                            section serves the first
//     goes on
//                                                               serves the other

import Synchronization
import Testing

@testable import Interlock

@Suite(.timeLimit(.minutes(5))) struct RingOrderTests {
    private static let passes = 1_024

    enum Pop: CaseIterable {
        case unlimited, until, timeout, next, nextInIsolation

        func callAsFunction(_ ring: MPMCRing<Int>) async throws -> Int? {
            var iterator = ring.makeAsyncIterator()
            switch self {
            case .unlimited: return try await ring.pop()
            case .until: return try await ring.pop(until: .now.advanced(by: .seconds(1_000))).element()
            case .timeout: return try await ring.pop(timeout: .seconds(1_000)).element()
            case .next: return try await iterator.next()
            case .nextInIsolation: return try await iterator.next(isolation: nil)
            }
        }
    }

    @Test(arguments: Pop.allCases) func aSuspendedPopIsPassedSoOftenAtMost(later pop: Pop) async throws {
        let ring = try MPMCRing<Int>(capacity: 4)
        let done = Finished()
        let first = Task {
            defer { done.count.add(1, ordering: .relaxed) }
            return try await ring.pop()
        }
        #expect(await eventuallySuspending { ring.waiters.consumers.withWaiters { $0.count } == 1 })
        ring.waiters.combiner.begin()
        for element in 0..<RingOrderTests.passes {
            #expect(ring.tryPush(element))
            #expect(try await pop(ring) == element)
            // Finds nothing for the first; its passes do not begin anew.
            ring.waiters.servePosted()
            ring.waiters.combiner.begin()
        }
        #expect(ring.tryPush(-1))
        let later = Task {
            defer { done.count.add(1, ordering: .relaxed) }
            return try await pop(ring)
        }
        #expect(await eventuallySuspending { done.count.load(ordering: .relaxed) == 1 })
        #expect(ring.tryPush(-2))
        ring.waiters.servePosted()
        #expect(try await first.value == -1)
        #expect(try await later.value == -2)
    }

    enum Push: CaseIterable {
        case unlimited, until, timeout

        func callAsFunction(_ element: Int, _ ring: MPMCRing<Int>) async -> Bool {
            switch self {
            case .unlimited: await ring.push(element).isPushed
            case .until: await ring.push(element, until: .now.advanced(by: .seconds(1_000))).isPushed
            case .timeout: await ring.push(element, timeout: .seconds(1_000)).isPushed
            }
        }
    }

    @Test(arguments: Push.allCases) func aSuspendedPushIsPassedSoOftenAtMost(later push: Push) async throws {
        let ring = try MPMCRing<Int>(capacity: 1)
        let done = Finished()
        #expect(ring.tryPush(0))
        let first = Task {
            defer { done.count.add(1, ordering: .relaxed) }
            return await ring.push(-1).isPushed
        }
        #expect(await eventuallySuspending { ring.waiters.producers.withWaiters { $0.count } == 1 })
        ring.waiters.combiner.begin()
        for element in 0..<RingOrderTests.passes {
            #expect(ring.tryPop() == element)
            #expect(await push(element + 1, ring))
            ring.waiters.servePosted()
            ring.waiters.combiner.begin()
        }
        #expect(ring.tryPop() == RingOrderTests.passes)
        let later = Task {
            defer { done.count.add(1, ordering: .relaxed) }
            return await push(-2, ring)
        }
        #expect(await eventuallySuspending { done.count.load(ordering: .relaxed) == 1 })
        #expect(ring.tryPop() == -1)
        ring.waiters.servePosted()
        #expect(await first.value)
        #expect(await later.value)
        #expect(ring.tryPop() == -2)
    }

    @Test func afterTheFirstHasGivenUpTasksNeedNotQueue() async throws {
        let ring = try MPMCRing<Int>(capacity: 4)
        let first = Task { try await ring.pop() }
        #expect(await eventuallySuspending { ring.waiters.consumers.withWaiters { $0.count } == 1 })
        ring.waiters.combiner.begin()
        for element in 0..<RingOrderTests.passes {
            #expect(ring.tryPush(element))
            #expect(try await ring.pop() == element)
        }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        for element in 0..<2 * RingOrderTests.passes {
            #expect(ring.tryPush(element))
            #expect(try await ring.pop(timeout: .zero).element() == element)
        }
        let needsNoQueue = ring.mayPass(ring.waiters.popPasses)
        #expect(needsNoQueue)
        ring.waiters.servePosted()
    }
}

private final class Finished: Sendable {
    let count = Atomic<Int>(0)
}
