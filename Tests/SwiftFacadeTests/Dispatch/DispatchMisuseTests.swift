// SPDX-License-Identifier: Apache-2.0
//
// Calls of the dispatch helpers that end the process, each in a child: a wait for itself, a token that is left twice,
// a limit that lets nothing run.

import Dispatch
import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync

/// "A" and "B", with one target.
private func pair(on target: DispatchQueue) -> (DispatchQueue, DispatchQueue) {
    (GCD.serialQueue(label: "A", target: target), GCD.serialQueue(label: "B", target: target))
}
// contract: GCD, LeaveToken, BoundedRunner
@Suite(.timeLimit(.minutes(10))) struct DispatchMisuseTests {
    private static let misuses = queues + targets + groupsAndRunners

    @Test(.serialized, .ownThreads, arguments: misuses.map(\.name))
    func aMisuseIsReported(name: String) async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [name] in
            try await DispatchMisuseTests.misuses[name].happen()
        }
        Self.misuses[name].expectReport(result)
    }

    // MARK: GCD.sync

    private static let queues: [Misuse] = [
        .named(
            "the current queue",
            #"interlock: GCD.sync(on: "org.interlock.photos"): would wait for itself"#,
            #"("org.interlock.photos" → "org.interlock.photos")"#
        ) {
            let queue = DispatchQueue(label: "org.interlock.photos")
            sync(on: queue) { sync(on: queue) {} }
        },
        .named("the queue of async work", #"GCD.sync(on: "never met before"): would wait for itself"#) {
            let queue = DispatchQueue(label: "never met before")
            queue.async { sync(on: queue) {} }
        },
        // A, then B, then A: libdispatch sees B only, and hangs.
        .named(
            "a queue further out",
            #"this thread is running on "B" and has entered "A" already"#,
            #"("A" → "B" → "A")"#
        ) {
            let (a, b) = (DispatchQueue(label: "A"), DispatchQueue(label: "B"))
            sync(on: a) { sync(on: b) { sync(on: a) {} } }
        },
        .named("a queue further out that was entered by async", #"("A" → "B" → "A")"#) {
            let (a, b) = (GCD.serialQueue(label: "A"), DispatchQueue(label: "B"))
            a.async { sync(on: b) { sync(on: a) {} } }
        },
        .named("the main queue, from itself", "would wait for itself") {
            await MainActor.run { sync(on: .main) {} }
        },
        .named("a concurrent queue, again", #"interlock: GCD.sync(on: "wide"): would wait for itself"#) {
            let queue = GCD.concurrentQueue(label: "wide")
            sync(on: queue) { sync(on: queue) {} }
        },
        .named("a concurrent queue, from its work", #"GCD.sync(on: "wide"): would wait for itself"#) {
            let queue = DispatchQueue(label: "wide", attributes: .concurrent)
            queue.async { sync(on: queue) {} }
        },
        // GCD has not met "A" before: the call on it sees it.
        .named("a queue that was entered by a plain sync", #"("A" → "B" → "A")"#) {
            let (a, b) = (DispatchQueue(label: "A"), DispatchQueue(label: "B"))
            func plain(_ body: () -> Void) { a.sync(execute: body) }
            plain { sync(on: b) { sync(on: a) {} } }
        },
        .named("a queue behind a global one", #"GCD.sync(on: "A"): would wait for itself"#) {
            let a = DispatchQueue(label: "A")
            a.async { sync(on: .global(qos: .utility)) { sync(on: a) {} } }
        },
        .named("a cycle though there is a limit", #"("A" → "B" → "A")"#) {
            @Sendable func limited(_ queue: DispatchQueue, _ body: @Sendable () -> Void) {
                _ = GCD.sync(on: queue, timeout: .seconds(3600), body)
            }
            let (a, b) = (DispatchQueue(label: "A"), DispatchQueue(label: "B"))
            limited(a) { limited(b) { sync(on: a) {} } }
        },
    ]

    private static let targets: [Misuse] = [
        .named(
            "a queue with the same serial target",
            """
            interlock: GCD.sync(on: "B"): would wait for itself: this thread is running on "A" and has \
            entered "A" and with it its serial target "disk", which "B" targets too ("A" → "B"), so the work \
            could never start
            """
        ) {
            let (a, b) = pair(on: GCD.serialQueue(label: "disk"))
            sync(on: a) { sync(on: b) {} }
        },
        .named("a target further down", #""disk", which "B" targets too ("A" → "C" → "B")"#) {
            let target = GCD.serialQueue(label: "disk")
            let a = GCD.serialQueue(label: "A", target: GCD.concurrentQueue(label: "between", target: target))
            let b = GCD.serialQueue(label: "B", target: target)
            a.async { sync(on: DispatchQueue(label: "C")) { sync(on: b) {} } }
        },
        // libdispatch answers for the current queue: "A" was not made by GCD.
        .named("the target of a plain queue", #"its serial target "disk", which "B" targets too"#) {
            let target = GCD.serialQueue(label: "disk")
            let a = DispatchQueue(label: "A", target: target)
            let b = GCD.serialQueue(label: "B", target: target)
            sync(on: a) { sync(on: b) {} }
        },
        .named("its target", #"has entered "A" and with it its serial target "disk" ("A" → "disk")"#) {
            let target = DispatchQueue(label: "disk")
            let a = DispatchQueue(label: "A", target: target)
            sync(on: a) {}
            a.async { sync(on: target) {} }
        },
        .named("a queue on the current one", #"has entered "disk" already, which "A" targets too"#) {
            let target = GCD.serialQueue(label: "disk")
            let a = GCD.serialQueue(label: "A", target: target)
            sync(on: target) { sync(on: a) {} }
        },
        .named("the main queue", #"its serial target "com.apple.main-thread", which "B" targets too"#) {
            let (a, b) = pair(on: .main)
            a.async { sync(on: b) {} }
        },
    ]

    // MARK: Groups and runners

    private static let groupsAndRunners: [Misuse] = [
        .named(
            "leaving twice",
            #"interlock: LeaveToken.leave("thumbnail"): left twice; it was made at Photos.swift:12"#,
            "has left group DispatchGroup 0x"
        ) {
            let group = DispatchGroup()
            group.enter()
            let token = group.enterToken("thumbnail", file: "Photos.swift", line: 12)
            token.leave()
            token.leave()
        },
        .named(
            "a cycle of groups",
            """
            interlock: DispatchGroup.include("a"): the group includes this one already ("a" (P.swift:3) → \
            "b" (P.swift:1) → "c" (P.swift:2)): each would wait for the other for ever
            """
        ) {
            let (a, b, c) = (DispatchGroup(), DispatchGroup(), DispatchGroup())
            for group in [a, b, c] { group.enter() }
            a.include(b, "b", file: "P.swift", line: 1)
            b.include(c, "c", file: "P.swift", line: 2)
            c.include(a, "a", file: "P.swift", line: 3)
        },
        .named(
            "a group in itself",
            #"DispatchGroup.include("own"): a group would wait for itself, and never be empty"#
        ) {
            let group = DispatchGroup()
            group.enter()
            group.include(group, "own")
        },
        .named(
            "a runner without a place",
            "interlock: BoundedRunner.init(limit: 0): at least one job must be allowed at a time"
        ) {
            _ = BoundedRunner(limit: 0)
        },
        .named(
            "a job that waits for its runner",
            """
            interlock: BoundedRunner.waitUntilIdle("downloads"): called by a job of the runner, which is not \
            idle before the job has ended: it would wait for itself for ever
            """
        ) {
            let runner = BoundedRunner(limit: 2, name: "downloads")
            runner.submit { runner.waitUntilIdle() }
        },
    ]
}
