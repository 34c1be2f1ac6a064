// SPDX-License-Identifier: Apache-2.0
//
// Groups in groups, deeper than nested calls would fit on the stack of a thread: an end passes outward, and a
// cancellation and a suspension inward, in loops. Each case is made to pass on a thread with one megabyte.

import Foundation
import Testing

import Interlock

private let depth = underThreadSanitizer(300, instead: 900)

// contract: GroupOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct DeepGroupTests {
    private let queue = InterlockQueue(name: "around")
    private let groups = (0..<depth).map { GroupOperation<Int>(name: "level \($0)") }
    private let begun = Handshake()
    private let innermost = Trace<Completion<Int>>()

    init() throws {
        for (outer, inner) in zip(groups, groups.dropFirst()) { try outer.add(other: inner) }
        try groups[depth - 1].add(
            AsyncOperation { [begun, innermost] completion in
                completion.onCancel { completion.fail(JobFailure()) }
                innermost.add(completion)
                begun.give()
            }
        )
    }

    private var endedLevels: Int { groups.count { $0.isFinished } }
    private var suspendedLevels: Int { groups.count { $0.isSuspended } }

    private func begin() async {
        queue.enqueue(groups[0])
        await begun.taken()
    }

    @Test func theEndOfTheInnermostEndsAll() async throws {
        await begin()
        let completion = innermost.events[0]
        TestThread { completion.succeed(7) }.join()
        #expect(endedLevels == depth)
        #expect(try await groups[0].value == [])
        #expect(try await groups[depth - 1].value == [7])
    }

    @Test func aCancellationReachesTheInnermost() async {
        await begin()
        let outermost = groups[0]
        TestThread { outermost.cancel() }.join()
        #expect(endedLevels == depth && groups[depth - 1].isCancelled)
    }

    @Test func whatWasNotBegunIsCancelledAndEnds() {
        let outermost = groups[0]
        TestThread {
            outermost.cancel()
            outermost.start()
        }.join()
        #expect(endedLevels == depth && groups[depth - 1].isCancelled)
        #expect(innermost.events.isEmpty)
    }

    @Test func aSuspensionReachesTheInnermost() async {
        let outermost = groups[0]
        TestThread { outermost.suspend() }.join()
        #expect(suspendedLevels == depth)
        TestThread { outermost.resume() }.join()
        #expect(suspendedLevels == 0)
        await begin()
        outermost.cancel()
    }

    /// What a handler cancels or ends has its end for the handler, however deep it is.
    @Test func aHandlerOfADeepEndMayWaitForOtherGroups() async throws {
        await begin()
        let other = GroupOperation<Int>(name: "other")
        let parts = Trace<Completion<Int>>()
        try other.add(
            AsyncOperation { [begun] completion in
                completion.onCancel { completion.fail(JobFailure()) }
                parts.add(completion)
                begun.give()
            }
        )
        InterlockQueue(name: "beside").enqueue(other)
        await begun.taken()
        let seen = Trace<Bool>()
        groups[depth - 100].onFinish { _ in
            other.cancel()
            seen.add(other.wait(timeout: .seconds(20)) != nil)
        }
        let completion = innermost.events[0]
        TestThread { completion.succeed(7) }.join()
        #expect(seen.events == [true], "the cancellation waits for the handler that waits for it")
        #expect(endedLevels == depth)
    }
}
