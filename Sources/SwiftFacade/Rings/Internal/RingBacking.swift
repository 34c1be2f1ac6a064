// SPDX-License-Identifier: Apache-2.0
//
// What stands behind a C ring, of either kind: it keeps the ring's memory, is what the ring's hook calls, and knows the
// error that the ring was closed with.
//
// Where the hook runs, tasks are resumed. A thread that must not run Swift (an audio callback, a driver) must not do
// that: with a thread of the ring's own, the hook is one signal of a C semaphore, and that thread serves. Where the
// system makes no thread, a task of the global executor takes its place and probes the semaphore each millisecond,
// until a thread is to be had: the hook stays one signal.

import CInterlock
import Foundation

/// What the thread that serves sleeps on; the hook's context, so that it must outlive the ring's last call.
private final class Bell: Sendable {
    let semaphore = CObject<ilk_semaphore> { ilk_semaphore_init($0, 0) }

    func ring() { ilk_semaphore_signal(semaphore.pointer, 1) }
    func wait() { ilk_semaphore_wait(semaphore.pointer) }
    /// Whether it has rung since.
    func hasRung() -> Bool { ilk_semaphore_try_wait(semaphore.pointer) }
}

/// The part of what stands behind a ring that does not depend on the elements: a C function pointer cannot know
/// generic parameters.
// Has immutable fields only, each Sendable.
@usableFromInline
class RingBacking: @unchecked Sendable {
    /// Whether the ring was closed through Swift, and with what. The first decides.
    private enum Closing {
        case open
        case closed((any Error)?)
    }

    /// The tasks that wait for an element, and those that wait for room.
    let consumers = WaitQueue()
    let producers = WaitQueue()

    private let port: any RingPort
    // Keeps the memory behind the port.
    private let storage: any AnyObject & Sendable
    private let bell: Bell?
    private let closing = ReadWriteLock(Closing.open)

    init(_ port: any RingPort, storage: any AnyObject & Sendable, resumingOnOwnThread: Bool) {
        self.port = port
        self.storage = storage
        let bell = resumingOnOwnThread ? Bell() : nil
        self.bell = bell
        guard let bell else {
            port.setHook(
                { context, event in
                    Unmanaged<RingBacking>.fromOpaque(context!).takeUnretainedValue()
                        .serve(event.rawValue)
                },
                Unmanaged.passUnretained(self).toOpaque()
            )
            return
        }
        port.setHook(
            { context, _ in ilk_semaphore_signal(context!.assumingMemoryBound(to: ilk_semaphore.self), 1) },
            bell.semaphore.pointer
        )
        do throws(ThreadUnavailable) {
            try startServing(bell)
        } catch {
            serveByTask(bell)
        }
    }

    /// Serves on a thread of the ring's own.
    private func startServing(_ bell: Bell) throws(ThreadUnavailable) {
        try OwnThread.start(named: "interlock.ring") { [weak self] in
            while true {
                bell.wait()
                // Nobody is left to be served: the backing has gone, or goes now, and rang for the last time.
                guard let self else { return }
                self.serve(ILK_READABLE.rawValue | ILK_WRITABLE.rawValue)
            }
        }
    }

    /// Serves by a task, until there is a thread.
    private func serveByTask(_ bell: Bell) {
        Task.detached { [weak self] in
            while true {
                try? await Task.sleep(for: .milliseconds(1))
                guard let self else { return }
                if bell.hasRung() {
                    self.serve(ILK_READABLE.rawValue | ILK_WRITABLE.rawValue)
                }
                if (try? self.startServing(bell)) != nil { return }
            }
        }
    }

    /// Takes the ring away from its hook. For the deinit of a subclass: after it, what ``serve(_:)`` uses is gone.
    func end() {
        // Closing sets an armed hook off, which finds nobody waiting; after that it is disarmed for good.
        port.close()
        port.setHook(nil, nil)
        bell?.ring()
    }

    /// What the hook does: there are elements, room, or both.
    func serve(_ events: UInt32) {}

    // MARK: Closing

    /// Closes the ring, unless it is closed. `error` is what a waiter is told that finds it drained.
    func close(throwing error: (any Error)? = nil) {
        closing.withWriteLock { closing in
            // C code may have closed it by the handle.
            if case .open = closing, !port.isClosed {
                closing = .closed(error)
            }
        }
        // Outside the lock: it calls the hook.
        port.close()
    }

    /// What the ring was closed with. A thread that has found the ring closed finds the error: it is stored first.
    var closingError: (any Error)? {
        closing.withReadLock { closing in
            guard case .closed(let error) = closing else { return nil }
            return error
        }
    }

    /// Throws what the ring was closed with, if with an error. Once it is drained.
    @usableFromInline
    func throwClosingError() throws {
        if let error = closingError { throw error }
    }
}

// MARK: What a pop that waited is answered

extension RingBacking {
    /// The answer of a wait with a limit.
    @inlinable @inline(__always)
    func resultOrEnd<Element: ~Copyable>(
        _ popped: consuming sending Popped<Element>
    ) throws -> sending PopResult<Element> {
        switch consume popped {
        case .element(let element): return .popped(element)
        case .nothing(let why):
            if why == .timedOut { return .timedOut }
            if why == .cancelled { throw CancellationError() }
            try throwClosingError()
            return .closed
        }
    }

    /// The answer of a wait without a limit.
    @inlinable @inline(__always)
    func elementOrEnd<Element: ~Copyable>(
        _ popped: consuming sending Popped<Element>
    ) throws -> sending Element? {
        switch consume popped {
        case .element(let element): return element
        case .nothing(let why):
            if why == .cancelled { throw CancellationError() }
            if why == .closed { try throwClosingError() }
            return nil
        }
    }

    /// The answer of a loop, which ends with its task.
    @inlinable @inline(__always)
    func nextOrEnd<Element: ~Copyable>(
        _ popped: consuming sending Popped<Element>
    ) throws -> sending Element? {
        switch consume popped {
        case .element(let element): return element
        case .nothing(let why):
            if why == .closed { try throwClosingError() }
            return nil
        }
    }
}
