// SPDX-License-Identifier: Apache-2.0
//
// One closure on its way to an inheriting mutex that is taken, and back. The kernel lends the priority of a thread that
// waits in it, which the task's own thread must not do. A thread made for the call waits instead and runs the closure,
// because the thread that took a mutex gives it up.
//
//   task                          errand                         thread
//   finds the mutex taken
//   suspends                 ──▶  pending                   ──▶  made; waits in the mutex
//                                 claimed                   ◀──  has it
//                                                                runs the closure, gives the mutex up
//   goes on, with the result ◀──  fulfilled                 ◀──  ends
//
// The claim decides the race (PendingWork.swift); the claimant fulfils the promise (Promise.swift). A cancellation that
// claims the closure releases it and resumes the task at once. The thread gets the mutex later, finds the closure
// claimed, gives the mutex up and ends; until then it lends its priority and keeps the mutex alive.

import CInterlock

// The claimant writes `returned`, before it fulfils the promise.
final class MutexErrand<Value: ~Copyable, Output: ~Copyable, Failure: Error>: @unchecked Sendable {
    typealias Body = (inout sending Value) throws(Failure) -> sending Output

    private let storage: SharedStorage<ilk_mutex, Value>
    private let body: PendingWork<Body>
    private let ending = Promise<WaitOutcome>()
    private var returned: Swift.Result<Output, Failure>?

    init(_ storage: SharedStorage<ilk_mutex, Value>, _ body: sending @escaping Body) {
        self.storage = storage
        self.body = PendingWork(body)
    }

    /// What the closure returns, or `nil` if time ran out first. Called once.
    func result(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: UInt64
    ) async throws(TaskLockError<Failure>) -> sending Output? {
        let outcome = await withTaskCancellationHandler {
            await lock(until: deadline)
            return await ending.take()
        } onCancel: {
            giveUp(.cancelled)
        }
        switch outcome {
        case .timedOut: return nil
        case .cancelled: throw .cancelled
        case .granted:
            // This task alone receives it.
            nonisolated(unsafe) let returned = self.returned.take()!
            switch consume returned {
            case .success(let output): return output
            case .failure(let error): throw .body(error)
            }
        }
    }

    /// Has a thread take the mutex and run the closure. Without a thread, the task tries for one and for the mutex each
    /// millisecond.
    private func lock(isolation: isolated (any Actor)? = #isolation, until deadline: UInt64) async {
        while !ending.isFulfilled {
            do throws(ThreadUnavailable) {
                // The thread inherits the scheduling of this one, the task's.
                try OwnThread.start(named: "interlock.mutex") { self.lockOnThread(until: deadline) }
                return
            } catch {
                if tryLockHere(until: deadline) { return }
                // If cancelled, it ends at once; the promise is fulfilled.
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    /// Runs the closure on the task's own thread if the mutex is free. False if it is taken and time is left.
    private func tryLockHere(until deadline: UInt64) -> Bool {
        if ilk_mutex_try_lock(storage.lock) {
            runAndUnlock()
            return true
        }
        // A deadline of now.
        if deadline != forever, ilk_deadline_in_ns(0) >= deadline {
            giveUp(.timedOut)
            return true
        }
        return false
    }

    /// The body of the thread.
    private func lockOnThread(until deadline: UInt64) {
        if ilk_mutex_lock_until(storage.lock, deadline) == ILK_OK {
            runAndUnlock()
        } else {
            giveUp(.timedOut)
        }
    }

    /// With the mutex held. Runs the closure unless it has been claimed, unlocks, and resumes the task.
    private func runAndUnlock() {
        let isWanted = runIfWanted()
        ilk_mutex_unlock(storage.lock)
        if isWanted { ending.fulfil(.granted) }
    }

    /// Claims, runs and releases the closure.
    private func runIfWanted() -> Bool {
        guard let body = body.claim() else { return false }
        let value = storage.value
        do throws(Failure) {
            returned = .success(try body(&value.pointee))
        } catch {
            returned = .failure(error)
        }
        return true
    }

    /// Ends the wait without the mutex, unless the closure has been claimed.
    private func giveUp(_ outcome: WaitOutcome) {
        // Its captures are released before the task goes on.
        guard body.claim() != nil else { return }
        ending.fulfil(outcome)
    }
}
