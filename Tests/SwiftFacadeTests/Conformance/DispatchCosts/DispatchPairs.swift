// SPDX-License-Identifier: Apache-2.0
//
// A helper of `GCD` beside what it wraps, at the same work: `count` operations, from the first to the end of the last.

import Dispatch
import Foundation
import Interlock

/// One helper and what a program would write without it.
struct DispatchPair: Sendable {
    typealias Work = @Sendable (_ count: Int) -> Void

    let title: String
    /// Operations of one measurement.
    let count: Int
    /// The ratio above which the comparison fails: what the helper adds, and the noise of a busy machine.
    let limit: Double
    let helper: Work
    let plain: Work
}

enum DispatchPairs {
    static var all: [DispatchPair] { syncs + [run, awaited] + afters + [group] + runners }

    /// Counts down on other threads.
    private final class Countdown: Sendable {
        private let group = DispatchGroup()
        init(_ count: Int) { for _ in 0..<count { group.enter() } }
        func countDown() { group.leave() }
        func wait() { group.wait() }
    }

    // MARK: sync

    private static var syncs: [DispatchPair] {
        [
            DispatchPair(
                title: "GCD.sync / sync, no result",
                count: 20_000,
                limit: 1.5,
                helper: { count in
                    let queue = GCD.serialQueue(label: "sync")
                    var sum = 0
                    for _ in 0..<count { GCD.sync(on: queue) { sum &+= 1 } }
                    precondition(sum == count)
                },
                plain: { count in
                    let queue = DispatchQueue(label: "sync")
                    var sum = 0
                    for _ in 0..<count { queue.sync { sum &+= 1 } }
                    precondition(sum == count)
                }
            ),
            DispatchPair(
                title: "GCD.sync / sync, a result",
                count: 20_000,
                limit: 1.5,
                helper: { count in
                    let queue = GCD.serialQueue(label: "sync")
                    var sum = 0
                    for number in 0..<count { sum &+= GCD.sync(on: queue) { number & 1 } }
                    precondition(sum <= count)
                },
                plain: { count in
                    let queue = DispatchQueue(label: "sync")
                    var sum = 0
                    for number in 0..<count { sum &+= queue.sync { number & 1 } }
                    precondition(sum <= count)
                }
            ),
            DispatchPair(
                title: "GCD.sync / sync, on a queue",
                count: 20_000,
                limit: 4,
                helper: { count in
                    let (outer, inner) = (GCD.serialQueue(label: "outer"), GCD.serialQueue(label: "inner"))
                    var sum = 0
                    outer.sync { for _ in 0..<count { GCD.sync(on: inner) { sum &+= 1 } } }
                    precondition(sum == count)
                },
                plain: { count in
                    let (outer, inner) = (DispatchQueue(label: "outer"), DispatchQueue(label: "inner"))
                    var sum = 0
                    outer.sync { for _ in 0..<count { inner.sync { sum &+= 1 } } }
                    precondition(sum == count)
                }
            ),
        ]
    }

    // MARK: async and back

    private static let run = DispatchPair(
        title: "GCD.run / async and back",
        count: 5_000,
        limit: 2,
        helper: { count in
            let (work, back, all) = (
                DispatchQueue(label: "work"), DispatchQueue(label: "back"), Countdown(count)
            )
            for number in 0..<count {
                GCD.run(on: work, deliverOn: back) {
                    number
                } completion: { (_: Int) in
                    all.countDown()
                }
            }
            all.wait()
        },
        plain: { count in
            let (work, back, all) = (
                DispatchQueue(label: "work"), DispatchQueue(label: "back"), Countdown(count)
            )
            for number in 0..<count {
                work.async {
                    let value = number
                    back.async { withExtendedLifetime(value) { all.countDown() } }
                }
            }
            all.wait()
        }
    )

