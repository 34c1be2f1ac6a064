// SPDX-License-Identifier: Apache-2.0
//
// Signals by name, and the events that tell of them.

import Foundation

/// A signal that a process can receive.
public struct UnixSignal: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The system's number.
    public var rawValue: Int32

    /// The signal with a number of the system.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// SIGHUP: the terminal is gone; by custom, read the configuration anew.
    public static let sighup = UnixSignal(rawValue: SIGHUP)
    /// SIGINT: Ctrl-C at the terminal.
    public static let sigint = UnixSignal(rawValue: SIGINT)
    /// SIGQUIT: Ctrl-\ at the terminal.
    public static let sigquit = UnixSignal(rawValue: SIGQUIT)
    /// SIGTERM: the process is asked to end.
    public static let sigterm = UnixSignal(rawValue: SIGTERM)
    /// SIGUSR1: the program's own.
    public static let sigusr1 = UnixSignal(rawValue: SIGUSR1)
    /// SIGUSR2: the program's own.
    public static let sigusr2 = UnixSignal(rawValue: SIGUSR2)
    /// SIGALRM: `alarm(2)` has run out.
    public static let sigalrm = UnixSignal(rawValue: SIGALRM)
    /// SIGCHLD: a child has ended or stopped.
    public static let sigchld = UnixSignal(rawValue: SIGCHLD)
    /// SIGCONT: the process goes on after a stop.
    public static let sigcont = UnixSignal(rawValue: SIGCONT)
    /// SIGTSTP: Ctrl-Z at the terminal.
    public static let sigtstp = UnixSignal(rawValue: SIGTSTP)
    /// SIGWINCH: the terminal's window has another size.
    public static let sigwinch = UnixSignal(rawValue: SIGWINCH)

    /// The system's sentence, with the number.
    public var description: String { "signal \(rawValue) (\(String(cString: strsignal(rawValue))))" }

    /// Why no program can receive it as an event; nil where it can.
    var refusal: String? {
        switch rawValue {
        case SIGKILL, SIGSTOP: "the system lets no program handle it"
        case SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT:
            "it tells a thread of its own fault, which would happen again as soon as the handler returned"
        default: isKnown ? nil : "the system has no such signal"
        }
    }

    private var isKnown: Bool {
        var all = sigset_t()
        sigfillset(&all)
        return sigismember(&all, rawValue) == 1
    }
}

/// A signal came, once or several times.
public struct SignalEvent: Hashable, Sendable {
    /// Which.
    public var signal: UnixSignal
    /// How often it was received since the last event for it. The system itself counts a signal once that comes again
    /// before it is received; real-time signals, which it queues, it does not.
    public var count: Int
}
