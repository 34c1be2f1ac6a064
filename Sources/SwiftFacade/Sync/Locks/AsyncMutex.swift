// SPDX-License-Identifier: Apache-2.0
//
// The mutex of tasks: a value, the task that holds it, and a queue of waiting tasks. A waiter may have a condition
// (+Conditions); one without is ready whatever the value is.
//
// Invariant: while the queue has a ready waiter, a task holds the mutex. The holder gives it to the first that is ready
// or, with none, lays it down, under the queue's lock; a task joins under that lock, having found it held or its
// condition false. So no task overtakes a ready waiter, and a waiter that was cancelled is in no list and is given
// nothing.

import CInterlock

// `value` is the holder's; `holder` changes under the queue's lock.
/// A value that one task at a time has, across suspensions; the others wait suspended, first come, first served.
///
/// What an actor does not give: between the `await`s of a closure no other closure runs. A waiting task holds no
/// thread, nor does a holder that is suspended.
///
/// ```swift
/// let sessions = AsyncMutex<[URL: Photo]>([:])
/// let photo = try await sessions.withLock { photos in
///     if let photo = photos[url] { return photo }
///     let photo = try await load(url)
///     photos[url] = photo
///     return photo
/// }
/// ```
///
/// Its rules are those of `Synchronization.Mutex`: closures never overlap and see what earlier ones did, what goes in
/// and comes out is `sending`, and the mutex is `Sendable` whatever the value is. Every method is thread-safe and runs
/// its closure in the isolation of the caller. Where sections do not suspend, `Mutex` and ``ReadWriteLock`` are
/// cheaper.
///
/// A closure that asks for its own mutex is reported, in every build, and ends the process: the task would wait for
/// itself. Other cycles suspend for ever, unless a wait has a limit, and diagnosis does not see them, for suspended
/// tasks hold up no thread: a closure that waits for another task which wants the mutex, a child task included; two
/// mutexes taken in two orders. No priority is lent to the holder.
public final class AsyncMutex<Value: ~Copyable>: @unchecked Sendable {
    private let queue = WaitQueue()
    private var holder: TaskIdentity?
    let value: UnsafeMutablePointer<Value>

    /// A free mutex that guards `initialValue`. Allocates.
    public init(_ initialValue: consuming sending Value) {
        value = .allocate(capacity: 1)
        value.initialize(to: initialValue)
    }

    /// A free mutex that guards `initialValue`, with a name for misuse reports. Allocates.
    ///
    /// - Parameter name: Kept up to 63 bytes of UTF-8.
    public convenience init(_ initialValue: consuming sending Value, name: String) {
        self.init(initialValue)
        setName(name, of: value)
    }

