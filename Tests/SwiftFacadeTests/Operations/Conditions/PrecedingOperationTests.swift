// SPDX-License-Identifier: Apache-2.0
//
// Conditions that have an operation run before they are asked.

import Foundation
import Testing

import Interlock
// contract: ChildRefused, OperationCondition, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct PrecedingOperationTests {
    enum Place: CaseIterable { case operationQueue, interlockQueue, none }

    let trace = Trace<String>()

    /// A condition that is asked after `first`, and holds.
    private func condition(
        onFailure policy: DependencyPolicy = .ignore,
        _ first: @escaping @Sendable (Operation) throws -> Operation?
    ) -> OperationCondition {
        OperationCondition("asked") { [trace] _ in trace.add("asked") }
            .preceded(onFailure: policy, by: first)
    }

    private func work() -> AsyncOperation<Int> {
        AsyncOperation(name: "work") { [trace] in
            trace.add("works")
            return 1
        }
    }

    /// Starts it in a serial queue, or without one.
    private func start(_ operation: Operation, in place: Place) {
        switch place {
        case .operationQueue:
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            queue.addOperation(operation)
        case .interlockQueue: InterlockQueue(limit: 1).enqueue(operation)
        case .none: operation.start()
        }
    }

    @Test(arguments: Place.allCases) func itRunsFirstInThePlaceOfTheOperation(place: Place) async throws {
        let (begun, goOn) = (Handshake(), Handshake())
        let condition = condition { [trace] operation in
            AsyncOperation<String>(name: "log in") {
                begun.give()
                goOn.takeOnWorker()
                trace.add("logged in for \(operation.name ?? "?")")
                return "token"
            }
        }
        let operation = work().addCondition(condition)
        operation.addObserver(
            OperationObserver(didProduce: { [trace] in trace.add("\($0.name!) made \($1.name!)") })
        )
        start(operation, in: place)
        await begun.taken()
        let explanation = operation.explainWaiting()
        #expect(explanation["work"]?.reasons == [.dependency("log in")])
        #expect(explanation["log in"]?.reasons == [.work])
        goOn.give()
        #expect(try await operation.value == 1)
        #expect(trace.events == ["work made log in", "logged in for work", "asked", "works"])
    }

    @Test(arguments: Place.allCases) func aBlockOperationMayPrecedeToo(place: Place) async throws {
        let operation = work().addCondition(condition { [trace] _ in BlockOperation { trace.add("block") } })
        start(operation, in: place)
        #expect(try await operation.value == 1)
        #expect(trace.events == ["block", "asked", "works"])
    }

    @Test(arguments: [DependencyPolicy.ignore, .fail]) func itsFailureRefusesWhereItIsToldTo(
        policy: DependencyPolicy
    ) async throws {
        let operation = work()
            .addCondition(condition(onFailure: policy) { _ in AsyncOperation<Int> { throw JobFailure() } })
        start(operation, in: .interlockQueue)
        if policy == .ignore {
            #expect(try await operation.value == 1)
            #expect(trace.events == ["asked", "works"])
        } else {
            let refusal = await #expect(throws: ConditionRefused.self) { try await operation.value }
            #expect(refusal?.reason as? JobFailure == JobFailure() && refusal?.condition == "asked")
            #expect(trace.events == [])
        }
    }

    @Test func aCancelledBlockOperationFailsToo() async throws {
        let operation = work().addCondition(
            condition(onFailure: .fail) { _ in
                let block = BlockOperation {}
                block.name = "block"
                block.cancel()
                return block
            }
        )
        start(operation, in: .operationQueue)
        let refusal = await #expect(throws: ConditionRefused.self) { try await operation.value }
        #expect(refusal?.reason as? OperationCancelled == OperationCancelled(operation: "block"))
    }

    @Test func noneMayBeNeededAndNoneMade() async throws {
        let without = work().addCondition(condition { _ in nil })
        start(without, in: .operationQueue)
        #expect(try await without.value == 1)
        let failing = work().addCondition(condition { _ in throw JobFailure() })
        start(failing, in: .operationQueue)
        let refusal = await #expect(throws: ConditionRefused.self) { try await failing.value }
        #expect(refusal?.reason as? JobFailure == JobFailure())
    }

    @Test(arguments: Place.allCases, ["cancelled", "finished"]) func theEndOfTheOperationCancelsIt(
        place: Place,
        how: String
    ) async throws {
        let begun = Handshake()
        let first = awaitingCancellation("log in", begun: begun)
        let operation = work().addCondition(condition { _ in first })
        start(operation, in: place)
        await begun.taken()
        if how == "cancelled" { operation.cancel() } else { operation.finish(.success(5)) }
        #expect(operation.isFinished, "at once")
        await #expect(throws: OperationCancelled(operation: "log in")) { try await first.value }
        #expect(trace.events == [])
    }

    // MARK: Composed

    @Test func conditionsThatAreMadeOfOthersBringTheirOperations() async throws {
        func step(_ name: String, holds: Bool = true) -> OperationCondition {
            OperationCondition.that("\(name) holds") { [trace] in
                trace.add("asked \(name)")
                return holds
            }
            .preceded { [trace] _ in AsyncOperation<Void> { trace.add(name) } }
        }
        let both = step("a").and(step("b", holds: false).not).and(step("c", holds: false).or(step("d")))
        let operation = work().addCondition(both)
        start(operation, in: .operationQueue)
        #expect(try await operation.value == 1)
        #expect(
            trace.events
                == ["a", "asked a", "b", "asked b", "c", "asked c", "d", "asked d", "works"]
        )
        let silent = work().addCondition(both.silent)
        start(silent, in: .operationQueue)
        #expect(try await silent.value == 1)
        #expect(trace.events.dropFirst(9) == ["asked a", "asked b", "asked c", "asked d", "works"])
        #expect(both.silent.name == both.name && step("a").name == "a holds")
    }

    // MARK: Cycles

    @Test func oneThatWaitsForTheOperationOrWasStartedIsRefused() async throws {
        let operation = work()
        let waiting = operation.then(name: "waiting") { $0 }
        let below = waiting.then(name: "log in") { $0 }
        operation.addCondition(condition { _ in below })
        start(operation, in: .operationQueue)
        let refusal = await #expect(throws: ConditionRefused.self) { try await operation.value }
        #expect(
            refusal?.reason as? ChildRefused
                == ChildRefused(group: "work", child: "log in", reason: .waitsForGroup)
        )
        let itself = work()
        itself.addCondition(condition { $0 })
        start(itself, in: .operationQueue)
        let own = await #expect(throws: ConditionRefused.self) { try await itself.value }
        #expect((own?.reason as? ChildRefused)?.reason == .waitsForGroup)
        let done = AsyncOperation<Int>(name: "done") { 1 }
        done.start()
        let late = work().addCondition(condition { _ in done })
        start(late, in: .operationQueue)
        let started = await #expect(throws: ConditionRefused.self) { try await late.value }
        #expect((started?.reason as? ChildRefused)?.reason == .hasStarted)
    }

    @Test(arguments: [Place.operationQueue, .interlockQueue]) func oneThatWaitsForWhatIsBehindIsRefused(
        place: Place
    ) async throws {
        let behind = AsyncOperation<Int>(name: "behind") { 7 }
        let operation = work()
            .addCondition(
                condition { _ in
                    let first = AsyncOperation<Int>(name: "log in") { 1 }
                    first.addDependency(behind)
                    return first
                }
            )
        if place == .operationQueue {
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            queue.isSuspended = true
            queue.enqueue(operation, behind)
            queue.isSuspended = false
        } else {
            let queue = InterlockQueue(limit: 1, isSuspended: true)
            queue.enqueue(operation, behind)
            queue.resume()
        }
        let refusal = await #expect(throws: ConditionRefused.self) { try await operation.value }
        #expect((refusal?.reason as? ChildRefused)?.reason == .waitsForPlace("behind"))
        #expect(try await behind.value == 7)
    }
}
