// SPDX-License-Identifier: Apache-2.0
//
// The barrier of the C core, for threads: it blocks by its nature, each party until the last has come,
// and tasks that did so would starve the cooperative pool of the very threads the others need.

import CInterlock

/// A number of threads that meet, round after round; in each round one is told that it came last.
///
/// ```swift
/// let step = ThreadBarrier(parties: 4)
/// // on each of four threads
/// for generation in 0..<100 {
///     computeMyPart(of: generation)
///     if step.wait() { exchangeBuffers() }
///     step.wait()
/// }
/// ```
///
/// What any party did before its wait is visible to all after theirs.
public final class ThreadBarrier: Sendable {
    private let barrier: CObject<ilk_barrier>

    /// How many threads meet in each round.
    public let parties: Int

    /// A barrier for `parties` threads. Allocates.
    ///
    /// - Precondition: `parties` is at least 1 and fits 32 bits.
    public init(parties: Int) {
        guard parties >= 1, parties <= Int(UInt32.max) else {
            misuse("ThreadBarrier.init", nil, "\(parties) parties; a barrier has 1 to \(UInt32.max)")
        }
        self.parties = parties
        barrier = CObject { ilk_barrier_init($0, UInt32(parties)) }
    }

    /// Waits until all parties of this round have come. Thread-safe; blocks the thread.
    ///
    /// - Precondition: No more threads than there are parties use the barrier.
    /// - Returns: `true` for exactly one of them a round, the one that came last.
    @discardableResult
    @available(*, noasync, message: "it blocks the thread until every other party has come")
    public func wait() -> Bool {
        ilk_barrier_wait(barrier.pointer)
    }
}
