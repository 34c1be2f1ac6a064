// SPDX-License-Identifier: Apache-2.0
//
// Work on a pool whose outcome goes to a dispatch queue.

import Dispatch
import InterlockPool
import InterlockSync

extension WorkerPool {
    /// Runs `work` on a thread of the pool, and delivers its outcome on a queue. Does not wait.
    ///
    /// - Parameters:
    ///   - delivery: Where `completion` runs, by default the main queue, which needs a program that drains it.
    ///   - completion: Called once, with what `work` returns or throws, or with ``WorkerPoolRunError/notRun(_:)``. It
    ///     sees all that the work did.
    public func run<Value: Sendable, Failure: Error>(
        priority: Priority = .normal,
        deliverOn delivery: DispatchQueue = .main,
        _ work: @escaping @Sendable () throws(Failure) -> Value,
        completion: @escaping @Sendable (Result<Value, WorkerPoolRunError<Failure>>) -> Void
    ) {
        let run = DeliveredRun(work, delivery, completion)
        if !core.submit(.object(run), priority.inC) { run.handBack(to: core) }
    }
}

/// A run whose outcome goes to a queue.
private final class DeliveredRun<Value: Sendable, Failure: Error>: PoolObject {
    typealias Outcome = Result<Value, WorkerPoolRunError<Failure>>

    private struct Parts: Sendable {
        let work: @Sendable () throws(Failure) -> Value
        let completion: @Sendable (Outcome) -> Void
    }

    private let parts: PendingWork<Parts>
    private let delivery: DispatchQueue

    init(
        _ work: @escaping @Sendable () throws(Failure) -> Value,
        _ delivery: DispatchQueue,
        _ completion: @escaping @Sendable (Outcome) -> Void
    ) {
        parts = PendingWork(Parts(work: work, completion: completion))
        self.delivery = delivery
    }

    func run() {
        guard let parts = parts.claim() else { return }
        let outcome: Outcome
        do throws(Failure) {
            outcome = .success(try parts.work())
        } catch {
            outcome = .failure(.failed(error))
        }
        let completion = parts.completion
        delivery.async { completion(outcome) }
    }

    func handBack(to core: PoolCore) {
        guard let completion = parts.claim()?.completion else { return }
        let error = WorkerPoolError.closed(pool: core.name)
        delivery.async { completion(.failure(.notRun(error))) }
    }
}
