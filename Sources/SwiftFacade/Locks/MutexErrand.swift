// SPDX-License-Identifier: Apache-2.0
//
// One closure on its way to an inheriting mutex that is taken, and back. The kernel lends priority from a waiting
// thread to a holding thread, so a thread must wait in the kernel. The task's own thread must not. A thread made for
// the call waits instead, and runs the closure, because the thread that took a mutex gives it up.
//
//   task                          errand                         thread
//   finds the mutex taken
//   suspends                 ──▶  pending                   ──▶  made; waits in the mutex
//                                 claimed                   ◀──  has it
//                                                                runs the closure, gives the mutex up
//   goes on, with the result ◀──  fulfilled                 ◀──  ends
//
// The claim decides the race (PendingWork.swift), and the claimant fulfils the promise (Promise.swift). A cancellation
// that claims the closure releases it at once and resumes the task. The thread cannot be called back from its wait: it
// gets the mutex later, finds the closure claimed, gives the mutex up and ends. Until then it lends its priority and
// keeps the mutex alive.

import CInterlock

// `returned` is written by the claimant, before it fulfils the promise.
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

    /// Has a thread take the mutex and run the closure. Where the system makes no thread, the task tries each
    /// millisecond for a thread and for the mutex.
    private func lock(isolation: isolated (any Actor)? = #isolation, until deadline: UInt64) async {
        while !ending.isFulfilled {
            do throws(ThreadUnavailable) {
                // The thread takes its scheduling from this one, which is the task's.
                try OwnThread.start(named: "interlock.mutex") { self.lockOnThread(until: deadline) }
                return
            } catch {
                if tryLockHere(until: deadline) { return }
                // Cancelled, it ends at once, and the promise is fulfilled.
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    /// Takes the mutex on the task's own thread if it is free by now. False if it is taken and there is time left.
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

    /// Runs the closure, unless it has been given up, and gives the mutex up. Then the task goes on.
    private func runAndUnlock() {
        let isWanted = runIfWanted()
        ilk_mutex_unlock(storage.lock)
        if isWanted { ending.fulfil(.granted) }
    }

    /// Runs the closure, unless it has been given up, and releases it.
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
        // What it captured is released before the task goes on.
        guard body.claim() != nil else { return }
        ending.fulfil(outcome)
    }
}
