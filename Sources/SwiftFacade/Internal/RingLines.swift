// SPDX-License-Identifier: Apache-2.0
//
// The tasks that wait on a shared ring: a line of those that want an element and a line of those that bring one.
//
//   task                              ring                            whoever pushes
//   finds nothing, under the line's lock
//   arms the hook ──────────────────▶ armed
//   joins the line, suspends                                          pushes an element
//                                     goes off ─────────────────────▶ hook: serves the line
//                                                                     pops it for the first in line
//   resumed, with the element ◀──────────────────────────────────────
//
// An element goes to a task under the line's lock, by which cancellation and time-outs also go: a task has
// either been given its element or has left the line with nothing, never both. For an element that is
// brought the same holds the other way round.

import CInterlock

/// A task that waits for an element.
// What it holds changes under its line's lock only, or by the one thread that took it out of the line.
private final class PopWaiter<Element: ~Copyable>: TaskWaiter, @unchecked Sendable {
    // Adds fields under the rule of Waiter.
    var element: Element?
    var foundClosed = false
}

/// A task that waits for room.
// What it holds changes under its line's lock only, or by the one thread that took it out of the line.
private final class PushWaiter<Element: ~Copyable>: TaskWaiter, @unchecked Sendable {
    // Adds fields under the rule of Waiter.
    var element: Element?
    var foundClosed = false

    init(_ element: consuming Element) {
        self.element = consume element
    }
}

/// The lines of tasks at a shared ring.
// Adds immutable fields, each Sendable.
final class RingLines<Element: ~Copyable>: RingBacking, @unchecked Sendable {
    private let port: MPMCPort
    private let consumers = WaitingLine()
    private let producers = WaitingLine()
    private let gate = ServiceGate()

    init(_ port: MPMCPort, storage: any AnyObject & Sendable, resumingOnOwnThread: Bool) {
        self.port = port
        super.init(port, storage: storage, resumingOnOwnThread: resumingOnOwnThread)
    }

    // MARK: Waiting

    /// Suspends until there is an element.
    func pop(until deadline: ContinuousClock.Instant?) async -> sending TaskPopped<Element> {
        let waiter = PopWaiter<Element>()
        switch await consumers.suspend(
            waiter,
            until: deadline,
            in: { body in self.section(body) },
            admit: { self.serve(waiter) }
        ) {
        case .timedOut: return .timedOut
        case .cancelled: return .cancelled
        case .granted:
            guard !waiter.foundClosed else { return .closed }
            // Given to this waiter alone.
            nonisolated(unsafe) let element = waiter.element.take()!
            return .popped(element)
        }
    }

    /// Suspends until there is room.
    func push(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant?
    ) async -> sending Given<Element, TaskRefusal> {
        let waiter = PushWaiter(element)
        let outcome = await producers.suspend(
            waiter,
            until: deadline,
            in: { body in self.section(body) },
            admit: { self.serve(waiter) }
        )
        // Its own again, or the ring's.
        nonisolated(unsafe) let left = waiter.element.take()
        switch consume left {
        case .none: return .pushed
        case .some(let element):
            switch outcome {
            case .granted: return .refused(element, .closed)
            case .timedOut: return .refused(element, .timedOut)
            case .cancelled: return .refused(element, .cancelled)
            }
        }
    }

    // MARK: Serving

    /// Runs `body`, which uses the ring under a line's lock, and serves what that set off.
    private func section(_ body: () -> Void) {
        gate.enter()
        body()
        serveWhatIsWanted()
    }

    /// What the hook does.
    override func serve(_ events: UInt32) {
        if gate.leaveWord(events) {
            serveWhatIsWanted()
        }
    }

    private func serveWhatIsWanted() {
        while let wanted = gate.leave() {
            if wanted & ILK_READABLE.rawValue != 0 {
                consumers.withQueue { queue in
                    queue.takeFirst { self.serve(unsafeDowncast($0, to: PopWaiter<Element>.self)) }
                }.resumeAll()
            }
            if wanted & ILK_WRITABLE.rawValue != 0 {
                producers.withQueue { queue in
                    queue.takeFirst { self.serve(unsafeDowncast($0, to: PushWaiter<Element>.self)) }
                }.resumeAll()
            }
        }
    }

    /// Gets the waiter an element. False if there is none; then the hook is armed.
    private func serve(_ waiter: PopWaiter<Element>) -> Bool {
        repeat {
            let taken = takeOver(Element.self) { port.pop($0, ringElementSize(Element.self)) }
            switch consume taken {
            case .element(let element):
                waiter.element = consume element
                return true
            case .none(ILK_CLOSED):
                waiter.foundClosed = true
                return true
            case .none(_): break
            }
        } while !port.armPop()
        return false
    }

    /// Gets the waiter's element into the ring. False if there is no room; then the hook is armed.
    private func serve(_ waiter: PushWaiter<Element>) -> Bool {
        repeat {
            nonisolated(unsafe) let element = waiter.element.take()!
            let given = handOver(element) { port.push($0, ringElementSize(Element.self)) }
            switch consume given {
            case .pushed: return true
            case .refused(let element, let status):
                waiter.element = consume element
                if status == ILK_CLOSED {
                    waiter.foundClosed = true
                    return true
                }
            }
        } while !port.armPush()
        return false
    }
}
