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
    /// The element's bytes, as the ring takes them.
    let bytes: UnsafeMutableRawPointer
    /// Whether there is an element in `bytes`: the ring has not taken it.
    var holdsElement = true

    init(_ element: consuming Element) {
        bytes = .allocate(
            byteCount: ringElementSize(Element.self),
            alignment: MemoryLayout<Element>.alignment
        )
        bytes.bindMemory(to: Element.self, capacity: 1).initialize(to: element)
    }

    deinit {
        if holdsElement { bytes.assumingMemoryBound(to: Element.self).deinitialize(count: 1) }
        bytes.deallocate()
    }

    /// Moves the element out.
    func take() -> Element {
        holdsElement = false
        return bytes.assumingMemoryBound(to: Element.self).move()
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

    deinit {
        end()
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
    ) async -> sending TimedTaskPushResult<Element> {
        let waiter = PushWaiter(element)
        let outcome = await producers.suspend(
            waiter,
            until: deadline,
            in: { body in self.section(body) },
            admit: { self.serve(waiter) }
        )
        guard waiter.holdsElement else { return .pushed }
        // Its own again.
        nonisolated(unsafe) let left = waiter.take()
        switch outcome {
        case .granted: return .closed(left)
        case .timedOut: return .timedOut(left)
        case .cancelled: return .cancelled(left)
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
            case .none(let status):
                if status == ILK_CLOSED {
                    waiter.foundClosed = true
                    return true
                }
            }
        } while !port.armPop()
        return false
    }

    /// Gets the waiter's element into the ring. False if there is no room; then the hook is armed.
    private func serve(_ waiter: PushWaiter<Element>) -> Bool {
        repeat {
            let status = port.push(waiter.bytes, ringElementSize(Element.self))
            if status == ILK_OK {
                // The ring owns it: the bytes are left without being deinitialised.
                waiter.holdsElement = false
                return true
            }
            if status == ILK_CLOSED { return true }
        } while !port.armPush()
        return false
    }
}
