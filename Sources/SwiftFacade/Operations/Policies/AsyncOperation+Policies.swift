// SPDX-License-Identifier: Apache-2.0
//
// Delay and time-out, set before the start. Each gives the operation back: `AsyncOperation { … }.delay(by: .seconds(1))
// .timeOut(after: .seconds(10)).enqueued(on: queue)`.

import Foundation
import InterlockSync

extension AsyncOperation {
    /// Lets `duration` pass between the start of the operation and its work.
    ///
    /// The operation keeps its place in its queue meanwhile, and no thread; a cancellation ends it at once. To be
    /// called before the start, later is misuse; the last call counts. Zero or less is no delay. May be called from any
    /// thread.
    ///
    /// - Parameter clock: measures the delay.
    @discardableResult
    public final func delay(by duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Self {
        var delay: OperationPolicies.Timed? = .init(duration: duration, clock: clock)
        changePolicies("delay") { swap(&$0.delay, &delay) }  // an earlier clock is freed under no lock
        return self
    }

    /// Ends the operation with ``OperationTimedOut`` when its work has not ended `limit` after it began.
    ///
    /// The work learns of it by a cancellation, and `isCancelled` turns true. The operation then ends as a cancelled
    /// one does: at once; a closure that occupies a thread or a task is waited for, and what it gives is not used.
    /// Waits before the work (delay, conditions, categories) are not limited; all attempts of a ``RetryPolicy``, with
    /// their pauses, are limited together. A cancellation that comes before the limit decides instead.
    ///
    /// To be called before the start, later is misuse; the last call counts. With a limit of zero or less the
    /// work does not run. May be called from any thread.
    ///
    /// - Parameter clock: measures the limit.
    @discardableResult
    public final func timeOut(after limit: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Self {
        var timeOut: OperationPolicies.Timed? = .init(duration: limit, clock: clock)
        changePolicies("timeOut") { swap(&$0.timeOut, &timeOut) }  // likewise
        return self
    }

    /// Misuse after the start.
    final func changePolicies(_ call: String, _ change: (OperationPolicies) -> Void) {
        let isInTime = record.withLock { record in
            record.policiesToChange().map(change) != nil
        }
        if !isInTime {
            let sentence = "it has started; set it before the queue gets the operation"
            misuse("AsyncOperation.\(call)", displayName, sentence)
        }
    }
}
