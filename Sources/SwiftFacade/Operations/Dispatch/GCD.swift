// SPDX-License-Identifier: Apache-2.0
//
// Makers of queues, which are tagged at once for `GCD.sync`, and work after a delay.

import Dispatch
import InterlockPool
import InterlockSync

/// Helpers that make dispatch queues and run work on them.
///
/// May be used from any thread. On Linux a service class is only a hint: it becomes a nice value, raising it needs
/// privilege, and nothing is inherited. Do not rely on it for order.
public enum GCD {
    /// A queue that runs one piece of work at a time, in the order given. ``sync(on:_:)`` knows its target, which
    /// libdispatch does not tell of a queue that `DispatchQueue.init` made.
    ///
    /// - Parameters:
    ///   - label: names the queue in reports and debuggers; unique in the program.
    ///   - qos: a hint on Linux.
    ///   - target: supplies the threads, by default a global queue. ``sync(on:_:)`` knows it: do not change it later.
    public static func serialQueue(
        label: String,
        qos: DispatchQoS = .unspecified,
        target: DispatchQueue? = nil
    ) -> DispatchQueue {
        let queue = DispatchQueue(label: label, qos: qos, target: target)
        _ = QueueTag.of(queue, width: .serial, target: target)
        return queue
    }

    /// A queue that starts work in the order given and runs several pieces at once. Parameters as in `serialQueue`.
    ///
    /// Work that blocks holds one of few shared threads: on Linux the pool starts with one for each processor and grows
    /// by one a second. ``ConcurrentBlockOperation`` and `concurrentForEach` give such work threads of its own;
    /// ``BoundedRunner`` limits it.
    public static func concurrentQueue(
        label: String,
        qos: DispatchQoS = .unspecified,
        target: DispatchQueue? = nil
    ) -> DispatchQueue {
        let queue = DispatchQueue(label: label, qos: qos, attributes: .concurrent, target: target)
        _ = QueueTag.of(queue, width: .concurrent, target: target)
        return queue
    }

    // MARK: Later

    /// Runs `work` on `queue`, no earlier than `delay` from now.
    ///
    /// Returns at once. The delay is measured on the monotonic clock; zero or less means as soon as possible.
    ///
    /// - Parameters:
    ///   - queue: by default the main queue, which needs a program that drains it.
    ///   - work: runs once, unless cancelled before.
    /// - Returns: the handle that cancels it and gives its value. Dropping it does not cancel.
    @inlinable
    @discardableResult
    public static func after<Value: Sendable>(
        _ delay: Duration,
        on queue: DispatchQueue = .main,
        _ work: @escaping @Sendable () throws -> Value
    ) -> DelayedWork<Value> {
        let delayed = DelayedWork(at: moment(in: delay), work)
        arm(delayed.run, at: .after(delay), on: queue)
        return delayed
    }

    /// A timer that fires early by the deadline's clock is armed again.
    @usableFromInline
    static func arm(_ run: DelayedRun, at due: DispatchTime, on queue: DispatchQueue) {
        queue.asyncAfter(deadline: due) {
            if DispatchTime.now() < due {
                arm(run, at: due, on: queue)
            } else {
                QueueTag.running(on: queue) { run.run() }
            }
        }
    }
}
