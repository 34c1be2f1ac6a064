// SPDX-License-Identifier: Apache-2.0
//
// The barrier: threads and tasks in one queue. The C barrier does not serve: its parties are threads and cannot be
// cancelled. Here a party is a waiter in the queue, and leaves it if it times out or is cancelled.
//
// Invariant: the queue holds the parties of the round that have arrived, fewer than `parties`. The last party empties
// it under its lock, which ends the round.

/// A fixed number of threads and tasks that meet, round after round; one party a round learns that it came last.
///
/// ```swift
/// let step = Barrier(parties: 4)
/// // on each of four threads
/// for generation in 0..<100 {
///     computeMyPart(of: generation)
///     if step.wait() { exchangeBuffers() }
///     step.wait()
/// }
/// ```
///
/// Every method is thread-safe. In `async` code waiting suspends instead of blocking. Rounds do not mix: a party that
/// arrives for the next does not count for this one. What a party did before its wait is visible to all parties after
/// theirs.
///
/// The contract is that of `ilk_barrier` in `<interlock/barrier.h>`.
public final class Barrier: Sendable {
    private let queue = WaitQueue()

    /// The parties of each round.
    public let parties: Int

    /// The name, or `nil`.
    public let name: String?

    /// A barrier for `parties`. Allocates.
    ///
    /// - Precondition: `parties` is from 1 to 4,294,967,295; another number is reported and ends the process.
    /// - Parameter name: For messages of the program, and for that report.
    public init(parties: Int, name: String? = nil) {
        guard parties >= 1, parties <= Int(UInt32.max) else {
            misuse(
                "Barrier.init",
                name.map { "\"\($0)\"" } ?? "",
                "\(parties) parties; a barrier has 1 to \(UInt32.max)"
            )
        }
        self.parties = parties
        self.name = name
    }

    /// Waits until all parties of this round have arrived. Blocks the thread.
    ///
    /// - Returns: `true` for exactly one party a round, the one that came last.
    /// - Complexity: O(1); O(parties) for the last party.
    @discardableResult
    @available(*, noasync, message: "it blocks the thread; use `try await wait()`")
    public func wait() -> Bool {
        block(until: forever) ?? false
    }

    /// Waits until all parties of this round have arrived, until `deadline` at most. Blocks the thread.
    ///
    /// A party that times out has not arrived: the round waits for as many as before. The last party does not time out.
    ///
    /// - Returns: Whether the caller came last; `nil` if the wait timed out.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    public func wait(until deadline: ContinuousClock.Instant) -> Bool? {
        block(until: InterlockSync.deadline(at: deadline))
    }

    /// Waits until all parties of this round have arrived, for `timeout` at most. Blocks the thread.
    ///
    /// A party that times out has not arrived: the round waits for as many as before. The last party does not time out.
    ///
    /// - Returns: Whether the caller came last; `nil` if the wait timed out.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    public func wait(timeout: Duration) -> Bool? {
        block(until: InterlockSync.deadline(in: timeout))
    }

    /// Waits until all parties of this round have arrived. Suspends the task.
    ///
    /// - Returns: `true` for exactly one party a round, the one that came last.
    /// - Throws: `CancellationError` if the task is cancelled before the last party arrives; it has not arrived.
    @discardableResult
    public func wait() async throws(CancellationError) -> Bool {
        try await suspend(until: nil) ?? false
    }

    /// Waits until all parties of this round have arrived, until `deadline` at most. Suspends the task.
    ///
    /// - Returns: Whether the caller came last; `nil` if the wait timed out: the task has not arrived.
    /// - Throws: `CancellationError` if the task is cancelled before the last party arrives; it has not arrived.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool? {
        try await suspend(until: deadline)
    }

    /// Waits until all parties of this round have arrived, for `timeout` at most. Suspends the task.
    ///
    /// - Returns: Whether the caller came last; `nil` if the wait timed out: the task has not arrived.
    /// - Throws: `CancellationError` if the task is cancelled before the last party arrives; it has not arrived.
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

    /// The other parties, if the caller is the last. Under the queue's lock.
    private func completeRound(_ waiters: inout WaiterList) -> WaiterList? {
        waiters.count + 1 == parties ? waiters.takeAll() : nil
    }

    /// The arrived parties of this round, for tests.
    var arrived: Int {
        queue.withWaiters { $0.count }
    }

    /// A task at the barrier.
    // Adds a field under the rule of Waiter.
    private final class Party: TaskWaiter, @unchecked Sendable {
        var isLast = false
    }
}
