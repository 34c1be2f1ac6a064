// SPDX-License-Identifier: Apache-2.0
//
// Which queue is this, and which queues has this thread entered? libdispatch answers neither: two
// `DispatchQueue` objects may stand for one queue (`DispatchQueue.main` makes a new one each time), and
// `getSpecific` sees only the innermost queue. So the first helper that meets a queue attaches a tag to
// it, the queue's identity from then on, and `GCD.sync` keeps the list of tags its thread has entered.
//
// The list belongs to the thread that runs the work and not to the task: a task-local would be
// inherited by tasks that outlive the `sync`, and report them for a queue they are not on.

import Dispatch
import Foundation

final class QueueTag: Sendable {
    /// What is known of how the queue runs its work. libdispatch does not tell, so it is known only of
    /// the queues made by `GCD` and of the main queue.
    enum Width: Sendable { case serial, concurrent, unknown }

    let label: String
    let width: Width

    private init(label: String, width: Width) {
        self.label = label
        self.width = width
    }

    private static let key = DispatchSpecificKey<QueueTag>()
    /// Makes find-or-attach one step. Nothing else is done under it.
    private static let attaching = VisibleMutex(())

    /// The queue's tag, attached now if it had none; nil for a global queue, which takes no tags.
    static func of(_ queue: DispatchQueue, width: Width = .unknown) -> QueueTag? {
        if let tag = queue.getSpecific(key: key) { return tag }
        let label = queue.label
        // Attaching to a global queue is a trap. Their labels are libdispatch's own on every platform.
        if label.hasPrefix("com.apple.root.") { return nil }
        return attaching.withLock { _ in
            if let tag = queue.getSpecific(key: key) { return tag }
            let tag = QueueTag(label: label, width: label == "com.apple.main-thread" ? .serial : width)
            queue.setSpecific(key: key, value: tag)
            return tag
        }
    }

    /// The tag of the queue this thread runs on, or of the nearest tagged queue that one targets.
    static var current: QueueTag? { DispatchQueue.getSpecific(key: key) }

    var quoted: String { label.isEmpty ? "(a queue without a label)" : "\"\(label)\"" }
}

/// The queues this thread is inside of through `GCD.sync`, outermost first.
///
/// Invariant: the thread's key holds the innermost list, unretained, while the frame of `with` that owns
/// it is on this thread's stack, and no longer. So no destructor is needed, and reading costs a few
/// nanoseconds (`Thread.current.threadDictionary` takes some thousands).
enum EnteredQueues {
    private final class List {
        let tags: [QueueTag]
        init(_ tags: [QueueTag]) { self.tags = tags }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        if pthread_key_create(&key, nil) != 0 {
            MisuseReport.stop("GCD.sync", "", "the process has no thread-specific key left")
        }
        return key
    }()

    static var current: [QueueTag] {
        guard let list = pthread_getspecific(key) else { return [] }
        return Unmanaged<List>.fromOpaque(list).takeUnretainedValue().tags
    }

    /// Runs `body` with the list replaced, and puts back what this thread had before.
    static func with<Value, Failure: Error>(
        _ entered: [QueueTag],
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let before = pthread_getspecific(key)
        let list = List(entered)
        pthread_setspecific(key, Unmanaged.passUnretained(list).toOpaque())
        defer { withExtendedLifetime(list) { _ = pthread_setspecific(key, before) } }
        return try body()
    }
}
