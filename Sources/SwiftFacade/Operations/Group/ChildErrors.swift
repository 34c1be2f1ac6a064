// SPDX-License-Identifier: Apache-2.0
//
// What a group or a scope does when an operation in it fails, and why it refuses one.

/// What becomes of the other operations of a group or a scope when one has failed.
public enum FailurePolicy: Sendable, Hashable {
    /// They are cancelled. The first error in time is the result.
    case cancelOthers
    /// They run. The first error in the order of addition is the result.
    case runAll
}

/// A group or a scope did not take an operation, which stays the caller's: it was neither started nor changed.
public struct ChildRefused: Error, Hashable, CustomStringConvertible {
    /// Why it was refused.
    public enum Reason: Sendable, Hashable {
        /// The group or scope has ended, was cancelled, or has failed and starts nothing more.
        case isEnding
        /// It has the operation already.
        case isChild
        /// The operation was started, or has finished.
        case hasStarted
        /// The operation waits for the group, directly or not: neither could ever end.
        case waitsForGroup
        /// The operation waits for this one, which is behind the group in the same serial queue.
        case waitsForPlace(String)
    }

    /// The group or scope, by name or type and address.
    public let group: String
    /// The refused operation, by name or type and address.
    public let child: String
    /// Why.
    public let reason: Reason

    /// Makes the error.
    public init(group: String, child: String, reason: Reason) {
        (self.group, self.child, self.reason) = (group, child, reason)
    }

    /// A sentence.
    public var description: String {
        let sentence = "\(group) does not take operation \(child): "
        switch reason {
        case .isEnding: return sentence + "\(group) has ended, or is ending and starts nothing more"
        case .isChild: return sentence + "\(group) has it already"
        case .hasStarted: return sentence + "it was started"
        case .waitsForGroup: return sentence + "it waits for \(group), and neither could ever end"
        case .waitsForPlace(let other):
            return sentence + "it waits for \(other), which is behind \(group) in the same serial queue"
        }
    }
}
