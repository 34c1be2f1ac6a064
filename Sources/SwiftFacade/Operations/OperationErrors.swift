// SPDX-License-Identifier: Apache-2.0
//
// The errors an operation fails with when its own work did not fail. Each names its operation: steps pass it on
// unchanged.

/// An operation was dropped before its end, or its completion without a call: it could never have finished.
public struct OperationAbandoned: Error, Hashable, CustomStringConvertible {
    /// The operation's name, or its type and address.
    public let operation: String

    /// Makes the error.
    public init(operation: String) { self.operation = operation }

    /// A sentence.
    public var description: String {
        "operation \(operation) can never finish: it, or its completion, was dropped before the end"
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
/// the step holds. Or an operation could never have finished because of a category of mutual exclusion: it waits for
/// the category, and what holds the category waits for it; or the reverse.
public struct OperationDeadlocked: Error, Hashable, CustomStringConvertible {
    /// The step or operation, by name or type and address.
    public let operation: String
    /// The step itself, or the operation behind it in its queue; or the operation on the other side of the category.
    public let awaited: String
    /// The category, if it is one.
    public let category: String?

    /// Makes the error.
    public init(operation: String, awaited: String, category: String? = nil) {
        (self.operation, self.awaited, self.category) = (operation, awaited, category)
    }

    /// A sentence.
    public var description: String {
        if let category {
            return
                "operation \(operation) can never finish: it and \(awaited) wait for each other, one of them for the "
                + "category \(category), which the other holds"
        }
        return operation == awaited
            ? "operation \(operation) can never finish: what it made waits for it"
            : "operation \(operation) can never finish: what it made waits for \(awaited), which is behind "
                + "\(operation) in the same serial queue"
    }
}
