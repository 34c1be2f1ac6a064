// SPDX-License-Identifier: Apache-2.0
//
// Typed data from step to step: inputs, errors and cancellations down the chain.

import Foundation
import Testing

import Interlock
// contract: OperationDeadlocked, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationStepTests {
    let queue = OperationQueue()

    private struct Encrypted: Sendable, Equatable { var bytes: [UInt8] }
    private struct Picture: Sendable, Equatable { var pixels: [UInt8] }

    @Test func downloadDecryptShiftEachGetsTheOutputBefore() async throws {
        let filters = OperationQueue()
        let download = AsyncOperation<Encrypted>(name: "download") { completion in
            DispatchQueue.global().async { completion.succeed(Encrypted(bytes: [1, 2, 3])) }
        }
        let decrypt = download.then(name: "decrypt") { (encrypted: Encrypted) -> Picture in
            Picture(pixels: encrypted.bytes.map { $0 ^ 0xFF })
        }
        let shift = decrypt.then(name: "tilt-shift") { (picture: Picture) async throws -> Picture in
            await Task.yield()
            return Picture(pixels: picture.pixels.reversed())
        }
        queue.enqueue(download, decrypt)
        filters.addOperation(shift)
        #expect(try await shift.value == Picture(pixels: [252, 253, 254]))
    }

    @Test func anErrorPassesOnUnchangedAndNoStepBelowRuns() async throws {
        let ran = Counter()
        let first = AsyncOperation<Int>(name: "first") { throw JobFailure(why: "no network") }
        let second = first.then { value in ran.increment() + value }
        let third = second.then { value async in ran.increment() + value }
        let last = third.then { (value: Int, completion: Completion<Int>) in
            ran.increment()
            completion.succeed(value)
        }
        queue.enqueue(first, second, third, last)
        await #expect(throws: JobFailure(why: "no network")) { try await last.value }
        #expect(ran.value == 0)
    }

    @Test func aCancellationReachesTheLastStepWithTheNameOfTheCancelled() async throws {
        let first = AsyncOperation<Int>(name: "first") { 1 }
        let second = first.then(name: "second") { $0 }
        let last = second.then(name: "last") { $0 }
        first.cancel()
        queue.enqueue(first, second, last)
        await #expect(throws: OperationCancelled(operation: "first")) { try await last.value }
        #expect(!second.isCancelled && !last.isCancelled)
    }

    @Test func recoverGivesAnotherValue() async throws {
        let first = AsyncOperation<Int> { throw JobFailure() }
        let rescued = first.recover { error in error is JobFailure ? 7 : 0 }
        let fine = rescued.recover { _ in 9 }
        queue.enqueue(first, rescued, fine)
        #expect(try await fine.value == 7)
    }

    @Test func flatMapEndsWithTheOutcomeOfTheOperationItMade() async throws {
        let first = AsyncOperation<Int> { 6 }
        let product = first.flatMap(on: queue) { value in AsyncOperation<Int> { value * 7 } }
        let broken = first.flatMap(on: queue) { _ in AsyncOperation<Int> { throw JobFailure() } }
        let unmade = first.flatMap(on: queue) { _ -> AsyncOperation<Int> in throw JobFailure(why: "unmade") }
        queue.enqueue(first, product, broken, unmade)
        #expect(try await product.value == 42)
        await #expect(throws: JobFailure()) { try await broken.value }
        await #expect(throws: JobFailure(why: "unmade")) { try await unmade.value }
    }

    /// outer: runs ── cancelled: cancels inner, which fails while it is cancelled ── ends with its own cancellation
    @Test func aCancelledFlatMapCancelsWhatItMadeAndEndsWithItsOwnCancellation() async throws {
        let begun = Handshake()
        let task = awaitingCancellation("inner", begun: begun)
        let handler = AsyncOperation<Int>(name: "inner") { completion in
            completion.onCancel { completion.fail(JobFailure()) }
            begun.give()
        }
        for inner in [task, handler] {
            let first = AsyncOperation<Int> { 6 }
            let outer = first.flatMap(name: "outer", on: queue) { _ in inner }
            queue.enqueue(first, outer)
            await begun.taken()
            outer.cancel()
            await #expect(throws: OperationCancelled(operation: "outer")) { try await outer.value }
        }
        await #expect(throws: OperationCancelled(operation: "inner")) { try await task.value }
        await #expect(throws: JobFailure()) { try await handler.value }
    }

    // MARK: flatMap in a queue that has no other place

    private func settled<Output>(_ operation: AsyncOperation<Output>) async throws -> Output {
        let outcome = try await operation.wait(timeout: .seconds(Handshake.limit))
        return try #require(outcome, "waits for itself").get()
    }

    @Test(arguments: [1, 2]) func aFlatMapOntoItsOwnFullQueueEnds(limit: Int) async throws {
        queue.maxConcurrentOperationCount = limit
        let crowd = Crowd()
        let queue = queue
        let products = (0..<4).map { number in
            AsyncOperation<Int> { number }.enqueued(on: queue)
                .flatMap(on: queue) { value in
                    AsyncOperation<Int> {
                        crowd.enter()
                        defer { crowd.leave() }
                        return value * 7
                    }
                }.enqueued(on: queue)
        }
        for (number, product) in products.enumerated() {
            #expect(try await settled(product) == number * 7)
        }
        #expect((1...limit).contains(crowd.most))
    }

    @Test func aFlatMapInsideAFlatMapOnOneSerialQueueEnds() async throws {
        queue.maxConcurrentOperationCount = 1
        let queue = queue
        let first = AsyncOperation<Int> { 2 }.enqueued(on: queue)
        let product = first.flatMap(on: queue) { two in
            first.flatMap(on: queue) { again in
                first.flatMap(on: queue) { once in AsyncOperation<Int> { two + again + once } }
            }
        }.enqueued(on: queue)
        #expect(try await settled(product) == 6)
    }

    // It waits for an operation of another queue first, and runs in the step's place all the same.
    @Test func aFlatMapWhoseOperationIsNotReadyYetEndsInItsPlace() async throws {
        queue.maxConcurrentOperationCount = 1
        let (queue, other) = (queue, OperationQueue())
        let goOn = Handshake()
        let made = Handshake()
        let first = AsyncOperation<Int> { 2 }.enqueued(on: queue)
        let product = first.flatMap(on: queue) { value in
            let elsewhere = AsyncOperation<Int> {
                goOn.take()
                return 40
            }.enqueued(on: other)
            made.give()
            return elsewhere.flatMap(on: queue) { number in AsyncOperation<Int> { number + value } }
        }.enqueued(on: queue)
        await made.taken()
        goOn.give()
        #expect(try await settled(product) == 42)
    }

    @Test func whatRunsInAStepsPlaceRunsWhereItsQueueDoes() async throws {
        let underlying = GCD.serialQueue(label: "underlying")
        let key = DispatchSpecificKey<String>()
        underlying.setSpecific(key: key, value: "here")
        queue.underlyingQueue = underlying
        queue.maxConcurrentOperationCount = 1
        let queue = queue
        let first = AsyncOperation<Int> { 2 }.enqueued(on: queue)
        let place = first.flatMap(on: queue) { _ in
            AsyncOperation<[String?]> {
                [DispatchQueue.getSpecific(key: key), OperationQueue.current === queue ? "same" : "own"]
            }
        }.enqueued(on: queue)
        #expect(try await settled(place) == ["here", "own"])
    }

    @Test func aFlatMapThatCouldNeverEndSaysSo() async throws {
        queue.maxConcurrentOperationCount = 1
        let queue = queue
        let first = AsyncOperation<Int> { 2 }.enqueued(on: queue)
        let product = first.flatMap(name: "product", on: queue) { value in
            AsyncOperation<Int>(name: "behind") { value }.enqueued(on: queue).then(name: "made") { $0 }
        }.enqueued(on: queue)
        await #expect(throws: OperationDeadlocked.self) { try await settled(product) }
        let cycle = VisibleMutex<AsyncOperation<Int>?>(nil)
        let step = first.flatMap(name: "step", on: OperationQueue()) { _ in
            cycle.withLock { $0! }.then(name: "made") { $0 }
        }
        cycle.withLock { $0 = step }
        queue.addOperation(step)
        await #expect(throws: OperationDeadlocked.self) { try await settled(step) }
        cycle.withLock { $0 = nil }
    }

    @Test func andWaitsForBothAndAllForAll() async throws {
        let number = AsyncOperation<Int> { 4 }
        let word = AsyncOperation<String> { "four" }
        let both = number.and(word)
        queue.enqueue(number, word, both)
        #expect(try await both.value == (4, "four"))

        let many = (0..<20).map { number in AsyncOperation<Int> { number } }
        let all = AsyncOperation<[Int]>.all(of: many)
        queue.addOperation(all)
        for operation in many.reversed() { queue.addOperation(operation) }
        #expect(try await all.value == Array(0..<20))

        let some = [AsyncOperation<Int> { 1 }, AsyncOperation<Int> { throw JobFailure() }]
        let failed = AsyncOperation<[Int]>.all(of: some)
        queue.enqueue(some[0], some[1], failed)
        await #expect(throws: JobFailure()) { try await failed.value }
    }
}
