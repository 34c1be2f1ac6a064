// SPDX-License-Identifier: Apache-2.0
//
// The errors an operation fails with when its own work did not fail. Each names its operation: steps pass an upstream
// error on unchanged, so the last result tells where the chain broke.

/// An operation was cancelled before it had a result.
///
/// The same error reaches the steps below, with the name of the operation that was cancelled. It is a type beside
/// `CancellationError`, which a wait throws where the awaiting *task* was cancelled.
public struct OperationCancelled: Error, Hashable, CustomStringConvertible {
    /// The name of the cancelled operation, or its type and address.
    public let operation: String

    /// Makes the error for an operation of that name.
    public init(operation: String) { self.operation = operation }

    /// A sentence naming the operation.
    public var description: String { "operation \(operation) was cancelled" }
}

/// An operation's completion was dropped without having been called, so it could never have finished.
public struct OperationAbandoned: Error, Hashable, CustomStringConvertible {
    /// The name of the operation, or its type and address.
    public let operation: String

    /// Makes the error for an operation of that name.
    public init(operation: String) { self.operation = operation }

    /// A sentence naming the operation.
    public var description: String {
        "operation \(operation) can never finish: its completion was dropped without having been called"
    }
}

/// A step ran without the output of the step before it, because the dependency between them was removed.
public struct OperationInputMissing: Error, Hashable, CustomStringConvertible {
    /// The step that ran, by name or type and address.
    public let operation: String
    /// The step whose output it wanted.
    public let upstream: String

    /// Makes the error for a step and the one above it.
    public init(operation: String, upstream: String) {
        self.operation = operation
        self.upstream = upstream
    }

    /// A sentence naming both.
    public var description: String {
        "operation \(operation) was started before \(upstream), whose output it takes, had finished"
    }
}

/// A step could never have finished: the operation it made waits for the step, or for the place in a serial queue
/// that the step holds until it has finished.
public struct OperationDeadlocked: Error, Hashable, CustomStringConvertible {
    /// The step, by name or type and address.
    public let operation: String
    /// The step itself where it would have waited for itself; otherwise the operation that is behind it in its queue.
    public let awaited: String

    /// Makes the error for a step and what closes the circle.
    public init(operation: String, awaited: String) {
        self.operation = operation
        self.awaited = awaited
    }

    /// A sentence naming both.
    public var description: String {
        operation == awaited
            ? "operation \(operation) can never finish: what it made waits for it"
            : "operation \(operation) can never finish: what it made waits for \(awaited), which is behind "
                + "\(operation) in the same serial queue"
    }
}
