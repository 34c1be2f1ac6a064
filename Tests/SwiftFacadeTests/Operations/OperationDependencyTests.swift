// SPDX-License-Identifier: Apache-2.0
//
// Dependencies: edges release in every order of events, nothing freed is touched, nothing unreferenced is kept.

import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockOperations

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationDependencyTests {
    let queue = OperationQueue()

    private func held(_ name: String) -> (operation: AsyncOperation<Int>, begun: Handshake) {
        let held = Held(name)
        // A dropped completion would fail the operation.
        held.operation.onFinish { _ in withExtendedLifetime(held) {} }
        return (held.operation, held.begun)
    }
    // contract: OperationState
    @Test(arguments: [false, true]) func anOperationWaitsForAllOfItsDependencies(removesFirst: Bool)
        async throws
    {
        let (one, oneBegun) = held("one")
        let (two, twoBegun) = held("two")
        let below = AsyncOperation<Int> { 3 }
        below.addDependency(one)
        below.addDependency(two)
        below.addDependency(two)
        #expect(below.dependencies == [one, two])
        queue.enqueue(one, two, below)
        await oneBegun.taken()
        await twoBegun.taken()
        if removesFirst {
            below.removeDependency(one)
            #expect(!below.isReady && below.dependencies == [two])
        }
        one.finish(.success(1))
        #expect(!below.isReady && below.state == .waiting)
        two.finish(.success(2))
        #expect(try await below.value == 3)
        #expect(below.dependencies.isEmpty, "a finished operation lets its dependencies go")
    }

    // Foundation for Linux does not count down here.
    @Test func removingAnUnfinishedDependencyReleases() async throws {
        let (above, begun) = held("above")
        let below = AsyncOperation<Int> { 2 }
        below.addDependency(above)
        queue.enqueue(above, below)
        await begun.taken()
        #expect(!below.isReady)
        below.removeDependency(above)
        #expect(below.isReady && below.dependencies.isEmpty)
        #expect(try await below.value == 2)
        above.finish(.success(1))
        below.removeDependency(above)
    }
    // contract: OperationAbandoned, OperationCancelled, OperationDeadlocked, OperationInputMissing
    @Test func aStepWithoutItsInputSaysSo() async throws {
        let (above, begun) = held("above")
        let below = above.then(name: "below") { $0 }
        queue.enqueue(above, below)
        await begun.taken()
        below.removeDependency(above)
        await #expect(throws: OperationInputMissing(operation: "below", upstream: "above")) {
            try await below.value
        }
        above.finish(.success(1))
    }

    /// Lets its dependency finish between Foundation's question and its use of the answer.
    // Operation is; the subclass adds only what it never changes.
    private final class Overtaken: AsyncOperation<Int>, @unchecked Sendable {
        let happen: @Sendable (_ isPosted: Bool) -> Void
        init(_ happen: @escaping @Sendable (Bool) -> Void) {
            self.happen = happen
            super.init()
        }
        override func execute() { finish(.success(1)) }
        override func willAnswer(isReady: Bool, isPosted: Bool) {
            if !isReady { happen(isPosted) }
            super.willAnswer(isReady: isReady, isPosted: isPosted)
        }
    }

    // adding thread                      finishing thread
    // asks isReady: false
    //                                    opens the gate; the queue has nothing to start
    // stores the old answer; asks again, and is answered true, but does not search again
    //
    // The first question shows Foundation a dependency, whose posting asks too.
    @Test(arguments: ["finishes", "is removed", "waits no more: cancelled"], [false, true])
    func whatBecomesReadyWhileItIsAddedIsStarted(how: String, inThePosting: Bool) async throws {
        let queue = queue
        let (above, begun) = held("above")
        queue.addOperation(above)
        await begun.taken()
        let added = VisibleMutex<Overtaken?>(nil)
        let below = Overtaken { isPosted in
            guard isPosted == inThePosting, let below = added.withLock({ $0.take() }) else { return }
            switch how {
            case "finishes": above.finish(.success(1))
            case "is removed": below.removeDependency(above)
            default: below.cancel()
            }
        }
        below.addDependency(above)
        added.withLock { $0 = below }
        let other = OperationQueue()
        other.addOperation(below)
        #expect(added.withLock { $0 == nil }, "it was asked while it was added")
        let outcome = try await below.wait(timeout: .seconds(10))
        above.finish(.success(1))
        #expect(outcome != nil, "it stays in its queue, ready")
    }

    // thread that asks                     thread that adds it to a queue
    // isReady: no; makes the proxy
    //                                      the queue asks: the proxy is not shown yet
    // shows the proxy to Foundation
    @Test func whatIsAskedWhileItIsAddedWaitsForItsDependencies() {
        for _ in 0..<2_000 {
            let above = AsyncOperation<Int> { 1 }
            let isFree = Atomic<Bool>(false)
            let below = AsyncOperation<Bool> { isFree.load(ordering: .acquiring) }
            below.addDependency(above)
            let other = OperationQueue()
            onThreads(2) { thread in
                if thread == 0 { _ = below.isReady } else { other.addOperation(below) }
            }
            isFree.store(true, ordering: .releasing)
            above.start()
            below.waitUntilFinished()
            #expect((try? below.result?.get()) == true)
        }
    }

    @Test func whatWaitsASecondTimeIsStarted() async throws {
        let (above, second) = (AsyncOperation<Int> { 1 }, AsyncOperation<Int> { 1 })
        let below = AsyncOperation<Int> { 2 }
        below.onChange { _ in }
        below.addDependency(above)
        #expect(!below.isReady)
        above.start()
        #expect(below.isReady)
        below.addDependency(second)
        let other = OperationQueue()
        other.addOperation(below)
        second.start()
        #expect(try await below.wait(timeout: .seconds(20))?.get() == 2, "it stays in its queue, ready")
    }

    /// Counts the questions of its own postings.
    // Operation is; the subclass adds only what it never changes.
    private final class Counting: AsyncOperation<Int>, @unchecked Sendable {
        let posted = Counter()
        override func execute() { finish(.success(1)) }
        override func willAnswer(isReady: Bool, isPosted: Bool) {
            if isPosted { posted.increment() }
            super.willAnswer(isReady: isReady, isPosted: isPosted)
        }
    }

    @Test func whatIsReadyInASuspendedQueueIsNotPostedForEver() async throws {
        let above = AsyncOperation<Int> { 1 }
        let below = Counting()
        below.addDependency(above)
        let other = OperationQueue()
        other.isSuspended = true
        other.addOperation(below)
        above.start()
        try await Task.sleep(for: .milliseconds(100))
        #expect(below.posted.value < 10)
        other.isSuspended = false
        #expect(try await below.value == 1)
    }

    // A queue that holds it, and has its answer yes, has to see the edge.
    @Test(.ownThreads) func aDependencyAddedInASuspendedQueueIsWaitedFor() async {
        await #expect(processExitsWith: .success) {
            let other = OperationQueue()
            other.isSuspended = true
            let above = AsyncOperation<Int> { 1 }
            let below = AsyncOperation<Int> { 2 }
            other.addOperation(below)
            below.addDependency(above)
            other.isSuspended = false
            if try await below.wait(timeout: .milliseconds(200)) != nil { exit(1) }
            above.start()
            exit(try await below.wait(timeout: .seconds(20)) == nil ? 2 : 0)
        }
    }

    // thread that opens the last gate      thread that starts it by hand
    // takes the proxy out of the record
    //                                      sees `.ready`; starts: Foundation still counts the proxy
    // opens the proxy
    @Test(.ownThreads) func whatIsReadyMayBeStartedBeforeFoundationKnows() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<2_000 {
                let above = AsyncOperation<Int> { 1 }
                let below = AsyncOperation<Int> { 2 }
                below.addDependency(above)
                _ = below.isReady
                onThreads(2) { thread in
                    if thread == 0 { return above.start() }
                    while below.state != .ready {}
                    below.start()
                }
            }
            exit(0)
        }
    }

    // MARK: Operations of other kinds

    @Test func anOperationOfAnotherKindReleasesWhatWaitsForIt() async throws {
        let goOn = Handshake()
        let above = BlockOperation { goOn.take() }
        let below = AsyncOperation<Int> { 1 }
        below.addDependency(above)
        queue.enqueue(above, below)
        #expect(!below.isReady && below.dependencies == [above])
        goOn.give()
        #expect(try await below.value == 1)
        let late = AsyncOperation<Int> { 2 }
        late.addDependency(above)
        #expect(late.isReady)
    }

    @Test func anOperationOfAnotherKindIsReleasedByWhatItWaitsFor() async throws {
        let (above, begun) = held("above")
        let ran = Handshake()
        let below = BlockOperation { ran.give() }
        below.addDependency(above)
        queue.enqueue(above, below)
        await begun.taken()
        #expect(!below.isReady)
        above.finish(.success(1))
        await ran.taken()
    }

    // MARK: Lifetimes

    // Foundation for Linux follows an unretained pointer to each dependent here.
    @Test func aDependentThatIsGoneIsNotTouched() async throws {
        for _ in 0..<50 {
            let (above, begun) = held("above")
            let freed = Counter()
            do {
                let captured = Tracked(freed: freed)
                let dropped = AsyncOperation<Int> {
                    captured.touch()
                    return 1
                }
                dropped.addDependency(above)
            }
            #expect(freed.value == 1, "a dependent that nothing wants is freed at once")
            queue.addOperation(above)
            await begun.taken()
            above.finish(.success(1))
        }
    }

    @Test func aDependentThatWasCancelledAndIsDoneIsNotTouched() async throws {
        for _ in 0..<50 {
            let (above, begun) = held("above")
            queue.addOperation(above)
            await begun.taken()
            weak var seen: AsyncOperation<Int>?
            do {
                let below = AsyncOperation<Int> { 1 }
                below.addDependency(above)
                queue.addOperation(below)
                below.cancel()
                seen = below
                _ = try await below.wait()
            }
            let box = WeakBox(seen)
            await eventually("a cancelled operation is freed before its dependency ends") {
                box.object == nil
            }
            above.finish(.success(1))
        }
    }

    @Test func aFinishedChainKeepsOnlyWhatIsHeld() async throws {
        let freed = Counter()
        let first = VisibleMutex<AsyncOperation<Tracked>?>(AsyncOperation { Tracked(freed: freed) })
        let last = first.withLock { $0! }.then { captured in
            captured.touch()
            return 1
        }
        queue.addOperation(first.withLock { $0! })
        queue.addOperation(last)
        _ = try await last.value
        first.withLock { $0 = nil }
        await eventually("the last step does not keep the first one's output") { freed.value == 1 }
    }

    @Test func aLongChainRunsInOrder() async throws {
        let length = 1000
        var chain = [AsyncOperation<Int> { 0 }]
        for _ in 1..<length {
            chain.append(chain[chain.count - 1].then { $0 + 1 })
        }
        for operation in chain { queue.addOperation(operation) }
        #expect(try await chain[length - 1].value == length - 1)
    }

    // MARK: Cycles

    static func numbered(_ numbers: [Int]) -> [Int: AsyncOperation<Int>] {
        Dictionary(
            uniqueKeysWithValues: numbers.map { number in
                (number, AsyncOperation<Int>(name: "\(number)") { number })
            }
        )
    }

    @Test(.ownThreads) func aCycleIsNamedWhenItsLastEdgeIsAdded() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            let operation = OperationDependencyTests.numbered([2, 3, 5])
            operation[2]!.addDependency(operation[5]!)
            operation[5]!.addDependency(operation[3]!)
            try FileHandle.standardError.write(contentsOf: Data("two edges are fine\n".utf8))
            operation[3]!.addDependency(operation[2]!)
        }
        let text = sentence(result)
        #expect(text.hasPrefix("two edges are fine\n"))
        #expect(text.contains("interlock: Operation.addDependency(\"3\"): waiting for \"2\" closes a cycle"))
        #expect(text.contains("\"3\" → \"2\" → \"5\" → \"3\""))
    }

    // One unfinished operation of another kind, and a chain that begins with a wait for it.
    @Test(.ownThreads) func oneWaitForAnotherKindLeavesEachFurtherEdgeCheap() async {
        await #expect(processExitsWith: .success) {
            let foreign = BlockOperation {}
            var chain = [AsyncOperation<Int> { 0 }]
            chain[0].addDependency(foreign)
            for _ in 0..<2000 { chain.append(chain[chain.count - 1].then { $0 + 1 }) }
            let visited = DependencyGraph.lock.withLock { $0.visited }
            exit(visited < 3 * 2000 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test(.ownThreads) func whatWasWaitedForIsForgottenWithItsLastWaiter() async {
        await #expect(processExitsWith: .success) {
            let waiting = AsyncOperation<Int> { 1 }
            var most = 0
            func waits(for foreign: Operation, _ end: (Operation) -> Void) {
                waiting.addDependency(foreign)
                end(foreign)
                most = max(most, DependencyGraph.lock.withLock { $0.foreign.count })
            }
            for _ in 0..<100 {
                waits(for: BlockOperation {}) { $0.start() }
                waits(for: BlockOperation {}, waiting.removeDependency)
                AsyncOperation<Int> { 2 }.addDependency(BlockOperation {})
            }
            exit(most < 50 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    // In a process of its own: the count is of all graphs.
    @Test(.ownThreads) func operationsOfOtherKindsCostAnEdgeElsewhereNothing() async {
        await #expect(processExitsWith: .success) {
            var pairs: [Operation] = []
            for _ in 0..<2000 {
                let (above, below) = (BlockOperation {}, AsyncOperation<Int> { 0 })
                below.addDependency(above)
                pairs += [above, below, below.then { $0 + 1 }]
            }
            let visited = DependencyGraph.lock.withLock { $0.visited }
            exit(visited < 3 * 2000 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test(.ownThreads) func whatHasLeftBelowAnotherKindLeavesNothingToItsSuccessor() async {
        await #expect(processExitsWith: .success) {
            let (foreign, waiting) = (BlockOperation {}, AsyncOperation<Int> { 0 })
            waiting.addDependency(foreign)
            func visited() -> Int { DependencyGraph.lock.withLock { $0.visited } }
            for _ in 0..<100 { AsyncOperation<Int> { 0 }.addDependency(waiting) }
            let before = visited()
            // These get the numbers of those that have gone.
            var chain = [AsyncOperation<Int> { 0 }]
            for _ in 0..<100 { chain.append(chain[chain.count - 1].then { $0 + 1 }) }
            exit(before >= 100 && visited() == before ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func everyWaiterForAnotherKindIsKnownHoweverManyCameAndWent() {
        let foreign = BlockOperation {}
        let waiting = (0..<3).map { _ in AsyncOperation<Int> { 0 } }
        for operation in waiting { operation.addDependency(foreign) }
        let last = AsyncOperation<Int> { 0 }
        foreign.addDependency(last)
        // Enough for the parts of the graph to be told apart anew.
        for _ in 0..<1000 { AsyncOperation<Int> { 0 }.addDependency(BlockOperation {}) }
        for operation in waiting { #expect(last.pathClosed(by: operation)?.count == 3) }
        foreign.removeDependency(last)
    }

    // What waits for other kinds ends, still waiting, while the parts of the graph are told apart anew.
    @Test func waitersForAnotherKindMayEndWhileOthersCome() async {
        let foreign = (0..<500).map { _ in BlockOperation {} }
        let late = VisibleMutex<[AsyncOperation<Int>]>([])
        let isOver = VisibleMutex(false)
        let rounds = repetitions(3_000, underThreadSanitizer: 1_000)
        await blocking {
            onThreads(2) { thread in
                if thread == 0 {
                    for round in 0..<rounds {
                        let waiting = AsyncOperation<Int> { 1 }
                        waiting.addDependency(foreign[round % foreign.count])
                        late.withLock { $0.append(waiting) }
                    }
                    isOver.withLock { $0 = true }
                } else {
                    while true {
                        let hasEnded = isOver.withLock { $0 }
                        let taken = late.withLock { late in
                            defer { late = [] }
                            return late
                        }
                        for operation in taken {
                            operation.cancel()
                            operation.start()
                        }
                        if taken.isEmpty, hasEnded { return }
                    }
                }
            }
        }
        for operation in foreign { operation.start() }
        #expect(DependencyGraph.lock.withLock { $0.foreign.count } < 10_000)
    }

    // Random graphs of both kinds: an edge is refused exactly where a full search finds a path.
    @Test(arguments: 1...24 as ClosedRange<UInt64>) func theShortCheckAgreesWithTheWholeSearch(seed: UInt64) {
        var random = SplitMix(state: seed)
        var operations: [Operation] = []
        for step in 0..<300 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0 where operations.count < 60: operations.append(AsyncOperation<Int> { 1 })
            case 1 where operations.count < 60: operations.append(BlockOperation {})
            case 2 where step.isMultiple(of: 7):
                // Finishes one that waits for nothing.
                let free = operations.filter { $0.isReady && !$0.isFinished }
                free.randomElement(using: &random)?.start()
            case 3 where step.isMultiple(of: 3):
                // Removes an edge.
                guard let below = operations.randomElement(using: &random), !below.isFinished else {
                    continue
                }
                below.dependencies.randomElement(using: &random).map(below.removeDependency)
            case 4 where step.isMultiple(of: 5):
                // Lets one go; what waits for it keeps it. Foundation would use one of its own after its end.
                let own = operations.indices.filter { operations[$0] is AsyncOperation<Int> }
                own.randomElement(using: &random).map { _ = operations.remove(at: $0) }
            default:
                guard let below = operations.randomElement(using: &random),
                    let above = operations.randomElement(using: &random), !below.isFinished
                else { continue }
                var walk = DependencyGraph.Walk()
                let closes = DependencyGraph.path(from: above, to: below, &walk) != nil
                if let gated = below as? AsyncOperation<Int> {
                    #expect((gated.pathClosed(by: above) != nil) == closes, "seed \(seed), step \(step)")
                }
                if !closes { below.addDependency(above) }
            }
        }
    }

    @Test func aCycleMayBeAskedFor() throws {
        let operation = Self.numbered([2, 3, 5, 7])
        operation[2]!.addDependency(operation[5]!)
        operation[5]!.addDependency(operation[3]!)
        operation[7]!.addDependency(operation[3]!)
        #expect(operation[2]!.cycle(byDependingOn: operation[3]!) == nil)
        #expect(operation[7]!.cycle(byDependingOn: operation[2]!) == nil)
        let cycle = try #require(operation[3]!.cycle(byDependingOn: operation[2]!))
        #expect(cycle.map(\.name) == ["3", "2", "5", "3"])
        operation[2]!.removeDependency(operation[5]!)
        #expect(operation[3]!.cycle(byDependingOn: operation[2]!) == nil)
    }
}
