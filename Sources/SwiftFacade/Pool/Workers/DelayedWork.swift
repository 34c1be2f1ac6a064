// SPDX-License-Identifier: Apache-2.0
//
// Work at a time, of a pool or a dispatch queue. The work is claimed by the thread that runs it or by `cancel`, which
// frees it at once: a cancelled `DispatchWorkItem` keeps its captures until its deadline, and `dispatch_after` cannot
// be cancelled at all.
//
// A pool's timer is the object's own memory; the C pool's heap links it, so setting and cancelling allocate nothing and
// cancelled work is out of the pool at once. The C pool says which of the two, the run or the cancellation, has the
// timer.

import CInterlock
import InterlockSync

// The timer is the C pool's while it is set, and reached through the C pool's lock; afterwards it is not touched.
/// Work that runs at a moment, unless it is cancelled before; made by ``WorkerPool/after(_:priority:_:)`` and
/// `GCD.after(_:on:_:)`.
///
/// May be used from any thread. Dropping it does not cancel the work.
public final class DelayedWork<Value: Sendable>: @unchecked Sendable {
    /// The earliest moment at which the work begins.
    public let deadline: ContinuousClock.Instant

    private let work: PendingWork<@Sendable () throws -> Value>
    private let result = Promise<Result<Value, any Error>>()
    /// Nil for a dispatch queue's.
    private let timer: PoolTimer?

    private struct PoolTimer {
        let core: PoolCore
        let pointer: UnsafeMutablePointer<ilk_timer>
        let header: UnsafeMutablePointer<PoolJobHeader>
    }

    /// Work that a dispatch queue runs.
    package init(at deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () throws -> Value) {
        self.deadline = deadline
        self.work = PendingWork(work)
        timer = nil
    }

    init(
        on core: PoolCore,
        at deadline: ContinuousClock.Instant,
        _ deadlineInC: UInt64,
        _ priority: ilk_priority,
        _ work: @escaping @Sendable () throws -> Value
    ) throws(WorkerPoolError) {
        self.deadline = deadline
        self.work = PendingWork(work)
        let offset = MemoryLayout<ilk_timer>.stride
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<PoolJobHeader>.size,
            alignment: MemoryLayout<ilk_timer>.alignment
        )
        let pointer = memory.bindMemory(to: ilk_timer.self, capacity: 1)
        let header = (memory + offset).bindMemory(to: PoolJobHeader.self, capacity: 1)
        timer = PoolTimer(core: core, pointer: pointer, header: header)
        ilk_timer_init(pointer, runPoolTimer, header)
        ilk_job_set_priority(ilk_timer_job(pointer), priority)
        // The header keeps the work until it has begun, or was taken back.
        header.initialize(to: PoolJobHeader(core: .passUnretained(core), work: .object(self)))
        let status = ilk_pool_submit_at(core.pool, pointer, deadlineInC)
        if status != ILK_OK {
            header.deinitialize(count: 1)
            let isClosed = status == ILK_CLOSED
            throw isClosed ? .closed(pool: core.name) : .unavailable(pool: core.name)
        }
    }

    deinit {
        if let timer { UnsafeMutableRawPointer(timer.pointer).deallocate() }
    }

    /// Prevents the work if it has not begun, and releases it, with its captures, before returning. Does not wait for
    /// work that has begun.
    ///
    /// - Returns: Whether this call prevented it.
    /// - Complexity: O(1); O(log *n*) amortised in the delayed work of a pool. Calls `ilk_pool_cancel`.
    @discardableResult
    public func cancel() -> Bool {
        guard work.claim() != nil else { return false }
        if let timer, ilk_pool_cancel(timer.core.pool, timer.pointer) { timer.header.deinitialize(count: 1) }
        result.fulfil(.failure(CancellationError()))
        return true
    }

    /// What the work returns. Suspends the task until there is an outcome; what the work did is visible then.
    ///
    /// - Throws: What the work throws; `CancellationError` where the work was cancelled, or where the awaiting task
    ///   is: the work goes on then; ``WorkerPoolError/closed(pool:)`` where its pool was closed at once.
    public var value: Value {
        get async throws { try await value(until: nil)! }
    }

    /// Works as ``value``, until `deadline` at most.
    ///
    /// - Returns: `nil` if there was no outcome in time; the work goes on.
    public func value(until deadline: ContinuousClock.Instant) async throws -> Value? {
        try await value(until: deadline as ContinuousClock.Instant?)
    }

    /// Works as ``value(until:)``, for `timeout` at most.
    public func value(timeout: Duration) async throws -> Value? {
        try await value(until: moment(in: timeout))
    }

    private func value(until deadline: ContinuousClock.Instant?) async throws -> Value? {
        try await result.value(until: deadline)?.get()
    }
}

extension DelayedWork: PoolObject {
    package func run() {
        guard let work = work.claim() else { return }
        result.fulfil(Result(catching: work))
    }

    package func handBack(to core: PoolCore) {
        guard work.claim() != nil else { return }
        result.fulfil(.failure(WorkerPoolError.closed(pool: core.name)))
    }
}

extension WorkerPool {
    /// Has `work` run on the pool, no earlier than `delay` from now. Does not wait.
    ///
    /// The delay is measured on the monotonic clock. A delay of zero or less means at once.
    ///
    /// - Returns: The handle that cancels it and gives its value. Dropping it does not cancel.
    /// - Throws: ``WorkerPoolError/closed(pool:)``; ``WorkerPoolError/unavailable(pool:)`` where the system makes no
    ///   thread for the pool's first delayed work.
    /// - Complexity: O(1). Calls `ilk_pool_submit_at`.
    @discardableResult
    public func after<Value: Sendable>(
        _ delay: Duration,
        priority: Priority = .normal,
        _ work: @escaping @Sendable () throws -> Value
    ) throws(WorkerPoolError) -> DelayedWork<Value> {
        let deadline = InterlockSync.deadline(in: delay)
        return try DelayedWork(on: core, at: moment(in: delay), deadline, priority.inC, work)
    }

    /// Has `work` run on the pool, no earlier than `deadline`; otherwise as ``after(_:priority:_:)``.
    @discardableResult
    public func at<Value: Sendable>(
        _ deadline: ContinuousClock.Instant,
        priority: Priority = .normal,
        _ work: @escaping @Sendable () throws -> Value
    ) throws(WorkerPoolError) -> DelayedWork<Value> {
        try DelayedWork(on: core, at: deadline, InterlockSync.deadline(at: deadline), priority.inC, work)
    }
}
