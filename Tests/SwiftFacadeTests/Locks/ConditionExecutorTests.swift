// SPDX-License-Identifier: Apache-2.0
//
// Tasks that wait for a predicate and are woken, late or cancelled while their executor has no thread for them.

import Foundation
import Synchronization
import Testing

import Interlock

@Suite(.timeLimit(.minutes(10))) struct ConditionExecutorTests {
    /// task:    waits        is woken, and has no thread    [ has one: waits again ]   [ is served ]
    /// thread:  waits        [ is served ]
    /// writer:         changes                                                  changes
    // contract: ReadWriteLock
    @Test func aWokenTaskWithoutAThreadHoldsUpNoThread() async throws {
        let subject = ConditionSubject.writing
        let gate = Gate()
        let task = await subject.waiter(on: gate, for: { $0 > 0 }) { $0 -= 1 }
        let thread = await subject.waiter(inThread: true, for: { $0 > 0 }) { $0 -= 1 }
        gate.close()
        await subject.change { $0 = 1 }
        #expect(try await thread.value)
        gate.open()
        await subject.change { $0 = 1 }
        #expect(try await task.value)
        await subject.change { #expect($0 == 0) }
    }

    /// task:    waits   cancelled, has no thread            [ has one: leaves ]
    /// thread:  waits                        [ is served ]
    /// writer:                     changes
    // contract: ReadWriteLock, PriorityInheritingMutex, SafeArray
    @Test(arguments: [ConditionSubject.Kind.writing, .mutex, .array])
    func aCancelledTaskWithoutAThreadHoldsUpNone(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let gate = Gate()
        let task = await subject.waiter(on: gate, for: { $0 > 0 }) { $0 -= 1 }
        let thread = await subject.waiter(inThread: true, for: { $0 > 0 }) { $0 -= 1 }
        gate.close()
        task.cancel()
        await subject.change { $0 = 1 }
        #expect(try await thread.value)
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// task:    waits   cancelled, has no thread            [ has one: leaves, though the predicate holds ]
    /// writer:                                    changes
    // contract: ReadWriteLock, PriorityInheritingMutex, SafeArray
    @Test(arguments: [ConditionSubject.Kind.writing, .reading, .mutex, .array])
    func aTaskCancelledBeforeTheChangeHasNotRun(_ kind: ConditionSubject.Kind) async throws {
        let subject = kind.make()
        let gate = Gate()
        let task = await subject.waiter(on: gate, for: { $0 > 0 }) { _ in Issue.record("ran") }
        #expect(await eventuallySuspending { gate.isIdle })
        gate.close()
        task.cancel()
        await subject.change { $0 = 1 }
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// task:    waits ── late, has no thread            [ has one: the predicate holds ]
    /// writer:                               changes
    // contract: ReadWriteLock, PriorityInheritingMutex, SafeArray
    @Test(arguments: [ConditionSubject.Kind.writing, .reading, .mutex, .array])
    func aLateTaskJudgesOnceMore(_ kind: ConditionSubject.Kind) async throws {
        // A limit that passes before the first judgement, on a busy machine, shows nothing.
        for limit in [Duration.milliseconds(50), .milliseconds(500), .seconds(5), .seconds(20)] {
            let subject = kind.make()
            let gate = Gate()
            let isOver = Pointer(Atomic<Bool>(false))
            let isFirst = Pointer(Atomic<Bool>(true))
            let task = Task(executorPreference: gate) {
                defer { isOver.value.store(true, ordering: .releasing) }
                return try await subject.suspend(
                    {
                        if isFirst.value.exchange(false, ordering: .relaxed) { gate.close() }
                        return $0 > 0
                    },
                    .now + limit
                ) { _ in }
            }
            #expect(
                await eventuallySuspending { gate.isKeepingOne || isOver.value.load(ordering: .acquiring) }
            )
            guard gate.isKeepingOne else { continue }
            await subject.change { $0 = 1 }
            gate.open()
            #expect(try await task.value)
            return
        }
        Issue.record("the limit passed before the task waited")
    }

    /// writer:  chooses both, wakes the first: stalls                  wakes the second
    /// second:                                       cancelled                          [ runs ]
    // contract: ReadWriteLock
    @Test func aTaskChosenBeforeItsCancellationRuns() async throws {
        let subject = ConditionSubject.reading
        let gate = Gate()
        let events = (isReached: Event(), end: Event())
        let first = await subject.waiter(on: gate, for: { $0 > 0 }) { _ in }
        let second = await subject.waiter(inThread: false, for: { $0 > 0 }) { _ in }
        gate.close(stalling: events)
        let writer = Task.detached {
            await withCheckedContinuation { continuation in
                _ = TestThread {
                    Task(executorPreference: InlineExecutor.shared) { await subject.change { $0 = 1 } }
                    continuation.resume()
                }
            }
        }
        events.isReached.wait()
        second.cancel()
        events.end.happen()
        await writer.value
        gate.open()
        #expect(try await second.value)
        #expect(try await first.value)
    }

    /// Runs a job where it is brought.
    private final class InlineExecutor: TaskExecutor {
        static let shared = InlineExecutor()

        func enqueue(_ job: consuming ExecutorJob) {
            UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
