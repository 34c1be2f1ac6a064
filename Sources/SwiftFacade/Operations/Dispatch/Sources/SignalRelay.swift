// SPDX-License-Identifier: Apache-2.0
//
// Signals, from the handler of the process to a pipe that libdispatch reads: the handler writes one byte for each. Why
// not libdispatch's signal source: on Linux it installs its handler once in the life of the process. After the default
// action has been given back, its next source for the signal lets the process end. And it tells one of many signals:
// each is raised again for its manager's thread, where the system counts them once.
//
// A pipe is made with the first sequence for its signal and stays for the life of the process: a handler may be about
// to write to it when the last sequence ends. It is emptied when the next one begins. What the process had set up for
// the signal is set aside while there is a sequence, and put back with the last one, unless the program has set up
// something since.
//
//   kill ─▶ handler ─write─▶ pipe ─▶ dispatch source ─▶ mailbox of each sequence, on the relay's queue

import Foundation
import InterlockSync

/// The system refused what a source needs: no free descriptor, no memory.
public struct SignalsUnavailable: Error, Hashable, CustomStringConvertible {
    /// The signal that cannot be received.
    public let signal: UnixSignal
    /// What the system answered, as in `errno`.
    public let code: Int32

    /// Makes the error.
    public init(signal: UnixSignal, code: Int32) {
        self.signal = signal
        self.code = code
    }

    /// A sentence with the system's reason.
    public var description: String { "\(signal) cannot be received: \(String(cString: strerror(code)))" }
}

// A word is written before the handler that reads it is installed, and not changed after.
/// The writing ends by signal number, -1 where there is none; and, at 0, the process they are for.
nonisolated(unsafe) private let signalPipes: UnsafeMutablePointer<Int32> = {
    let pipes = UnsafeMutablePointer<Int32>.allocate(capacity: signalLimit)
    pipes.initialize(repeating: -1, count: signalLimit)
    pipes[0] = getpid()
    return pipes
}()

private let signalLimit = 256

/// In the handler: async-signal-safe, once `signalPipes` is made. A child that has not called `exec` yet shares the
/// pipes, and tells its parent nothing.
private func relaySignal(_ signal: Int32) {
    let code = errno
    if signalPipes[0] == getpid() {
        var byte: UInt8 = 0
        // A full pipe holds events enough.
        _ = write(signalPipes[Int(signal)], &byte, 1)
    }
    errno = code
}

enum SignalRelay {
    private struct Listening {
        let source: ReadSource
        let previous: sigaction
        var mailboxes: [ObjectIdentifier: EventMailbox<SignalEvent>] = [:]
    }

    private struct State { var readEnds: [Int32: Int32] = [:], listening: [Int32: Listening] = [:] }

    private static let state = VisibleMutex(State())
    private static let queue = DispatchQueue(label: "interlock.signals")

    /// From now on `mailbox` gets the signal, and the signal does nothing else.
    static func add(_ mailbox: EventMailbox<SignalEvent>, to signal: UnixSignal) throws(SignalsUnavailable) {
        try state.withLock { (state) throws(SignalsUnavailable) in
            if state.listening[signal.rawValue] == nil {
                state.listening[signal.rawValue] = try listen(to: signal, &state)
            }
            state.listening[signal.rawValue]?.mailboxes[ObjectIdentifier(mailbox)] = mailbox
        }
    }

    /// The last mailbox takes the handler and the source with it; `ended` is called when no event can come any more.
    static func remove(
        _ mailbox: EventMailbox<SignalEvent>,
        from signal: UnixSignal,
        ended: @escaping @Sendable () -> Void
    ) {
        let source: ReadSource? = state.withLock { state in
            state.listening[signal.rawValue]?.mailboxes[ObjectIdentifier(mailbox)] = nil
            guard let listening = state.listening[signal.rawValue], listening.mailboxes.isEmpty else {
                return nil
            }
            state.listening[signal.rawValue] = nil
            putBack(listening.previous, for: signal.rawValue)
            return listening.source
        }
        guard let source else {
            // An event may be under way there: the end comes after it.
            return queue.async(execute: ended)
        }
        source.cancel(ended)
    }

    // MARK: Under the lock

    private static func listen(
        to signal: UnixSignal,
        _ state: inout State
    ) throws(SignalsUnavailable) -> Listening {
        let readEnd: Int32
        if let present = state.readEnds[signal.rawValue] {
            readEnd = present
        } else {
            readEnd = try makePipe(for: signal)
            state.readEnds[signal.rawValue] = readEnd
        }
        _ = drain(readEnd)
        let source = ReadSource(readEnd, on: queue) { tell(signal, count: drain(readEnd)) }
        return Listening(source: source, previous: install(signal.rawValue))
    }

    private static func makePipe(for signal: UnixSignal) throws(SignalsUnavailable) -> Int32 {
        var ends: (Int32, Int32) = (-1, -1)
        let answer = withUnsafeMutablePointer(to: &ends) {
            $0.withMemoryRebound(to: Int32.self, capacity: 2) { pipe($0) }
        }
        if answer != 0 { throw SignalsUnavailable(signal: signal, code: errno) }
        for end in [ends.0, ends.1] {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        signalPipes[Int(signal.rawValue)] = ends.1
        return ends.0
    }

    /// Installs the handler; what was installed before.
    private static func install(_ signal: Int32) -> sigaction {
        var action = sigaction()
        var previous = sigaction()
        action.handler = relaySignal
        action.sa_flags = Int32(SA_RESTART)
        sigaction(signal, &action, &previous)
        return previous
    }

    private static func putBack(_ previous: sigaction, for signal: Int32) {
        var (now, previous) = (sigaction(), previous)
        sigaction(signal, nil, &now)
        guard now.isRelay else { return }
        sigaction(signal, &previous, nil)
    }

    // MARK: On the queue

    private static func tell(_ signal: UnixSignal, count: Int) {
        guard count > 0 else { return }
        let mailboxes = state.withLock { Array(($0.listening[signal.rawValue]?.mailboxes ?? [:]).values) }
        for mailbox in mailboxes {
            mailbox.put { events in
                if let waiting = events.firstIndex(where: { $0.signal == signal }) {
                    events[waiting].count += count
                } else {
                    events.append(SignalEvent(signal: signal, count: count))
                }
            }
        }
    }

    /// Empties a pipe; the number of bytes.
    private static func drain(_ readEnd: Int32) -> Int {
        var count = 0
        withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { buffer in
            while true {
                let read = read(readEnd, buffer.baseAddress, buffer.count)
                if read > 0 { count += read } else if read == 0 || errno != EINTR { break }
            }
        }
        return count
    }
}

extension sigaction {
    #if canImport(Glibc)
    fileprivate var handler: (@convention(c) (Int32) -> Void)? {
        get { __sigaction_handler.sa_handler }
        set { __sigaction_handler.sa_handler = newValue }
    }
    #elseif canImport(Musl)
    fileprivate var handler: (@convention(c) (Int32) -> Void)? {
        get { __sa_handler.sa_handler }
        set { __sa_handler.sa_handler = newValue }
    }
    #else
    fileprivate var handler: (@convention(c) (Int32) -> Void)? {
        get { __sigaction_u.__sa_handler }
        set { __sigaction_u.__sa_handler = newValue }
    }
    #endif

    fileprivate var isRelay: Bool {
        let relay: @convention(c) (Int32) -> Void = relaySignal
        return unsafeBitCast(handler, to: UInt.self) == unsafeBitCast(relay, to: UInt.self)
    }
}