    deinit {
        forgetName(of: value)
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// The name, or `nil`. Blocks briefly.
    public var name: String? {
        InterlockSync.name(of: value)
    }

    // MARK: Taking it

    // `Failure` is not in the answer. Without it Swift 6.3 crashes on a closure with a typed error that returns
    // nothing.

    /// Runs `body` with the value in place while holding the mutex. Suspends the task while another holds it.
    ///
    /// - Precondition: The task is not in a closure of this mutex.
    /// - Parameters:
    ///   - isolation: The task stays on its actor, and `body` runs there.
    ///   - body: May suspend; the mutex is held meanwhile.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` if the task is cancelled before it has the mutex; `body` has not run, and the
    ///   mutex goes to the next. A cancelled task still takes a free mutex. Otherwise what `body` throws; the mutex is
    ///   given up first. Cancellation does not end `body`, which may ask for it.
    /// - Complexity: O(1). Allocates only to wait.
    public func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout sending Value) async throws(Failure) -> sending Output
    ) async throws -> sending Output {
        // Without a limit the wait never times out.
        try await take(body)!
    }

    /// Runs `body` with the value in place while holding the mutex. Suspends the task while another holds it, until
    /// `deadline` at most.
    ///
    /// A deadline that has passed still takes a free mutex. The limit is on the wait, not on `body`.
    ///
    /// - Precondition: The task is not in a closure of this mutex.
    /// - Returns: What `body` returns, or `nil` if the mutex did not become free in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled before it has the mutex, and `body` has not run;
    ///   otherwise what `body` throws.
    public func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant,
        _ body: (inout sending Value) async throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        try await take(until: deadline, body)
    }

    /// Runs `body` with the value in place while holding the mutex. Suspends the task while another holds it, for
    /// `timeout` at most.
    ///
    /// - Precondition: The task is not in a closure of this mutex.
    /// - Returns: What `body` returns, or `nil` if the mutex did not become free in time and `body` did not run.
    /// - Throws: `CancellationError` if the task is cancelled before it has the mutex, and `body` has not run;
    ///   otherwise what `body` throws.
    public func withLock<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration,
        _ body: (inout sending Value) async throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        try await take(until: moment(in: timeout), body)
    }

    /// Runs `body` with the value in place if the mutex is free, whether the task is cancelled or not. Does not wait
    /// for it; a closure of this mutex may ask.
    ///
    /// - Returns: `nil` if the mutex was held and `body` did not run.
    /// - Throws: What `body` throws; the mutex is given up first.
    public func withLockIfAvailable<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout sending Value) async throws(Failure) -> sending Output
    ) async throws(Failure) -> sending Output? {
        guard tryLock(TaskIdentity.current) else { return nil }
        return try await unlockAfter(body)
    }

    /// The waiting tasks; for tests.
    var waiterCount: Int {
        queue.withWaiters { $0.count }
    }

    // MARK: The lock

    /// All forms that wait; `nil` if time ran out.
    func take<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        when condition: Condition? = nil,
        until deadline: ContinuousClock.Instant? = nil,
        _ body: (inout sending Value) async throws(Failure) -> sending Output
    ) async throws -> sending Output? {
        switch await lock(when: condition, until: deadline) {
        case .timedOut: return nil
        case .cancelled: throw CancellationError()
        case .granted: return try await unlockAfter(body)
        }
    }

    private func lock(
        isolation: isolated (any Actor)? = #isolation,
        when condition: Condition?,
        until deadline: ContinuousClock.Instant?
    ) async -> WaitOutcome {
        let task = TaskIdentity.current
        if tryLock(task, when: condition) { return .granted }
        // Only the task itself ever writes its identity here.
        if queue.withWaiters({ _ in holder == task }) {
            misuse(
                "\(Self.self).withLock",
                value,
                "called from inside a closure of the same mutex: the task would wait for itself for ever"
            )
        }
        if hasPassed(deadline) { return .timedOut }
        return await queue.suspend(MutexWaiter(task, condition), until: deadline) {
            self.takeIfFree(task, when: condition)
        }
    }

    private func tryLock(_ task: TaskIdentity, when condition: Condition? = nil) -> Bool {
        queue.withWaiters { _ in takeIfFree(task, when: condition) }
    }

    /// Under the queue's lock.
    private func takeIfFree(_ task: TaskIdentity, when condition: Condition?) -> Bool {
        guard holder == nil, condition?.holds() ?? true else { return false }
        holder = task
        return true
    }

    private func unlockAfter<Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout sending Value) async throws(Failure) -> sending Output
    ) async throws(Failure) -> sending Output {
        defer { unlock() }
        return try await body(&value.pointee)
    }

    private func unlock() {
        queue.withWaiters { waiters in
            holder = nil
            return waiters.take(firstWhere: { waiter in
                guard let waiter = waiter as? MutexWaiter, waiter.isReady else { return false }
                holder = waiter.task
                return true
            })
        }.resumeAll()
    }
}

// Adds a constant to what Waiter says.
private final class MutexWaiter: TaskWaiter, @unchecked Sendable {
    let task: TaskIdentity
    private let condition: Condition?

    init(_ task: TaskIdentity, _ condition: Condition?) {
        self.task = task
        self.condition = condition
    }

    /// While no task holds the mutex, under the queue's lock.
    var isReady: Bool { condition?.holds() ?? true }
}

/// Which task it is, while it lives.
private struct TaskIdentity: Equatable, Sendable {
    private let bits: UInt

    /// That of the running task.
    static var current: TaskIdentity {
        TaskIdentity(bits: withUnsafeCurrentTask { $0.map { unsafeBitCast($0, to: UInt.self) } ?? 0 })
    }
}
