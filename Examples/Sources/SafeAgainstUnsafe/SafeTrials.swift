// SPDX-License-Identifier: Apache-2.0
//
// The experiment: a thousand concurrent iterations, each of which reads the last element and appends one more than it.
// A guarded array must have a thousand elements after every run.

import Dispatch
import Interlock

/// The experiment on the guarded arrays.
package enum SafeTrials {
    package static let iterations = 1000

    package struct Report: Sendable {
        package let name: String
        /// The number of elements at the end of each run.
        package let counts: [Int]
        /// The median run's time for one iteration.
        package let perIteration: Duration

        /// How many runs ended with every element.
        package var completeRuns: Int { counts.count { $0 == iterations } }
    }

    /// Runs the experiment on each kind of array. Blocks, and keeps all cores busy. The kinds take turns: other load
    /// meets all.
    package static func run(rounds: Int = 25) -> [Report] {
        let contenders: [(name: String, type: any SharedArray.Type)] = [
            ("SafeArray", SafeArray<Int>.self),
            ("concurrent queue, barriers", BarrierQueueArray.self),
            ("serial queue", SerialQueueArray.self),
            ("NSLock", NSLockArray.self),
            ("Mutex", MutexArray.self),
            ("pthread_rwlock_t", PthreadLockArray.self),
        ]
        var counts = [[Int]](repeating: [], count: contenders.count)
        var times = [[Duration]](repeating: [], count: contenders.count)
        for _ in 0..<rounds {
            for (index, contender) in contenders.enumerated() {
                let (count, time) = fill(contender.type)
                counts[index].append(count)
                times[index].append(time)
            }
        }
        return contenders.indices.map { index in
            let median = times[index].sorted()[rounds / 2]
            return Report(
                name: contenders[index].name,
                counts: counts[index],
                perIteration: median / iterations
            )
        }
    }

    /// One run, timed from when two threads run it to when the count is known; queued writes have ended by then.
    static func fill<Contender: SharedArray>(_: Contender.Type) -> (count: Int, time: Duration) {
        let array = Contender()
        let meeting = Meeting()
        DispatchQueue.concurrentPerform(iterations: iterations) { _ in
            meeting.join()
            array.append((array.last ?? 0) + 1)
        }
        let count = array.count
        return (count, (meeting.time ?? .now).duration(to: .now))
    }
}
