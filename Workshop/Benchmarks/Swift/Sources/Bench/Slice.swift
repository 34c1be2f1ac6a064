// SPDX-License-Identifier: Apache-2.0
//
// One slice: its threads, each pinned to a core, start together, warm up for an eighth of the time, and are measured
// for the rest, each by its own readings of the clock.

import CBench
import Foundation
import Synchronization

/// The phase of a slice.
final class Phase: Sendable {
    private let value = Atomic<Int>(0)

    @inline(__always)
    func isAt(_ phase: Int) -> Bool { value.load(ordering: .relaxed) == phase }
    func become(_ phase: Int) { value.store(phase, ordering: .releasing) }

    /// Nanoseconds, and how often `batch` ran after warming up. `batch` is given the number of its first operation, and
    /// does `size` operations.
    @inline(__always)
    func measure(size: Int, _ batch: (_ first: Int) -> Void) -> (nanoseconds: Double, operations: Int) {
        while isAt(0) { sched_yield() }
        var first = 0
        while isAt(1) {
            batch(first)
            first &+= size
        }
        let warm = first
        let begin = ContinuousClock.now
        while isAt(2) {
            batch(first)
            first &+= size
        }
        return (begin.duration(to: .now) / .nanoseconds(1), first - warm)
    }
}

/// Nanoseconds between two operations, of all threads together.
func slice(
    threads: Int,
    time: Duration,
    _ work: @escaping @Sendable (_ thread: Int, _ phase: Phase) -> (nanoseconds: Double, operations: Int)
) -> Double {
    let phase = Phase()
    let speeds = Mutex<[Double]>([])
    let ready = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    for index in 0..<threads {
        let thread = Thread {
            bench_pin(UInt32(index))
            ready.signal()
            let (nanoseconds, operations) = work(index, phase)
            speeds.withLock { $0.append(Double(operations) / nanoseconds) }
            ended.signal()
        }
        thread.start()
    }
    for _ in 0..<threads { ready.wait() }
    let seconds = time / .seconds(1)
    phase.become(1)
    Thread.sleep(forTimeInterval: seconds / 8)
    phase.become(2)
    Thread.sleep(forTimeInterval: seconds * 7 / 8)
    phase.become(3)
    for _ in 0..<threads { ended.wait() }
    return 1 / speeds.withLock { $0.reduce(0, +) }
}

@inline(never)
func keep(_ value: UInt64) {
    if value == 0x5EED_5EED_5EED_5EED { print("") }
}
