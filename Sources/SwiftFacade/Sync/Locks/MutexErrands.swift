// SPDX-License-Identifier: Apache-2.0
//
// The tasks that wait for one inheriting mutex, and the threads that wait in it for them. The kernel orders the threads
// in the mutex by priority and lends that of the first. So tasks whose threads are scheduled alike share a queue, first
// come, first served, and one thread for it, scheduled as they are. It is made for the first of them and ends when it
// has the mutex and finds none.
//
// Bound: one thread for each scheduling among the waiting tasks' threads; on the cooperative pool there is one. A task
// that is cancelled or late leaves its queue at once; a thread cannot be called back, and stays until it has the mutex.
//
// Invariant: while a queue has a waiter, it has a thread, or one is about to be made, or was refused and the waiters
// are about to be sent away. `hasThread` and the waiters change under the queue's lock.

import CInterlock

final class MutexErrands: Sendable {
    private let queues = VisibleMutex<[OwnThread.Scheduling: ErrandQueue]>([:], isPacked: true)

    /// Suspends until the thread of a queue has run `child` with the mutex held; granted without a run if the system
    /// made no thread.
    func run<Value: ~Copyable>(
        isolation: isolated (any Actor)? = #isolation,
        _ child: HeldChild,
        with storage: MutexStorage<Value>,
        until deadline: ContinuousClock.Instant?
    ) async -> WaitOutcome {
        let scheduling = OwnThread.scheduling
        let queue = queues.withLock { queues in
            if let queue = queues[scheduling] { return queue }
            let queue = ErrandQueue()
            queues[scheduling] = queue
            return queue
        }
        let waiter = ErrandWaiter(child)
        return await queue.waiters.suspend(waiter, isolation: isolation, until: deadline) {
            queue.haveThread(for: storage)
            return true
        }
    }

    /// The waiting tasks; for tests.
    var count: Int {
        queues.withLock { Array($0.values) }.reduce(0) { sum, queue in
            sum + queue.waiters.withWaiters { $0.count }
        }
    }
}

// Adds a constant to what Waiter says.
private final class ErrandWaiter: TaskWaiter, @unchecked Sendable {
    let child: HeldChild

    init(_ child: HeldChild) { self.child = child }
}

// `hasThread` changes under the lock of `waiters`.
private final class ErrandQueue: @unchecked Sendable {
    let waiters = WaitQueue()
    private var hasThread = false

    /// Sees to it that a thread comes for the caller, which has joined, or sends all away.
    func haveThread<Value: ~Copyable>(for storage: MutexStorage<Value>) {
        let isFirst = waiters.withWaiters { waiters in
            guard !hasThread, waiters.count > 0 else { return false }
            hasThread = true
            return true
        }
        guard isFirst else { return }
        do throws(ThreadUnavailable) {
            // The thread inherits the scheduling of this one, the task's.
            try OwnThread.start(named: "interlock.mutex") { self.serve(storage) }
        } catch {
            waiters.withWaiters { waiters in
                hasThread = false
                return waiters.takeAll()
            }.resumeAll()
        }
    }

    /// The body of the thread.
    private func serve<Value: ~Copyable>(_ storage: MutexStorage<Value>) {
        var isWanted = true
        while isWanted {
            ilk_mutex_lock(storage.lock)
            let errand = waiters.withWaiters { $0.takeFirst(1) }
            (errand.all.first as? ErrandWaiter)?.child.run()
            ilk_mutex_unlock(storage.lock)
            // Before the task goes on: the lock shows it what the closure did (WaitQueue.seeWhatWasHandedOver).
            isWanted = waiters.withWaiters { waiters in
                hasThread = waiters.count > 0
                return hasThread
            }
            errand.resumeAll()
        }
    }
}
