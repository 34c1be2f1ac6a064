// SPDX-License-Identifier: Apache-2.0
//
// Work at a time, of a pool or a dispatch queue. The work is claimed by the thread that runs it or by `cancel`, which
// frees it at once: a cancelled `DispatchWorkItem` keeps its captures until its deadline, and `dispatch_after` cannot
// be cancelled at all.
//
// Two objects: DelayedRun, which the timer holds, has no type parameter, so that a call of `GCD.after` asks the runtime
// for few types (16,000 instructions a call with one generic object, 11,400 so, 7,600 a plain work item: callgrind).

import CInterlock
import InterlockSync

/// Work that runs at a moment, unless it is cancelled before; made by ``WorkerPool/after(_:priority:_:)`` and
/// `GCD.after(_:on:_:)`.
///
/// May be used from any thread. Dropping it does not cancel the work.
public final class DelayedWork<Value: Sendable>: Sendable {
    /// The earliest moment at which the work begins.
    public let deadline: ContinuousClock.Instant

    @usableFromInline package let run: DelayedRun

    @inlinable
    package init(at deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () throws -> Value) {
        self.deadline = deadline
        let run = DelayedRun { OutputSlot.destroy(Result<Value, any Error>.self, in: $0) }
        self.run = run
        run.hold { OutputSlot.store(Result<Value, any Error>(catching: work), in: &run.slot) }
    }

    /// Prevents the work if it has not begun, and releases it, with its captures, before returning. Does not wait for
    /// work that has begun.
    ///
    /// - Returns: Whether this call prevented it.
    /// - Complexity: O(1); O(log *n*) amortised in the delayed work of a pool. Calls `ilk_pool_cancel`.
    @discardableResult
    public func cancel() -> Bool { run.cancel() }

    /// What the work returns. Suspends the task until there is an outcome; what the work did is visible then.
    ///
    /// - Throws: What the work throws; `CancellationError` where the work was cancelled, or where the awaiting task
    ///   is: the work goes on then; ``WorkerPoolError/closed(pool:)`` where its pool was closed at once.
    public var value: Value { get async throws { try await value(until: nil)! } }

    /// Works as ``value``, for `timeout` at most.
    ///
    /// - Returns: `nil` if there was no outcome in time; the work goes on.
    public func value(timeout: Duration) async throws -> Value? {
        try await value(until: moment(in: timeout))
    }

    private func value(until deadline: ContinuousClock.Instant?) async throws -> Value? {
        switch try await run.end(until: deadline) {
        case .ran: return try OutputSlot.load(Result<Value, any Error>.self, from: &run.slot).get()
        case .failed(let error): throw error
        case nil: return nil
        }
    }
}

/// The work as its timer knows it: a pool's, which is memory of this object that the C pool's heap links, so setting
/// and cancelling allocate nothing and cancelled work is out of the pool at once; or a dispatch queue's.
// `timer` is set before another thread has the object. It is the C pool's while it is set there, and reached through
// the C pool's lock, which says whether the run or the cancellation has it; afterwards it is not touched.
@usableFromInline
package final class DelayedRun: PoolObject, @unchecked Sendable {
    enum End: Sendable {
        case ran
        /// It has not run, and will not.
        case failed(any Error)
    }

    private struct State {
        var work: (@Sendable () -> Void)?
        var end: End?
        /// Made by the first that waits.
        var ended: Promise<End>?
    }

    /// A `Result<Value, any Error>`: written by the work, and read after its end.
    @exclusivity(unchecked) @usableFromInline var slot = OutputSlot()
    private let destroy: @Sendable (UnsafeMutablePointer<OutputSlot>) -> Void
    private let state = VisibleMutex(State(), isPacked: true)
    private var timer: PoolTimer?

    private struct PoolTimer {
        let core: PoolCore
        let pointer: UnsafeMutablePointer<ilk_timer>
        let header: UnsafeMutablePointer<PoolJobHeader>
    }

    @usableFromInline
    init(_ destroy: @escaping @Sendable (UnsafeMutablePointer<OutputSlot>) -> Void) { self.destroy = destroy }

    deinit {
        destroy(&slot)
        if let timer { UnsafeMutableRawPointer(timer.pointer).deallocate() }
    }

    /// Which holds this object, until it has begun or will not.
    @usableFromInline
    func hold(_ work: @escaping @Sendable () -> Void) { state.withLock { $0.work = work } }

    func submit(on core: PoolCore, at deadline: UInt64, _ priority: ilk_priority) throws(WorkerPoolError) {
        let offset = MemoryLayout<ilk_timer>.stride
        let (size, alignment) = (offset + MemoryLayout<PoolJobHeader>.size, MemoryLayout<ilk_timer>.alignment)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: alignment)
        let pointer = memory.bindMemory(to: ilk_timer.self, capacity: 1)
        let header = (memory + offset).bindMemory(to: PoolJobHeader.self, capacity: 1)
        timer = PoolTimer(core: core, pointer: pointer, header: header)
        ilk_timer_init(pointer, runPoolTimer, header)
        ilk_job_set_priority(ilk_timer_job(pointer), priority)
        // The header keeps the work until it has begun, or was taken back.
        header.initialize(to: PoolJobHeader(core: .passUnretained(core), work: .object(self)))
        let status = ilk_pool_submit_at(core.pool, pointer, deadline)
        if status == ILK_OK { return }
        header.deinitialize(count: 1)
        _ = claim()
        throw status == ILK_CLOSED ? .closed(pool: core.name) : .unavailable(pool: core.name)
    }

    func cancel() -> Bool {
        guard claim() != nil else { return false }
        if let timer, ilk_pool_cancel(timer.core.pool, timer.pointer) { timer.header.deinitialize(count: 1) }
        finish(.failed(CancellationError()))
        return true
    }

    package func run() {
        guard let work = claim() else { return }
        work()
        finish(.ran)
    }

    package func handBack(to core: PoolCore) {
        guard claim() != nil else { return }
        finish(.failed(WorkerPoolError.closed(pool: core.name)))
    }

    /// The work, for the first caller.
    private func claim() -> (@Sendable () -> Void)? { state.withLock { $0.work.take() } }

    private func finish(_ end: End) {
        let ended = state.withLock { state in
            state.end = end
            return state.ended.take()
        }
        ended?.fulfil(end)
    }

    /// How the work ended. Suspends the task until then; nil at `deadline`.
    func end(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> End? {
        let (end, ended) = state.withLock { state in
            if state.end == nil, state.ended == nil { state.ended = Promise() }
            return (state.end, state.ended)
        }
        if let end { return end }
        return try await ended!.value(until: deadline)
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
        let delayed = DelayedWork(at: moment(in: delay), work)
        try delayed.run.submit(on: core, at: InterlockSync.deadline(in: delay), priority.inC)
        return delayed
    }

    /// Has `work` run on the pool, no earlier than `deadline`; otherwise as ``after(_:priority:_:)``.
    @discardableResult
    public func at<Value: Sendable>(
        _ deadline: ContinuousClock.Instant,
        priority: Priority = .normal,
        _ work: @escaping @Sendable () throws -> Value
    ) throws(WorkerPoolError) -> DelayedWork<Value> {
        let delayed = DelayedWork(at: deadline, work)
        try delayed.run.submit(on: core, at: InterlockSync.deadline(at: deadline), priority.inC)
        return delayed
    }
}
