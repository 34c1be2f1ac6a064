// SPDX-License-Identifier: Apache-2.0
//
// The counting semaphore: permits in a C semaphore; waiters, threads and tasks alike, in one queue.
//
// Invariant: while the queue has a waiter, the C semaphore holds no permit. A permit goes there only under the queue's
// lock and only when the queue is empty. A waiter joins the queue under the same lock and only after it has found no
// permit. So taking a permit without waiting is one atomic operation, reads no queue, and overtakes no waiter.
//
// Blocking and suspending forms share their names. In async code the compiler takes the suspending form, awaited or
// not, and answers a call without `await` by "not marked with 'await'". It shows the texts of `noasync` only where no
// suspending form is in sight. Overloads are chosen before `await` is read: a disfavoured overload, other default
// arguments, or an extension of a protocol change nothing about it.

import CInterlock

/// A counting semaphore that serves threads and tasks in one order, first come, first served.
///
/// A signal hands its permits to the waiters that have waited longest; a later comer cannot take a permit that has been
/// handed over. Permits have no owner: any thread may signal.
///
/// ```swift
/// let downloads = FIFOSemaphore(permits: 3)
/// for url in urls {
///     group.addTask {
///         try await downloads.withPermit { try await fetch(url) }
///     }
/// }
/// ```
///
/// Every method is thread-safe. In `async` code, waiting suspends instead of blocking. A task that is cancelled while
/// it waits leaves the queue, and its permit goes to the next waiter.
///
/// What a thread did before a signal is visible to the thread or task that gets the permit. Source: a queue over
/// `ilk_semaphore` in `<interlock/semaphore.h>`.
public final class FIFOSemaphore: Sendable {
    private let permits: CObject<ilk_semaphore>
    private let queue = WaitQueue()

    /// A semaphore that holds `permits`. Allocates.
    ///
    /// - Precondition: `permits` is from 0 to 268,435,455. Another number is reported and ends the process.
    public init(permits: Int) {
        guard permits >= 0, permits <= Int(ILK_SEMAPHORE_LIMIT) else {
            misuse(
                "FIFOSemaphore.init",
                nil,
                "\(permits) permits; a semaphore holds 0 to \(ILK_SEMAPHORE_LIMIT)"
            )
        }
        self.permits = CObject { ilk_semaphore_init($0, UInt32(permits)) }
    }

    /// A semaphore that holds `permits` and has a name, which misuse reports give. Allocates.
    ///
    /// - Precondition: `permits` is from 0 to 268,435,455. Another number is reported and ends the process.
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public convenience init(permits: Int, name: String) {
        self.init(permits: permits)
        setName(name, of: self.permits.pointer)
    }

    deinit {
        ilk_semaphore_destroy(permits.pointer)
    }

    /// The name that the semaphore was made with, or `nil`. Thread-safe; blocks briefly.
    public var name: String? {
        Interlock.name(of: permits.pointer)
    }

    // MARK: Blocking

    /// Takes one permit, waiting in the queue as long as it takes. Blocks the thread.
    @available(*, noasync, message: "it would block a thread of the cooperative pool; use `try await wait()`")
    public func wait() {
        if !tryWait() {
            _ = queue.block(until: forever, admit: tryWait)
        }
    }

    /// Takes one permit if there is one. Never blocks and never overtakes a waiter.
    ///
    /// - Returns: Whether it was taken.
    /// - Complexity: O(1). Calls `ilk_semaphore_try_wait`.
    public func tryWait() -> Bool {
        ilk_semaphore_try_wait(permits.pointer)
    }

