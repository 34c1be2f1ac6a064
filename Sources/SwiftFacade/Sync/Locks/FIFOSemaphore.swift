// SPDX-License-Identifier: Apache-2.0
//
// The counting semaphore: permits in a C semaphore; waiters, threads and tasks alike, in one queue.
//
// Invariant: while the queue has a waiter, the C semaphore holds no permit. A permit goes there only under the queue's
// lock, with the queue empty; a waiter joins under that lock, having found no permit. So a try is one atomic operation,
// reads no queue and overtakes no waiter.
//
// Blocking and suspending forms share their names. In async code the compiler takes the suspending form and asks for
// `await`; the texts of `noasync` show only where no suspending form is in sight. Overloads are chosen before `await`
// is read, so a disfavoured overload, other default arguments or an extension of a protocol change nothing.

import CInterlock

/// A counting semaphore that serves threads and tasks in one order, first come, first served.
///
/// A signal hands its permits to the waiters in their order; a later comer cannot take them. Permits have no owner: any
/// thread may signal.
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
/// Every method is thread-safe. In `async` code, waiting suspends instead of blocking. A task cancelled while it waits
/// leaves the queue; its permit goes to the next waiter.
///
/// Handing a permit to a waiter that sleeps takes as long as waking it. Where more threads than cores take permits for
/// less than that, `ilk_semaphore_init_barging` of C, which keeps no order, serves some hundred times as many.
///
/// A number of permits out of range is reported and ends the process. What a thread did before a signal is visible to
/// the taker of the permit. Source: a queue over `ilk_semaphore` in `<interlock/semaphore.h>`.
public final class FIFOSemaphore: Sendable {
    let permits: CObject<ilk_semaphore>
    private let queue = WaitQueue()

    /// A semaphore that holds `permits`. Allocates.
    ///
    /// - Precondition: `permits` is from 0 to 268,435,455.
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

    /// A semaphore that holds `permits`, with a name for misuse reports. Allocates.
    ///
    /// - Precondition: `permits` is from 0 to 268,435,455.
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public convenience init(permits: Int, name: String) {
        self.init(permits: permits)
        setName(name, of: self.permits.pointer)
    }

    deinit {
        ilk_semaphore_destroy(permits.pointer)
    }

    /// The name, or `nil`. Blocks briefly.
    public var name: String? {
        InterlockSync.name(of: permits.pointer)
    }

    // MARK: Blocking

    /// Takes one permit, waiting in the queue. Blocks the thread.
    @available(*, noasync, message: "it blocks the thread; use `try await wait()`")
    public func wait() {
        if !ilk__semaphore_ask(permits.pointer) {
            _ = block(until: forever)
        }
    }

    /// Takes one permit if there is one, and returns whether it did. Never blocks; never overtakes a waiter. O(1).
    /// Calls `ilk_semaphore_try_wait`.
    public func tryWait() -> Bool {
        ilk_semaphore_try_wait(permits.pointer)
    }

