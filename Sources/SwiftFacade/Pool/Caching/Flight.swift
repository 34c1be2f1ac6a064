// SPDX-License-Identifier: Apache-2.0
//
// A computation under way and its waiters. The result is a promise, with its own lock; the cache's lock guards the
// number of waiters.

import InterlockSync

/// The closure of a computation, and where it runs.
@usableFromInline
enum Computation<Value: Sendable>: Sendable {
    /// In a task of its own.
    case suspending(@Sendable () async throws -> Value)
    /// On a thread of `WorkerPool.blocking`.
    case blocking(@Sendable () throws -> Value)
}

/// Tells a caller that is called back, without running its code on the caller's thread.
@usableFromInline
package typealias Delivery<Value> = @Sendable (Result<Value, any Error>) -> Void

// `waiters`, `task` and `deliveries` change under the cache's lock.
@usableFromInline
final class Flight<Value: Sendable>: AnyFlight, @unchecked Sendable {
    @usableFromInline var waiters = 1
    /// The task that computes, unless a thread does.
    @usableFromInline var task: Task<Void, Never>?
    /// Those of the waiters that are called back.
    @usableFromInline var deliveries: [Delivery<Value>] = []
    /// The closure until it begins; `nil` where the first caller runs it itself.
    @usableFromInline let computation: PendingWork<Computation<Value>>?

    @usableFromInline let result = Promise<Result<Value, any Error>>()

    @inlinable
    init(_ computation: Computation<Value>?) { self.computation = computation.map { PendingWork($0) } }

    /// The result of the closure, run now; `nil` where it was given up, or is another kind.
    @usableFromInline
    func compute() async -> Result<Value, any Error>? {
        guard case .suspending(let compute)? = computation?.claim() else { return nil }
        do {
            return .success(try await FlightWaits.$current.withValue(self) { try await compute() })
        } catch {
            return .failure(error)
        }
    }

    /// The result of the closure, run now on this thread; `nil` where it was given up, or is another kind.
    @usableFromInline
    func computeOnThread() -> Result<Value, any Error>? {
        guard case .blocking(let compute)? = computation?.claim() else { return nil }
        return FlightWaits.inside(self) { Result { try compute() } }
    }

    /// Hands the result to every waiter, later ones too. Once.
    @inlinable
    func finish(_ result: Result<Value, any Error>) { self.result.fulfil(result) }

    /// Suspends until there is a result.
    @inlinable
    func suspend(until deadline: ContinuousClock.Instant?) async -> WaitOutcome {
        await result.wait(until: deadline)
    }

    /// Blocks the thread until there is a result; false if `deadline` passed first.
    @inlinable
    func block(until deadline: UInt64) -> Bool { result.block(until: deadline) }

    /// The result, after a wait for it.
    @inlinable
    var outcome: Result<Value, any Error> { result.value! }
}
