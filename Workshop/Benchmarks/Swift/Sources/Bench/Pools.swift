// SPDX-License-Identifier: Apache-2.0
//
// The worker pool beside what Swift has for the same work: tasks on it and on the default executor, loops, closures
// from one thread. All threads of the machine take part, so a slice has a number of operations, not a time.

import Dispatch
import Foundation
import Interlock
import Synchronization

enum PoolWork {
    static let tasks = 100_000
    static let closures = 100_000
    static let iterations = 1_000_000

    static let cells = [
        taskCell, evenCell, unevenCell, unevenAtFirstCell, mapCell, syncCell, closureCell,
    ]

    private static let pool = WorkerPool.shared

    // MARK: Tasks

    static let taskCell = Cell(
        title: "a task group of 100,000 child tasks",
        contenders: [
            Contender("WorkerPool") { _ in
                await perOperation(tasks) { await withTaskExecutorPreference(pool) { await taskGroup() } }
            },
            Contender("default executor") { _ in await perOperation(tasks) { await taskGroup() } },
        ]
    )

    private static func taskGroup() async {
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 0..<tasks { group.addTask { number & 1 } }
            return await group.reduce(0, +)
        }
        guard sum == tasks / 2 else { fatalError("lost tasks") }
    }

    // MARK: Loops

    /// What a light iteration does; `keep` would cost more than it.
    @inline(__always)
    private static func light(_ number: Int, _ slot: UnsafeMutablePointer<UInt8>) {
        slot[number] = UInt8(truncatingIfNeeded: number &* 31)
    }

    // Each iteration writes its own byte.
    private struct Slots: @unchecked Sendable {
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: iterations)
    }

    private static let slots = Slots()

    static let evenCell = Cell(
        title: "a loop of 1,000,000 light iterations",
        contenders: [
            Contender("concurrentForEach") { _ in
                await perOperation(iterations) { forEachLight() }
            },
            Contender("concurrentForEachChunk") { _ in
                await perOperation(iterations) { forEachLightChunk() }
            },
            Contender("concurrentPerform") { _ in
                await perOperation(iterations) {
                    DispatchQueue.concurrentPerform(iterations: iterations) { light($0, slots.bytes) }
                }
            },
            Contender("concurrentPerform, 64 strides") { _ in
                await perOperation(iterations) {
                    DispatchQueue.concurrentPerform(iterations: 64) { part in
                        for number in part * iterations / 64..<(part + 1) * iterations / 64 {
                            light(number, slots.bytes)
                        }
                    }
                }
            },
            Contender("one thread") { _ in
                await perOperation(iterations) {
                    for number in 0..<iterations { light(number, slots.bytes) }
                }
            },
        ]
    )

    // Not in the contenders' own closures: those are async, where the blocking forms do not compile.
    private static func forEachLight() {
        let slots = slots
        (0..<iterations).concurrentForEach { light($0, slots.bytes) }
    }

    private static func forEachLightChunk() {
        let slots = slots
        (0..<iterations).concurrentForEachChunk { for number in $0 { light(number, slots.bytes) } }
    }

    /// Iterations of which a few take almost all the time.
    private static func uneven(_ place: String, _ isHeavy: @escaping @Sendable (Int) -> Bool) -> Cell {
        let count = 10_000
        @Sendable func work(_ number: Int) {
            var sum = number
            for step in 0..<(isHeavy(number) ? 5_000 : 10) { sum = sum &* 31 &+ step }
            keep(UInt64(truncatingIfNeeded: sum))
        }
        return Cell(
            title: "a loop of 10,000 iterations, \(place) 200 of them heavy",
            contenders: [
                Contender("concurrentForEach") { _ in
                    await perOperation(count) { blocked { (0..<count).concurrentForEach(work) } }
                },
                Contender("concurrentPerform") { _ in
                    await perOperation(count) {
                        DispatchQueue.concurrentPerform(iterations: count, execute: work)
                    }
                },
                Contender("concurrentPerform, 64 strides") { _ in
                    await perOperation(count) {
                        DispatchQueue.concurrentPerform(iterations: 64) { part in
                            for number in part * count / 64..<(part + 1) * count / 64 { work(number) }
                        }
                    }
                },
                Contender("one thread") { _ in
                    await perOperation(count) { for number in 0..<count { work(number) } }
                },
            ]
        )
    }

    static let unevenCell = uneven("the last") { $0 >= 9_800 }
    private static let unevenAtFirstCell = uneven("the first") { $0 < 200 }

    static let mapCell: Cell = {
        let count = 100_000
        let input = Array(0..<count)
        @Sendable func suspending(_ number: Int) async -> Int { number &* 3 }
        return Cell(
            title: "a map of 100,000 elements",
            contenders: [
                Contender("concurrentMap") { _ in
                    await perOperation(count) {
                        blocked {
                            guard input.concurrentMap({ $0 &* 3 }).count == count else { fatalError("lost") }
                        }
                    }
                },
                Contender("concurrentMap, child tasks") { _ in
                    await perOperation(count) {
                        let output = try? await input.concurrentMap { await suspending($0) }
                        guard output?.count == count else { fatalError("lost elements") }
                    }
                },
                Contender("map") { _ in
                    await perOperation(count) {
                        guard input.map({ $0 &* 3 }).count == count else { fatalError("lost elements") }
                    }
                },
            ]
        )
    }()

    // MARK: Waits for a queue

    static let syncCell: Cell = {
        let count = 10_000
        let queue = GCD.serialQueue(label: "free")
        let semaphore = DispatchSemaphore(value: 0)
        @Sendable func limited() -> Bool { GCD.sync(on: queue, timeout: .seconds(600)) {} != nil }
        return Cell(
            title: "10,000 times on a free queue and back",
            contenders: [
                Contender("GCD.sync, a limit") { _ in
                    await perOperation(count) {
                        for _ in 0..<count where !limited() { fatalError("late") }
                    }
                },
                Contender("GCD.sync") { _ in
                    await perOperation(count) { blocked { for _ in 0..<count { GCD.sync(on: queue) {} } } }
                },
                Contender("async and a semaphore") { _ in
                    await perOperation(count) {
                        blocked {
                            for _ in 0..<count {
                                queue.async { semaphore.signal() }
                                semaphore.wait()
                            }
                        }
                    }
                },
                Contender("DispatchQueue.sync") { _ in
                    await perOperation(count) { blocked { for _ in 0..<count { queue.sync {} } } }
                },
            ]
        )
    }()

    // MARK: Closures

    static let closureCell = Cell(
        title: "100,000 closures from one thread",
        contenders: [
            Contender("WorkerPool.submit") { _ in
                await each(closures) { work in
                    guard pool.submit(work) else { fatalError("refused") }
                }
            },
            Contender("DispatchQueue.async") { _ in
                let queue = DispatchQueue.global()
                return await each(closures) { queue.async(execute: $0) }
            },
            // Each costs as much as many of the others.
            Contender("OperationQueue") { _ in
                let queue = OperationQueue()
                return await each(closures / 10) { queue.addOperation($0) }
            },
        ]
    )

    private final class Count: Sendable {
        let value: Atomic<Int>
        let end = DispatchSemaphore(value: 0)
        init(_ count: Int) { value = Atomic(count) }
        func countDown() {
            if value.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { end.signal() }
        }
    }

    private static func each(
        _ count: Int,
        _ submit: (@escaping @Sendable () -> Void) -> Void
    ) async -> Double {
        let left = Count(count)
        return await perOperation(count) {
            for _ in 0..<count { submit { left.countDown() } }
            blocked { left.end.wait() }
        }
    }

    // MARK: -

    /// Calls what blocks. The thread is the bench's own meanwhile: nothing else wants it.
    private static func blocked(_ body: () -> Void) { body() }

    private static func perOperation(_ count: Int, _ body: () async -> Void) async -> Double {
        let begin = ContinuousClock.now
        await body()
        return begin.duration(to: .now) / .nanoseconds(1) / Double(count)
    }
}
