// SPDX-License-Identifier: Apache-2.0
//
// The tasks that wait at the two ends of a split ring. An end of the C ring is for one thread at a time, so nobody but
// the task that waits ever uses the end for it: whoever makes room or brings an element only wakes it.
//
//   task, in the isolation of its caller      ring                 the other end
//   finds nothing
//   joins the line
//   arms the hook ──────────────────────────▶ armed
//   (what came in between makes the arming
//    fail: leaves the line and tries again)                        pushes an element
//                                             goes off ──────────▶ hook: empties the line
//   resumed ◀──────────────────────────────────────────────────────
//   tries again, in the isolation of its caller
//
// Forbidden: the element is pushed, the hook is not called and the task sleeps. Joining comes before arming, and what
// the ring answers to arming is decided by the ring: either the element is seen there, or the push sees the hook armed
// and finds the task in line.
//
// Two tasks stand in one line only where an actor is re-entered through an object that holds the end, which the compiler
// does not see. Both are woken, and each tries again on the actor, one after the other.
//
// The hook may run inside a call of the task's own, the arming included. So no call of the ring is made under a line's
// lock.

import CInterlock

/// What the two ends of a split ring have in common.
// Adds immutable fields, each Sendable.
@usableFromInline
final class RingEnds: RingBacking, @unchecked Sendable {
    private let port: SPSCPort
    private let consumers = WaitingLine()
    private let producers = WaitingLine()

    init(_ port: SPSCPort, storage: any AnyObject & Sendable, resumingOnOwnThread: Bool) {
        self.port = port
        super.init(port, storage: storage, resumingOnOwnThread: resumingOnOwnThread)
    }

    /// What the hook does.
    override func serve(_ events: UInt32) {
        if events & ILK_READABLE.rawValue != 0 {
            consumers.withQueue { $0.takeFirst(while: { _ in true }) }.resumeAll()
        }
        if events & ILK_WRITABLE.rawValue != 0 {
            producers.withQueue { $0.takeFirst(while: { _ in true }) }.resumeAll()
        }
    }

    /// Pops, suspending until there is an element. In the isolation of the consumer, throughout.
    func pop<Element: ~Copyable>(
        _: Element.Type,
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?
    ) async -> sending TaskPopped<Element> {
        var outcome = WaitOutcome.granted
        while true {
            // A task that was cancelled takes nothing; one whose time is up takes what is there.
            if outcome == .cancelled { return .cancelled }
            let taken = takeOver(Element.self) { port.pop($0, ringElementSize(Element.self)) }
            switch consume taken {
            case .element(let element):
                nonisolated(unsafe) let element = element
                return .popped(element)
            case .none(ILK_CLOSED): return .closed
            case .none(_): break
            }
            if outcome == .timedOut { return .timedOut }
            outcome = await consumers.suspend(isolation: isolation, until: deadline) { port.armPop() }
        }
    }

    /// Pushes, suspending until there is room. In the isolation of the producer, throughout.
    func push<Element: ~Copyable>(
        _ element: consuming sending Element,
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?
    ) async -> sending Given<Element, TaskRefusal> {
        var left: Element? = consume element
        let refusal = await push(from: &left, isolation: isolation, until: deadline)
        // Its own again, or the ring's.
        nonisolated(unsafe) let refused = left.take()
        switch consume refused {
        case .none: return .pushed
        case .some(let element):
            nonisolated(unsafe) let element = element
            return .refused(element, refusal ?? .closed)
        }
    }

    /// As ``push(_:isolation:until:)``; an element that is refused stays where it is.
    private func push<Element: ~Copyable>(
        from place: inout Element?,
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?
    ) async -> TaskRefusal? {
        var outcome = WaitOutcome.granted
        while true {
            // As in pop.
            if outcome == .cancelled { return .cancelled }
            let status = attempt(&place)
            if status == ILK_OK { return nil }
            if status == ILK_CLOSED { return .closed }
            if outcome == .timedOut { return .timedOut }
            outcome = await producers.suspend(isolation: isolation, until: deadline) { port.armPush() }
        }
    }

    /// Pushes if there is room. An element that is refused stays where it is.
    private func attempt<Element: ~Copyable>(_ place: inout Element?) -> ilk_status {
        nonisolated(unsafe) let element = place.take()!
        let given = handOver(element) { bytes in port.push(bytes, ringElementSize(Element.self)) }
        switch consume given {
        case .pushed: return ILK_OK
        case .refused(let element, let status):
            place = consume element
            return status
        }
    }
}
