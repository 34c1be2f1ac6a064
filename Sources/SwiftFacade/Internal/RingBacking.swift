// SPDX-License-Identifier: Apache-2.0
//
// What stands behind a C ring, of either kind: it keeps the ring's memory, is what the ring's hook calls, and knows what
// the ring was closed with.
//
// Where the hook runs, tasks are resumed. A thread that must not run Swift (an audio callback, a driver) must not do
// that: with a thread of its own, the hook is one signal of a C semaphore, and that thread serves.

import CInterlock
import Foundation

/// What a thread that serves sleeps on; the hook's context, so that it must outlive the ring's last call.
private final class Bell: Sendable {
    let semaphore = CObject<ilk_semaphore> { ilk_semaphore_init($0, 0) }

    func ring() { ilk_semaphore_signal(semaphore.pointer, 1) }
    func wait() { ilk_semaphore_wait(semaphore.pointer) }
}

/// The part of what stands behind a ring that does not depend on the elements: a C function pointer cannot know
/// generic parameters.
// Has immutable fields only, each Sendable.
@usableFromInline
class RingBacking: @unchecked Sendable {
    /// Whether anybody has closed the ring through Swift, and with what. The first decides.
    private enum Closing {
        case open
        case closed((any Error)?)
    }

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
        OwnThread.run(named: "interlock.ring") { [weak self] in
            while true {
                bell.wait()
                // Nobody is left to be served: the backing has gone, or goes now, and rang for the last time.
                guard let self else { return }
                self.serve(ILK_READABLE.rawValue | ILK_WRITABLE.rawValue)
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

    /// Closes the ring, if nobody has. `error` is what those are told who find it drained.
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

    /// What the ring was closed with. Whoever has found the ring closed finds the error: it is put down first.
    var closingError: (any Error)? {
        closing.withReadLock { closing in
            guard case .closed(let error) = closing else { return nil }
            return error
        }
    }

    /// Throws what the ring was closed with, if with an error. Once it is drained.
    func throwClosingError() throws {
        if let error = closingError { throw error }
    }
}

// MARK: What tasks are told

/// What a task's wait for an element ended in.
@frozen @usableFromInline
enum TaskPopped<Element: ~Copyable>: ~Copyable {
    /// The oldest element.
    case popped(Element)
    /// Nothing came in time.
    case timedOut
    /// The task was cancelled first; nothing was taken.
    case cancelled
    /// The ring is closed and drained.
    case closed
}

extension RingBacking {
    /// The answer of a wait without a limit.
    func elementOrEnd<Element: ~Copyable>(
        _ popped: consuming sending TaskPopped<Element>
    ) throws -> sending Element? {
        switch consume popped {
        case .popped(let element): return element
        case .cancelled: throw CancellationError()
        case .timedOut: return nil
        case .closed:
            try throwClosingError()
            return nil
        }
    }

    /// The answer of a loop, which ends with its task.
    func nextOrEnd<Element: ~Copyable>(
        _ popped: consuming sending TaskPopped<Element>
    ) throws -> sending Element? {
        switch consume popped {
        case .popped(let element): return element
        case .cancelled: return nil
        case .timedOut: return nil
        case .closed:
            try throwClosingError()
            return nil
        }
    }

    /// The answer of a wait with a limit.
    func resultOrEnd<Element: ~Copyable>(
        _ popped: consuming sending TaskPopped<Element>
    ) throws -> sending PopResult<Element> {
        switch consume popped {
        case .popped(let element): return .popped(element)
        case .timedOut: return .timedOut
        case .cancelled: throw CancellationError()
        case .closed:
            try throwClosingError()
            return .closed
        }
    }
}