    /// Takes one permit, waiting in the queue until `deadline` at most. Blocks the thread.
    ///
    /// A deadline that has passed still takes a permit that is there.
    ///
    /// - Returns: Whether it was taken; if not, the thread has left the queue.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(until:)`"
    )
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        tryWait() || queue.block(until: Interlock.deadline(at: deadline), admit: tryWait)
    }

    /// Takes one permit, waiting in the queue for `timeout` at most. Blocks the thread.
    ///
    /// - Returns: Whether it was taken; if not, the thread has left the queue.
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await wait(timeout:)`"
    )
    public func wait(timeout: Duration) -> Bool {
        tryWait() || queue.block(until: Interlock.deadline(in: timeout), admit: tryWait)
    }

    // MARK: Suspending

    /// Takes one permit, waiting in the queue as long as it takes. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before it has been given a permit; it has taken none
    ///   then. A cancelled task still takes a permit that is there.
    public func wait() async throws(CancellationError) {
        _ = try await suspend(until: nil)
    }

    /// Takes one permit, waiting in the queue until `deadline` at most. Suspends the task.
    ///
    /// - Returns: Whether it was taken.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        try await suspend(until: deadline)
    }

    /// Takes one permit, waiting in the queue for `timeout` at most. Suspends the task.
    ///
    /// - Returns: Whether it was taken.
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func wait(timeout: Duration) async throws(CancellationError) -> Bool {
        try await suspend(until: moment(in: timeout))
    }

    private func suspend(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        if tryWait() { return true }
        switch await queue.suspend(until: deadline, admit: { self.tryWait() }) {
        case .granted: return true
        case .timedOut: return false
        case .cancelled: throw CancellationError()
        }
    }

    // MARK: Giving back

    /// Gives `count` permits: to the waiters, in their order; the rest stay in the semaphore. Blocks only for the few
    /// instructions in which another thread changes the queue.
    ///
    /// - Precondition: `count` is not negative, and the semaphore holds at most 268,435,455 afterwards. What breaks
    ///   this is reported and ends the process.
    /// - Complexity: O(permits handed over). Calls `ilk_semaphore_signal`.
    public func signal(_ count: Int = 1) {
        guard count >= 0, count <= Int(ILK_SEMAPHORE_LIMIT) else {
            misuse(
                "FIFOSemaphore.signal",
                permits.pointer,
                "\(count) permits; a semaphore holds 0 to \(ILK_SEMAPHORE_LIMIT)"
            )
        }
        let granted = queue.withWaiters { waiters in
            let granted = waiters.takeFirst(count)
            let rest = count - granted.count
            if rest > 0 {
                ilk_semaphore_signal(permits.pointer, UInt32(rest))
            }
            return granted
        }
        granted.resumeAll()
    }

    /// The textbook's counter: the permits, or minus the number of waiters. Thread-safe; blocks briefly. A snapshot for
    /// traces and tests: the value may have changed when the caller reads it.
    public var value: Int {
        queue.withWaiters { waiters in
            waiters.count > 0 ? -waiters.count : Int(ilk_semaphore_value(permits.pointer))
        }
    }

    // MARK: With a permit

    // In async code, too, a closure that does not suspend fits this overload better; disfavoured, it is not chosen
    // there.
    /// Runs `body` with one permit, which goes back when `body` ends, also by throwing. Blocks the thread while it
    /// waits for the permit.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await withPermit`"
    )
    public func withPermit<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        wait()
        defer { signal() }
        return try body()
    }

    /// Runs `body` as ``withPermit(_:)`` does, waiting for the permit until `deadline` at most. Blocks the thread.
    ///
    /// - Returns: What `body` returns, or `nil` if no permit came in time and `body` did not run.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await withPermit`"
    )
    public func withPermit<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard wait(until: deadline) else { return nil }
        defer { signal() }
        return try body()
    }

    /// Runs `body` as ``withPermit(_:)`` does, waiting for the permit for `timeout` at most. Blocks the thread.
    ///
    /// - Returns: What `body` returns, or `nil` if no permit came in time and `body` did not run.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await withPermit`"
    )
    public func withPermit<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard wait(timeout: timeout) else { return nil }
        defer { signal() }
        return try body()
    }

    /// Runs `body` with one permit, which goes back when `body` ends, also by throwing. Suspends the task while it
    /// waits for the permit; `body` runs in the isolation of the caller.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled before it has been given a permit, and `body` has not
    ///   run; otherwise what `body` throws.
    public func withPermit<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        try await wait()
        defer { signal() }
        return try await body()
    }

    /// Runs `body` as ``withPermit(isolation:_:)`` does, waiting for the permit until `deadline` at most. Suspends the
    /// task.
    ///
    /// - Returns: What `body` returns, or `nil` if no permit came in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled first; otherwise what `body` throws.
    public func withPermit<Result>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant,
        _ body: () async throws -> Result
    ) async throws -> Result? {
        guard try await wait(until: deadline) else { return nil }
        defer { signal() }
        return try await body()
    }

    /// Runs `body` as ``withPermit(isolation:_:)`` does, waiting for the permit for `timeout` at most. Suspends the
    /// task.
    ///
    /// - Returns: What `body` returns, or `nil` if no permit came in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled first; otherwise what `body` throws.
    public func withPermit<Result>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: () async throws -> Result
    ) async throws -> Result? {
        guard try await wait(timeout: timeout) else { return nil }
        defer { signal() }
        return try await body()
    }
}

/// `ILK_SEMAPHORE_MAX`, which is a macro over a macro and is not imported.
private let ILK_SEMAPHORE_LIMIT: UInt32 = 0x0FFF_FFFF
