// SPDX-License-Identifier: Apache-2.0
//
// Why a question to a SingleFlightCache has no value, beside the computation's own errors.

/// A computation of a ``SingleFlightCache`` asked, directly or through others, for the value it is computing, for which
/// it would wait for ever. A task that it started without waiting for it counts as part of it.
public struct CircularComputation: Error, CustomStringConvertible {
    /// The key asked for.
    public let key: any Hashable & Sendable

    @usableFromInline
    init(key: any Hashable & Sendable) { self.key = key }

    /// A sentence.
    public var description: String {
        "the computation of the value of \(key) waits, by way of others or directly, for that very value"
    }
}

/// A question to a ``SingleFlightCache`` had no value in time. Other questions for it wait on.
public struct SingleFlightTimedOut: Error, CustomStringConvertible {
    /// The key asked for.
    public let key: any Hashable & Sendable

    @usableFromInline
    init(key: any Hashable & Sendable) { self.key = key }

    /// A sentence.
    public var description: String { "the value of \(key) was not there in time" }
}

/// Whether an error, or that of the work of a run, is about one computation's wait and not about its key: it says
/// nothing to later questions.
@usableFromInline
func isAboutAWait(_ error: any Error) -> Bool {
    if let run = error as? any RunError, let failure = run.failure { return isAboutAWait(failure) }
    return error is CancellationError || error is CircularComputation || error is SingleFlightTimedOut
}

/// An error of a run, with that of its work inside.
private protocol RunError {
    var failure: (any Error)? { get }
}

extension WorkerPoolRunError: RunError {
    fileprivate var failure: (any Error)? {
        if case .failed(let error) = self { error } else { nil }
    }
}
