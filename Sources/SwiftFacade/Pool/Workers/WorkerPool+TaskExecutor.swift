// SPDX-License-Identifier: Apache-2.0
//
// Tasks on the pool. A part of a task is one pointer, which a node carries as it would a closure, so tasks have the
// pool's priorities, and are stolen from one worker by another. They wait in the order in which they became ready: a
// task that yields goes behind those that wait, which a worker's own deque, last in first out, would not give.
// Rejected: a ring of the pointers and a job of the pool that drains it: one queue for all workers, without priorities,
// and bounded, where an executor cannot refuse.

import CInterlock

extension WorkerPool: TaskExecutor {
    /// Runs a part of a task on the pool. For the Swift runtime. Thread-safe.
    ///
    /// Allocates nothing while no more than 1,024 jobs wait. Tasks of `.high` priority and above are high jobs, those
    /// of `.utility` and below low ones. A closed pool hands it to ``shared``.
    public func enqueue(_ job: consuming ExecutorJob) { take(UnownedJob(job)) }

    func take(_ job: UnownedJob) {
        if !core.submitLast(.task(job), poolPriority(job)) { WorkerPool.shared.take(job) }
    }
}

/// The priority of a part of a task among the pool's jobs.
func poolPriority(_ job: UnownedJob) -> ilk_priority {
    switch job.priority.rawValue {
    case TaskPriority.high.rawValue...: ILK_PRIORITY_HIGH
    case ...TaskPriority.utility.rawValue where job.priority.rawValue != 0: ILK_PRIORITY_LOW
    default: ILK_PRIORITY_NORMAL
    }
}
