// SPDX-License-Identifier: Apache-2.0
//
// The identity of a queue, a tag in its specific values. libdispatch has none that Swift can compare: two
// `DispatchQueue` objects may stand for one queue (`DispatchQueue.main` makes a new one each time).
//
// A queue's target cannot be asked for: libdispatch exports no such function. The tag knows the target of a queue that
// `GCD` made. Of the current queue alone libdispatch says whether another is among its targets: `dispatch_get_specific`
// looks a key up in the current queue, then in its target, and so on. Each tag has a key of its own for that.

import CInterlock
import Dispatch
import InterlockSync

@usableFromInline
final class QueueTag: Sendable {
    /// How the queue runs its work: known of the main queue and of those made by `GCD`.
    enum Width: Sendable { case serial, concurrent, unknown }

    let label: String
    let width: Width
    /// The queue it targets, where that is known and no global one.
    let target: QueueTag?
    /// Whether all its targets are known: `GCD` made the queue and those.
    let isTargetKnown: Bool
    /// Whether it is known to have no target but a global queue.
    let isAlone: Bool
    /// Attached to this queue only.
    private let ownKey = DispatchSpecificKey<Bool>()

    private init(label: String, width: Width, target: QueueTag? = nil) {
        self.label = label
        self.width = label == "com.apple.main-thread" ? .serial : width
        self.target = target
        isTargetKnown = self.width != .unknown && target?.isTargetKnown != false
        isAlone = isTargetKnown && target == nil
    }

    deinit { forgetName(of: address) }

    private static let key = DispatchSpecificKey<QueueTag>()
    /// The key of the tag itself, without the overlay's box: for a queue that has been current.
    private static let currentKey = DispatchSpecificKey<QueueTag>()
    /// Makes find-or-attach one step.
    private static let attaching = VisibleMutex(())

    /// The queue's tag, attached now if it had none; nil for a global queue.
    static func of(_ queue: DispatchQueue, width: Width = .unknown, target: DispatchQueue? = nil) -> QueueTag?
    {
        if let tag = queue.getSpecific(key: key) { return tag }
        let label = queue.label
        // Attaching to a global queue traps. Their labels are libdispatch's own on every platform.
        if label.hasPrefix("com.apple.root.") { return nil }
        let target = target.flatMap { of($0) }
        return attaching.withLock { _ in
            if let tag = queue.getSpecific(key: key) { return tag }
            let tag = QueueTag(label: label, width: width, target: target)
            queue.setSpecific(key: tag.ownKey, value: true)
            queue.setSpecific(key: key, value: tag)
            return tag
        }
    }

    /// The tag of the queue this thread runs on, however work got there, attached now if it had none; nil for a global
    /// queue or none. Owned by the queue.
    static var current: Unmanaged<QueueTag>? {
        guard let queue = ilk__dispatch_get_current_queue() else { return nil }
        if let tag = ilk__dispatch_queue_get_specific(queue, address(of: currentKey)) {
            return .fromOpaque(tag)
        }
        return ilk__is_own_queue(queue) ? attachToCurrent(queue) : nil
    }

    /// Whether the queue is the current one or among its targets.
    var isBelowCurrentQueue: Bool { ilk__dispatch_get_specific(Self.address(of: ownKey)) != nil }

    /// Whether `other` is this queue or among those it is known to target.
    func reaches(_ other: QueueTag) -> Bool {
        var tag: QueueTag? = self
        while let queue = tag {
            if queue === other { return true }
            tag = queue.target
        }
        return false
    }

    var quoted: String { label.isEmpty ? "(a queue without a label)" : "\"\(label)\"" }

    // MARK: The current queue

    private static func address(of key: AnyObject) -> UnsafeRawPointer {
        UnsafeRawPointer(Unmanaged.passUnretained(key).toOpaque())
    }

    /// Attaches a tag to the current queue, of which there is no Swift object; nil for those that take none.
    private static func attachToCurrent(_ queue: UnsafeMutableRawPointer) -> Unmanaged<QueueTag>? {
        guard let label = ilk__dispatch_queue_get_label(queue).map({ String(cString: $0) }),
            label != "com.apple.libdispatch-manager", label != "Run Loop Mode Queue"
        else { return nil }
        let new = QueueTag(label: label, width: .unknown)
        // The values that the overlay makes for a queue of its own: its `getSpecific` finds them in this one.
        let ownQueue = DispatchQueue(label: "")
        ownQueue.setSpecific(key: new.ownKey, value: true)
        ownQueue.setSpecific(key: key, value: new)
        let (own, value) = ownQueue.sync { () -> (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) in
            (
                ilk__dispatch_get_specific(address(of: new.ownKey)),
                ilk__dispatch_get_specific(address(of: key))
            )
        }
        return attaching.withLock { _ in
            if ilk__dispatch_queue_get_specific(queue, address(of: key)) == nil {
                attach(.fromOpaque(own!), to: queue, address(of: new.ownKey))
                attach(.fromOpaque(value!), to: queue, address(of: key))
            }
            guard let tag = DispatchQueue.getSpecific(key: key) else { return nil }
            if ilk__dispatch_queue_get_specific(queue, address(of: currentKey)) == nil {
                attach(.passUnretained(tag), to: queue, address(of: currentKey))
            }
            return .passUnretained(tag)
        }
    }

    private static func attach(
        _ value: Unmanaged<AnyObject>,
        to queue: UnsafeMutableRawPointer,
        _ key: UnsafeRawPointer
    ) {
        ilk__dispatch_queue_set_specific(queue, key, value.retain().toOpaque()) {
            Unmanaged<AnyObject>.fromOpaque($0!).release()
        }
    }
}
