// SPDX-License-Identifier: Apache-2.0
//
// Operations that take the outputs of several others, and what they take of those that fail.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: DependencyPolicy, OperationInputMissing, OperationUpstream, Upstream, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationInputTests {
    let queue = OperationQueue()

    private func sources() -> (
        number: AsyncOperation<Int>, word: AsyncOperation<String>, flag: AsyncOperation<Bool>
    ) {
        let sources = (
            AsyncOperation<Int>(name: "number") { 4 }, AsyncOperation<String>(name: "word") { "four" },
            AsyncOperation<Bool>(name: "flag") { true }
        )
        queue.enqueue(sources.0, sources.1, sources.2)
        return sources
    }

    @Test func theThreeKindsOfClosuresAreGivenTheOutputsInOrder() async throws {
        let (number, word, flag) = sources()
        let plain = AsyncOperation<String>(name: "plain", after: number, word, flag) { number, word, flag in
            "\(number) \(word) \(flag)"
        }
        let suspending = AsyncOperation<String>(after: word, number) { word, number async throws in
            await Task.yield()
            return "\(word) \(number)"
        }
        let called = AsyncOperation<String>(after: flag, word) {
            (completion: Completion<String>, flag, word) in
            completion.succeed("\(flag) \(word)")
        }
        let blind = AsyncOperation(name: "blind", after: plain, number) { 5 }
        let asleep = AsyncOperation(after: blind) {
            await Task.yield()
            return 6
        }
        #expect(plain.dependencies == [number, word, flag] && plain.name == "plain")
        #expect(blind.dependencies == [plain, number] && blind.name == "blind")
        queue.enqueue(plain, suspending, called, blind, asleep)
        #expect(try await blind.value == 5 && plain.isFinished)
        #expect(try await asleep.value == 6)
        #expect(try await plain.value == "4 four true")
        #expect(try await suspending.value == "four 4")
        #expect(try await called.value == "true four")
    }

    @Test func theFirstErrorInOrderIsTheResultAndNoClosureRuns() async throws {
        let (number, word, _) = sources()
        let (one, two) = (
            AsyncOperation<Int>(name: "one") { throw JobFailure(why: "one") },
            AsyncOperation<Int>(name: "two") { throw JobFailure(why: "two") }
        )
        let ran = Counter()
        let plain = AsyncOperation<Int>(after: number, one, two) { _, _, _ in ran.increment() }
        let suspending = AsyncOperation<Int>(after: one, word) { _, _ async in ran.increment() }
        let called = AsyncOperation<Int>(after: two, one) { (completion: Completion<Int>, _, _) in
            completion.succeed(ran.increment())
        }
        let blind = AsyncOperation<Int>(after: number, two, one) { ran.increment() }
        let asleep = AsyncOperation<Int>(after: one) {
            await Task.yield()
            return ran.increment()
        }
        queue.enqueue(one, two, plain, suspending, called, blind, asleep)
        await #expect(throws: JobFailure(why: "two")) { try await blind.value }
        await #expect(throws: JobFailure(why: "one")) { try await asleep.value }
        await #expect(throws: JobFailure(why: "one")) { try await plain.value }
        await #expect(throws: JobFailure(why: "one")) { try await suspending.value }
        await #expect(throws: JobFailure(why: "two")) { try await called.value }
        #expect(ran.value == 0)
    }

    @Test func eachInputSaysWhatIsTakenWhereItFails() async throws {
        let failed = AsyncOperation<Int>(name: "failed") { throw JobFailure(why: "no network") }
        let cancelled = AsyncOperation<Int>(name: "cancelled") { 1 }
        cancelled.cancel()
        let fine = AsyncOperation<Int> { 5 }
        queue.enqueue(failed, cancelled, fine)
        let all = AsyncOperation<String>(
            after: failed.substituting(7),
            cancelled.asResult,
            failed.asResult
        ) { number, missing, result in
            guard case .failure(let error) = result, case .failure(let end) = missing else {
                return "no error"
            }
            return "\(number) \(end is OperationCancelled) \((error as? JobFailure)?.why ?? "?")"
        }
        let none = AsyncOperation<String>(
            after: fine.substituting(7),
            fine.asResult
        ) { number, result in "\(number) \((try? result.get()) ?? 0)" }
        queue.enqueue(all, none)
        #expect(try await all.value == "7 true no network")
        #expect(try await none.value == "5 5")
    }

    @Test func anInputWhoseDependencyWasRemovedSaysSo() async throws {
        let above = AsyncOperation<Int>(name: "above") { 1 }
        let inputs: [Upstream<Result<Int, any Error>>] = [above.asResult]
        let below = AsyncOperation<Int>(name: "below", after: above.substituting(3), inputs[0]) { number, _ in
            number
        }
        below.removeDependency(above)
        queue.enqueue(below)
        await #expect(throws: OperationInputMissing(operation: "below", upstream: "above")) {
            try await below.value
        }
    }

    @Test func zipGivesAllOutputsAndAndTakesAnyInput() async throws {
        let (number, word, flag) = sources()
        let failed = AsyncOperation<Int> { throw JobFailure() }
        let zipped = AsyncOperation.zip(number, word, flag, failed.substituting(0), name: "zipped")
        let both = number.and(failed.substituting(9))
        let broken = AsyncOperation.zip(number, failed)
        let all = AsyncOperation.all(of: [number.substituting(0), failed.substituting(0)])
        #expect(zipped.dependencies == [number, word, flag, failed] && all.dependencies == [number, failed])
        #expect(both.dependencies == [number, failed])
        queue.enqueue(failed, zipped, both, broken, all)
        let value = try await zipped.value
        #expect(value.0 == 4 && value.1 == "four" && value.2 && value.3 == 0 && zipped.name == "zipped")
        #expect(try await both.value == (4, 9))
        #expect(try await all.value == [4, 0])
        await #expect(throws: JobFailure()) { try await broken.value }
    }

    @Test func theInputsAreFreedWhenTheOperationHasRunOrIsDropped() async throws {
        let freed = Counter()
        do {
            let first = AsyncOperation { Tracked(freed: freed) }
            let second = AsyncOperation { Tracked(freed: freed) }
            let below = AsyncOperation<Int>(after: first, second) { one, two in
                one.touch()
                two.touch()
                return 1
            }
            queue.enqueue(first, second, below)
            _ = try await below.value
            withExtendedLifetime(below) {}
        }
        await eventually("both outputs are freed") { freed.value == 2 }
        do {
            let captured = Tracked(freed: freed)
            let first = AsyncOperation<Int> {
                captured.touch()
                return 1
            }
            _ = AsyncOperation.zip(first, first.asResult)
        }
        #expect(freed.value == 3)
    }

    // MARK: Edges that carry no value

    @Test func aDependencyFailsWhatWaitsForItWhereItSaysSo() async throws {
        let ran = Counter()
        let failed = AsyncOperation<Int>(name: "failed") { throw JobFailure(why: "disk full") }
        let failing = AsyncOperation<Int> { ran.increment() }
        let ignoring = AsyncOperation<Int> { 5 }
        failing.addDependency(failed, onFailure: .fail)
        ignoring.addDependency(failed, onFailure: .ignore)
        queue.enqueue(failing, ignoring, failed)
        await #expect(throws: JobFailure(why: "disk full")) { try await failing.value }
        #expect(try await ignoring.value == 5)
        // It has finished: the same.
        let late = AsyncOperation<Int> { ran.increment() }
        late.addDependency(failed, onFailure: .fail)
        let fine = AsyncOperation<Int> { 6 }
        fine.addDependency(ignoring, onFailure: .fail)
        queue.enqueue(late, fine)
        await #expect(throws: JobFailure(why: "disk full")) { try await late.value }
        #expect(try await fine.value == 6)
        #expect(ran.value == 0)
    }

    @Test func aCancellationAboveIsAFailureOfAnyClass() async throws {
        let (gated, block) = (AsyncOperation<Int>(name: "gated") { 1 }, BlockOperation {})
        block.name = "block"
        for above in [gated, block] {
            let below = AsyncOperation<Int> { 2 }
            below.addDependency(above, onFailure: .fail)
            above.cancel()
            queue.enqueue(above, below)
            await #expect(throws: OperationCancelled(operation: above.name!)) { try await below.value }
        }
    }

    /// A default stands for a failure, not for an input that is not there yet.
    @Test func aDefaultDoesNotStandForAMissingInput() {
        let above = AsyncOperation<Int>(name: "above") { 1 }
        #expect(throws: OperationInputMissing(operation: "step", upstream: "above")) {
            try above.substituting(0).take("step")
        }
        above.cancel()
        above.start()
        #expect((try? above.substituting(0).take("step")) == 0)
    }

    @Test func aFailureAboveDoesNotReplaceACancellation() {
        let above = AsyncOperation<Int> { throw JobFailure() }
        let below = AsyncOperation<Int> { 2 }
        below.addDependency(above, onFailure: .fail)
        below.cancel()
        above.start()
        below.start()
        #expect(throws: below.cancellationError) { try below.result?.get() }
    }

    @Test func aDependencyThatWasRemovedFailsNothing() async throws {
        let above = AsyncOperation<Int> { throw JobFailure() }
        let below = AsyncOperation<Int> { 2 }
        below.addDependency(above, onFailure: .fail)
        above.finish(.failure(JobFailure()))
        below.removeDependency(above)
        queue.enqueue(above, below)
        #expect(try await below.value == 2)
    }
}
