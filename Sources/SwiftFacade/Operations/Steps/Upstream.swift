// SPDX-License-Identifier: Apache-2.0
//
// What an operation takes from one above it: the operation, and what is taken where it failed.

import Foundation
import InterlockPool
import InterlockSync

/// Something that gives an operation its input: an ``AsyncOperation``, or what one makes of itself to say what is taken
/// where it fails: `a.substituting(0)`, `a.asOptional`, `a.asResult`, `a.ignored`.
public protocol OperationUpstream<Taken>: Sendable {
    /// What the operation below is given.
    associatedtype Taken: Sendable
    /// The operation and what is taken from it.
    var upstream: Upstream<Taken> { get }
}

/// An operation above another, and what that one takes from it.
///
/// Without more, an ``AsyncOperation`` is taken by its output; the operation below fails with its error, or its
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
    public final var upstream: Upstream<Output> {
        Upstream(operation: self) { try self.output(forStep: $0) }
    }

    /// Its output, or `value` where it failed or was cancelled.
    public final func substituting(_ value: Output) -> Upstream<Output> {
        Upstream(operation: self) { step in
            let outcome = try self.outcome(forStep: step)
            return (try? outcome.get()) ?? value
        }
    }

    /// Its output, or nil where it failed or was cancelled.
    public final var asOptional: Upstream<Output?> {
        Upstream(operation: self) { step in
            let outcome = try self.outcome(forStep: step)
            return try? outcome.get()
        }
    }

    /// Its output or its error, which fails nothing.
    public final var asResult: Upstream<Outcome> {
        Upstream(operation: self) { try self.outcome(forStep: $0) }
    }

    /// Nothing: its end is waited for, however it ends.
    public final var ignored: Upstream<Void> {
        Upstream(operation: self) { _ = try self.outcome(forStep: $0) }
    }

    /// Throws where there is no outcome: the dependency was removed.
    private func outcome(forStep step: String) throws -> Outcome {
        guard let result else { throw OperationInputMissing(operation: step, upstream: bareName) }
        return result
    }
}
