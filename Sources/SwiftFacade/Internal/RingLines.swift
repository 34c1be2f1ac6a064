// SPDX-License-Identifier: Apache-2.0
//
// The tasks that wait on a ring: a line of those that want an element and a line of those that bring one.
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
//
// Where the hook runs, a task's continuation is resumed. A thread that must not run Swift (an audio callback, a
// driver) must not do that: with a thread of its own, the hook is one signal of a C semaphore, and that
// thread serves.

import CInterlock
import Foundation

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

/// What a thread that serves sleeps on; the hook's context, so that it must outlive the ring's last call.
private final class Bell: Sendable {
    let semaphore = CObject<ilk_semaphore> { ilk_semaphore_init($0, 0) }

    func ring() { ilk_semaphore_signal(semaphore.pointer, 1) }
    func wait() { ilk_semaphore_wait(semaphore.pointer) }
}

/// What the hook of a ring calls. A C function pointer cannot know generic parameters, so this is the part of
/// the lines that has none.
// Has no state of its own.
class RingHookTarget: @unchecked Sendable {
    func settle(_ events: UInt32) {}
}

/// The lines of tasks at a ring.
// Adds immutable fields, each Sendable.
final class RingLines<Port: RingPort, Element: ~Copyable>: RingHookTarget, @unchecked Sendable {
    private let port: Port
    // Keeps the memory behind the port.
    private let storage: any AnyObject & Sendable
    private let consumers = WaitingLine()
    private let producers = WaitingLine()
    private let gate = ServiceGate()
    private let bell: Bell?

    init(_ port: Port, storage: any AnyObject & Sendable, resumingOnOwnThread: Bool) {
        self.port = port
        self.storage = storage
        let bell = resumingOnOwnThread ? Bell() : nil
        self.bell = bell
        super.init()
        guard let bell else {
            port.setHook(
                { context, event in
                    Unmanaged<RingHookTarget>.fromOpaque(context!).takeUnretainedValue()
                        .settle(event.rawValue)
                },
                Unmanaged.passUnretained(self as RingHookTarget).toOpaque()
            )
            return
        }
        port.setHook(
            { context, _ in ilk_semaphore_signal(context!.assumingMemoryBound(to: ilk_semaphore.self), 1) },
            bell.semaphore.pointer
        )
        OwnThread.run(named: "interlock.ring") { [weak self] in
            while true {
                bell.wait()
                // Nobody is left to be served: the lines have gone, or go now, and rang for the last time.
                guard let self else { return }
                self.settle(ILK_READABLE.rawValue | ILK_WRITABLE.rawValue)
            }
        }
    }

    deinit {
        // Closing sets an armed hook off, which finds the lines empty; after that it is disarmed for good.
        port.close()
        port.setHook(nil, nil)
        bell?.ring()
    }

    // MARK: Waiting

    /// Suspends until there is an element.
    func pop(
        until deadline: ContinuousClock.Instant?
    ) async throws(CancellationError) -> sending PopResult<Element> {
        let waiter = PopWaiter<Element>()
        switch await consumers.suspend(
            waiter,
            until: deadline,
            in: { body in self.section(body) },
            admit: { self.serve(waiter) }
        ) {
        case .timedOut: return .timedOut
        case .cancelled: throw CancellationError()
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
    ) async -> sending PushResult<Element> {
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
            case .granted: return .closed(element)
            case .timedOut: return .timedOut(element)
            case .cancelled: return .cancelled(element)
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
    override func settle(_ events: UInt32) {
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
            let popped = takeOver(Element.self) { port.pop($0, ringElementSize(Element.self)) }
            switch consume popped {
            case .popped(let element):
                waiter.element = consume element
                return true
            case .closed:
                waiter.foundClosed = true
                return true
            case .empty: break
            case .timedOut: break
            }
        } while !port.armPop()
        return false
    }

    /// Gets the waiter's element into the ring. False if there is no room; then the hook is armed.
    private func serve(_ waiter: PushWaiter<Element>) -> Bool {
        repeat {
            nonisolated(unsafe) let element = waiter.element.take()!
            let pushed = handOver(element) { port.push($0, ringElementSize(Element.self)) }
            switch consume pushed {
            case .pushed: return true
            case .closed(let element):
                waiter.element = consume element
                waiter.foundClosed = true
                return true
            case .full(let element): waiter.element = consume element
            case .timedOut(let element): waiter.element = consume element
            case .cancelled(let element): waiter.element = consume element
            }
        } while !port.armPush()
        return false
    }
}
