// SPDX-License-Identifier: Apache-2.0
//
// A computation under way, its waiters, and which computation waits for which.
//
// The result is a promise, with its own lock; the cache's lock guards the number of waiters. The waits are a graph
// under one lock of the process, because a circle may lead through several caches; only questions asked inside a
// computation take it.

import Dispatch

// Its one field is guarded by the lock of FlightWaits.
class AnyFlight: @unchecked Sendable {
    // What this one waits for, as often as it does.
    fileprivate var waitsFor: [AnyFlight] = []

    /// Whether this computation waits for `other`, directly or by others, or is it.
    fileprivate func leads(to other: AnyFlight) -> Bool {
        var found: Set<ObjectIdentifier> = []
        var next = [self]
        while let flight = next.popLast() {
            if flight === other { return true }
            if found.insert(ObjectIdentifier(flight)).inserted {
                next += flight.waitsFor
            }
        }
        return false
    }
}

/// The closure of a computation, and where it runs.
enum Computation<Value: Sendable>: Sendable {
    /// In a task of its own.
    case suspending(@Sendable () async throws -> Value)
    /// On a thread of `WorkerPool.blocking`.
    case blocking(@Sendable () throws -> Value)
}

/// A caller that is called back.
struct Delivery<Value: Sendable>: Sendable {
    let queue: DispatchQueue
    let completion: @Sendable (Result<Value, any Error>) -> Void

    func callAsFunction(_ result: Result<Value, any Error>) {
        queue.async { completion(result) }
    }
}

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

    init(_ computation: Computation<Value>?) {
        self.computation = computation.map { PendingWork($0) }
    }

    /// Hands the result to every waiter, later ones too. Once.
    func finish(_ result: Result<Value, any Error>) {
        self.result.fulfil(result)
    }

    /// Suspends until there is a result.
    func suspend(until deadline: ContinuousClock.Instant?) async -> WaitOutcome {
        await result.wait(until: deadline)
    }

    /// Blocks the thread until there is a result; false if `deadline` passed first.
    func block(until deadline: UInt64) -> Bool {
        result.block(until: deadline)
    }

    /// The result, after a wait for it.
    var outcome: Result<Value, any Error> { result.value! }
}

enum FlightWaits {
    /// The computation that the current task or thread is part of.
    @TaskLocal static var current: AnyFlight?

    // Guards `waitsFor` of every flight.
    private static let lock = ReadWriteLock(unwatched: ())

    struct Edge: Sendable {
        fileprivate let from: AnyFlight
        fileprivate let to: AnyFlight
    }

    /// Runs `body` as a part of a computation, or of none where `flight` is nil. ``current`` passes on to tasks; code
    /// that passes a closure to another thread and waits for it calls this there.
    static func inside<Result, Failure: Error>(
        _ flight: AnyFlight?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let flight else { return try body() }
        // `withValue` forgets the error's type.
        return try $current.withValue(flight) { () -> Swift.Result<Result, Failure> in
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }.get()
    }

    /// Registers that the current computation, if any, waits for one that it starts and that waits for nothing yet.
    static func begin(starting flight: AnyFlight) -> Edge? {
        guard let current else { return nil }
        lock.withWriteLock { _ in current.waitsFor.append(flight) }
        return Edge(from: current, to: flight)
    }

    /// Registers that the current computation, if any, will wait for `flight`; throws if `flight` waits for it already.
    /// ``end(_:)`` takes the edge.
    static func begin(_ flight: AnyFlight, _ key: any Hashable & Sendable) throws(CircularComputation)
        -> Edge?
    {
        guard let current else { return nil }
        let closesACircle = lock.withWriteLock { _ in
            if flight.leads(to: current) { return true }
            current.waitsFor.append(flight)
            return false
        }
        if closesACircle { throw CircularComputation(key: key) }
        return Edge(from: current, to: flight)
    }

    static func end(_ edge: Edge?) {
        guard let edge else { return }
        lock.withWriteLock { _ in
            let index = edge.from.waitsFor.firstIndex { $0 === edge.to }
            edge.from.waitsFor.remove(at: index!)
        }
    }
}
