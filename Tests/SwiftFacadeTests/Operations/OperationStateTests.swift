// SPDX-License-Identifier: Apache-2.0
//
// One operation from start to finish: when it finishes, what it announces, what it frees; each once.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync

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
        let begun = Handshake()
        let kept = VisibleMutex<Completion<Int>?>(nil)
        let operation = AsyncOperation<Int> { completion in
            kept.withLock { $0 = completion }
            begun.give()
        }
        queue.maxConcurrentOperationCount = 1
        queue.addOperation(operation)
        await begun.taken()
        #expect(operation.isExecuting && !operation.isFinished && operation.result == nil)
        #expect(operation.state == .executing)
        let completion = try #require(kept.withLock { $0 })
        #expect(completion.succeed(7))
        #expect(operation.isFinished && !operation.isExecuting)
        #expect(operation.state == .finished)
        #expect(try await operation.value == 7)
    }

    // finishing thread:  decides                                ends the operation
    // starting thread:             comes to the work, frees it
    @Test func workThatComesTooLateIsFreedUnderNoLock() async {
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

    @Test func clocksThatAreReplacedAreFreedUnderNoLock() async {
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
    // contract: OperationEvent
    @Test func eachChangeIsAnnouncedOnceAndInOrder() async throws {
        let above = AsyncOperation<Int> { 1 }
        let operation = AsyncOperation<Int> { 2 }
        operation.addDependency(above)
        let trace = Trace<OperationEvent>()
        operation.onChange { trace.add($0) }
        #expect(operation.state == .waiting)
        queue.enqueue(above, operation)
        _ = try await operation.value
        // The value may be read before the end's handlers have run.
        await eventually("the end is told") { trace.events.last == .finished }
        #expect(trace.events == [.ready, .executing, .finished])
    }

    // The handler of `.ready` holds up the thread that makes the operation ready.
    // contract: OperationEvent
    @Test func readinessIsToldBeforeTheBeginning() async throws {
        let (begun, told) = (Handshake(), Handshake())
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
            told.give()
        }
        queue.addOperation(below)
        OperationQueue().addOperation(above)
        #expect(try await below.value == 2)
        await told.taken()
        #expect(early.value == 0)
    }
    // contract: OperationEvent
    @Test func readinessIsToldOnceHoweverManyDependenciesEndAtOnce() async throws {
        for _ in 0..<500 {
            let above = (0..<3).map { number in AsyncOperation<Int> { number } }
            let below = AsyncOperation<Int> { 3 }
            for operation in above { below.addDependency(operation) }
            let trace = Trace<OperationEvent>()
            below.onChange { trace.add($0) }
            for operation in above + [below] { queue.addOperation(operation) }
            _ = try await below.value
            // The value may be read before the end's handlers have run.
            await eventually("the end is told") { trace.events.last == .finished }
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
        #expect(below.state == .ready)
        queue.addOperation(below)
        _ = try await below.value
        await eventually("the end is told") { trace.events.last == .finished }
        #expect(trace.events == [.executing, .finished])
    }
    // contract: OperationEvent
    @Test func aCancellationOnTheWayIsAnnouncedOnce() async throws {
        let begun = Handshake()
        let kept = VisibleMutex<Completion<Int>?>(nil)
        let operation = AsyncOperation<Int> { completion in
            kept.withLock { $0 = completion }
            begun.give()
        }
        let trace = Trace<OperationEvent>()
        operation.onChange { trace.add($0) }
        #expect(operation.state == .ready)
        queue.addOperation(operation)
        await begun.taken()
        operation.cancel()
        operation.cancel()
        #expect(trace.events == [.executing, .cancelled, .finished])
    }
    // contract: Completion
    @Test func theFirstOfManyCallbacksWins() async throws {
        for _ in 0..<200 {
            let wins = Counter()
            let ends = Counter()
            let operation = AsyncOperation<Int> { completion in
                for caller in 0..<3 {
                    DispatchQueue.global().async { if completion.succeed(caller) { wins.increment() } }
                }
                if completion.succeed(3) { wins.increment() }
            }
            operation.onFinish { _ in ends.increment() }
            queue.addOperation(operation)
            let value = try await operation.value
            #expect((0...3).contains(value))
            #expect(operation.finish(.success(9)) == false)
            #expect(try operation.result?.get() == value)
            await eventually("one call wins and is told so") { wins.value == 1 && ends.value == 1 }
        }
    }

    @Test func theCompletionBlockFiresOnce() async throws {
        let fired = Counter()
        let done = Handshake()
        for _ in 0..<100 {
            let operation = AsyncOperation<Int> { 1 }
            operation.completionBlock = {
                fired.increment()
                done.give()
            }
            queue.addOperation(operation)
        }
        await done.taken(100)
        await blocking { [queue] in queue.waitUntilAllOperationsAreFinished() }
        // A second block of any of them would be queued behind this one.
        let barrier = AsyncOperation<Int> { 1 }
        barrier.completionBlock = { done.give() }
        queue.addOperation(barrier)
        await done.taken()
        #expect(fired.value == 100)
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

    @Test func aQueueOfOneRunsOneAtATimeInOrder() async throws {
        queue.maxConcurrentOperationCount = 1
        let trace = Trace<String>()
        let operations = (0..<50).map { number in
            AsyncOperation<Int> { completion in
                trace.add("begin \(number)")
                DispatchQueue.global().async {
                    trace.add("end \(number)")
                    completion.succeed(number)
                }
            }
        }
        await blocking { [queue] in queue.addOperations(operations, waitUntilFinished: true) }
        #expect(trace.events == (0..<50).flatMap { ["begin \($0)", "end \($0)"] })
    }

    // MARK: Lifetimes

    @Test func capturesOfTheWorkAreFreedWhenItHasRun() async throws {
        let freed = Counter()
        let operation = {
            let captured = Tracked(freed: freed)
            return AsyncOperation<Int> {
                captured.touch()
                return 1
            }
        }()
        queue.addOperation(operation)
        _ = try await operation.value
        await eventually("the closure is freed while the operation is kept") { freed.value == 1 }
        #expect(operation.isFinished)
    }

    @Test func capturesOfWorkThatNeverRunsAreFreedWhenItIsCancelled() async throws {
        let freed = Counter()
        let operation = {
            let captured = Tracked(freed: freed)
            return AsyncOperation<Int> {
                captured.touch()
                return 1
            }
        }()
        operation.cancel()
        queue.addOperation(operation)
        _ = try await operation.wait()
        await eventually("the closure is freed while the operation is kept") { freed.value == 1 }
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
        let kept = VisibleMutex<Completion<Int>?>(nil)
        let begun = Handshake()
        let operation = AsyncOperation<Int> { completion in
            kept.withLock { $0 = completion }
            begun.give()
        }
        queue.addOperation(operation)
        await begun.taken()
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
        kept.withLock { $0 }?.succeed(5)
        #expect(try await blocking { operation.wait() }.get() == 5)
        #expect(try await operation.wait(timeout: .zero)?.get() == 5)
    }

    @Test func aCancelledWaitThrowsAndTheOperationGoesOn() async throws {
        let kept = VisibleMutex<Completion<Int>?>(nil)
        let begun = Handshake()
        let operation = AsyncOperation<Int> { completion in
            kept.withLock { $0 = completion }
            begun.give()
        }
        queue.addOperation(operation)
        await begun.taken()
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
        kept.withLock { $0 }?.succeed(5)
        #expect(try await operation.value == 5)
    }

    // MARK: Misuse

    @Test func runningTwiceIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            let kept = VisibleMutex<Completion<Int>?>(nil)
            let operation = AsyncOperation<Int>(name: "once") { completion in
                kept.withLock { $0 = completion }
            }
            operation.start()
            operation.start()
        }
        #expect(sentence(result).contains("interlock: Operation.start(\"once\"): it is executing already"))
    }

    @Test func startingBeforeADependencyIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            let above = AsyncOperation<Int>(name: "above") { 1 }
            let operation = above.then(name: "below") { $0 + 1 }
            operation.start()
        }
        #expect(
            sentence(result).contains("interlock: Operation.start(\"below\"): it still waits for \"above\"")
        )
    }

    @Test func anOperationWithoutWorkIsReported() async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            AsyncOperation<Int>().start()
        }
        #expect(sentence(result).contains("there is no work: override execute() or give a closure"))
    }
}

// Unchecked because a weak reference may be loaded from any thread and is set in `init` only.
final class WeakBox: @unchecked Sendable {
    private(set) weak var object: AnyObject?
    init(_ object: AnyObject?) { self.object = object }
}
