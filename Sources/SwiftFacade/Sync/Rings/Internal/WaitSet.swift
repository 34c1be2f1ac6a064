// SPDX-License-Identifier: Apache-2.0
//
// The C wait set under a Swift face: one waiter, and members known by an address. What waits without a thread, a task
// or the jobs of a queue, is notified by a listener:
//
//   waiter                                    the set            the thread that pushes, signals, …
//   takes the listener's mark down
//   probes (deadline 0): nothing is ready ──▶ armed
//   the mark is up? goes round                                   pushes an element
//   suspends, or its job ends                 goes off ────────▶ listener: raises the mark, has the waiter go on
//
// Forbidden: the element is pushed, and the waiter suspends. The listener may be called once more, late: the waiter
// finds nothing then, and suspends anew.
//
// A set is destroyed by its owner, never by a listener: that waits until the listener has returned.

import CInterlock

/// Called as a member of a set may have become ready: on any thread, in the middle of its push or signal.
protocol WaitSetListener: AnyObject, Sendable {
    func tell()
}

/// Keeps a listener's type from the C function pointer, which cannot know it.
private final class ListenerBox: Sendable {
    unowned(unsafe) let listener: any WaitSetListener
    init(_ listener: any WaitSetListener) { self.listener = listener }
}

struct WaitSet: Sendable {
    enum Answer {
        case ready(UnsafeRawPointer)
        /// By ``wake()``.
        case woken
        case nothing
    }

    // Any number of threads may call the C set; one waits at a time, which its owner sees to.
    private nonisolated(unsafe) let set: OpaquePointer
    private let box: ListenerBox

    /// - Parameter listener: Outlives the set.
    init(_ listener: any WaitSetListener) {
        var made: OpaquePointer?
        guard ilk_wait_set_create(&made) == ILK_OK, let made else { WaitSet.endWithoutMemory() }
        set = made
        box = ListenerBox(listener)
        ilk__wait_set_notify(
            made,
            { Unmanaged<ListenerBox>.fromOpaque($0!)._withUnsafeGuaranteedRef { $0.listener.tell() } },
            Unmanaged.passUnretained(box).toOpaque()
        )
    }

    /// By the owner, with no wait under way. Afterwards the listener is not called any more.
    func destroy() { ilk_wait_set_destroy(set) }

    /// Swift's own objects end likewise.
    private static func endWithoutMemory() -> Never { fatalError("no memory for a wait set") }

    private static func require(_ status: ilk_status) {
        if status == ILK_NOMEM { endWithoutMemory() }
        precondition(status == ILK_OK, "a key is added once")
    }

    func add(_ port: some RingPort, _ event: ilk_ring_event, _ key: UnsafeRawPointer) {
        WaitSet.require(port.add(to: set, event, UnsafeMutableRawPointer(mutating: key)))
    }

    func add(_ latch: UnsafeMutablePointer<ilk_latch>, _ key: UnsafeRawPointer) {
        WaitSet.require(ilk_wait_set_add_latch(set, latch, UnsafeMutableRawPointer(mutating: key)))
    }

    /// Afterwards the set does not touch the member's object. A wait may be about to answer its key.
    func remove(_ key: UnsafeRawPointer) {
        _ = ilk_wait_set_remove(set, UnsafeMutableRawPointer(mutating: key))
    }

    /// One member that is ready. Of those that stay ready each has its turn.
    func wait(until deadline: UInt64) -> Answer {
        var key: UnsafeMutableRawPointer?
        var count = 0
        guard ilk_wait_set_wait_until(set, &key, 1, &count, deadline) == ILK_OK else { return .nothing }
        guard count > 0, let key else { return .woken }
        return .ready(key)
    }

    func wake() { ilk_wait_set_wake(set) }
}
