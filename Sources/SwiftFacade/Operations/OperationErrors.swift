// SPDX-License-Identifier: Apache-2.0
//
// The errors an operation fails with when its own work did not fail. Each names its operation: steps pass it on
// unchanged.

/// An operation was cancelled before it had a result.
///
/// The steps below get the same error. A wait whose awaiting *task* was cancelled throws `CancellationError` instead.
public struct OperationCancelled: Error, Hashable, CustomStringConvertible {
    /// The operation's name, or its type and address.
    public let operation: String

    /// Makes the error.
    public init(operation: String) { self.operation = operation }

    /// A sentence.
    public var description: String { "operation \(operation) was cancelled" }
}

/// An operation's completion was dropped without a call, so it could never have finished.
public struct OperationAbandoned: Error, Hashable, CustomStringConvertible {
    /// The operation's name, or its type and address.
    public let operation: String

    /// Makes the error.
    public init(operation: String) { self.operation = operation }

    /// A sentence.
    public var description: String {
        "operation \(operation) can never finish: its completion was dropped without having been called"
    }
}

/// A step ran without the output of the step before it: the dependency between them was removed.
public struct OperationInputMissing: Error, Hashable, CustomStringConvertible {
    /// The step that ran, by name or type and address.
    public let operation: String
    /// The step whose output it wanted.
    public let upstream: String

    /// Makes the error.
    public init(operation: String, upstream: String) {
        self.operation = operation
        self.upstream = upstream
    }

    /// A sentence.
    public var description: String {
        "operation \(operation) was started before \(upstream), whose output it takes, had finished"
    }
}

/// A step could never have finished: the operation it made waits for the step, or for the place in a serial queue that
/// the step holds.
public struct OperationDeadlocked: Error, Hashable, CustomStringConvertible {
    /// The step, by name or type and address.
    public let operation: String
    /// The step itself, or the operation behind it in its queue.
    public let awaited: String

    /// Makes the error.
    public init(operation: String, awaited: String) {
        self.operation = operation
        self.awaited = awaited
    }

    /// A sentence.
    public var description: String {
        operation == awaited
            ? "operation \(operation) can never finish: what it made waits for it"
            : "operation \(operation) can never finish: what it made waits for \(awaited), which is behind "
                + "\(operation) in the same serial queue"
    }
}
