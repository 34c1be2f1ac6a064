// SPDX-License-Identifier: Apache-2.0
//
// A task's wait under a lock of the C core for a predicate, without a thread. Condition.swift has that of a thread.
//
//   task                                       writer                          timer or canceller
//   takes the lock; judge(): false: joins
//   gives the lock up
//   wakesAgain(): suspends                     chooses it, gives the lock up
//                                              wake() ── or ────────────────── resumes it
//   takes the lock; judge(): true: leaves, and goes on under the lock
//                            false: waits again; or, late or cancelled, leaves
//
// The core decides whether a writer has chosen the task (its wake() is then on its way, and alone resumes the task) or
// the timer or canceller comes first (ilk__task_wait_cancel): no wake-up goes to a task that gives up, nor is waited
// for by others while that has no thread.

import CInterlock

/// The lock of a wait.
@frozen @usableFromInline
enum AwaitedLock {
    case rwlock(UnsafeMutablePointer<ilk_rwlock>)
    case mutex(UnsafeMutablePointer<ilk_mutex>)

    fileprivate func begin(_ wait: OpaquePointer) {
        switch self {
        case .rwlock(let lock): ilk__task_wait_begin_rwlock(lock, wait)
        case .mutex(let mutex): ilk__task_wait_begin_mutex(mutex, wait)
        }
    }

    fileprivate func judge(_ wait: OpaquePointer) -> Bool {
        switch self {
        case .rwlock(let lock): ilk__task_wait_judge_rwlock(lock, wait)
        case .mutex(let mutex): ilk__task_wait_judge_mutex(mutex, wait)
        }
    }

    fileprivate func end(_ wait: OpaquePointer) {
        switch self {
        case .rwlock(let lock): ilk__task_wait_end_rwlock(lock, wait)
        case .mutex(let mutex): ilk__task_wait_end_mutex(mutex, wait)
        }
    }
}

// Used by one task, with the lock held or while it is resumed; the core calls `holds` under the lock, and `wake` while
// the task is suspended.
@usableFromInline
final class TaskCondition: @unchecked Sendable {
    private enum State {
        /// Not among the waiters yet.
        case outside
        case waiting
        /// Among them until the lock is taken once more.
        case over(WaitOutcome)
        case left(WaitOutcome)
    }

    private let lock: AwaitedLock
    private let writes: Bool
    private let deadline: ContinuousClock.Instant?
    private let holds: @Sendable () -> Bool
    private var state = State.outside
    private let queue = WaitQueue()
    private var wait: OpaquePointer?
    // Under the queue's lock.
    private var isWoken = false
    private var hasGivenUp = false

    /// - Parameter writes: Whether the task holds the lock for writing when it judges.
    @usableFromInline
    init(
        _ lock: AwaitedLock,
        writes: Bool,
        until deadline: ContinuousClock.Instant?,
        _ holds: @escaping @Sendable () -> Bool
    ) {
        self.lock = lock
        self.writes = writes
        self.deadline = deadline
        self.holds = holds
    }

    // Not as it leaves: an alarm that is late may still ask.
    deinit { ilk__task_wait_destroy(wait) }

    /// Whether the task is among the waiters of the lock.
    var isAmongWaiters: Bool {
        switch state {
        case .outside, .left: false
        case .waiting, .over: true
        }
    }

    /// With the lock held: whether the task may go on under it. If not the task gives the lock up, and asks
    /// ``wakesAgain(isolation:)``.
    @usableFromInline
    func judge() -> Bool {
        switch state {
        case .outside:
            if holds() { return true }
            if hasPassed(deadline) { state = .left(.timedOut) } else { join() }
            return false
        case .waiting:
            guard lock.judge(wait!) else { return false }
            leave()
            return true
        case .over(let outcome):
            let goesOn = outcome == .timedOut && lock.judge(wait!)
            leave()
            return goesOn
        case .left: return false
        }
    }

    private func join() {
        wait = ilk__task_wait_create(
            { Unmanaged<TaskCondition>.fromOpaque($0!).takeUnretainedValue().holds() },
            { Unmanaged<TaskCondition>.fromOpaque($0!).takeUnretainedValue().wake() },
            Unmanaged.passUnretained(self).toOpaque(),
            writes
        )
        guard let wait else { fatalError("no memory for a task that waits") }
        lock.begin(wait)
        state = .waiting
    }

    /// Leaves the waiters. With the lock held.
    func leave() {
        switch state {
        case .outside, .left: return
        case .waiting: state = .left(.granted)
        case .over(let outcome): state = .left(outcome)
        }
        lock.end(wait!)
    }

    /// After giving the lock up: suspends until the task may judge again. False: its time is up, and it has left.
    @usableFromInline
    func wakesAgain(isolation: isolated (any Actor)? = #isolation) async throws(CancellationError) -> Bool {
        switch state {
        case .left(.cancelled): throw CancellationError()
        case .outside, .over, .left: return false
        case .waiting:
            let waiter = ConditionWaiter(self)
            let outcome = await queue.suspend(waiter, isolation: isolation, until: deadline) {
                queue.withWaiters { _ in !isWoken }
            }
            if outcome != .granted { state = .over(outcome) }
            queue.withWaiters { _ in isWoken = false }
            return true
        }
    }

    /// True: no writer will choose the task. Stays true: the alarm of an earlier suspension may come late.
    fileprivate func givesUp() -> Bool {
        queue.withWaiters { _ in
            hasGivenUp = hasGivenUp || ilk__task_wait_cancel(wait)
            return hasGivenUp
        }
    }

    /// A writer has found the predicate true, and given the lock up. The task may go on before this returns.
    private func wake() {
        withExtendedLifetime(self) {
            queue.withWaiters { waiters in
                isWoken = true
                return waiters.takeAll()
            }.resumeAll()
        }
    }
}

// Adds a constant to what Waiter says.
private final class ConditionWaiter: TaskWaiter, @unchecked Sendable {
    private let condition: TaskCondition

    init(_ condition: TaskCondition) { self.condition = condition }

    override func givesUp() -> Bool { condition.givesUp() }
}
