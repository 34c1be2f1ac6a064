// SPDX-License-Identifier: Apache-2.0
//
// The errors of conditions: the refusal an operation ends with, and the reason of a condition that answered no.

/// A condition refused an operation, which never ran.
public struct ConditionRefused: Error, CustomStringConvertible {
    /// The operation's name, or its type and address.
    public let operation: String
    /// The condition's name.
    public let condition: String
    /// What the condition threw.
    public let reason: any Error

    /// Makes the error.
    public init(operation: String, condition: String, reason: any Error) {
        (self.operation, self.condition, self.reason) = (operation, condition, reason)
    }

    /// A sentence.
    public var description: String {
        "operation \(operation) was refused by its condition \(condition): \(reason)"
    }
}

/// A condition did not hold: the reason where it gave no error of its own.
public struct ConditionUnmet: Error, CustomStringConvertible {
    /// The condition's name.
    public let condition: String
    /// The reasons of the conditions it is made of, for ``OperationCondition/or(_:)``.
    public let reasons: [any Error]

    /// Makes the error.
    public init(condition: String, reasons: [any Error] = []) {
        self.condition = condition
        self.reasons = reasons
    }

    /// A sentence.
    public var description: String {
        reasons.isEmpty
            ? "\(condition) does not hold"
            : "\(condition) does not hold: " + reasons.map { "\($0)" }.joined(separator: "; ")
    }
}