    private static let awaited = DispatchPair(
        title: "await GCD.run / continuation",
        count: 2_000,
        limit: 2,
        helper: { count in
            inTask {
                let queue = DispatchQueue(label: "work")
                for number in 0..<count { _ = try? await GCD.run(on: queue) { number } }
            }
        },
        plain: { count in
            inTask {
                let queue = DispatchQueue(label: "work")
                for number in 0..<count {
                    _ = await withCheckedContinuation { continuation in
                        queue.async { continuation.resume(returning: number) }
                    }
                }
            }
        }
    )

    private static func inTask(_ body: @escaping @Sendable () async -> Void) {
        let end = DispatchSemaphore(value: 0)
        // High: at the priority of the tests each hop would stand behind all of theirs.
        Task(priority: .high) {
            await body()
            end.signal()
        }
        end.wait()
    }

    private static var afters: [DispatchPair] {
        let after: DispatchPair.Work = { count in
            let (queue, all) = (DispatchQueue(label: "later"), Countdown(count))
            for _ in 0..<count { GCD.after(.microseconds(100), on: queue) { all.countDown() } }
            all.wait()
        }
        return [
            DispatchPair(
                title: "GCD.after / asyncAfter",
                count: 2_000,
                limit: 2,
                helper: after,
                plain: { count in
                    let (queue, all) = (DispatchQueue(label: "later"), Countdown(count))
                    for _ in 0..<count {
                        queue.asyncAfter(deadline: .now() + .microseconds(100)) { all.countDown() }
                    }
                    all.wait()
                }
            ),
            // It can be cancelled too.
            DispatchPair(
                title: "GCD.after / asyncAfter of a work item",
                count: 2_000,
                limit: 2,
                helper: after,
                plain: { count in
                    let (queue, all) = (DispatchQueue(label: "later"), Countdown(count))
                    for _ in 0..<count {
                        let item = DispatchWorkItem { all.countDown() }
                        queue.asyncAfter(deadline: .now() + .microseconds(100), execute: item)
                    }
                    all.wait()
                }
            ),
        ]
    }

    // The plain program keeps its results too.
    private static let group = DispatchPair(
        title: "group.run / async(group:)",
        count: 2_000,
        limit: 4,
        helper: { count in
            let (group, queue) = (DispatchGroup(), DispatchQueue(label: "jobs"))
            for number in 0..<count { group.run("job", on: queue) { number } }
            precondition(group.collect(Int.self).successes.count == count)
        },
        plain: { count in
            let (group, queue) = (DispatchGroup(), DispatchQueue(label: "jobs"))
            let (lock, results) = (NSLock(), Results(count))
            for number in 0..<count {
                queue.async(group: group) { lock.withLock { results.values[number] = number } }
            }
            group.wait()
            precondition(results.values.compactMap { $0 }.count == count)
        }
    )

    // Its users hold a lock.
    private final class Results: @unchecked Sendable {
        var values: [Int?]
        init(_ count: Int) { values = Array(repeating: nil, count: count) }
    }

    // MARK: At most four at once

    private static var runners: [DispatchPair] {
        let runner: DispatchPair.Work = { count in
            let runner = BoundedRunner(limit: 4, on: .global())
            let all = Countdown(count)
            for _ in 0..<count { runner.submit { all.countDown() } }
            all.wait()
        }
        return [
            DispatchPair(
                title: "runner / OperationQueue, limit 4",
                count: 5_000,
                limit: 1,
                helper: runner,
                plain: { count in
                    let queue = OperationQueue()
                    queue.maxConcurrentOperationCount = 4
                    let all = Countdown(count)
                    for _ in 0..<count { queue.addOperation { all.countDown() } }
                    all.wait()
                }
            ),
            DispatchPair(
                title: "runner / semaphore in each closure",
                count: 5_000,
                limit: 2,
                helper: runner,
                plain: { count in
                    let permits = DispatchSemaphore(value: 4)
                    let all = Countdown(count)
                    for _ in 0..<count {
                        DispatchQueue.global().async {
                            permits.wait()
                            all.countDown()
                            permits.signal()
                        }
                    }
                    all.wait()
                }
            ),
        ]
    }
}
