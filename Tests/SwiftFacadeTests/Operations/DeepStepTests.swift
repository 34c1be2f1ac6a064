// SPDX-License-Identifier: Apache-2.0
//
// Steps that make steps, as deep as a service has pages: they end, and are cancelled, without nesting.

import Foundation
import Testing

import Interlock

private let depth = underThreadSanitizer(2_000, instead: 20_000)

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct DeepStepTests {
    let queue = InterlockQueue(name: "pages")
    let foundation = OperationQueue()

    /// The page `number`: asks for the next one, until `last` gives the result.
    private static func page(
        _ number: Int,
        of count: Int,
        on queue: InterlockQueue,
        last: @escaping @Sendable () -> AsyncOperation<Int>
    ) -> AsyncOperation<Int> {
        let page = AsyncOperation<Int> { number }
        let all = page.flatMap(on: queue) { number in
            number < count ? Self.page(number + 1, of: count, on: queue, last: last) : last()
        }
        queue.enqueue(page)
        return all
    }

    @Test func stepsThatMakeStepsEndAtAnyDepth() async throws {
        let all = Self.page(0, of: depth, on: queue) { AsyncOperation { 7 } }
        queue.enqueue(all)
        #expect(try await all.value == 7)
        try await queue.wait()
    }

    @Test func aCancellationReachesTheDeepestStep() async throws {
        let begun = Handshake()
        let (informed, last) = (Counter(), Counter())
        let all = Self.page(0, of: depth, on: queue) {
            AsyncOperation { (completion: Completion<Int>) in
                completion.onCancel {
                    informed.increment()
                    completion.fail(JobFailure())
                }
                last.increment()
                begun.give()
            }
        }
        queue.enqueue(all)
        await begun.taken()
        all.cancel()
        await #expect(throws: OperationCancelled.self) { try await all.value }
        try await queue.wait()
        #expect(informed.value == 1 && last.value == 1)
    }

    /// What a handler ends and cancels has its end for the handler, too: it may wait for it.
    @Test func aHandlerOfAStepsEndMayWaitForOtherSteps() async throws {
        let begun = Handshake()
        let parts = Trace<Completion<Int>>()
        func step() -> AsyncOperation<Int> {
            let first = AsyncOperation<Int> { 0 }
            queue.enqueue(first)
            let step = first.flatMap(on: queue) { _ in
                AsyncOperation { (completion: Completion<Int>) in
                    completion.onCancel { completion.fail(JobFailure()) }
                    parts.add(completion)
                    begun.give()
                }
            }
            queue.enqueue(step)
            return step
        }
        let outer = step()
        await begun.taken()
        let (ended, cancelled) = (step(), step())
        await begun.taken(2)
        let seen = Trace<Bool>()
        outer.onFinish { _ in
            // One of them is the work of `ended`; `cancelled` is cancelled before it hears of its own.
            cancelled.cancel()
            seen.add(cancelled.wait(timeout: .seconds(10)) != nil)
            for part in parts.events { part.succeed(1) }
            seen.add(ended.wait(timeout: .seconds(10)) != nil)
        }
        #expect(await blocking { parts.events[0].succeed(1) })
        #expect(try await ended.value == 1)
        #expect(seen.events == [true, true], "the end of a step waits for the handler that waits for it")
    }

    @Test func stepsThatMakeStepsEndAtAnyDepthInFoundationsQueue() async throws {
        // Each level has an operation of Foundation's queue and a queue of its own.
        let levels = underThreadSanitizer(200, instead: 2_000)
        let all = Self.page(0, of: levels, on: foundation).enqueued(on: foundation)
        #expect(try await all.value == 7)
    }

    private static func page(_ number: Int, of count: Int, on queue: OperationQueue) -> AsyncOperation<Int> {
        AsyncOperation<Int> { number }.enqueued(on: queue).flatMap(on: queue) { number in
            number < count ? page(number + 1, of: count, on: queue) : AsyncOperation { 7 }
        }
    }
}
