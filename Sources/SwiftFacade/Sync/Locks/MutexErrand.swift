// SPDX-License-Identifier: Apache-2.0
//
// One closure on its way to an inheriting mutex that is taken, and back. The kernel lends the priority of a thread that
// waits in it, which the task's own thread must not do. A thread of the mutex waits instead (MutexErrands.swift) and
// runs the closure, because the thread that took a mutex gives it up.
//
//   task                             thread
//   finds the mutex taken
//   makes a child, which is held back
//   joins the queue, suspends        waits in the mutex
//                                    has it; takes the errand out of the queue
//                                    runs the child, which runs the closure
//   goes on, with the result   ◀──   gives the mutex up
//
// The child makes the closure see the task-locals and the cancellation of its caller: a task runs where its executor
// says, and HeldChild says "on the thread that has the mutex". A task that leaves the queue without the mutex releases
// the closure and runs the child itself, which ends at once.

import CInterlock

// The closure and what it returned are the task's, but for the thread's while it runs the child: the queue's lock is
// between the two.
final class MutexErrand<Value: ~Copyable, Output: ~Copyable, Failure: Error>: @unchecked Sendable {
    typealias Body = (inout sending Value) throws(Failure) -> sending Output

    private let storage: MutexStorage<Value>
    private var body: Body?
    private var returned: Swift.Result<Output, Failure>?

    init(_ storage: MutexStorage<Value>, _ body: sending @escaping Body) {
        self.storage = storage
        self.body = body
    }

    /// What the closure returns, or `nil` if time ran out first. Called once.
    func result(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant?
    ) async throws -> sending Output? {
        let outcome = await withTaskGroup(of: Void.self) { group in
            let child = HeldChild()
            group.addTask(executorPreference: child, operation: operation)
            let outcome = await run(child, until: deadline)
            // Outside the mutex, which the captures may want.
            body = nil
            if outcome != .granted { child.run() }
            return outcome
        }
        switch outcome {
        case .timedOut: return nil
        case .cancelled: throw CancellationError()
        case .granted:
            // This task alone receives it.
            nonisolated(unsafe) let returned = self.returned.take()!
            switch consume returned {
            case .success(let output): return output
            case .failure(let error): throw error
            }
        }
    }

    /// Has the child run with the mutex held. Without a thread to wait for it, tries for both each millisecond.
    private func run(
        isolation: isolated (any Actor)? = #isolation,
        _ child: HeldChild,
        until deadline: ContinuousClock.Instant?
    ) async -> WaitOutcome {
        while !hasPassed(deadline) {
            switch await storage.errands.run(child, with: storage, until: deadline) {
            case .timedOut: return .timedOut
            case .cancelled: return .cancelled
            case .granted where child.hasRun: return .granted
            case .granted: break
            }
            if ilk_mutex_try_lock(storage.lock) {
                child.run()
                ilk_mutex_unlock(storage.lock)
                return .granted
            }
            // If cancelled, it ends at once, and so does the next turn.
            try? await Task.sleep(for: .milliseconds(1))
        }
        return .timedOut
    }

    /// What the child does, in the isolation of none.
    private var operation: @Sendable () async -> Void { { self.runBody() } }

    /// With the mutex held, if there is still a closure.
    private func runBody() {
        guard let body else { return }
        let value = storage.value
        do throws(Failure) {
            returned = .success(try body(&value.pointee))
        } catch {
            returned = .failure(error)
        }
    }
}

/// The executor of one child task that never suspends: it runs when and where its errand calls it.
// The parent sets the job before it shares the executor; the one side that runs it takes it.
final class HeldChild: TaskExecutor, @unchecked Sendable {
    private var job: UnownedJob?

    var hasRun: Bool { job == nil }

    /// At once when the child is made.
    func enqueue(_ job: consuming ExecutorJob) {
        self.job = UnownedJob(job)
    }

    /// Runs the child to its end on the calling thread. Once.
    func run() {
        job.take()!.runSynchronously(on: asUnownedTaskExecutor())
    }
}
