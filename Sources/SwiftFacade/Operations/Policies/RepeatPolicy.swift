// SPDX-License-Identifier: Apache-2.0
//
// How often work that succeeds is run.

import InterlockSync

/// How work that succeeds is repeated. The last value is the operation's; the first error ends it.
///
/// ```swift
/// let poll = AsyncOperation<Int>(name: "poll", repeating: .until(every: .seconds(1)) { $0 == 6 }) {
///     Int.random(in: 1...6)
/// }
/// ```
///
/// A value of constants and a `Sendable` closure: may be shared by operations and used from any thread.
public struct RepeatPolicy<Value: Sendable>: Sendable {
    let pause: Duration
    let clock: any Clock<Duration>
    /// Given the number of the run, counted from 1, and its value.
    let isLast: @Sendable (Int, Value) -> Bool

    /// Runs the work `count` times, with a pause before each further one. Fewer than one time is misuse.
    public static func times(
        _ count: Int,
        every pause: Duration = .zero,
        clock: any Clock<Duration> = ContinuousClock()
    ) -> RepeatPolicy {
        if count < 1 { misuse("RepeatPolicy.times", "\(count)", "the work must run at least once") }
        return RepeatPolicy(pause: pause, clock: clock) { number, _ in number >= count }
    }

    /// Runs the work until `isDone`, given its value, returns true, with a pause before each further run. `isDone` runs
    /// where the work ended, and must not block.
    public static func until(
        every pause: Duration = .zero,
        clock: any Clock<Duration> = ContinuousClock(),
        _ isDone: @escaping @Sendable (Value) -> Bool
    ) -> RepeatPolicy {
        RepeatPolicy(pause: pause, clock: clock) { _, value in isDone(value) }
    }
}
