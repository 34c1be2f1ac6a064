// SPDX-License-Identifier: Apache-2.0
//
// A computation under way and its waiters. The result is a promise, with its own lock; the cache's lock guards the
// number of waiters.

import InterlockSync

/// The closure of a computation, and where it runs.
enum Computation<Value: Sendable>: Sendable {
    /// In a task of its own.
    case suspending(@Sendable () async throws -> Value)
    /// On a thread of `WorkerPool.blocking`.
    case blocking(@Sendable () throws -> Value)
}

/// Tells a caller that is called back, without running its code on the caller's thread.
package typealias Delivery<Value> = @Sendable (Result<Value, any Error>) -> Void

// `waiters`, `task` and `deliveries` change under the cache's lock.
final class Flight<Value: Sendable>: AnyFlight, @unchecked Sendable {
    var waiters = 1
    /// The task that computes, unless a thread does.
    var task: Task<Void, Never>?
    /// Those of the waiters that are called back.
    var deliveries: [Delivery<Value>] = []
    /// The closure until it begins; `nil` where the first caller runs it itself.
    let computation: PendingWork<Computation<Value>>?

    private let result = Promise<Result<Value, any Error>>()

    init(_ computation: Computation<Value>?) { self.computation = computation.map { PendingWork($0) } }

    /// Hands the result to every waiter, later ones too. Once.
    func finish(_ result: Result<Value, any Error>) { self.result.fulfil(result) }

    /// Suspends until there is a result.
    func suspend(until deadline: ContinuousClock.Instant?) async -> WaitOutcome {
        await result.wait(until: deadline)
    }

    /// Blocks the thread until there is a result; false if `deadline` passed first.
    func block(until deadline: UInt64) -> Bool { result.block(until: deadline) }

    /// The result, after a wait for it.
    var outcome: Result<Value, any Error> { result.value! }
}
