// SPDX-License-Identifier: Apache-2.0
//
// Conditions: their answers, what they are made of, and the refusals an operation ends with.

import Foundation
import Testing

import Interlock
// contract: ConditionRefused, ConditionUnmet, OperationCondition, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationConditionTests {
    let queue = OperationQueue()
    let holds = OperationCondition("holds") { _ in }
    let refuses = OperationCondition("refuses") { _ in throw JobFailure(why: "no") }

    /// The refusal of an operation with this condition, nil where it ran.
    func refusal(by condition: OperationCondition) async throws -> ConditionRefused? {
        let ran = Counter()
        let operation = AsyncOperation<Int>(name: "asked") { ran.increment() }.addCondition(condition)
        queue.addOperation(operation)
        switch try await operation.wait() {
        case .success: return nil
        case .failure(let error):
            #expect(ran.value == 0)
            return try #require(error as? ConditionRefused)
        }
    }

    @Test func aRefusalEndsTheOperationWithItsReason() async throws {
        #expect(try await refusal(by: holds) == nil)
        let refusal = try #require(await refusal(by: refuses))
        #expect(refusal.operation == "asked" && refusal.condition == "refuses")
        #expect(refusal.reason as? JobFailure == JobFailure(why: "no"))
        #expect("\(refusal)".contains("operation asked was refused by its condition refuses"))
    }

    @Test func aBooleanConditionSaysThatItDoesNotHold() async throws {
        #expect(try await refusal(by: .that("yes") { true }) == nil)
        let refusal = try #require(await refusal(by: .that("no") { false }))
        #expect((refusal.reason as? ConditionUnmet)?.condition == "no")
        #expect("\(refusal.reason)" == "no does not hold")
        let thrown = try #require(await self.refusal(by: .that("ill") { throw JobFailure() }))
        #expect(thrown.reason is JobFailure)
    }

    @Test func conditionsAreComposedLikeABooleanExpression() async throws {
        for one in [true, false] {
            for other in [true, false] {
                let (first, second) = (one ? holds : refuses, other ? holds : refuses)
                #expect((try await refusal(by: first.and(second)) == nil) == (one && other))
                #expect((try await refusal(by: first.or(second)) == nil) == (one || other))
                #expect((try await refusal(by: .all([first, second])) == nil) == (one && other))
                #expect((try await refusal(by: first.not.and(second)) == nil) == (!one && other))
            }
        }
        #expect(holds.and(refuses).or(holds.not).name == "((holds and refuses) or not holds)")
        #expect(try await refusal(by: .all([])) == nil)
    }

    @Test func reasonsComeFromTheConditionsWithin() async throws {
        let other = OperationCondition("other") { _ in throw JobFailure(why: "other") }
        let first = try #require(await refusal(by: refuses.and(other)))
        #expect(first.reason as? JobFailure == JobFailure(why: "no"))
        let either = try #require(await refusal(by: refuses.or(other)))
        let unmet = try #require(either.reason as? ConditionUnmet)
        #expect(unmet.reasons.map { ($0 as? JobFailure)?.why } == ["no", "other"])
        let negated = try #require(await refusal(by: holds.not))
        #expect((negated.reason as? ConditionUnmet)?.condition == "not holds")
        let ended = OperationCondition("ended") { _ in throw CancellationError() }
        #expect(try #require(await refusal(by: ended.not)).reason is CancellationError)
    }

    @Test func theFirstThatDecidesEndsTheQuestions() async throws {
        let asked = Counter()
        let counting = OperationCondition("counting") { _ in asked.increment() }
        #expect(try await refusal(by: refuses.and(counting)) != nil)
        #expect(try await refusal(by: holds.or(counting)) == nil)
        #expect(asked.value == 0)
        let operation = AsyncOperation<Int> { 1 }.addCondition(refuses).addCondition(counting)
        queue.addOperation(operation)
        await #expect(throws: ConditionRefused.self) { try await operation.value }
        #expect(asked.value == 0)
    }

    @Test func conditionsAreAskedInOrderAfterTheDependencies() async throws {
        let trace = Trace<String>()
        let above = AsyncOperation<Void> { trace.add("above") }
        let below = AsyncOperation<Void> { trace.add("work") }
        for name in ["first", "second"] {
            below.addCondition(OperationCondition(name) { _ in trace.add(name) })
        }
        below.addDependency(above)
        queue.enqueue(below, above)
        _ = try await below.value
        #expect(trace.events == ["above", "first", "second", "work"])
    }

    @Test func aConditionIsGivenItsOperation() async throws {
        let operation = AsyncOperation<Int>(name: "self") { 1 }
        let names = Trace<String?>()
        operation.addCondition(OperationCondition("name") { names.add($0.name) })
        queue.addOperation(operation)
        _ = try await operation.value
        #expect(names.events == ["self"])
    }

    @Test(arguments: [false, true]) func failedDependenciesRefuse(isCancelled: Bool) async throws {
        let above = AsyncOperation<Int>(name: "above") { throw JobFailure() }
        if isCancelled { above.cancel() }
        let fine = AsyncOperation<Int> { 1 }
        for (dependency, refuses) in [(fine, false), (above, true)] {
            let below = AsyncOperation<Int>(name: "below") { 2 }.addCondition(.noFailedDependencies)
            below.addDependency(dependency)
            if !dependency.isFinished { queue.addOperation(dependency) }
            queue.addOperation(below)
            guard case .failure(let error) = try await below.wait() else {
                #expect(!refuses)
                continue
            }
            let refusal = try #require(error as? ConditionRefused)
            #expect(
                refuses && (isCancelled ? refusal.reason is OperationCancelled : refusal.reason is JobFailure)
            )
        }
    }

    @Test func cancelledDependenciesRefuseAlsoThoseOfAnotherClass() async throws {
        for condition in [OperationCondition.noCancelledDependencies, .noFailedDependencies] {
            for isCancelled in [false, true] {
                let above = BlockOperation {}
                above.name = "block"
                if isCancelled { above.cancel() }
                let below = AsyncOperation<Int>(name: "below") { 2 }.addCondition(condition)
                below.addDependency(above)
                queue.enqueue(above, below)
                guard case .failure(let error) = try await below.wait() else {
                    #expect(!isCancelled)
                    continue
                }
                let reason = (error as? ConditionRefused)?.reason as? OperationCancelled
                #expect(isCancelled && reason == OperationCancelled(operation: "block"))
            }
        }
        let failed = AsyncOperation<Int> { throw JobFailure() }
        let below = AsyncOperation<Int> { 2 }.addCondition(.noCancelledDependencies)
        below.addDependency(failed)
        queue.enqueue(failed, below)
        #expect(try await below.value == 2, "a failure is no cancellation")
    }

    @Test func aCancellationEndsTheQuestionAndTheOperationAtOnce() async throws {
        let (asked, informed) = (Handshake(), Handshake())
        let ran = Counter()
        let operation = AsyncOperation<Int>(name: "asking") { ran.increment() }
        operation.addCondition(
            OperationCondition("endless") { _ in
                asked.give()
                await untilCancelled()
                informed.give()
            }
        )
        queue.addOperation(operation)
        await asked.taken()
        operation.cancel()
        #expect(operation.isFinished)
        #expect(throws: OperationCancelled(operation: "asking")) { try operation.result?.get() }
        await informed.taken()
        #expect(ran.value == 0)
    }

    @Test func aConditionIsFreedWithItsOperation() async throws {
        let freed = Counter()
        do {
            let captured = Tracked(freed: freed)
            let operation = AsyncOperation<Int> { 1 }
                .addCondition(OperationCondition("captures") { _ in captured.touch() })
            queue.addOperation(operation)
            _ = try await operation.value
        }
        await eventually("the condition is freed") { freed.value == 1 }
    }
}
