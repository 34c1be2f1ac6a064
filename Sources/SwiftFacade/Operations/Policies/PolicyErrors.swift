// SPDX-License-Identifier: Apache-2.0
//
// The errors an operation ends with because of a policy.

/// The work of an operation had not ended when its limit passed.
public struct OperationTimedOut: Error, Hashable, CustomStringConvertible {
    /// The operation's name, or its type and address.
    public let operation: String
    /// The limit.
    public let limit: Duration

    /// Makes the error.
    public init(operation: String, limit: Duration) {
        self.operation = operation
        self.limit = limit
    }

    /// A sentence.
    public var description: String { "the work of operation \(operation) had not ended after \(limit)" }
}

/// A later operation took the place of this one, which never ran.
public struct OperationSuperseded: Error, Hashable, CustomStringConvertible {
    /// The operation's name, or its type and address.
    public let operation: String

    /// Makes the error.
    public init(operation: String) { self.operation = operation }

    /// A sentence.
    public var description: String { "operation \(operation) never ran: a later one took its place" }
}
