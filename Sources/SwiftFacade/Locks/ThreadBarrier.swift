// SPDX-License-Identifier: Apache-2.0
//
// The barrier: threads and tasks in one queue. Not over the C barrier, whose parties are threads and cannot be
// cancelled; here a party is a waiter in the queue, and one whose time runs out, or that is cancelled, takes its
// arrival along, as a late party of `ilk_barrier_wait_until` does.
//
// Invariant: the queue holds the parties of the round that have come, fewer than meet. The party that would be the
// last takes all of them out under the queue's lock, which ends the round.

/// A number of threads and tasks that meet, round after round; in each round one is told that it came last.
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
/// What any party did before its wait is visible to all after theirs. Rounds do not mix: a party that comes for
/// the next one does not count for this.
///
/// In `async` code waiting suspends instead of blocking; threads and tasks may meet each other.
public final class ThreadBarrier: Sendable {
    private let queue = WaitQueue()

    /// How many meet in each round.
    public let parties: Int

    /// The name that the barrier was made with, or `nil`.
    public let name: String?

    /// A barrier for `parties`. Allocates.
    ///
    /// - Precondition: `parties` is at least 1 and fits 32 bits.
    /// - Parameter name: For the program's own messages, and for the report of a number of parties that cannot be.
    public init(parties: Int, name: String? = nil) {
        guard parties >= 1, parties <= Int(UInt32.max) else {
            misuse(
                "ThreadBarrier.init",
                name.map { "\"\($0)\"" } ?? "",
                "\(parties) parties; a barrier has 1 to \(UInt32.max)"
            )
        }
        self.parties = parties
        self.name = name
    }

    /// Waits until all parties of this round have come. Thread-safe; blocks the thread.
    ///
    /// - Returns: `true` for exactly one of them a round, the one that came last.
    /// - Complexity: O(1); O(parties) for the one that comes last.
    @discardableResult
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await wait()`")
    public func wait() -> Bool {
        block(until: forever) ?? false
    }

    /// Waits until all parties of this round have come, until `deadline` at most. Thread-safe; blocks the thread.
    ///
    /// A party whose time has run out has not come: the round waits for as many as before.
    ///
    /// - Returns: Whether it came last; `nil` if time ran out first.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(until:)`"
    )
    public func wait(until deadline: ContinuousClock.Instant) -> Bool? {
        block(until: Interlock.deadline(at: deadline))
    }

    /// Waits until all parties of this round have come, for `timeout` at most. Thread-safe; blocks the thread.
    ///
    /// - Returns: As ``wait(until:)-(_)``.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(timeout:)`"
    )
    public func wait(timeout: Duration) -> Bool? {
        block(until: Interlock.deadline(in: timeout))
    }

    /// Waits until all parties of this round have come. Suspends the task.
    ///
    /// - Returns: `true` for exactly one of them a round, the one that came last.
    /// - Throws: `CancellationError` if the task is cancelled before the last has come; it has not come then.
    @discardableResult
    public func wait() async throws(CancellationError) -> Bool {
        try await suspend(until: nil) ?? false
    }

    /// Waits until all parties of this round have come, until `deadline` at most. Suspends the task.
    ///
    /// - Returns: Whether it came last; `nil` if time ran out first: it has not come then.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool? {
        try await suspend(until: deadline)
    }

    /// Waits until all parties of this round have come, for `timeout` at most. Suspends the task.
    ///
    /// - Returns: Whether it came last; `nil` if time ran out first: it has not come then.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait(timeout: Duration) async throws(CancellationError) -> Bool? {
        try await suspend(until: moment(in: timeout))
    }

    private func block(until deadline: UInt64) -> Bool? {
        var isLast = false
        let met = queue.block(
            until: deadline,
            admitWith: { waiters in
                let others = self.completeRound(&waiters)
                isLast = others != nil
                return others
            }
        )
        return met ? isLast : nil
    }

    private func suspend(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool? {
        let party = Party()
        let outcome = await queue.suspend(
            party,
            until: deadline,
            admitWith: { waiters in
                let others = self.completeRound(&waiters)
                party.isLast = others != nil
                return others
            }
        )
        switch outcome {
        case .granted: return party.isLast
        case .timedOut: return nil
        case .cancelled: throw CancellationError()
        }
    }

    /// The others of the round, if the caller is the last of it. Under the queue's lock.
    private func completeRound(_ waiters: inout WaiterList) -> WaiterList? {
        waiters.count + 1 == parties ? waiters.takeAll() : nil
    }

    /// How many of this round have come, for tests.
    var arrived: Int {
        queue.withWaiters { $0.count }
    }

    /// A task at the barrier.
    // Adds a field under the rule of Waiter.
    private final class Party: TaskWaiter, @unchecked Sendable {
        var isLast = false
    }
}
