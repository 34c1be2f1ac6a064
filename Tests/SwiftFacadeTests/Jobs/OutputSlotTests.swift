// SPDX-License-Identifier: Apache-2.0
//
// Outputs of every shape: small ones are in the node or the record, others in memory of their own. Each arrives whole
// and is freed once.

import Foundation
import Testing

import Interlock

private struct Wide: Equatable, Sendable {
    var words: (Int, Int, Int, Int, Int)
    init(_ number: Int) { words = (number, number + 1, number + 2, number + 3, number + 4) }
    static func == (left: Wide, right: Wide) -> Bool { left.words == right.words }
}

private struct Nothing: Equatable, Sendable {}
// contract: Job
@Suite(.timeLimit(.minutes(10))) struct OutputSlotTests {
    let queue = InterlockQueue(name: "outputs")

    private func expectToArrive<Value: Equatable & Sendable>(
        _ value: Value,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let job = queue.job { value }
        let below = job.then { $0 }
        let both = queue.job(after: job, below) { $0 == $1 }
        let operation = AsyncOperation<Value> { value }
        let step = operation.then { $0 }
        queue.enqueue(operation, step)
        #expect(try await below.value == value, sourceLocation: location)
        #expect(try await both.value, sourceLocation: location)
        #expect(try job.result?.get() == value, sourceLocation: location)
        #expect(try await step.value == value, sourceLocation: location)
        // Twice: a read leaves the value where it is.
        #expect(try operation.result?.get() == value, sourceLocation: location)
        #expect(try operation.result?.get() == value, sourceLocation: location)
    }

    @Test func outputsOfEverySizeArriveWhole() async throws {
        try await expectToArrive(Nothing())
        try await expectToArrive(UInt8(7))
        try await expectToArrive(Int?.none)
        try await expectToArrive(Int?.some(9))
        try await expectToArrive("a string that is too long to be stored in its own two words")
        try await expectToArrive([1, 2, 3])
        try await expectToArrive(Wide(40))
        try await expectToArrive([Wide(1), Wide(2)])
        // An alignment beyond that of the slot.
        try await expectToArrive(SIMD2<Double>(1, 2))
        try await expectToArrive(SIMD8<Double>(1, 2, 3, 4, 5, 6, 7, 8))
    }

    @Test func anOutputIsFreedOnceWithTheLastReference() async throws {
        let counter = LifetimeCounter()
        let small = queue.job { Counted(1, counter) }
        let wide = queue.job { [Counted(2, counter)].map { ($0, 0, 0) }[0] }
        let operation = AsyncOperation { Counted(3, counter) }
        let wideOperation = AsyncOperation { (Counted(4, counter), 0, 0) }
        queue.enqueue(operation, wideOperation)
        _ = try await (small.value, wide.value, operation.value, wideOperation.value)
        try await queue.wait()
        #expect(counter.living == 4 && counter.total == 4)
        withExtendedLifetime((small, wide, operation, wideOperation)) {}
    }

    @Test func outputsGoWithWhatGaveThem() async throws {
        let counter = LifetimeCounter()
        try await {
            let queue = InterlockQueue(name: "gone")
            let job = queue.job { (Counted(1, counter), 0, 0) }
            let below = job.then { Counted($0.0.id + 1, counter) }
            let operation = AsyncOperation { (Counted(3, counter), 0, 0) }
            queue.enqueue(operation)
            _ = try await (below.value, operation.value)
            try await queue.wait()
        }()
        #expect(await eventuallySuspending { counter.living == 0 })
        #expect(counter.total == 3)
    }

    // Its end is the cancellation, and what its closure gives all the same must not be lost.
    @Test func theOutputOfACancelledJobIsFreed() async throws {
        let counter = LifetimeCounter()
        let begun = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        try await {
            let queue = InterlockQueue(name: "cancelled", isBlocking: true)
            let job = queue.job {
                begun.signal()
                goOn.wait()
                return (Counted(1, counter), 0, 0)
            }
            await blocking { begun.wait() }
            job.cancel()
            goOn.signal()
            await #expect(throws: OperationCancelled.self) { try await job.value }
            try await queue.wait()
        }()
        #expect(await eventuallySuspending { counter.living == 0 })
        #expect(counter.total == 1)
    }
}
