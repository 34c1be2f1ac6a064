// SPDX-License-Identifier: Apache-2.0
//
// Progress of operations and groups, and what Foundation's `Progress` does on this platform.

import Foundation
import Testing

import Interlock
// contract: Completion, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationProgressTests {
    let queue = OperationQueue()

    @Test func theWorkReportsAndTheEndCompletes() async throws {
        let (begun, seen) = (Handshake(), Handshake())
        let operation = AsyncOperation<Int> { completion in
            completion.progress.totalUnitCount = 8
            completion.progress.completedUnitCount = 2
            begun.give()
            seen.take()
            completion.succeed(1)
        }
        let progress = operation.progress
        #expect(progress === operation.progress)
        #expect(operation.fractionCompleted == 0 && !progress.isFinished)
        queue.enqueue(operation)
        await begun.taken()
        #expect(operation.fractionCompleted == 0.25 && progress.fractionCompleted == 0.25)
        seen.give()
        _ = try await operation.value
        await eventually("the end completes it") { operation.fractionCompleted == 1 }
        #expect(progress.isFinished && progress === operation.progress)
    }

    @Test func whatFailedOrWasCancelledIsCompleteToo() async throws {
        let failing = AsyncOperation<Int> { throw JobFailure() }
        let cancelled = AsyncOperation<Int> { 1 }
        let late = AsyncOperation<Int> { 1 }
        let progress = cancelled.progress
        #expect(failing.fractionCompleted == 0)
        cancelled.cancel()
        #expect(progress.isCancelled)
        queue.enqueue(failing, cancelled, late)
        _ = await (failing.outcome, cancelled.outcome, late.outcome)
        await eventually("the end completes them") {
            failing.fractionCompleted == 1 && cancelled.fractionCompleted == 1
        }
        #expect(late.fractionCompleted == 1)
    }

    @Test func cancellingTheProgressOrItsParentCancelsTheOperation() async throws {
        let parent = Progress(totalUnitCount: 2)
        let operations = (0..<3).map { _ in AsyncOperation<Int>(name: "cancelled") { 1 } }
        operations[0].progress.cancel()
        operations[1].addProgress(to: parent, pendingUnitCount: 2)
        parent.cancel()
        for operation in operations[0...1] {
            await eventually("the operation is cancelled") { operation.isCancelled }
        }
        operations[2].cancel()
        #expect(operations[2].progress.isCancelled)
        queue.enqueue(operations[0])
        await #expect(throws: OperationCancelled(operation: "cancelled")) { try await operations[0].value }
    }

    @Test func aParentIsMovedByItsPart() async throws {
        let parent = Progress(totalUnitCount: 10)
        let operation = AsyncOperation<Int> { 1 }
        operation.addProgress(to: parent, pendingUnitCount: 4)
        #expect(parent.fractionCompleted == 0)
        queue.enqueue(operation)
        _ = try await operation.value
        await eventually("the parent is moved") { parent.completedUnitCount == 4 }
        #expect(abs(parent.fractionCompleted - 0.4) < 1e-9)
    }

    // MARK: Groups

    @Test func aGroupIsMovedByItsChildrenByWeight() async throws {
        let (begun, freed) = (Handshake(), Handshake())
        let group = GroupOperation<Int>(limit: 1)
        let early = AsyncOperation<Int> { 1 }
        let heavy = AsyncOperation<Int> { completion in
            completion.progress.totalUnitCount = 2
            completion.progress.completedUnitCount = 1
            begun.give()
            freed.take()
            completion.succeed(2)
        }
        try group.add(early, weight: 1)
        try group.add(heavy, weight: 6)
        queue.enqueue(group)
        await begun.taken()
        // The first has ended; the second is half done.
        #expect(abs(group.fractionCompleted - 4.0 / 7) < 1e-9)
        try group.add(other: BlockOperation {}, weight: 3)
        #expect(abs(group.fractionCompleted - 0.4) < 1e-9)
        freed.give()
        _ = try await group.value
        await eventually("the children complete it") { group.fractionCompleted == 1 }
        #expect(group.progress.isFinished && group.progress.totalUnitCount == 10)
        #expect(group.progress.completedUnitCount == 10)
    }

    @Test func groupsInGroupsAreATree() async throws {
        let outer = GroupOperation<Int>()
        let progress = outer.progress
        for number in 0..<4 {
            let inner = GroupOperation<Int>(onFailure: .runAll)
            try inner.add(AsyncOperation { number })
            try inner.add(AsyncOperation { number })
            try outer.add(other: inner)
        }
        let empty = GroupOperation<Int>()
        queue.enqueue(outer, empty)
        _ = try await (outer.value, empty.value)
        await eventually("the tree is complete") { progress.isFinished && empty.fractionCompleted == 1 }
        #expect(progress.completedUnitCount == 4 && outer.fractionCompleted == 1)
    }

    @Test func cancellingTheProgressOfAGroupCancelsItsChildren() async throws {
        let begun = Handshake()
        let group = GroupOperation<Int>(name: "group")
        let child = awaitingCancellation(begun: begun, value: 1)
        try group.add(child)
        let progress = group.progress
        queue.enqueue(group)
        await begun.taken()
        progress.cancel()
        _ = await group.outcome
        #expect(child.isCancelled && child.progress.isCancelled)
    }

    // Foundation's own tree crashes here on Linux: 1,000 groups of 10, moved and read by all threads at once.
    @Test func aTreeIsMovedByManyThreadsAtOnce() async throws {
        let (alive, freed) = (Counter(), Counter())
        do {
            let parent = Progress(totalUnitCount: 1_000)
            let root = GroupOperation<Int>(limit: 8)
            root.addProgress(to: parent, pendingUnitCount: 1_000)
            for number in 0..<1_000 {
                let captured = Tracked(alive: alive, freed: freed)
                let inner = GroupOperation<Int>(limit: 4)
                for _ in 0..<10 {
                    try inner.add(
                        AsyncOperation { completion in
                            captured.touch()
                            completion.progress.totalUnitCount = 3
                            for count in 1...3 { completion.progress.completedUnitCount = Int64(count) }
                            completion.succeed(number)
                        }
                    )
                }
                try root.add(other: inner)
            }
            queue.enqueue(root)
            var last = 0.0
            while !root.isFinished {
                let fraction = root.fractionCompleted
                #expect(fraction >= last - 1e-6 && fraction <= 1)
                last = fraction
                await Task.yield()
            }
            await eventually("all parts are done") { root.fractionCompleted == 1 }
            #expect(parent.isFinished && parent.completedUnitCount == 1_000)
        }
        await eventually("the tree is freed") { freed.value == 1_000 }
        #expect(alive.value == 1_000)
    }

    @Test func theGreatestPartIsTaken() async throws {
        let group = GroupOperation<Int>(name: "group")
        for number in 0..<3 { try group.add(AsyncOperation { number }, weight: 1 << 32) }
        group.start()
        #expect(try await group.value == [0, 1, 2])
    }

    @Test(.ownThreads, arguments: [-1, 1 << 32 + 1] as [Int64]) func aPartOutOfItsRangeIsReported(
        weight: Int64
    ) async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [weight] in
            try GroupOperation<Int>(name: "group").add(AsyncOperation { 1 }, weight: weight)
        }
        #expect(
            sentence(result).contains(
                "GroupOperation.add(\"group\"): weight: \(weight): a part is 0 to 4294967296"
            )
        )
    }

    @Test func aJobOfAGroupHasAProgressOfItsOwn() throws {
        let group = DispatchGroup()
        group.wrap("job") { (completion: Completion<Int>) in
            completion.progress.completedUnitCount = 1
            completion.succeed(1)
        }
        #expect(group.collect(Int.self, timeout: .seconds(30)).successes == [1])
    }
}
