// SPDX-License-Identifier: Apache-2.0
//
// The latch: the C latch for threads, and a queue for tasks beside it.
//
// A task joins the queue under its lock, having found the latch closed. The thread that opens the latch then empties
// the queue under that lock. So a task sees the latch open or is in the queue when it is emptied.

import CInterlock

/// A count that goes down to zero once, and the threads and tasks that wait for zero.
///
/// ```swift
/// let ready = Latch(count: workers.count)
/// for worker in workers {
///     worker.start { ready.countDown() }
/// }
/// ready.wait()
/// ```
///
/// Every method is thread-safe. What a thread did before it counted down is visible after each wait that succeeds.
/// Source: `ilk_latch` in `<interlock/latch.h>`.
public final class Latch: Sendable {
    let latch: CObject<ilk_latch>
    private let queue = WaitQueue()

    /// A latch that opens after `count` calls of ``countDown()``; with 0 it is open at once. Allocates.
    ///
    /// - Precondition: `count` is from 0 to 2,147,483,647; another is reported and ends the process.
    public init(count: Int) {
        guard count >= 0, count <= Int(Int32.max) else {
            misuse("Latch.init", nil, "a count of \(count); a latch counts from 0 to \(Int32.max)")
        }
        latch = CObject { ilk_latch_init($0, UInt32(count)) }
    }

    /// A latch that opens after `count` calls of ``countDown()``, with a name for misuse reports. Allocates.
    ///
    /// - Precondition: `count` is from 0 to 2,147,483,647; another is reported and ends the process.
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public convenience init(count: Int, name: String) {
        self.init(count: count)
        setName(name, of: latch.pointer)
    }

    /// The name, or `nil`. Blocks briefly.
    public var name: String? {
        InterlockSync.name(of: latch.pointer)
    }

    /// Counts one down; at zero opens the latch for good and wakes all waiters. Blocks only at zero, while a task joins
    /// the queue, a few instructions.
    ///
    /// - Precondition: The latch is not open. A call too many is reported and ends the process.
    /// - Complexity: O(1); O(waiting tasks) at zero. Calls `ilk_latch_count_down`.
    public func countDown() {
        ilk_latch_count_down(latch.pointer)
        if isOpen {
            queue.resumeAll()
        }
    }

    /// The rest of the count now. Never blocks.
    public var count: Int {
        Int(ilk_latch_count(latch.pointer))
    }

    /// Whether the latch is open; it stays open. Never blocks. Calls `ilk_latch_try_wait`.
    public var isOpen: Bool {
        ilk_latch_try_wait(latch.pointer)
    }

    /// Waits until the latch is open. Blocks the thread. Calls `ilk_latch_wait_until`.
    @available(*, noasync, message: "it blocks the thread; use `try await wait()`")
    public func wait() {
        _ = ilk_latch_wait_until(latch.pointer, forever)
    }

    /// Waits until the latch is open or `deadline` has come. Blocks the thread.
    ///
    /// - Returns: Whether it is open. An open latch answers `true` after the deadline too.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        isOpen || ilk_latch_wait_until(latch.pointer, InterlockSync.deadline(at: deadline)) == ILK_OK
    }

    /// Waits until the latch is open, for `timeout` at most. Blocks the thread.
    ///
    /// - Returns: Whether it is open.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    public func wait(timeout: Duration) -> Bool {
        isOpen || ilk_latch_wait_until(latch.pointer, InterlockSync.deadline(in: timeout)) == ILK_OK
    }

    /// Waits until the latch is open. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first; a cancelled task still passes an open latch.
    public func wait() async throws(CancellationError) {
        _ = try await suspend(until: nil)
    }

    /// Waits until the latch is open or `deadline` has come; returns whether it is open. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first; a cancelled task still passes an open latch.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        try await suspend(until: deadline)
    }

    /// Waits until the latch is open, for `timeout` at most; returns whether it is open. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first; a cancelled task still passes an open latch.
    public func wait(timeout: Duration) async throws(CancellationError) -> Bool {
        try await suspend(until: moment(in: timeout))
    }

    private func suspend(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        if isOpen { return true }
        switch await queue.suspend(until: deadline, admit: { self.isOpen }) {
        case .granted: return true
        case .timedOut: return false
        case .cancelled: throw CancellationError()
        }
    }
}
