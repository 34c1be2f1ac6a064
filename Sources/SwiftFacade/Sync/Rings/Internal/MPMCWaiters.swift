// SPDX-License-Identifier: Apache-2.0
//
// The tasks that wait on a shared ring: one queue for tasks that want an element, one for tasks that bring one.
//
//   task                              ring                            the thread that pushes
//   finds nothing, under the queue's lock
//   arms the hook ──────────────────▶ armed
//   joins the queue, suspends                                         pushes an element
//                                     goes off ─────────────────────▶ hook: serves the queue
//                                                                     pops it for the first in the queue
//   resumed, with the element ◀──────────────────────────────────────
//
// An element goes to a task under the queue's lock, which guards the race of Waiter.swift: a task has its element or
// has left the queue, never both. Likewise for an element that is brought.
//
// A task that comes later may find an element before the first in the queue is served, and goes before it. It counts
// that (inline/passes.h). After `ILK__PASSES` such calls later tasks join the queue, until the first has been served:
// where the queue is not empty, its hook is armed or its service under way, so that a task may join without a try.

import CInterlock

// Adds fields under the rule of Waiter.
private final class PopWaiter<Element: ~Copyable>: TaskWaiter, @unchecked Sendable {
    var element: Element?
    var foundClosed = false
}

// Sendable for PopWaiter's reasons.
private final class PushWaiter<Element: ~Copyable>: TaskWaiter, @unchecked Sendable {
    let bytes: UnsafeMutableRawPointer
    /// Whether the ring has not taken the element in `bytes`.
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

    func take() -> Element {
        holdsElement = false
        return bytes.assumingMemoryBound(to: Element.self).move()
    }
}

// Adds immutable fields, each Sendable.
@usableFromInline
final class MPMCWaiters<Element: ~Copyable>: RingBacking, @unchecked Sendable {
    private let port: MPMCPort
    let combiner = ServiceCombiner()
    @usableFromInline let popPasses = CObject<ilk__passes> { _ in }
    @usableFromInline let pushPasses = CObject<ilk__passes> { _ in }

    init(_ port: MPMCPort, storage: any AnyObject & Sendable, resumingOnOwnThread: Bool) {
        self.port = port
        super.init(port, storage: storage, resumingOnOwnThread: resumingOnOwnThread)
    }

    deinit {
        end()
    }

    // MARK: Waiting

    @usableFromInline
    func pop(until deadline: ContinuousClock.Instant?) async -> sending Popped<Element> {
        let waiter = PopWaiter<Element>()
        switch await consumers.suspend(
            waiter,
            until: deadline,
            in: { body in self.section(body) },
            admitWith: { others in
                self.admit(behind: others, self.popPasses.pointer) { self.serve(waiter) }
            }
        ) {
        case .timedOut: return .nothing(.timedOut)
        case .cancelled: return .nothing(.cancelled)
        case .granted:
            guard !waiter.foundClosed else { return .nothing(.closed) }
            // This waiter alone received it.
            nonisolated(unsafe) let element = waiter.element.take()!
            return .element(element)
        }
    }

    @usableFromInline
    func push(
        _ element: consuming sending Element,
        until deadline: ContinuousClock.Instant?
    ) async -> sending PushResult<Element> {
        let waiter = PushWaiter(element)
        let outcome = await producers.suspend(
            waiter,
            until: deadline,
            in: { body in self.section(body) },
            admitWith: { others in
                self.admit(behind: others, self.pushPasses.pointer) { self.serve(waiter) }
            }
        )
        guard waiter.holdsElement else { return .pushed }
        // Refused: the element is the waiter's again.
        nonisolated(unsafe) let left = waiter.take()
        switch outcome {
        case .granted: return .closed(left)
        case .timedOut: return .full(left)
        case .cancelled: return .cancelled(left)
        }
    }

    /// Under the queue's lock: tries for a task, unless others are suspended. `nil`: it joins them.
    private func admit(
        behind others: WaiterList,
        _ passes: UnsafeMutablePointer<ilk__passes>,
        _ serve: () -> Bool
    ) -> WaiterList? {
        guard others.count == 0 else { return nil }
        let isServed = serve()
        ilk__passes_begin(passes, !isServed)
        return isServed ? WaiterList() : nil
    }

    // MARK: Serving

    /// Runs `body`, which uses the ring under a queue's lock, and serves the events that it caused.
    private func section(_ body: () -> Void) {
        combiner.begin()
        body()
        servePosted()
    }

    override func serve(_ events: UInt32) {
        if combiner.post(events) {
            servePosted()
        }
    }

    func servePosted() {
        while let events = combiner.takeOrEnd() {
            if events & ILK_READABLE.rawValue != 0 {
                serve(consumers, popPasses.pointer) {
                    self.serve(unsafeDowncast($0, to: PopWaiter<Element>.self))
                }
            }
            if events & ILK_WRITABLE.rawValue != 0 {
                serve(producers, pushPasses.pointer) {
                    self.serve(unsafeDowncast($0, to: PushWaiter<Element>.self))
                }
            }
        }
    }

    private func serve(
        _ queue: WaitQueue,
        _ passes: UnsafeMutablePointer<ilk__passes>,
        _ serve: (Waiter) -> Bool
    ) {
        queue.withWaiters { waiters in
            let served = waiters.takeFirst(while: serve)
            if served.count > 0 { ilk__passes_begin(passes, waiters.count > 0) }
            return served
        }.resumeAll()
    }

    /// Gives the waiter an element. False: there is none, and the hook is armed.
    private func serve(_ waiter: PopWaiter<Element>) -> Bool {
        repeat {
            let popped = port.popOnce(Element.self)
            switch consume popped {
            case .element(let element):
                waiter.element = consume element
                return true
            case .nothing(let why):
                if why == .closed {
                    waiter.foundClosed = true
                    return true
                }
            }
        } while !port.armPop()
        return false
    }

    /// Pushes the waiter's element. False: there is no room, and the hook is armed.
    private func serve(_ waiter: PushWaiter<Element>) -> Bool {
        repeat {
            let status = port.pushOnce(waiter.bytes, ringElementSize(Element.self))
            if status == ILK_OK {
                // The ring owns it: the bytes are not deinitialised.
                waiter.holdsElement = false
                return true
            }
            if status == ILK_CLOSED { return true }
        } while !port.armPush()
        return false
    }
}
