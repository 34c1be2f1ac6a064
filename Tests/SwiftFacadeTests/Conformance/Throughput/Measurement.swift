// SPDX-License-Identifier: Apache-2.0
//
// Comparing two versions on a machine that is never quiet: short measurements in turns, so that a disturbance hits
// both, and each version's median. So coarse a comparison finds a version that has become several times slower; finer
// ones are the benchmarks'.

import Foundation
import Synchronization

/// In a debug build generic code is not specialised and every access is checked: a ratio says which version is compiled
/// worse.
let isOptimised: Bool = {
    #if DEBUG
    false
    #else
    true
    #endif
}()

/// A version of a primitive at some work: how many operations it did in the time given.
struct Entrant: Sendable {
    let name: String
    let operations: @Sendable (_ time: Duration) -> Int
}

/// The same work by the C-backed version and by each pure-Swift one.
struct Contest: Sendable {
    let title: String
    let core: Entrant
    let others: [Entrant]

    struct Ratio: Sendable {
        let title: String
        let core: Double
        let other: Double
        let name: String
        /// The C-backed version's best round tells a slow version from a slow moment.
        let coreAtBest: Double
        var value: Double { core / other }
        var isSlowerThanHalf: Bool { coreAtBest < other / 2 }

        var line: String {
            let speeds = String(format: "%9.2f  %9.2f  %6.2f", core / 1e6, other / 1e6, value)
            return title.padding(toLength: 38, withPad: " ", startingAt: 0) + speeds + "  " + name
        }

        static let heading =
            "work".padding(toLength: 38, withPad: " ", startingAt: 0)
            + " C-backed       pure   ratio  against (million operations a second)"
    }

    /// Measures everybody in turns; blocks.
    func ratios(rounds: Int, time: Duration) -> [Ratio] {
        let everybody = [core] + others
        var speeds = everybody.map { _ in [Double]() }
        for round in 0..<rounds {
            // Another one goes first each round.
            for offset in everybody.indices {
                let index = (round + offset) % everybody.count
                let operations = everybody[index].operations(time)
                speeds[index].append(Double(operations) / (time / .seconds(1)))
            }
        }
        let medians = speeds.map { $0.sorted()[rounds / 2] }
        return zip(others, medians.dropFirst()).map { other, median in
            Ratio(
                title: title,
                core: medians[0],
                other: median,
                name: other.name,
                coreAtBest: speeds[0].max() ?? 0
            )
        }
    }
}

/// Runs `work` on `threads` threads, each on its own processor while there are enough; sums up what they did.
func together(_ threads: Int, _ work: @escaping @Sendable (_ thread: Int) -> Int) -> Int {
    let gate = StartGate(threads)
    let total = Atomic<Int>(0)
    let group = DispatchGroup()
    for index in 0..<threads {
        group.enter()
        Thread.detachNewThread {
            pinThread(index)
            gate.arriveAndAwaitAll()
            total.add(work(index), ordering: .relaxed)
            group.leave()
        }
    }
    group.wait()
    return total.load(ordering: .relaxed)
}

/// Repeats `operation` until `time` has passed; counts. Reads the clock every 64 times.
@inline(__always)
func repeating(for time: Duration, _ operation: (Int) -> Void) -> Int {
    let end = ContinuousClock.now + time
    var done = 0
    while ContinuousClock.now < end {
        for _ in 0..<64 {
            operation(done)
            done &+= 1
        }
    }
    return done
}

private final class StartGate: Sendable {
    private let missing: Atomic<Int>

    init(_ threads: Int) { missing = Atomic(threads) }

    func arriveAndAwaitAll() {
        missing.subtract(1, ordering: .relaxed)
        while missing.load(ordering: .relaxed) > 0 { Thread.yield() }
    }
}
