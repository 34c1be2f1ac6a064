// SPDX-License-Identifier: Apache-2.0
//
// What an operation takes from an upstream one: the operation, and what is taken where it failed.

import Foundation

/// Something that gives an operation its input: an ``AsyncOperation``, or what one makes of itself to say what is taken
/// where it fails: `a.substituting(0)`, `a.asResult`. Where nothing is taken,
/// ``AsyncOperation/addDependency(_:onFailure:)`` says what a failure does.
public protocol OperationUpstream<Taken>: Sendable {
    /// What the downstream operation is given.
    associatedtype Taken: Sendable
    /// The operation and what is taken from it.
    var upstream: Upstream<Taken> { get }
}

/// An operation upstream of another, and what that one takes from it.
///
/// Without more, an ``AsyncOperation`` is taken by its output; the downstream operation fails with its error, or its
/// cancellation, without running its closure.
public struct Upstream<Taken: Sendable>: OperationUpstream {
    let operation: any GatedOperation
    /// Gives what is taken, for the step of this name. Called once the operation has finished.
    let take: @Sendable (_ step: String) throws -> Taken

    /// Itself.
    public var upstream: Upstream<Taken> { self }
}

extension AsyncOperation: OperationUpstream {
    /// Its output, or its error.
    public final var upstream: Upstream<Output> { Upstream(operation: self) { try self.output(forStep: $0) } }

    /// Its output, or `value` where it failed or was cancelled.
    public final func substituting(_ value: Output) -> Upstream<Output> {
        let either = asResult
        return Upstream(operation: self) { step in
            let outcome = try either.take(step)
            return (try? outcome.get()) ?? value
        }
    }

    /// Its output or its error, which fails nothing.
    public final var asResult: Upstream<Outcome> {
        Upstream(operation: self) { step in
            // Removed as a dependency, it may have no outcome yet.
            guard let outcome = self.result else {
                throw OperationInputMissing(operation: step, upstream: self.bareName)
            }
            return outcome
        }
    }
}
