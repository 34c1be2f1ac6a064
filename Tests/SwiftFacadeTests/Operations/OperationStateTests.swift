// SPDX-License-Identifier: Apache-2.0
//
// One operation from start to finish: when it finishes, what it announces, what it frees; each once.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

/// A clock that runs code of a user when it is released.
private struct ReleasedClock: Clock {
    let release: AtRelease

    var now: ManualClock.Instant { ManualClock.Instant() }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {}
}

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationStateTests {
    let queue = OperationQueue()

    // queue            test
    // start, returns
    //                  sees: executing, not finished
    //                  completes
    // finished
    @Test func finishesWhenTheCallbackFiresAndNotWhenStartReturns() async throws {
        let held = Held()
        let operation = held.operation
        queue.maxConcurrentOperationCount = 1
        queue.addOperation(operation)
        await held.begun.taken()
        #expect(operation.isExecuting && !operation.isFinished && operation.result == nil)
        #expect(operation.state == .executing)
        let completion = try #require(held.completion)
        #expect(completion.succeed(7))
        #expect(operation.isFinished && !operation.isExecuting)
        #expect(operation.state == .finished)
        #expect(!completion.succeed(8) && !operation.finish(.success(9)))
        #expect(try await operation.value == 7)
    }

    // finishing thread:  decides                                ends the operation
    // starting thread:             comes to the work, frees it
    @Test(.ownThreads) func workThatComesTooLateIsFreedUnderNoLock() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let (seen, states) = (Trace<AsyncOperation<Int>>(), Trace<OperationState>())
            func make() -> AsyncOperation<Int> {
                let release = AtRelease { for operation in seen.events { states.add(operation.state) } }
                return AsyncOperation { withExtendedLifetime(release) { 1 } }
            }
            let operation = make()
            seen.add(operation)
            _ = operation.record.withLock { $0.decide(.failure(JobFailure())) }
            operation.execute()
            exit(states.events.count == 1 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test(.ownThreads) func clocksThatAreReplacedAreFreedUnderNoLock() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let states = Trace<OperationState>()
            let operation = AsyncOperation<Int> { 1 }
            for _ in 0..<2 {
                func clock() -> ReleasedClock { .init(release: AtRelease { states.add(operation.state) }) }
                operation.delay(by: .zero, clock: clock()).timeOut(after: .seconds(1), clock: clock())
            }
            exit(states.events.count == 2 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    // The handler of `.ready` holds up the thread that makes the operation ready.
    // contract: OperationEvent
    @Test func readinessIsAnnouncedBeforeTheBeginning() async throws {
        let (begun, observed) = (Handshake(), Handshake())
        let early = Counter()
        let above = AsyncOperation<Int> { 1 }
        let below = AsyncOperation<Int> {
            begun.give()
            return 2
        }
        below.addDependency(above)
        below.onChange { [weak below] event in
            guard event == .ready else { return }
            #expect(below?.state == .ready)
            if begun.isGiven(within: 0.2) { early.increment() }
            observed.give()
        }
        queue.addOperation(below)
        OperationQueue().addOperation(above)
        #expect(try await below.value == 2)
        await observed.taken()
        #expect(early.value == 0)
    }
    // contract: OperationEvent
    @Test(arguments: [false, true])
    func whatIsEnqueuedWhileItsReadinessIsAnnouncedBeginsAfterThat(isOurs: Bool) async throws {
        let (begun, ours, other) = (Handshake(), InterlockQueue(), OperationQueue())
        let above = AsyncOperation<Int> { 1 }
        let below = AsyncOperation<Int> {
            begun.give()
            return 2
        }
        below.addDependency(above)
        let (early, events) = (Counter(), Trace<OperationEvent>())
        below.onChange { [weak below] event in
            guard event == .ready, let below else { return }
            if isOurs { ours.enqueue(below) } else { other.addOperation(below) }
            if begun.isGiven(within: 0.1) { early.increment() }
        }
        below.onChange { events.add($0) }
        above.start()
        #expect(try await below.value == 2)
        #expect(early.value == 0 && Array(events.events.prefix(2)) == [.ready, .executing])
    }

    /// `below` waits for `above` in a queue. While its first `.ready` is announced, `change` is called, and its work
    /// must not begin.
    private struct Announced {
        let begun = Handshake(), early = Counter(), calls = Counter()
        let ours = InterlockQueue(), other = OperationQueue()
        let above = AsyncOperation<Int> { 1 }
        let below: AsyncOperation<Int>

        init(isOurs: Bool, _ change: @escaping @Sendable (_ below: AsyncOperation<Int>) -> Void) {
            below = AsyncOperation<Int> { [begun] in
                begun.give()
                return 2
            }
            below.addDependency(above)
            below.onChange { [begun, early, calls, weak below] event in
                guard event == .ready, let below, calls.increment() == 1 else { return }
                change(below)
                if begun.isGiven(within: 0.2) { early.increment() }
            }
            if isOurs { ours.enqueue(below) } else { other.addOperation(below) }
            above.start()
        }

        func expectToEnd() async throws {
            #expect(try await below.wait(timeout: .seconds(20))?.get() == 2)
            #expect(early.value == 0)
        }
    }

    // The dependency ends before the handler does: two announcements are under way.
    @Test(arguments: [false, true])
    func anAnnouncementWithinAnotherDoesNotEndIt(isOurs: Bool) async throws {
        let second = AsyncOperation<Int> { 1 }
        let announced = Announced(isOurs: isOurs) { below in
            below.addDependency(second)
            second.start()
        }
        try await announced.expectToEnd()
        #expect(announced.calls.value == 2)
    }

    // One that had finished, or one that has not.
    @Test(arguments: [false, true], [false, true])
    func aDependencyAddedWhileReadinessIsAnnouncedIsWaitedFor(isOurs: Bool, hasFinished: Bool) async throws {
        let late = AsyncOperation<Int> { 1 }
        if hasFinished { late.start() }
        let announced = Announced(isOurs: isOurs) { $0.addDependency(late) }
        if !hasFinished {
            if announced.begun.isGiven(within: 0.2) { announced.early.increment() }
            late.start()
        }
        try await announced.expectToEnd()
    }

    @Test(arguments: [false, true])
    func aHandlerOfItsReadinessMayStartIt(wasAsked: Bool) throws {
        let (above, below) = (AsyncOperation<Int> { 1 }, AsyncOperation<Int> { 2 })
        below.addDependency(above)
        if wasAsked { #expect(!below.isReady) }
        below.onChange { [weak below] event in if event == .ready { below?.start() } }
        above.start()
        #expect(try below.result?.get() == 2)
    }

    /// Finishes what else is waited for when it is asked whether it has finished itself.
    // Operation is; the subclass adds only what it never changes.
    private final class Ending: Operation, @unchecked Sendable {
        let above: AsyncOperation<Int>, below: AsyncOperation<Int>
        init(_ above: AsyncOperation<Int>, _ below: AsyncOperation<Int>) {
            (self.above, self.below) = (above, below)
            super.init()
        }
        override var isFinished: Bool {
            if below.dependencies.contains(self) { above.start() }
            return true
        }
    }

    // What it waited for ends while an edge is added to what has finished: that gate is the last.
    @Test func readinessIsAnnouncedThoughTheLastGateHadNothingToWaitFor() {
        let (above, below) = (AsyncOperation<Int> { 1 }, AsyncOperation<Int> { 2 })
        let trace = Trace<OperationEvent>()
        below.onChange { trace.add($0) }
        below.addDependency(above)
        below.addDependency(Ending(above, below))
        #expect(trace.events == [.ready])
    }

    // contract: OperationEvent
    @Test func readinessIsAnnouncedOnceHoweverManyDependenciesEndAtOnce() async throws {
        for _ in 0..<500 {
            let above = (0..<3).map { number in AsyncOperation<Int> { number } }
            let below = AsyncOperation<Int> { 3 }
            for operation in above { below.addDependency(operation) }
            let trace = Trace<OperationEvent>()
            below.onChange { trace.add($0) }
            #expect(below.state == .waiting)
            for operation in above + [below] { queue.addOperation(operation) }
            _ = try await below.value
            // The value may be read before the end's handlers have run.
            await eventually("the end is announced") { trace.events.last == .finished }
            #expect(trace.events == [.ready, .executing, .finished])
        }
    }

    @Test func whatNeverHadToWaitIsNotAnnouncedAsReady() async throws {
        let above = AsyncOperation<Int> { 1 }.enqueued(on: queue)
        let block = BlockOperation {}
        block.start()
        _ = try await above.value
        let below = AsyncOperation<Int> { 2 }
        let trace = Trace<OperationEvent>()
        below.onChange { trace.add($0) }
        below.addDependency(above)
        below.addDependency(block)
        #expect(below.state == .ready && below.isReady)
        queue.addOperation(below)
        #expect(try await below.value == 2)
        await eventually("the end is announced") { trace.events.last == .finished }
        #expect(trace.events == [.executing, .finished])
    }
    // contract: OperationEvent
    @Test func aCancellationOnTheWayIsAnnouncedOnce() async throws {
        let held = Held()
        let operation = held.operation
        let trace = Trace<OperationEvent>()
        operation.onChange { trace.add($0) }
        #expect(operation.state == .ready)
        queue.addOperation(operation)
        await held.begun.taken()
        operation.cancel()
        operation.cancel()
        #expect(trace.events == [.executing, .cancelled, .finished])
    }
    @Test func whatIsFinishedBeforeItsStartIsRecordedAndItsWorkNeverRuns() async throws {
        let ran = Counter()
        let operation = AsyncOperation<Int> { ran.increment() }
        #expect(operation.finish(.success(42)))
        #expect(!operation.finish(.success(43)))
        #expect(!operation.isFinished && !operation.isExecuting)
        queue.addOperation(operation)
        #expect(try await operation.value == 42)
        #expect(operation.isFinished && ran.value == 0)
    }
    // contract: Completion, OperationAbandoned, OperationCancelled, OperationDeadlocked
    // contract: OperationInputMissing
    @Test func aDroppedCompletionFailsTheOperation() async throws {
        let operation = AsyncOperation<Int>(name: "forgetful") { (_: Completion<Int>) in }
        queue.addOperation(operation)
        await #expect(throws: OperationAbandoned(operation: "forgetful")) { try await operation.value }
    }

    @Test func aSubclassFinishesWhenItSays() async throws {
        // Operation is; the subclass adds only what it never changes.
        final class Doubling: AsyncOperation<Int>, @unchecked Sendable {
            let input: Int
            init(_ input: Int) {
                self.input = input
                super.init()
            }
            override func execute() {
                DispatchQueue.global().async { [self] in finish(.success(input * 2)) }
            }
        }
        let operation = Doubling(21)
        queue.addOperation(operation)
        #expect(try await operation.value == 42)
    }

    @Test func theThreeClosureFormsAndTheirErrors() async throws {
        let block = AsyncOperation<String> { "block" }.enqueued(on: queue)
        let task = AsyncOperation<String> {
            await Task.yield()
            return "task"
        }.enqueued(on: queue)
        let handler = AsyncOperation<String> { completion in completion.succeed("handler") }.enqueued(
            on: queue
        )
        #expect(try await [block.value, task.value, handler.value] == ["block", "task", "handler"])
        let failing = AsyncOperation<String> { throw JobFailure() }.enqueued(on: queue)
        let failingTask = AsyncOperation<String> {
            await Task.yield()
            throw JobFailure()
        }.enqueued(on: queue)
        let failingHandler = AsyncOperation<String> { completion in completion.fail(JobFailure()) }.enqueued(
            on: queue
        )
        await #expect(throws: JobFailure()) { try await failing.value }
        await #expect(throws: JobFailure()) { try await failingTask.value }
        await #expect(throws: JobFailure()) { try await failingHandler.value }
    }

    // MARK: Lifetimes

    @Test(arguments: [false, true]) func capturesOfTheWorkAreFreedWhenItHasRunOrNeverWill(isCancelled: Bool)
        async throws
    {
        let freed = Counter()
        let operation = {
            let captured = Tracked(freed: freed)
            return AsyncOperation<Int> {
                captured.touch()
                return 1
            }
        }()
        if isCancelled { operation.cancel() }
        queue.addOperation(operation)
        #expect(try await operation.wait().isCancelled == isCancelled)
        await eventually("the closure is freed while the operation is kept") { freed.value == 1 }
        #expect(operation.isFinished)
    }

    @Test func hooksRunOnceAndAreFreed() async throws {
        let freed = Counter()
        let ran = Counter()
        let operation = AsyncOperation<Int> { 1 }
        do {
            let captured = Tracked(freed: freed)
            operation.onFinish { _ in
                captured.touch()
                ran.increment()
            }
            operation.onChange { _ in captured.touch() }
            operation.onCancel { captured.touch() }
        }
        #expect(freed.value == 0)
        queue.addOperation(operation)
        _ = try await operation.value
        await eventually("the hooks are freed while the operation is kept") { freed.value == 1 }
        operation.onFinish { _ in ran.increment() }
        #expect(ran.value == 2)
    }

    @Test func hooksOfTheEndRunInTheirOrder() async throws {
        let (operation, trace) = (AsyncOperation<Int> { 1 }, Trace<Int>())
        for number in 0..<3 { operation.onFinish { _ in trace.add(number) } }
        operation.start()
        #expect(trace.events == [0, 1, 2])
        let queue = InterlockQueue()
        queue.suspend()
        let (job, ofJob) = (queue.job { 1 }, Trace<Int>())
        for number in 0..<3 { job.onFinish { _ in ofJob.add(number) } }
        queue.resume()
        _ = try await job.value
        await eventually("all hooks have run") { ofJob.events.count == 3 }
        #expect(ofJob.events == [0, 1, 2])
    }

    @Test func aFinishedOperationIsFreed() async throws {
        weak var seen: AsyncOperation<Int>?
        do {
            let operation = AsyncOperation<Int> { completion in completion.succeed(1) }
            seen = operation
            queue.addOperation(operation)
            _ = try await operation.value
        }
        let box = WeakBox(seen)
        await eventually("nothing keeps a finished operation") { box.object == nil }
    }

    // MARK: Waiting

    @Test func waitingGivesUpInTimeAndLeavesNothingBehind() async throws {
        let held = Held()
        let operation = held.operation
        queue.addOperation(operation)
        await held.begun.taken()
        let none = await blocking { operation.wait(timeout: .milliseconds(20)) }
        #expect(none == nil)
        let late = await blocking { operation.wait(until: .now + .milliseconds(20)) }
        #expect(late == nil)
        // A moment without a duration to now.
        let past = ContinuousClock.now.advanced(by: .seconds(-1_000_000_000))
        #expect(await blocking { operation.wait(until: past) } == nil)
        #expect(try await operation.wait(until: past) == nil)
        #expect(try await operation.wait(timeout: .milliseconds(20)) == nil)
        #expect(operation.record.withLock { $0.hookCount } == 0)
        held.end(5)
        #expect(try await blocking { operation.wait() }.get() == 5)
        #expect(try await operation.wait(timeout: .zero)?.get() == 5)
    }

    @Test func aCancelledWaitThrowsAndTheOperationGoesOn() async throws {
        let held = Held()
        let operation = held.operation
        queue.addOperation(operation)
        await held.begun.taken()
        let waiter = Task { try await operation.value }
        let early = Task {
            await untilCancelled()
            return try await operation.value
        }
        waiter.cancel()
        early.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(operation.isExecuting && !operation.isCancelled)
        held.end(5)
        #expect(try await operation.value == 5)
    }
}

// Unchecked because a weak reference may be loaded from any thread and is set in `init` only.
final class WeakBox: @unchecked Sendable {
    private(set) weak var object: AnyObject?
    init(_ object: AnyObject?) { self.object = object }
}
