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

import Testing

import Interlock
@testable import InterlockSync
// contract: MPMCRing
@Suite(.timeLimit(.minutes(10))) struct RingOrderTests {
    private static let passes = 1_024

    enum Pop: CaseIterable {
        case unlimited, until, timeout, next

        func callAsFunction(_ ring: MPMCRing<Int>) async throws -> Int? {
            var iterator = ring.makeAsyncIterator()
            switch self {
            case .unlimited: return try await ring.pop()
            case .until: return try await ring.pop(until: .now.advanced(by: .seconds(1_000))).element()
            case .timeout: return try await ring.pop(timeout: .seconds(1_000)).element()
            case .next: return try await iterator.next()
            }
        }
    }

    /// As often as may be before the first, which is suspended; a service is under way, and serves nothing.
    private static func passSuspendedPop(
        of ring: MPMCRing<Int>,
        by pop: Pop = .unlimited
    ) async throws {
        #expect(await Self.suspendedPops(of: ring, become: 1))
        ring.waiters.combiner.begin()
        try await pass(ring, by: pop)
    }

    private static func suspendedPops(of ring: MPMCRing<Int>, become count: Int) async -> Bool {
        await eventuallySuspending { ring.waiters.consumers.withWaiters { $0.count } == count }
    }

    private static func pass(_ ring: MPMCRing<Int>, times: Int = passes, by pop: Pop = .unlimited)
        async throws
    {
        for element in 0..<times {
            #expect(ring.tryPush(element).isPushed)
            #expect(try await pop(ring) == element)
            // Finds nothing for the first; its passes do not begin anew.
            ring.waiters.servePosted()
            ring.waiters.combiner.begin()
        }
    }

    @Test(arguments: Pop.allCases) func aSuspendedPopIsPassedSoOftenAtMost(later pop: Pop) async throws {
        let ring = try MPMCRing<Int>(capacity: 4)
        let done = Counter()
        let first = Task {
            defer { done.increment() }
            return try await ring.pop()
        }
        try await Self.passSuspendedPop(of: ring, by: pop)
        #expect(ring.tryPush(-1).isPushed)
        let later = Task {
            defer { done.increment() }
            return try await pop(ring)
        }
        #expect(await eventuallySuspending { done.value == 1 })
        #expect(ring.tryPush(-2).isPushed)
        ring.waiters.servePosted()
        #expect(try await first.value == -1)
        #expect(try await later.value == -2)
    }

    @Test func theSecondIsPassedAsOftenAgainOnceItIsTheFirst() async throws {
        let ring = try MPMCRing<Int>(capacity: 4)
        var waiting: [Task<Int?, any Error>] = []
        for place in 1...2 {
            waiting.append(Task { try await ring.pop() })
            #expect(await Self.suspendedPops(of: ring, become: place))
        }
        ring.waiters.combiner.begin()
        try await Self.pass(ring, times: Self.passes - 1)  // the second has tried once
        #expect(ring.tryPush(-1).isPushed)
        ring.waiters.servePosted()
        #expect(try await waiting[0].value == -1)
        ring.waiters.combiner.begin()
        try await Self.pass(ring)
        #expect(ring.tryPush(-2).isPushed)
        let later = Task { try await ring.pop() }
        #expect(try await waiting[1].value == -2)
        #expect(ring.tryPush(-3).isPushed)
        ring.waiters.servePosted()
        #expect(try await later.value == -3)
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
        let done = Counter()
        #expect(ring.tryPush(0).isPushed)
        let first = Task {
            defer { done.increment() }
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
            defer { done.increment() }
            return await push(-2, ring)
        }
        #expect(await eventuallySuspending { done.value == 1 })
        #expect(ring.tryPop() == -1)
        ring.waiters.servePosted()
        #expect(await first.value)
        #expect(await later.value)
        #expect(ring.tryPop() == -2)
    }

    /// Both elements are there before it asks; the first is served, and the second stays.
    @Test func aCancelledTaskThatHasToQueueTakesNothing() async throws {
        let ring = try MPMCRing<Int>(capacity: 4)
        let first = Task { try await ring.pop() }
        try await Self.passSuspendedPop(of: ring)
        #expect(ring.tryPush(-1).isPushed && ring.tryPush(-2).isPushed)
        let cancelled = Task {
            await untilCancelled()
            return try await ring.pop()
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        ring.waiters.servePosted()
        #expect(try await first.value == -1)
        #expect(ring.tryPop() == -2)
    }

    @Test func afterTheFirstHasGivenUpTasksNeedNotQueue() async throws {
        let ring = try MPMCRing<Int>(capacity: 4)
        let first = Task { try await ring.pop() }
        try await Self.passSuspendedPop(of: ring)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        for element in 0..<2 * RingOrderTests.passes {
            #expect(ring.tryPush(element).isPushed)
            #expect(try await ring.pop(timeout: .zero).element() == element)
        }
        let needsNoQueue = ring.mayPass(ring.waiters.popPasses)
        #expect(needsNoQueue)
        ring.waiters.servePosted()
    }
}
