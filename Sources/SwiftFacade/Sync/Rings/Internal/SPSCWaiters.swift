// SPDX-License-Identifier: Apache-2.0
//
// The tasks that wait at the two ends of a split ring. An end is for one thread at a time, so only the task that waits
// uses it: the thread that makes room or brings an element only wakes the task.
//
//   task, in the isolation of its caller      ring                 the other end
//   finds nothing
//   joins the queue
//   arms the hook ──────────────────────────▶ armed
//   (what came in between makes the arming
//    fail: leaves the queue and tries again)                       pushes an element
//                                             goes off ──────────▶ hook: empties the queue
//   resumed ◀──────────────────────────────────────────────────────
//   tries again, in the isolation of its caller
//
// Forbidden: the element is pushed, the hook is not called and the task sleeps. Joining comes before arming: either the
// arming sees the element, or the push sees the hook armed and finds the task in the queue.
//
// Two tasks wait in one queue only where an actor is re-entered through an object that holds the end. Both are woken
// and try again on the actor, one after the other.
//
// The hook may run inside the task's own call, the arming included: no call of the ring is made under a queue's lock.

import CInterlock

private enum PushOutcome {
    case pushed, timedOut, cancelled, closed
}

// Adds immutable fields, each Sendable.
@usableFromInline
final class SPSCWaiters: RingBacking, @unchecked Sendable {
    private let port: SPSCPort

    init(_ port: SPSCPort, storage: any AnyObject & Sendable, resumingOnOwnThread: Bool) {
        self.port = port
        super.init(port, storage: storage, resumingOnOwnThread: resumingOnOwnThread)
    }

    deinit {
        end()
    }

    override func serve(_ events: UInt32) {
        if events & ILK_READABLE.rawValue != 0 {
            consumers.resumeAll()
        }
        if events & ILK_WRITABLE.rawValue != 0 {
            producers.resumeAll()
        }
    }

    /// In the isolation of the consumer throughout.
    @usableFromInline
    func pop<Element: ~Copyable>(
        _: Element.Type,
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?
    ) async -> sending Popped<Element> {
        var outcome = WaitOutcome.granted
        while true {
            // A cancelled task takes nothing; a task that timed out takes an element that is there.
            if outcome == .cancelled { return .nothing(.cancelled) }
            let popped = port.popOnce(Element.self)
            switch consume popped {
            case .element(let element):
                nonisolated(unsafe) let element = element
                return .element(element)
            case .nothing(let why): if why == .closed { return .nothing(.closed) }
            }
            if outcome == .timedOut { return .nothing(.timedOut) }
            outcome = await consumers.suspend(isolation: isolation, until: deadline) { port.armPop() }
        }
    }

    /// In the isolation of the producer throughout.
    @usableFromInline
    func push<Element: ~Copyable>(
        _ element: consuming sending Element,
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?
    ) async -> sending PushResult<Element> {
        let bytes = UnsafeMutableRawPointer.allocate(
            byteCount: ringElementSize(Element.self),
            alignment: MemoryLayout<Element>.alignment
        )
        defer { bytes.deallocate() }
        let slot = bytes.bindMemory(to: Element.self, capacity: 1)
        slot.initialize(to: element)
        let outcome = await push(bytes, ringElementSize(Element.self), isolation: isolation, until: deadline)
        // The ring owns it: the slot is not deinitialised.
        if outcome == .pushed { return .pushed }
        // Refused: the element is the task's again.
        nonisolated(unsafe) let left = slot.move()
        switch outcome {
        case .timedOut: return .full(left)
        case .cancelled: return .cancelled(left)
        default: return .closed(left)
        }
    }

    /// Does what ``push(_:isolation:until:)`` does, for the bytes of an element.
    private func push(
        _ bytes: UnsafeRawPointer,
        _ size: Int,
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?
    ) async -> PushOutcome {
        var outcome = WaitOutcome.granted
        while true {
            // A cancelled task pushes nothing; a task that timed out pushes where there is room.
            if outcome == .cancelled { return .cancelled }
            let status = port.pushOnce(bytes, size)
            if status == ILK_OK { return .pushed }
            if status == ILK_CLOSED { return .closed }
            if outcome == .timedOut { return .timedOut }
            outcome = await producers.suspend(isolation: isolation, until: deadline) { port.armPush() }
        }
    }
}
