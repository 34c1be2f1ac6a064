// SPDX-License-Identifier: Apache-2.0
//
// The backing of a C ring, of either kind: keeps its memory, receives its hook, and stores the error that it was closed
// with.
//
// Tasks are resumed where the hook runs. For threads that must not run Swift (an audio callback, a driver), the hook is
// one signal of a C semaphore, and a thread of the ring's own serves. Where the system makes no thread, a task of the
// global executor probes the semaphore each millisecond until a thread can be made.

import CInterlock

/// The semaphore of the serving thread. As the hook's context it outlives the ring's last call.
private final class Bell: Sendable {
    let semaphore = CObject<ilk_semaphore> { ilk_semaphore_init($0, 0) }

    func ring() { ilk_semaphore_signal(semaphore.pointer, 1) }
    func wait() { ilk_semaphore_wait(semaphore.pointer) }
    /// Whether it has rung since the last call.
    func hasRung() -> Bool { ilk_semaphore_try_wait(semaphore.pointer) }
}

/// The part without the elements: a C function pointer cannot know generic parameters.
// Has immutable fields only, each Sendable.
@usableFromInline
class RingBacking: @unchecked Sendable {
    /// How the ring was closed through Swift; the first close decides.
    private enum Closing {
        case open
        case closed((any Error)?)
    }

    let consumers = WaitQueue()
    let producers = WaitQueue()

    private let port: any RingPort
    // Keeps the memory behind the port.
    private let storage: any AnyObject & Sendable
    private let bell: Bell?
    private let closing = ReadWriteLock(unwatched: Closing.open)

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

    private func startServing(_ bell: Bell) throws(ThreadUnavailable) {
        try OwnThread.start(named: "interlock.ring") { [weak self] in
            while true {
                bell.wait()
                // No task is left: the backing has gone, or goes now.
                guard let self else { return }
                self.serve(ILK_READABLE.rawValue | ILK_WRITABLE.rawValue)
            }
        }
    }

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

    /// Takes the hook off the ring. Called by a subclass's deinit: afterwards the state of ``serve(_:)`` is gone.
    func end() {
        // Closing sets an armed hook off, which finds no waiter, and disarms it for good.
        port.close()
        port.setHook(nil, nil)
        bell?.ring()
    }

    /// The body of the hook, for elements, room, or both.
    func serve(_ events: UInt32) {}

    // MARK: Closing

    /// Closes the ring, unless it is closed. `error` goes to each waiter that finds the ring drained.
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

    /// The error that the ring was closed with; stored first, so that a thread that finds the ring closed finds it.
    @usableFromInline
    var closingError: (any Error)? {
        closing.withReadLock { closing in
            guard case .closed(let error) = closing else { return nil }
            return error
        }
    }

    /// Throws ``closingError``, if any. Called once the ring is drained.
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
            if why == .timedOut { return .empty }
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
