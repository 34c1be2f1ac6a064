// SPDX-License-Identifier: Apache-2.0
//
// Names for queues, and makers of queues, which are tagged at once for `GCD.sync`.

import Dispatch
import InterlockPool
import InterlockSync

/// Grand Central Dispatch by name: the process's queues, and helpers that run work on them.
///
/// May be used from any thread. On Linux a service class is only a hint: it becomes a nice value, raising it needs
/// privilege, and nothing is inherited. Do not rely on it for order.
public enum GCD {
    /// The main queue: serial, and drained only under `dispatchMain()`, a run loop or an async `main`.
    public static var main: DispatchQueue { .main }
    /// The global queue for work the user waits on at this moment, such as animation; on Linux that for
    /// ``userInitiated``.
    public static var userInteractive: DispatchQueue { .global(qos: .userInteractive) }
    /// The global queue for work the user asked for and waits for.
    public static var userInitiated: DispatchQueue { .global(qos: .userInitiated) }
    /// The global queue for work of no particular class.
    public static var `default`: DispatchQueue { .global(qos: .default) }
    /// The global queue for longer work whose progress the user may see.
    public static var utility: DispatchQueue { .global(qos: .utility) }
    /// The global queue for work the user does not see.
    public static var background: DispatchQueue { .global(qos: .background) }

    /// A queue that runs one piece of work at a time, in the order given.
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
}