    /// Takes one permit, waiting until `deadline` at most. Blocks the thread.
    ///
    /// A deadline that has passed still takes a permit that is there. A thread that takes none leaves the queue.
    ///
    /// - Returns: Whether it took one.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(until:)`")
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        tryWait() || block(until: InterlockSync.deadline(at: deadline))
    }

    /// Takes one permit, waiting for `timeout` at most. Blocks the thread. A thread that takes none leaves the queue.
    ///
    /// - Returns: Whether it took one.
    @available(*, noasync, message: "it blocks the thread; use `try await wait(timeout:)`")
    public func wait(timeout: Duration) -> Bool {
        tryWait() || block(until: InterlockSync.deadline(in: timeout))
    }

    // MARK: Suspending

    /// Blocks the thread in the queue. A permit that is handed over does not pass the C semaphore, which tells
    /// diagnosis of the others.
    private func block(until deadline: UInt64) -> Bool {
        guard ilk__facade_diagnoses() != 0 else { return queue.block(until: deadline, admit: tryWait) }
        var watch = ilk__facade_watch()
        ilk__facade_ask(&watch, permits.pointer, ILK_OBJECT_SEMAPHORE, nil, deadline)
        var isAdmitted = false
        let isTaken = queue.block(until: deadline) {
            isAdmitted = tryWait()
            return isAdmitted
        }
        ilk__facade_taken(&watch, isTaken && !isAdmitted)
        return isTaken
    }

    /// Takes one permit, waiting in the queue. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before it is given a permit; it has taken none. A
    ///   cancelled task still takes a permit that is there.
    public func wait() async throws(CancellationError) {
        _ = try await suspend(until: nil)
    }

    /// Takes one permit, waiting until `deadline` at most, and returns whether it did. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before it is given a permit; it has taken none. A
    ///   cancelled task still takes a permit that is there.
    public func wait(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        try await suspend(until: deadline)
    }

    /// Takes one permit, waiting for `timeout` at most, and returns whether it did. Suspends the task.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before it is given a permit; it has taken none. A
    ///   cancelled task still takes a permit that is there.
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

    /// Gives `count` permits to the waiters, in their order, and keeps the rest. Blocks only while another thread
    /// changes the queue, a few instructions.
    ///
    /// - Precondition: `count` is not negative, and the semaphore holds at most 268,435,455 afterwards.
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
        resume(granted)
    }

    /// Gives `count` permits to the waiters, in their order, and keeps the rest, if there is room for it. Blocks only
    /// while another thread changes the queue, a few instructions.
    ///
    /// - Returns: Whether the permits were given; if not, none was: the semaphore would hold more than 268,435,455.
    ///   What waiters take is not counted.
    /// - Precondition: `count` is not negative.
    public func trySignal(_ count: Int = 1) -> Bool {
        guard count >= 0 else { misuse("FIFOSemaphore.trySignal", permits.pointer, "\(count) permits") }
        let granted = queue.withWaiters { waiters -> WaiterList? in
            let rest = count - min(count, waiters.count)
            guard let added = UInt32(exactly: rest), ilk_semaphore_try_signal(permits.pointer, added) else {
                return nil
            }
            return waiters.takeFirst(count - rest)
        }
        guard let granted else { return false }
        resume(granted)
        return true
    }

    private func resume(_ granted: WaiterList) {
        if granted.count > 0 { ilk__facade_give(permits.pointer) }  // it may have been noted before
        granted.resumeAll()
    }

    /// The textbook's counter: the permits, or minus the number of waiters. A snapshot for traces and tests. Blocks
    /// briefly.
    public var value: Int {
        queue.withWaiters { waiters in
            waiters.count > 0 ? -waiters.count : Int(ilk_semaphore_value(permits.pointer))
        }
    }

    /// Takes a permit, or else has `waiter` wait in the queue; whether it took one.
    func join(_ waiter: Waiter) -> Bool {
        queue.withWaiters { waiters in
            if tryWait() { return true }
            waiters.append(waiter)
            return false
        }
    }

    /// Takes `waiter` out of the queue; false if it has been given a permit.
    func leave(_ waiter: Waiter) -> Bool {
        queue.withWaiters { $0.remove(waiter, .cancelled) }
    }

    // MARK: With a permit

    // Disfavoured: a closure that does not suspend would fit this overload better in async code too. Generic in
    // `Failure` as those of AsyncMutex.
    /// Runs `body` with one permit, which goes back when `body` ends, also by throwing. Blocks the thread until it has
    /// the permit.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await withPermit`")
    public func withPermit<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        wait()
        defer { signal() }
        return try body()
    }

    /// Runs `body` with one permit, which goes back when `body` ends, also by throwing. Blocks the thread until it has
    /// the permit, until `deadline` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if no permit came in time and `body` did not run.
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await withPermit`")
    public func withPermit<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard wait(until: deadline) else { return nil }
        defer { signal() }
        return try body()
    }

    /// Runs `body` with one permit, which goes back when `body` ends, also by throwing. Blocks the thread until it has
    /// the permit, for `timeout` at most.
    ///
    /// - Returns: What `body` returns, or `nil` if no permit came in time and `body` did not run.
    @_disfavoredOverload
    @available(*, noasync, message: "it blocks the thread; use `try await withPermit`")
    public func withPermit<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard wait(timeout: timeout) else { return nil }
        defer { signal() }
        return try body()
    }

    /// Runs `body` with one permit, which goes back when `body` ends, also by throwing. Suspends the task until it has
    /// the permit. `body` runs in the isolation of the caller.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled before it is given a permit, and `body` has not run;
    ///   otherwise what `body` throws.
    public func withPermit<Result, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws(Failure) -> Result
    ) async throws -> Result {
        try await wait()
        defer { signal() }
        return try await body()
    }

    /// Runs `body` with one permit, which goes back when `body` ends, also by throwing. Suspends the task until it has
    /// the permit, until `deadline` at most. `body` runs in the isolation of the caller.
    ///
    /// - Returns: What `body` returns, or `nil` if no permit came in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled before it is given a permit, and `body` has not run;
    ///   otherwise what `body` throws.
    public func withPermit<Result, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant,
        _ body: () async throws(Failure) -> Result
    ) async throws -> Result? {
        guard try await wait(until: deadline) else { return nil }
        defer { signal() }
        return try await body()
    }

    /// Runs `body` with one permit, which goes back when `body` ends, also by throwing. Suspends the task until it has
    /// the permit, for `timeout` at most. `body` runs in the isolation of the caller.
    ///
    /// - Returns: What `body` returns, or `nil` if no permit came in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled before it is given a permit, and `body` has not run;
    ///   otherwise what `body` throws.
    public func withPermit<Result, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: () async throws(Failure) -> Result
    ) async throws -> Result? {
        guard try await wait(timeout: timeout) else { return nil }
        defer { signal() }
        return try await body()
    }
}

/// `ILK_SEMAPHORE_MAX`, which is a macro over a macro and is not imported.
private let ILK_SEMAPHORE_LIMIT: UInt32 = 0x0FFF_FFFF
