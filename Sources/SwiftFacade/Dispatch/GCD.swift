// SPDX-License-Identifier: Apache-2.0
//
// Names for the queues of the process, and makers for others. A queue made here is tagged at once, so that `GCD.sync`
// recognises it however work reached it.

import Dispatch

/// Grand Central Dispatch by name: the process's queues, and helpers that run work on them.
///
/// All of it may be used from any thread. On Linux a service class is only a hint: it
/// becomes a nice value, raising it needs privilege, and nothing is inherited. Do not rely on it for order.
public enum GCD {
    /// The main queue: serial, and drained only under `dispatchMain()`, a run loop or an async `main`.
    public static var main: DispatchQueue { .main }
    /// The global queue for work the user is waiting on at this moment, such as animation. On
    /// Linux it is the queue for ``userInitiated``: there is no class above that one.
    public static var userInteractive: DispatchQueue { .global(qos: .userInteractive) }
    /// The global queue for work the user asked for and waits for.
    public static var userInitiated: DispatchQueue { .global(qos: .userInitiated) }
    /// The global queue for work of no particular class.
    public static var `default`: DispatchQueue { .global(qos: .default) }
    /// The global queue for longer work whose progress the user may see.
    public static var utility: DispatchQueue { .global(qos: .utility) }
    /// The global queue for work the user does not see.
    public static var background: DispatchQueue { .global(qos: .background) }

    /// A queue that runs one piece of work at a time, in the order it was given.
    ///
    /// - Parameters:
    ///   - label: names the queue in reports and debuggers; use one that is unique in the program.
    ///   - qos: the service class, a hint on Linux.
    ///   - target: the queue that supplies the threads, by default a global one.
    public static func serialQueue(
        label: String,
        qos: DispatchQoS = .unspecified,
        target: DispatchQueue? = nil
    ) -> DispatchQueue {
        let queue = DispatchQueue(label: label, qos: qos, target: target)
        _ = QueueTag.of(queue, width: .serial)
        return queue
    }

    /// A queue that starts work in the order it was given and runs several pieces at once.
    ///
    /// Work that blocks holds one of few shared threads: on Linux the pool starts with one for each
    /// processor and grows by one a second. ``ConcurrentBlockOperation`` and `concurrentForEach` give such work threads
    /// of its own.
    ///
    /// - Parameters:
    ///   - label: names the queue in reports and debuggers; use one that is unique in the program.
    ///   - qos: the service class, a hint on Linux.
    ///   - target: the queue that supplies the threads, by default a global one.
    public static func concurrentQueue(
        label: String,
        qos: DispatchQoS = .unspecified,
        target: DispatchQueue? = nil
    ) -> DispatchQueue {
        let queue = DispatchQueue(label: label, qos: qos, attributes: .concurrent, target: target)
        _ = QueueTag.of(queue, width: .concurrent)
        return queue
    }
}
