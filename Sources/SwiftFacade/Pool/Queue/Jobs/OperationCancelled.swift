// SPDX-License-Identifier: Apache-2.0
//
// The error of work that was cancelled, job or operation.

/// An operation was cancelled before it had a result.
///
/// The downstream steps get the same error. A wait whose awaiting *task* was cancelled throws `CancellationError`
/// instead.
public struct OperationCancelled: Error, Hashable, CustomStringConvertible {
    /// The operation's name, or its type and address.
    public let operation: String

    /// Makes the error.
    public init(operation: String) { self.operation = operation }

    /// A sentence.
    public var description: String { "operation \(operation) was cancelled" }
}
