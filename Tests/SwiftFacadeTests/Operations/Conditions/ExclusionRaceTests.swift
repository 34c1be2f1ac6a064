// SPDX-License-Identifier: Apache-2.0
//
// What is taken is given back once, however the end of an operation races with its admission.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct ExclusionRaceTests {
    let queue = OperationQueue()

    /// Cancellations meet operations that wait for categories, get them, work, and end.
    @Test func cancellationsRaceWithTheHandoverOfCategories() async throws {
        let categories = [
            ExclusionCategory("raced 0"), ExclusionCategory("raced 1"),
            ExclusionCategory("raced 2", limit: 3),
        ]
        let crowds = (0..<3).map { _ in Crowd() }
        let (ran, cancelled) = (Counter(), Counter())
        queue.maxConcurrentOperationCount = 200
        for round in 0..<50 {
            let operations = (0..<200).map { number in
                let wanted = categories.indices.filter {
                    (number + round) % ($0 + 2) == 0 || $0 == number % 3
                }
                let operation = AsyncOperation<Void>(name: "\(number)") {
                    for index in wanted { crowds[index].enter() }
                    ran.increment()
                    for index in wanted { crowds[index].leave() }
                }
                for index in wanted { operation.excludes(categories[index]) }
                if number.isMultiple(of: 5) { operation.addCondition(.that("yes") { true }) }
                return operation
            }
            async let cancelling: Void = blocking {
                for operation in operations.shuffled().prefix(80) { operation.cancel() }
            }
            for operation in operations { queue.addOperation(operation) }
            for operation in operations {
                let outcome = try #require(try await operation.wait(timeout: .seconds(Handshake.limit)))
                if case .failure = outcome { cancelled.increment() }
            }
            await cancelling
        }
        #expect(ran.value + cancelled.value >= 10_000)
        #expect(crowds[0].most == 1 && crowds[1].most == 1 && crowds[2].most <= 3)
        for category in categories {
            #expect(category.holders.isEmpty && category.waiters.isEmpty)
            #expect(ExclusionRegistry.state.withLock { $0.entries[category.name] == nil })
        }
    }

    /// A cancellation meets a delay that ends, and a condition that answers.
    @Test func cancellationsRaceWithDelaysAndConditions() async throws {
        let clock = ManualClock()
        let (ran, ended) = (Counter(), Counter())
        let category = ExclusionCategory("raced by delays", limit: 50)
        queue.maxConcurrentOperationCount = 100
        for _ in 0..<100 {
            let operations = (0..<100).map { number in
                let operation = AsyncOperation<Int>(name: "raced") { ran.increment() }
                    .delay(by: .seconds(1), clock: clock)
                    .excludes(category)
                if number.isMultiple(of: 2) {
                    operation.addCondition(
                        .that("yes") {
                            await Task.yield(); return true
                        }
                    )
                }
                operation.onFinish { _ in ended.increment() }
                return operation
            }
            for operation in operations { queue.addOperation(operation) }
            await clock.untilSleeping(100)
            async let cancelling: Void = blocking {
                for operation in operations.shuffled() { operation.cancel() }
            }
            async let moving: Void = blocking { clock.advance(by: .seconds(1)) }
            _ = await (cancelling, moving)
            for operation in operations {
                _ = try #require(try await operation.wait(timeout: .seconds(Handshake.limit)))
            }
        }
        await eventually("every end is announced, once") { ended.value == 10_000 }
        #expect(ran.value <= 10_000)
        #expect(category.holders.isEmpty && category.waiters.isEmpty)
    }
}
