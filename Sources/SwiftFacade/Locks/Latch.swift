// SPDX-License-Identifier: Apache-2.0
//
// The latch: the C latch for threads, and a queue for tasks beside it.
//
// A task joins the queue under its lock and only after it has found the latch closed; the thread that opens the
// latch then empties the queue under the same lock. So a task either sees the latch open or is in the
// queue when it is emptied.

import CInterlock

/// A count that goes down to zero once, and the threads and tasks that wait for that.
///
/// ```swift
/// let ready = Latch(count: workers.count)
/// for worker in workers {
///     worker.start { ready.countDown() }
/// }
/// ready.wait()
/// ```
///
/// Every method is thread-safe. What a thread did before it counted down is visible to all whose wait
/// succeeded.
public final class Latch: Sendable {
    private let latch: CObject<ilk_latch>
    private let queue = WaitQueue()

    /// A latch that opens after `count` calls of ``countDown()``; with 0 it is open at once. Allocates.
    ///
    /// - Precondition: `count` is at least 0 and at most 2,147,483,647.
    public init(count: Int) {
        guard count >= 0, count <= Int(Int32.max) else {
            misuse("Latch.init", nil, "a count of \(count); a latch counts from 0 to \(Int32.max)")
        }
        latch = CObject { ilk_latch_init($0, UInt32(count)) }
    }

    /// A latch that opens after `count` calls and has a name, which reports of misuse give. Allocates.
    ///
    /// - Precondition: `count` is at least 0 and at most 2,147,483,647.
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public convenience init(count: Int, name: String) {
        self.init(count: count)
        setName(name, of: latch.pointer)
    }

    /// The name that the latch was made with, or `nil`. Thread-safe; blocks briefly.
    public var name: String? {
        Interlock.name(of: latch.pointer)
    }

    /// Counts one down; at zero opens the latch for good and wakes everyone. Thread-safe. Waits for nobody but, at
    /// zero, for the few instructions in which a task joins the queue.
    ///
    /// - Precondition: The latch is not open. One call too many is reported and ends the process.
    public func countDown() {
        ilk_latch_count_down(latch.pointer)
        if isOpen {
            queue.resumeAll()
        }
    }

    /// What is left to count down. It may have changed by the time it is used.
    public var count: Int {
        Int(ilk_latch_count(latch.pointer))
    }

    /// Whether the latch is open, which it stays. Never blocks.
    public var isOpen: Bool {
        ilk_latch_try_wait(latch.pointer)
    }

    /// Waits until the latch is open. Blocks the thread.
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await wait()`")
    public func wait() {
        _ = ilk_latch_wait_until(latch.pointer, forever)
    }

    /// Waits until the latch is open, until `deadline` at most. Blocks the thread.
    ///
    /// - Returns: Whether it is open.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(until:)`"
    )
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        isOpen || ilk_latch_wait_until(latch.pointer, Interlock.deadline(at: deadline)) == ILK_OK
    }

    /// Waits until the latch is open, for `timeout` at most. Blocks the thread.
    ///
    /// - Returns: Whether it is open.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(timeout:)`"
    )
    public func wait(timeout: Duration) -> Bool {
        isOpen || ilk_latch_wait_until(latch.pointer, Interlock.deadline(in: timeout)) == ILK_OK
    }

    /// Waits until the latch is open. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait() async throws(CancellationError) {
        _ = try await suspend(until: nil)
    }

    /// Waits until the latch is open, until `deadline` at most. Suspends the task.
    ///
    /// - Returns: Whether it is open.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        try await suspend(until: deadline)
    }

    /// Waits until the latch is open, for `timeout` at most. Suspends the task.
    ///
    /// - Returns: Whether it is open.
    /// - Throws: `CancellationError` if the task is cancelled first.
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
