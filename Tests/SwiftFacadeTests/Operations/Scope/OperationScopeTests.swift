// SPDX-License-Identifier: Apache-2.0
//
// A scope returns after the last of its operations, however it ends.

import Foundation
import Testing

import Interlock
// contract: OperationScope, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationScopeTests {
    @Test func theResultOfTheClosureIsReturnedWhenAllHaveEnded() async throws {
        let kept = SafeArray<AsyncOperation<Int>>()
        let sum = try await withOperations { scope in
            for number in 0..<20 { kept.append(try scope.add(AsyncOperation { number })) }
            #expect(scope.unfinishedChildren.count <= 20)
            return try await kept[0].value + kept[19].value
        }
        #expect(sum == 19)
        #expect(kept.snapshot.filter { !$0.isFinished }.isEmpty)
    }

    // The closure returns before the operation has ended, and the call does not.
    @Test func nothingOutlivesTheCall() async throws {
        let (begun, freed) = (Handshake(), Handshake())
        let returned = Counter()
        let call = Task {
            try await withOperations { scope in
                try scope.add(
                    AsyncOperation<Int> {
                        begun.give()
                        freed.take()
                        #expect(returned.value == 0)
                        return 1
                    }
                )
            }
            returned.increment()
        }
        await begun.taken()
        freed.give()
        try await call.value
        #expect(returned.value == 1)
    }

    @Test func operationsOfEveryKindRunInTheGivenQueue() async throws {
        let queue = OperationQueue()
        let trace = Trace<Bool>()
        try await withOperations(on: queue) { scope in
            try scope.add(
                BlockOperation { trace.add(OperationQueue.current === queue) },
                AsyncOperation<Int> {
                    trace.add(OperationQueue.current === queue)
                    return 1
                }
            )
        }
        #expect(trace.events == [true, true])
        #expect(queue.operations.allSatisfy { $0.isFinished })
    }

    @Test func anErrorCancelsTheRestAndIsThrownWhenAllHaveEnded() async throws {
        let begun = Handshake()
        let ended = Counter()
        await #expect(throws: JobFailure(why: "first")) {
            try await withOperations { scope in
                let other = try scope.add(awaitingCancellation(begun: begun, ended: ended, value: 1))
                let failing = try scope.add(
                    AsyncOperation<Int> {
                        begun.take()
                        throw JobFailure(why: "first")
                    }
                )
                _ = await failing.outcome
                _ = await other.outcome
                await eventually("it takes nothing more") {
                    (try? scope.add(AsyncOperation<Int> { 1 })) == nil
                }
                throw JobFailure(why: "second")
            }
        }
        #expect(ended.value == 1)
    }

    @Test func anErrorOfTheClosureCancelsTheOperations() async throws {
        let begun = Handshake()
        for policy in [FailurePolicy.cancelOthers, .runAll] {
            let ended = Counter()
            await #expect(throws: JobFailure()) {
                try await withOperations(onFailure: policy) { scope in
                    try scope.add(awaitingCancellation(begun: begun, ended: ended, value: 1))
                    await begun.taken()
                    throw JobFailure()
                }
            }
            #expect(ended.value == 1)
        }
    }

    @Test func whereAllRunAnErrorCancelsNothingAndIsThrownInTheEnd() async throws {
        let failed = Handshake()
        let ran = Counter()
        await #expect(throws: JobFailure(why: "b")) {
            try await withOperations(onFailure: .runAll) { scope in
                try scope.add(
                    AsyncOperation<Int> {
                        failed.take()
                        return ran.increment()
                    }
                )
                try scope.add(
                    AsyncOperation<Int> {
                        failed.take()
                        throw JobFailure(why: "b")
                    }
                )
                let last = try scope.add(AsyncOperation<Int> { throw JobFailure(why: "c") })
                _ = await last.outcome
                failed.give(2)
            }
        }
        #expect(ran.value == 1)
    }

    @Test func aCancellationOfTheTaskCancelsAll() async throws {
        let begun = Handshake()
        let ended = Counter()
        let call = Task {
            try await withOperations { scope in
                let child = try scope.add(awaitingCancellation(begun: begun, ended: ended, value: 1))
                return await child.outcome
            }
        }
        await begun.taken()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(ended.value == 1)
    }

    @Test func aScopeThatHasEndedTakesNothing() async throws {
        let escaped = try await withOperations { scope in scope }
        let late = AsyncOperation<Int>(name: "late") { 3 }
        let refusal = ChildRefused(group: "the scope", child: "late", reason: .isEnding)
        #expect(throws: refusal) { try escaped.add(late) }
        late.start()
        #expect(try late.result?.get() == 3)
        #expect(throws: ChildRefused(group: "the scope", child: "late", reason: .hasStarted)) {
            try escaped.add(late)
        }
    }

    // An operation adds another when the closure has returned.
    @Test func operationsMayAddOperationsAfterTheClosure() async throws {
        let closed = Handshake()
        let ran = Counter()
        try await withOperations { scope in
            try scope.add(
                AsyncOperation<Int> {
                    closed.take()
                    try scope.add(AsyncOperation<Int> { ran.increment() })
                    return 1
                }
            )
            closed.give()
        }
        #expect(ran.value == 1)
    }

    // 10,000 scopes: one task cancels the call while its closure adds and an operation fails or succeeds.
    @Test func racingCancellationsAdditionsAndEndsLeaveNothingBehind() async throws {
        let (alive, freed, living) = (Counter(), Counter(), Crowd())
        let queue = OperationQueue()
        for round in 0..<Race.rounds {
            let call = Task {
                try await withOperations(on: queue) { scope in
                    for number in 0..<2 {
                        let captured = Tracked(alive: alive, freed: freed)
                        try scope.add(
                            AsyncOperation<Int> {
                                living.enter()
                                defer { living.leave() }
                                captured.touch()
                                if round % 3 == number { throw JobFailure() }
                                return 1
                            }
                        )
                    }
                }
                #expect(round % 3 == 2)
            }
            if round % 2 == 0 { call.cancel() }
            _ = await call.result
            if living.now != 0 {
                Issue.record("an operation outlived round \(round)")
                return
            }
        }
        await eventually("all is freed") { alive.value == freed.value }
        #expect(living.total > 0)
    }
}
