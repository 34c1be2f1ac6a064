// SPDX-License-Identifier: Apache-2.0
//
// Work at a time. The timer is the task's own memory; the C pool's heap links it, so setting and cancelling allocate
// nothing and a cancelled task is out of the pool at once. The work is claimed by the thread that runs it or by
// `cancel`; the C pool says which of the two has the timer.

import CInterlock
import InterlockSync

extension WorkerPool {
    /// Has `work` run on the pool, no earlier than `delay` from now. Does not wait.
    ///
    /// The delay is measured on the monotonic clock. A delay of zero or less means at once.
    ///
    /// - Returns: The handle that cancels it and gives its value. Dropping it does not cancel.
    /// - Throws: ``WorkerPoolError/closed(pool:)``; ``WorkerPoolError/unavailable(pool:)`` where the system makes no thread
    ///   for the pool's first delayed task.
    /// - Complexity: O(1). Calls `ilk_pool_submit_at`.
    @discardableResult
    public func after<Value: Sendable>(
        _ delay: Duration,
        priority: Priority = .normal,
        _ work: @escaping @Sendable () throws -> Value
    ) throws(WorkerPoolError) -> DelayedTask<Value> {
        try DelayedTask(
            on: core,
            at: moment(in: delay),
            InterlockSync.deadline(in: delay),
            priority.inC,
            work
        )
    }

    /// Has `work` run on the pool, no earlier than `deadline`; otherwise as ``after(_:priority:_:)``.
    @discardableResult
    public func at<Value: Sendable>(
        _ deadline: ContinuousClock.Instant,
        priority: Priority = .normal,
        _ work: @escaping @Sendable () throws -> Value
    ) throws(WorkerPoolError) -> DelayedTask<Value> {
        try DelayedTask(on: core, at: deadline, InterlockSync.deadline(at: deadline), priority.inC, work)
    }

    // The timer is the C pool's while it is set, and reached through the C pool's lock; afterwards it is not touched.
    /// Work that ``WorkerPool/after(_:priority:_:)`` has scheduled. All of it may be used from any thread.
    public final class DelayedTask<Value: Sendable>: @unchecked Sendable {
        /// The earliest moment at which the work begins.
        public let deadline: ContinuousClock.Instant

        private let work: PendingWork<@Sendable () throws -> Value>
        private let result = Promise<Result<Value, any Error>>()
        private let core: PoolCore
        private let timer: UnsafeMutablePointer<ilk_timer>
        private let header: UnsafeMutablePointer<PoolJobHeader>

        fileprivate init(
            on core: PoolCore,
            at deadline: ContinuousClock.Instant,
            _ deadlineInC: UInt64,
            _ priority: ilk_priority,
            _ work: @escaping @Sendable () throws -> Value
        ) throws(WorkerPoolError) {
            self.core = core
            self.deadline = deadline
            self.work = PendingWork(work)
            let offset = MemoryLayout<ilk_timer>.stride
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: offset + MemoryLayout<PoolJobHeader>.size,
                alignment: MemoryLayout<ilk_timer>.alignment
            )
            timer = memory.bindMemory(to: ilk_timer.self, capacity: 1)
            header = (memory + offset).bindMemory(to: PoolJobHeader.self, capacity: 1)
            ilk_timer_init(timer, runPoolTimer, header)
            ilk_job_set_priority(ilk_timer_job(timer), priority)
            // The header keeps the task until it has begun, or was taken back.
            header.initialize(to: PoolJobHeader(core: .passUnretained(core), work: .object(self)))
            let status = ilk_pool_submit_at(core.pool, timer, deadlineInC)
            if status != ILK_OK {
                header.deinitialize(count: 1)
                let isClosed = status == ILK_CLOSED
                throw isClosed ? .closed(pool: core.name) : .unavailable(pool: core.name)
            }
        }

        deinit {
            UnsafeMutableRawPointer(timer).deallocate()
        }

        /// Prevents the work if it has not begun, and releases it, with its captures, before returning. Does not wait for
        /// work that has begun.
        ///
        /// - Returns: Whether this call prevented it.
        /// - Complexity: O(log *n*) amortised in the delayed tasks of the pool. Calls `ilk_pool_cancel`.
        @discardableResult
        public func cancel() -> Bool {
            guard work.claim() != nil else { return false }
            if ilk_pool_cancel(core.pool, timer) { header.deinitialize(count: 1) }
            result.fulfil(.failure(CancellationError()))
            return true
        }

        /// What the work returns. Suspends the task until there is an outcome; what the work did is visible then.
        ///
        /// - Throws: What the work throws; `CancellationError` where the work was cancelled, or where the awaiting task
        ///   is: the work goes on then; ``WorkerPoolError/closed(pool:)`` where the pool was closed at once.
        public var value: Value {
            get async throws {
                guard await result.wait() == .granted, let result = result.value else {
                    throw CancellationError()
                }
                return try result.get()
            }
        }
    }
}

extension WorkerPool.DelayedTask: PoolObject {
    package func run() {
        guard let work = work.claim() else { return }
        result.fulfil(Result(catching: work))
    }

    package func handBack(to core: PoolCore) {
        guard work.claim() != nil else { return }
        result.fulfil(.failure(WorkerPoolError.closed(pool: core.name)))
    }
}
