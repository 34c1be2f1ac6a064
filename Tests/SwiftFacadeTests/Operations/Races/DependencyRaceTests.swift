// SPDX-License-Identifier: Apache-2.0
//
// Edges and queues under races, 10,000 of each: an operation is released once however its dependencies end, are removed
// or go; a queue that is dropped runs what is in it.

import Foundation
import Testing

import Interlock

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct DependencyRaceTests {
    /// Two executing operations and one that waits for both.
    private final class Pair: Sendable {
        let (first, second) = (held(), held())
        let below: AsyncOperation<Int>
        let (ran, early) = (Counter(), Counter())
        let events = Trace<OperationEvent>()

        init(removes: Bool) {
            let (ran, early) = (ran, early)
            below = AsyncOperation { [first, second] in
                if !first.isFinished || !removes && !second.isFinished { early.increment() }
                return ran.increment()
            }
            for above in [first, second] {
                below.addDependency(above)
                above.start()
            }
            below.onChange { [events] in events.add($0) }
        }

        /// Without work that ends; finished by a racer.
        static func held() -> AsyncOperation<Int> { GraphSubclass("held") { _ in } }

        func complaints() -> [String] {
            let result = below.wait(timeout: .seconds(Handshake.limit))
            defer { for above in [first, second] { above.finish(.success(0)) } }
            guard result != nil else { return ["it is not released: \(below.state)"] }
            // The value may be read before the end's handlers have run.
            _ = eventually { events.events.last == .finished }
            var wrong: [String] = []
            if ran.value != 1 { wrong.append("run \(ran.value) times") }
            if early.value != 0 { wrong.append("begun before what it waits for had finished") }
            if events.events != [.ready, .executing, .finished] {
                wrong.append("announced \(events.events)")
            }
            return wrong
        }
    }

    @Test(arguments: QueueKind.all) func twoDependenciesEndWhileTheirDependentIsAdded(kind: QueueKind) async {
        let queue = kind.make(nil)
        await Race.run(
            Pair.self,
            make: { _ in Pair(removes: false) },
            racers: { $0.first.finish(.success(1)) },
            { $0.second.finish(.success(2)) },
            { queue.enqueue($0.below) },
            judge: { $0.complaints() }
        )
    }

    @Test(arguments: QueueKind.all) func aRemovalRacesWithTheEndOfADependency(kind: QueueKind) async {
        let queue = kind.make(nil)
        await Race.run(
            Pair.self,
            make: { _ in Pair(removes: true) },
            racers: { $0.first.finish(.success(1)) },
            { $0.below.removeDependency($0.second) },
            { queue.enqueue($0.below) },
            judge: { $0.complaints() }
        )
    }

    // One edge of two is removed as its dependency finishes.
    @Test(arguments: QueueKind.all) func anEdgeThatIsRemovedAsItsDependencyEndsReleasesOnce(kind: QueueKind)
        async
    {
        let queue = kind.make(nil)
        await Race.run(
            Pair.self,
            make: { _ in
                let pair = Pair(removes: true)
                queue.enqueue(pair.below)
                return pair
            },
            racers: { $0.second.finish(.success(2)) },
            { $0.below.removeDependency($0.second) },
            judge: { pair in
                let state = pair.below.state
                pair.first.finish(.success(1))
                return (state == .waiting ? [] : ["released by one edge of two"]) + pair.complaints()
            }
        )
    }

    // MARK: Dependents that come and go

    private final class Crossing: Sendable {
        let above = Pair.held()
        let dropped: VisibleMutex<AsyncOperation<Int>?>
        let late = VisibleBox<AsyncOperation<Int>>()
        let freed = Counter()

        init() {
            let captured = Tracked(freed: freed)
            let below = AsyncOperation<Int> {
                captured.touch()
                return 1
            }
            below.addDependency(above)
            above.start()
            dropped = VisibleMutex(below)
        }
    }

    // finishing thread:  opens its gates          dropping thread: the last reference to a dependent
    //                                             adding thread:   one more dependent
    @Test(arguments: QueueKind.all) func dependentsComeAndGoWhileADependencyEnds(kind: QueueKind) async {
        let queue = kind.make(nil)
        await Race.run(
            Crossing.self,
            make: { _ in Crossing() },
            racers: { $0.above.finish(.success(1)) },
            { crossing in
                let last = crossing.dropped.withLock { $0.take() }
                withExtendedLifetime(last) {}
            },
            { crossing in
                let late = crossing.above.then { $0 + 1 }
                queue.enqueue(late)
                crossing.late.value.withLock { $0 = late }
            },
            judge: { crossing in
                let late = crossing.late.value.withLock { $0 }
                let result = late?.wait(timeout: .seconds(Handshake.limit))
                return
                    (result?.isValue(2) == true ? [] : ["the late dependent ends with \(result as Any)"])
                    + (eventually { crossing.freed.value == 1 } ? [] : ["the dropped one is not freed"])
            }
        )
    }

    // MARK: Queues

    /// A queue that only this holds, and a chain in it whose head does not end by itself.
    private final class Teardown: Sendable {
        let queue: VisibleMutex<(any QueueUnderTest)?>
        let chain: [AsyncOperation<Int>]
        let hooks = Counter()
        let foreignRan = Handshake()

        init(_ kind: QueueKind) {
            let queue = kind.make(1)
            var chain: [AsyncOperation<Int>] = [Pair.held()]
            for _ in 0..<3 { chain.append(chain[chain.count - 1].then { $0 + 1 }) }
            for operation in chain { operation.onFinish { [hooks] _ in hooks.increment() } }
            let block = BlockOperation { [foreignRan] in foreignRan.give() }
            block.addDependency(chain[0])
            queue.enqueue(block)
            for operation in chain { queue.enqueue(operation) }
            self.chain = chain
            self.queue = VisibleMutex(queue)
        }
    }

    // The queue's owner drops it while its operations end and are cancelled.
    @Test(arguments: QueueKind.all) func aQueueThatIsDroppedRunsWhatIsInIt(kind: QueueKind) async {
        await Race.run(
            Teardown.self,
            make: { _ in Teardown(kind) },
            racers: { teardown in
                let queue = teardown.queue.withLock { $0.take() }
                withExtendedLifetime(queue) {}
            },
            { $0.chain[0].finish(.success(0)) },
            { $0.chain[2].cancel() },
            judge: { teardown in
                var wrong: [String] = []
                for (number, operation) in teardown.chain.enumerated() {
                    guard let result = operation.wait(timeout: .seconds(Handshake.limit)) else {
                        return ["\(number) has not finished: \(operation.state)"]
                    }
                    let isRight = result.isValue(number) || number >= 2 && result.isCancelled
                    if !isRight { wrong.append("\(number) ends with \(result)") }
                }
                teardown.foreignRan.take()
                let count = teardown.chain.count
                if !eventually({ teardown.hooks.value == count }) {
                    wrong.append("\(teardown.hooks.value) hooks")
                }
                return wrong
            }
        )
    }

    // What is added while all are cancelled ends, cancelled or not.
    @Test(arguments: QueueKind.all) func cancellingAllRacesWithAdding(kind: QueueKind) async {
        let queue = kind.make(2)
        await Race.run(
            [AsyncOperation<Int>].self,
            make: { round in (0..<3).map { number in AsyncOperation { round + number } } },
            racers: { for operation in $0 { queue.enqueue(operation) } },
            { _ in queue.cancelAll() },
            judge: { operations in
                operations.compactMap { operation in
                    guard let result = operation.wait(timeout: .seconds(Handshake.limit)) else {
                        return "it has not finished: \(operation.state)"
                    }
                    // A cancelled operation may have succeeded.
                    if result.isCancelled, !operation.isCancelled { return "it ends with \(result)" }
                    return nil
                }
            }
        )
        await blocking { queue.waitUntilEmpty() }
        #expect(queue.count == 0)
    }
}
