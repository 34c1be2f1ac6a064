// SPDX-License-Identifier: Apache-2.0
//
// Lifetimes, counted: of the operations, and of what their closures capture. None is left after a graph that was
// cancelled, that has run or that never ran; no step keeps itself; a chain of any length is freed on a small stack.

import Foundation
import Testing

import Interlock

private let graphSize = repetitions(10_000, underThreadSanitizer: 1_000)
private let chainLength = repetitions(100_000, underThreadSanitizer: 20_000)

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct OperationLifetimeTests {
    /// Lives as long as the operation.
    // Operation is; the subclass adds only what it never changes.
    private final class CountedOperation: AsyncOperation<Int>, @unchecked Sendable {
        private let life: Counted
        init(_ number: Int, _ counter: LifetimeCounter) {
            life = Counted(number, counter)
            super.init()
        }
        override func execute() { finish(.success(life.id)) }
    }

    enum End: CaseIterable { case neverRun, cancelledInTheQueue, cancelledBefore, run }

    /// A graph of 10,000: each node waits for up to three before it; every third captures.
    private static func graph(_ living: LifetimeCounter, seed: UInt64) -> [AsyncOperation<Int>] {
        var random = SplitMix(state: seed)
        var nodes: [AsyncOperation<Int>] = []
        for number in 0..<graphSize {
            let captured = Counted(number, living)
            let above =
                nodes.isEmpty ? nil : nodes[Int.random(in: max(0, number - 50)..<number, using: &random)]
            let node: AsyncOperation<Int>
            switch (number % 8, above) {
            case (_, nil), (0, _): node = CountedOperation(number, living)
            case (1, _): node = AsyncOperation { captured.id }
            case (2, _): node = AsyncOperation { completion in completion.succeed(captured.id) }
            case (3, let above?): node = above.then { $0 &+ captured.id }
            case (4, let above?): node = above.then { value async in value &+ captured.id }
            case (5, let above?):
                node = above.then { (_: Int, done: Completion<Int>) -> Void in done.succeed(captured.id) }
            case (6, let above?): node = above.recover { _ in captured.id }
            case (_, let above?): node = above.and(nodes[0]).then { $0.0 &+ captured.id }
            }
            for _ in 0..<2 where number > 0 {
                node.addDependency(nodes[Int.random(in: 0..<number, using: &random)])
            }
            node.onFinish { _ in _ = captured.id }
            node.onChange { _ in _ = captured.id }
            node.onCancel { _ = captured.id }
            nodes.append(node)
        }
        return nodes
    }

    @Test(arguments: QueueKind.all, End.allCases)
    func nothingIsLeftOfAGraphOfTenThousand(kind: QueueKind, end: End) async {
        let living = LifetimeCounter()
        await blocking {
            // Foundation's queue takes quadratic time in the operations that it holds.
            let queues = (0..<25).map { _ in kind.make(nil) }
            let nodes = Self.graph(living, seed: 14)
            // Above a node's own operation, where it is of two.
            let pairs = nodes.flatMap(\.dependencies).filter { $0 is AsyncOperation<(Int, Int)> }
            let all = nodes + pairs
            switch end {
            case .neverRun: return
            case .cancelledBefore: for operation in all { operation.cancel() }
            case .cancelledInTheQueue: for queue in queues { queue.suspend() }
            case .run: break
            }
            for (number, operation) in all.enumerated() { queues[number % queues.count].add(operation) }
            if end == .cancelledInTheQueue {
                for queue in queues {
                    queue.cancelAll()
                    queue.resume()
                }
            }
            for queue in queues { queue.waitUntilEmpty() }
            for node in nodes where !node.isFinished { Issue.record("a node has not finished") }
        }
        await eventually("nothing is left") { living.living == 0 }
        #expect(living.living == 0)
        #expect(living.total > graphSize)
    }

    // MARK: Steps

    enum Step: CaseIterable { case then, thenTask, thenHandler, flatMap, recover, and, all, dependency }

    /// A step of this kind below a counted operation; the step captures too.
    private static func step(_ step: Step, _ living: LifetimeCounter, _ queue: OperationQueue) -> [Operation]
    {
        let above = CountedOperation(1, living)
        let captured = Counted(2, living)
        let below: Operation =
            switch step {
            case .then: above.then { _ in captured.id }
            case .thenTask: above.then { _ async in captured.id }
            case .thenHandler:
                above.then { (_: Int, done: Completion<Int>) -> Void in done.succeed(captured.id) }
            case .flatMap:
                above.flatMap(on: queue) { (_: Int) -> AsyncOperation<Int> in
                    AsyncOperation { (completion: Completion<Int>) -> Void in
                        // The completion is kept past the end.
                        completion.onCancel { _ = captured.id }
                        completion.succeed(captured.id)
                    }
                }
            case .recover: above.recover { _ in captured.id }
            case .and: above.and(CountedOperation(3, living))
            case .all: AsyncOperation.all(of: [above, CountedOperation(3, living)])
            case .dependency: CountedOperation(3, living)
            }
        if step == .dependency { below.addDependency(above) }
        return below.dependencies + [below]
    }

    @Test(arguments: Step.allCases, End.allCases) func noStepKeepsItself(step: Step, end: End) async throws {
        let living = LifetimeCounter()
        let queue = OperationQueue()
        do {
            let operations = Self.step(step, living, queue)
            let last = WeakBox(operations.last)
            switch end {
            case .neverRun: break
            case .cancelledBefore: for operation in operations { operation.cancel() }
            case .cancelledInTheQueue, .run: break
            }
            if end != .neverRun {
                queue.isSuspended = end == .cancelledInTheQueue
                for operation in operations { queue.addOperation(operation) }
                if end == .cancelledInTheQueue { queue.cancelAllOperations() }
                queue.isSuspended = false
                try await OperationQueue.finished(operations)
            }
            #expect(last.object != nil)
        }
        await eventually("nothing is left of \(step)") { living.living == 0 }
        #expect(living.living == 0 && living.total > 1)
    }

    // MARK: Long chains

    enum Link: String, CaseIterable, Codable { case then, recover, dependency, and, flatMap }

    private static func link(_ link: Link, below last: AsyncOperation<Int>, _ queue: OperationQueue)
        -> AsyncOperation<Int>
    {
        switch link {
        case .then: return last.then { $0 &+ 1 }
        case .recover: return last.recover { _ in 0 }
        case .flatMap: return last.flatMap(on: queue) { value in AsyncOperation { value &+ 1 } }
        case .and: return last.and(last).then { $0.0 &+ 1 }
        case .dependency:
            let next = AsyncOperation<Int> { 1 }
            next.addDependency(last)
            return next
        }
    }

    // In a child, which an overflow ends.
    @Test(.ownThreads, arguments: Link.allCases) func aChainOfAHundredThousandNeverRunIsFreedOnASmallStack(
        link: Link
    )
        async
    {
        await #expect(processExitsWith: .success) { [link] in
            let living = LifetimeCounter()
            let queue = OperationQueue()
            TestThread {
                let captured = Counted(0, living)
                var last = AsyncOperation<Int> { captured.id }
                for _ in 0..<chainLength { last = OperationLifetimeTests.link(link, below: last, queue) }
            }.join()
            exit(living.total == 1 && living.living == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    // Started in order, by hand; only the last is held at the end.
    @Test(.ownThreads, arguments: [Link.then, .dependency, .recover])
    func aChainOfAHundredThousandThatRunsIsFreed(
        link: Link
    ) async {
        await #expect(processExitsWith: .success) { [link] in
            let living = LifetimeCounter()
            let queue = OperationQueue()
            TestThread {
                var chain = [AsyncOperation<Int> { 0 }]
                for number in 0..<chainLength {
                    let captured = Counted(number, living)
                    chain.append(OperationLifetimeTests.link(link, below: chain[number], queue))
                    chain[number].onFinish { _ in _ = captured.id }
                }
                for operation in chain { operation.start() }
                if !chain.allSatisfy(\.isFinished) { exit(2) }
            }.join()
            exit(living.total == chainLength && living.living == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    // Cancelled from the last to the first, each frees its edge to one that still waits. Where only the last is
    // cancelled, its end frees all that never run.
    @Test(.ownThreads) func aCancelledChainOfAHundredThousandIsFreed() async {
        await #expect(processExitsWith: .success) {
            let living = LifetimeCounter()
            TestThread {
                let captured = Counted(0, living)
                var chain = [AsyncOperation<Int> { captured.id }]
                for number in 0..<chainLength { chain.append(chain[number].then { $0 &+ 1 }) }
                for operation in chain.reversed() {
                    operation.cancel()
                    operation.start()
                }
                if !chain.allSatisfy(\.isFinished) { exit(2) }
            }.join()
            TestThread {
                let captured = Counted(1, living)
                var last = AsyncOperation<Int> { captured.id }
                for _ in 0..<chainLength { last = last.then { $0 &+ 1 } }
                last.cancel()
                last.start()
            }.join()
            exit(living.total == 2 && living.living == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// The operation's hook holds the node of the job that stands for it.
    @Test func aJobBehindAnOperationThatIsDroppedEndsWithThat() async {
        let queue = InterlockQueue(name: "queue")
        weak var node: JobNode?
        let below: Job<Int>
        do {
            let operation = AsyncOperation<Int>(name: "never") { 1 }
            let job = operation.asJob(in: queue)
            node = job.node
            below = job.then { $0 + 1 }
        }
        await #expect(throws: OperationAbandoned(operation: "never")) { try await below.value }
        #expect(await eventuallySuspending { node == nil && queue.count == 0 })
    }
}
