// SPDX-License-Identifier: Apache-2.0
//
// The states of a worker thread, and why one was not made or not started.

import InterlockSync

/// What a ``WorkerThread`` is doing. It goes through the states in this order, and may leave some out.
public enum WorkerThreadState: Int, Sendable, Comparable {
    /// Not started. Messages are accepted, and wait.
    case idle
    /// Handles messages, and accepts them.
    case running
    /// Accepts none; handles those it has accepted.
    case closing
    /// Handles none any more.
    case ended

    /// Whether `left` comes before `right`.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Why a ``WorkerThread`` was not made, or not started.
public enum WorkerThreadError: Error, Hashable, CustomStringConvertible {
    /// An option that no thread can have: its name, and what it may be.
    case invalidOption(String, String)
    /// The system has no memory for the mailbox.
    case outOfMemory(mailboxCapacity: Int)
    /// The system made no thread. It may be started again later.
    case unavailable(ThreadUnavailable)
    /// The system refused the nice value, with the reason as in `errno`. It may be started again later.
    case refusedNice(Int, code: Int32)
    /// It was closed before it was started.
    case closed(thread: String)

    /// A sentence.
    public var description: String {
        switch self {
        case .invalidOption(let name, let reason): "\(name): \(reason)"
        case .outOfMemory(let capacity): "the system has no memory for a mailbox of \(capacity) messages"
        case .unavailable(let error): error.description
        case .refusedNice(let nice, let code):
            "the system refused the nice value \(nice): \(ThreadUnavailable.reason(code))"
        case .closed(let thread): "the thread \"\(thread)\" was closed before it was started"
        }
    }
}
