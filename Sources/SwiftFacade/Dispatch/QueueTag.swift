// SPDX-License-Identifier: Apache-2.0
//
// The identity of a queue, a tag that the first helper to meet the queue attaches. libdispatch has none: two
// `DispatchQueue` objects may stand for one queue (`DispatchQueue.main` makes a new one each time), and `getSpecific`
// reads only the innermost.

import Dispatch
import Foundation

final class QueueTag: Sendable {
    /// How the queue runs its work: known of the main queue and of those made by `GCD`.
    enum Width: Sendable { case serial, concurrent, unknown }

    let label: String
    let width: Width

    private init(label: String, width: Width) {
        self.label = label
        self.width = width
    }

    private static let key = DispatchSpecificKey<QueueTag>()
    /// Makes find-or-attach one step.
    private static let attaching = VisibleMutex(())

    /// The queue's tag, attached now if it had none; nil for a global queue.
    static func of(_ queue: DispatchQueue, width: Width = .unknown) -> QueueTag? {
        if let tag = queue.getSpecific(key: key) { return tag }
        let label = queue.label
        // Attaching to a global queue traps. Their labels are libdispatch's own on every platform.
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
