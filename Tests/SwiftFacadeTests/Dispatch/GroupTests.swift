// SPDX-License-Identifier: Apache-2.0
//
// Groups: balanced tokens, wrapped callbacks, results in order of entry, reports of the jobs still running.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: Completion, GroupWaitReport, LeaveToken, RunningJob
@Suite(.timeLimit(.minutes(10))) struct GroupTests {
    // MARK: Tokens

    @Test func aGroupIsEmptyWhenTheLastTokenHasLeft() async throws {
        let group = DispatchGroup()
        let tokens = (0..<4).map { group.enterToken("job \($0)") }
        let notified = Handshake()
        let left = Counter()
        let leftAtNotify = Trace<Int>()
        group.notify(queue: .global()) {
            leftAtNotify.add(left.value)
            notified.give()
        }
        for token in tokens {
            DispatchQueue.global().async {
                left.increment()
                token.leave()
            }
        }
        await notified.taken()
        #expect(leftAtNotify.events == [4])
    }

    @Test func moreJobsMayJoinWhileSomeRun() async throws {
        let group = DispatchGroup()
        let first = group.enterToken("first")
        let second = group.enterToken("second")
        first.leave()
        #expect(try await group.waitReport(timeout: .zero).running.map(\.label) == ["second"])
        second.leave()
        #expect(try await group.waitReport(timeout: nil).isFinished)
    }

    @Test(.ownThreads) func aTokenDroppedWithoutLeavingIsReportedAndTheGroupBalances() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let group = DispatchGroup()
            func forgetful() { _ = group.enterToken("forgotten", file: "Photos.swift", line: 34) }
            forgetful()
            precondition(group.wait(timeout: .now() + 10) == .success)
        }
        #expect(
            sentence(result).contains(
                "interlock: LeaveToken.deinit(\"forgotten\"): dropped without leave(); it was made at Photos.swift:34"
            )
        )
    }

    @Test func aTokenKeepsItsGroupAndLeavesInAnyThread() async {
        for _ in 0..<200 {
            let token = DispatchGroup().enterToken("alone")
            await blocking { token.leave() }
        }
    }

    // MARK: Wrapped callbacks

    private enum Callback: CaseIterable { case value, error, twice, never, thrown, later }

    @Test func enterAndLeaveBalanceHoweverTheCallbackComes() async throws {
        let group = DispatchGroup()
        let refused = Counter()
        for callback in Callback.allCases {
            group.wrap("\(callback)") { (completion: Completion<Int>) in
                switch callback {
                case .value: completion.succeed(1)
                case .error: completion.fail(JobFailure())
                case .twice:
                    completion.succeed(2)
                    if !completion.succeed(3) { refused.increment() }
                case .never: break
                case .thrown: throw JobFailure(why: "thrown")
                case .later: DispatchQueue.global().async { completion.succeed(4) }
                }
            }
        }
        let collected = try await group.collect(Int.self, timeout: .seconds(30))
        #expect(collected.isComplete && collected.results.count == 6 && refused.value == 1)
        #expect(collected.successes == [1, 2, 4])
        #expect(throws: JobFailure()) { try collected.results[1]?.get() }
        #expect(throws: JobAbandoned.self) { try collected.results[3]?.get() }
        #expect(throws: JobFailure(why: "thrown")) { try collected.results[4]?.get() }
        #expect(throws: JobFailure()) { try collected.values() }
    }

    @Test func aWrappedHandlerRunsForTheFirstCallAndHasRunBeforeTheGroupIsEmpty() async throws {
        let group = DispatchGroup()
        let heard = Trace<String>()
        let callback = group.leaving("page") { (data: String?, error: (any Error)?) in
            heard.add(data ?? "\(error as Any)")
        }
        #expect(try await group.waitReport(timeout: .zero).running.map(\.label) == ["page"])
        DispatchQueue.global().async {
            callback("first", nil)
            callback("second", nil)
        }
        #expect(try await group.waitReport(timeout: .seconds(30)).isFinished)
        #expect(heard.events == ["first"])
    }

    @Test func aWrappedHandlerThatIsDroppedLeaves() async throws {
        let group = DispatchGroup()
        do {
            let callback = group.leaving("unused") { (_: Int) in }
            _ = callback
        }
        #expect(try await group.waitReport(timeout: .seconds(30)).isFinished)
    }

    // MARK: Results

    @Test func resultsComeInOrderOfEntryAndOnce() async throws {
        let group = DispatchGroup()
        let goOn = Handshake()
        let queue = GCD.serialQueue(label: "slow")
        group.run("slow", on: queue) {
            goOn.take()
            return 0
        }
        for number in 1..<50 { group.run("\(number)", on: .global(qos: .utility)) { number } }
        group.run("a word", on: .global(qos: .utility)) { "word" }
        goOn.give()
        let numbers: CollectedResults<Int> = try await group.collect()
        #expect(try numbers.values() == Array(0..<50))
        #expect(try await group.collect(String.self).values() == ["word"])
        #expect(try await group.collect(Int.self).values() == [])
    }

    @Test func fifteenDownloadsWithFourPermitsAreAllCollected() async throws {
        let group = DispatchGroup()
        let permits = DispatchSemaphore(value: 4)
        let crowd = Crowd()
        for number in 0..<15 {
            group.run("download \(number)", on: .global(qos: .utility)) {
                permits.wait()
                crowd.enter()
                defer {
                    crowd.leave()
                    permits.signal()
                }
                return number
            }
        }
        let results = await blocking { group.collect(Int.self, timeout: .seconds(60)) }
        #expect(try results.values() == Array(0..<15))
        #expect(crowd.total == 15 && crowd.most <= 4)
    }

    // MARK: Reports

    @Test func aTimeOutNamesTheJobsThatGoOnRunning() async throws {
        let group = DispatchGroup()
        let goOn = Handshake()
        for name in ["decode", "write"] {
            group.run(name, on: GCD.serialQueue(label: name)) {
                goOn.take()
                return name
            }
        }
        let quick = group.enterToken("quick")
        quick.leave()
        let late = await blocking { group.waitReport(timeout: .milliseconds(20)) }
        #expect(!late.isFinished && late.running.map(\.label) == ["decode", "write"])
        #expect(late.description.contains("still running: \"decode\" ("))
        #expect(late.running[0].origin.contains("GroupTests.swift:"))
        let alsoLate = try await group.waitReport(timeout: .milliseconds(20))
        #expect(alsoLate.running.map(\.label) == ["decode", "write"])
        let partial = try await group.collect(String.self, timeout: .zero)
        #expect(!partial.isComplete && partial.results.count == 2 && partial.successes.isEmpty)
        #expect(throws: GroupTimedOut.self) { try partial.values() }
        goOn.give(2)
        #expect(try await group.waitReport(timeout: nil).isFinished)
        #expect(try await group.collect(String.self).values() == ["decode", "write"])
    }

    @Test func aJobThatEnteredWithoutATokenIsSaidToBeNameless() {
        let group = DispatchGroup()
        group.enter()
        let report = group.waitReport(timeout: .zero)
        #expect(!report.isFinished && report.running.isEmpty)
        #expect(report.description.contains("jobs that entered the group without a token"))
        group.leave()
    }

    @Test func aCancelledWaitThrowsAndTheJobsGoOn() async throws {
        let group = DispatchGroup()
        let token = group.enterToken("job")
        let waiter = Task { try await group.waitReport(timeout: nil) }
        let collector = Task { try await group.collect(Int.self) }
        waiter.cancel()
        collector.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        await #expect(throws: CancellationError.self) { try await collector.value }
        token.leave()
        #expect(try await group.waitReport(timeout: nil).isFinished)
    }

    // MARK: Lifetimes

    @Test func resultsNobodyCollectsGoWithTheGroup() async {
        let freed = Counter()
        for _ in 0..<64 {
            let group = DispatchGroup()
            group.run(on: .global(qos: .utility)) { Tracked(freed: freed) }
            await blocking { group.wait() }
        }
        // New groups sweep out the ledgers of old ones.
        await eventually("all but the last few ledgers are gone") {
            // As many as there may be before the next sweep, each at an address of its own.
            let groups = (0..<1000).map { _ in DispatchGroup() }
            for group in groups { group.enterTokenAndLeave() }
            return freed.value == 64
        }
    }

    @Test func aGroupHoldsNothingOfAJobThatHasLeft() {
        let group = DispatchGroup()
        for _ in 0..<1000 { group.enterToken("job").leave() }
        #expect(GroupLedger.of(group).entryCount == 0)
    }

    // Later groups release the results of those that are gone, outside their lock.
    @Test(.ownThreads) func resultsNobodyCollectedMayUseGroupsAsTheyGo() async {
        await #expect(processExitsWith: .success) {
            final class Leaving: Sendable {
                let gone: Counter
                init(_ gone: Counter) { self.gone = gone }
                deinit {
                    DispatchGroup().enterToken("last").leave()
                    gone.increment()
                }
            }
            alarm(240)
            let gone = Counter()
            for _ in 0..<100 {
                DispatchGroup().wrap { (completion: Completion<Leaving>) in completion.succeed(Leaving(gone))
                }
            }
            exit(gone.value > 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func oneFunctionServesOperationsAndGroups() async throws {
        let cancelled = Counter()
        let fetch: @Sendable (Completion<Int>) -> Void = { completion in
            completion.onCancel { cancelled.increment() }
            DispatchQueue.global().async {
                #expect(!completion.isCancelled)
                completion.succeed(7)
                completion.fail(JobFailure())
            }
        }
        let operation = AsyncOperation<Int>(fetch).enqueued(on: OperationQueue())
        #expect(try await operation.value == 7)
        let group = DispatchGroup()
        group.wrap("fetch", fetch)
        #expect(try await group.collect(Int.self).values() == [7])
        #expect(cancelled.value == 0)
    }
}

extension DispatchGroup {
    fileprivate func enterTokenAndLeave() { enterToken().leave() }
}
