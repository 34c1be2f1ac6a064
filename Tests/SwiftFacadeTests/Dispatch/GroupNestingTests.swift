// SPDX-License-Identifier: Apache-2.0
//
// Groups in groups, results delivered to a closure, and limits of waits.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: RunningJob
@Suite(.timeLimit(.minutes(10))) struct GroupNestingTests {
    // MARK: Results

    @Test func resultsAreDeliveredOnTheQueueOnceTheGroupIsEmpty() async throws {
        let (group, queue, key) = (
            DispatchGroup(), GCD.serialQueue(label: "delivery"), DispatchSpecificKey<Int>()
        )
        queue.setSpecific(key: key, value: 7)
        let goOn = Handshake()
        group.run("slow", on: GCD.serialQueue(label: "slow")) {
            goOn.take()
            return 0
        }
        for number in 1..<20 { group.run(on: .global(qos: .utility)) { number } }
        group.run("a word", on: .global(qos: .utility)) { "word" }
        let early = Counter()
        let arrival = Promise<(CollectedResults<Int>, Int?)>()
        group.notifyResults(of: Int.self, queue: queue) { results in
            early.increment()
            arrival.fulfil((results, DispatchQueue.getSpecific(key: key)))
        }
        await blocking { queue.sync {} }
        #expect(early.value == 0)
        goOn.give()
        let (results, seen) = await arrival.take()
        #expect(try results.values() == Array(0..<20) && results.isComplete && seen == 7)
        #expect(try await group.collect(String.self).values() == ["word"])
        #expect(try await group.collect(Int.self).values() == [])
    }

    // delivery queue:  [held.....................] body
    // group:           empty   second joins
    @Test func aJobThatJoinsBeforeTheDeliveryKeepsItsResult() async throws {
        let (group, queue) = (DispatchGroup(), GCD.serialQueue(label: "delivery"))
        let goOn = Handshake()
        let kept = VisibleMutex<Completion<Int>?>(nil)
        queue.async { goOn.take() }
        let arrival = Promise<CollectedResults<Int>>()
        group.wrap { (completion: Completion<Int>) in completion.succeed(1) }
        group.notifyResults(queue: queue) { arrival.fulfil($0) }
        group.wrap("second") { (completion: Completion<Int>) in kept.withLock { $0 = completion } }
        goOn.give()
        #expect(try await arrival.take().values() == [1])
        kept.withLock { $0.take() }?.succeed(2)
        #expect(try await group.collect(Int.self).values() == [2])
    }

    @Test func anEmptyGroupIsFinishedWithoutTime() async throws {
        for _ in 0..<1_000 {
            #expect(try await DispatchGroup().waitReport(timeout: .zero).isFinished)
        }
    }

    // MARK: Groups in groups

    @Test func aGroupIsNotEmptyBeforeTheGroupsInIt() async throws {
        let (photos, thumbnails, icons) = (DispatchGroup(), DispatchGroup(), DispatchGroup())
        let decode = thumbnails.enterToken("decode")
        let draw = icons.enterToken("draw")
        thumbnails.include(icons, "icons")
        photos.include(thumbnails, "thumbnails")
        #expect(try await !photos.waitReport(timeout: .zero).isFinished)
        decode.leave()
        #expect(try await !photos.waitReport(timeout: .milliseconds(5)).isFinished)
        draw.leave()
        #expect(try await photos.waitReport(timeout: nil).isFinished)
        #expect(try await thumbnails.waitReport(timeout: .zero).isFinished)
    }

    @Test func reportsNameTheRunningJobsOfTheGroupsInside() async throws {
        let (photos, thumbnails, icons) = (DispatchGroup(), DispatchGroup(), DispatchGroup())
        let tokens = [thumbnails.enterToken("decode", file: "P.swift", line: 1), icons.enterToken("draw")]
        thumbnails.include(icons, "icons")
        photos.include(thumbnails, "thumbnails", file: "P.swift", line: 2)
        let report = try await photos.waitReport(timeout: .zero)
        #expect(report.running.map(\.label) == ["thumbnails"])
        let jobs = report.running.first?.jobs ?? []
        #expect(jobs.map(\.label) == ["decode", "icons"])
        #expect(jobs.last?.jobs.map(\.label) == ["draw"])
        #expect(
            report.description.hasPrefix(
                "still running: \"thumbnails\" (P.swift:2), in which \"decode\" (P.swift:1) and \"icons\" ("
            )
        )
        for token in tokens { token.leave() }
        #expect(try await photos.waitReport(timeout: nil).isFinished)
    }

    @Test func anEmptyGroupIsNoJob() {
        let (group, child) = (DispatchGroup(), DispatchGroup())
        group.include(child)
        #expect(group.wait(timeout: .now()) == .success)
        #expect(GroupLedger.of(group).entryCount == 0)
    }

    @Test func anIncludedGroupIsForgottenWhenItIsEmpty() async throws {
        let (group, child) = (DispatchGroup(), DispatchGroup())
        let inside = child.enterToken("inside")
        group.include(child, "child")
        #expect(GroupLedger.of(group).children.count == 1)
        inside.leave()
        #expect(try await group.waitReport(timeout: nil).isFinished)
        #expect(GroupLedger.of(group).entryCount == 0)
    }

    @Test func aGroupMayBeInTwoGroups() async throws {
        let (one, two, child) = (DispatchGroup(), DispatchGroup(), DispatchGroup())
        let token = child.enterToken()
        one.include(child)
        two.include(child)
        one.include(two)
        token.leave()
        #expect(try await one.waitReport(timeout: nil).isFinished)
        #expect(try await two.waitReport(timeout: nil).isFinished)
    }

    // MARK: Limits

    @Test func groupsAreWaitedForWithinALimit() async throws {
        let group = DispatchGroup()
        let token = group.enterToken("held")
        group.wrap { (completion: Completion<Int>) in completion.succeed(1) }
        for limit in [Duration.seconds(-1), .milliseconds(5)] {
            let blockingReport = await blocking { group.waitReport(timeout: limit) }
            #expect(blockingReport.running.map(\.label) == ["held"])
            #expect(try await group.waitReport(timeout: limit).running.map(\.label) == ["held"])
        }
        // The job leaves after the wait has begun, as a rule.
        let limit = Duration.seconds(600)
        GCD.after(.milliseconds(20), on: .global()) { token.leave() }
        #expect(await blocking { group.waitReport(timeout: limit).isFinished })
        #expect(try await group.waitReport(timeout: limit).isFinished)
        #expect(try await group.collect(Int.self, timeout: limit).values() == [1])
        group.wrap { (completion: Completion<Int>) in completion.succeed(2) }
        #expect(try await blocking { try group.collect(Int.self, timeout: limit).values() } == [2])
    }

    /// Each group is twice a job of the next one: explained in full, the sentence would double with each.
    @Test func aGroupThatIsTheJobOfSeveralIsExplainedOnce() {
        let innermost = DispatchGroup()
        let token = innermost.enterToken("deep")
        var group = innermost
        for level in 0..<40 {
            let (next, child) = (DispatchGroup(), group)
            next.include(child, "left \(level)")
            next.include(child, "right \(level)")
            group = next
        }
        let report = group.waitReport(timeout: .zero)
        let sentence = report.description
        #expect(sentence.components(separatedBy: "\"deep\"").count == 2)
        for level in 0..<40 {
            #expect(sentence.contains("\"left \(level)\"") && sentence.contains("\"right \(level)\""))
        }
        token.leave()
        #expect(group.waitReport(timeout: .seconds(60)).isFinished)
    }
}
