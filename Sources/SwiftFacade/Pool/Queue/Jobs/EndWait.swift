// SPDX-License-Identifier: Apache-2.0
//
// Waiting for the end of a job or an operation: a hook, which a wait that gives up takes back.

import InterlockSync

/// Work that tells its end.
package protocol EndingWork: AnyObject, Sendable {
    /// Keeps a hook for the end; nil after the end.
    func addEndHook(_ body: @escaping @Sendable () -> Void) -> UInt64?
    func removeEndHook(_ id: UInt64)
    /// The name that diagnosis gives it.
    var nameInDiagnosis: String { get }
}

extension EndingWork {
    /// Blocks, until `deadline` at most; false: the work has not ended. On a worker of a `WorkerPool` another thread
    /// takes over its jobs meanwhile.
    package func blockUntilEnd(before deadline: ContinuousClock.Instant?) -> Bool {
        let end = Latch(count: 1)
        guard let hook = addEndHook({ end.countDown() }) else { return true }
        let limit = deadline.map(InterlockSync.deadline(at:)) ?? forever
        let hasEnded = ThreadDiagnosis.waiting(for: self, until: limit, nameInDiagnosis) {
            WorkerPool.withBlockingCall {
                guard let deadline else {
                    end.wait()
                    return true
                }
                return end.wait(until: deadline)
            }
        }
        if !hasEnded { removeEndHook(hook) }
        // It may have ended since.
        return hasEnded || end.wait(until: .now)
    }

    /// Suspends, until `deadline` at most; false: the work has not ended.
    package func suspendUntilEnd(before deadline: ContinuousClock.Instant?) async throws(CancellationError)
        -> Bool
    {
        let end = Promise<Void>()
        guard let hook = addEndHook({ end.fulfil(()) }) else { return true }
        let how = await end.wait(until: deadline)
        if how != .granted { removeEndHook(hook) }
        return try how.isGranted()
    }

    /// Suspends until the end, also where the awaiting task was cancelled.
    package func suspendUntilEnd() async {
        let end = Promise<Void>()
        if addEndHook({ end.fulfil(()) }) != nil { await end.take() }
    }
}
