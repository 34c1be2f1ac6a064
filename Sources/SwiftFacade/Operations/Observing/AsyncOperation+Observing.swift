// SPDX-License-Identifier: Apache-2.0
//
// Observers of an operation, and where its transitions are posted to them.

import Foundation
import InterlockPool

/// What queues, groups and scopes tell an `AsyncOperation`, whatever its output.
protocol ObservedOperation: Operation {
    /// To be called by what adds the operation to a queue, before it does. Later calls do nothing.
    func announceEnqueued()
    func announceProduced(_ other: Operation)
}

extension AsyncOperation {
    /// Has `observer` called at each later change; at once, for the end, where the operation has finished.
    ///
    /// May be called from any thread.
    ///
    /// - Complexity: O(1).
    public final func addObserver(_ observer: OperationObserver) {
        let id = listen { operation, event in observer.receive(event, of: operation) }
        if id == nil { observer.receive(.finished(failure), of: self) }
    }

    /// Adds `other`, which this operation has made, to `queue`, and tells the observers' `didProduce`.
    ///
    /// The other one is independent of this one: it may outlast it. A ``GroupOperation`` waits for what it is given.
    public final func produce(_ other: Operation, on queue: OperationQueue) {
        announceProduced(other)
        queue.enqueue(other)
    }

    /// Adds `other`, which this operation has made, to an ``InterlockQueue``, and tells the observers' `didProduce`.
    /// The other operation is independent of this one: it may outlast it.
    public final func produce(_ other: Operation, on queue: InterlockQueue) {
        announceProduced(other)
        queue.enqueue(other)
    }

    /// Adds a listener; nil after the end.
    func listen(_ listener: @escaping Observation.Listener) -> UInt64? { observation()?.add(listener) }

    func unlisten(_ id: UInt64) { record.withLock { $0.held.observation }?.remove(id) }

    /// Made when it is first wanted; nil after the end.
    func observation() -> Observation? {
        record.withLock { record in
            if record.hasEnded { return nil }
            let observation = record.held.observation ?? Observation()
            record.held.observation = observation
            return observation
        }
    }

    private func post(_ event: Observation.Event) {
        record.withLock { $0.held.observation }?.post(event, of: self)
    }

    /// It was started, and the start does not end it.
    func announceWillStart() { post(.starting) }

    /// Its work begins next.
    func announceDidStart() { post(.started) }

    /// The last events. The end has taken `held` out of the record.
    func announceEnd(_ held: OperationRecord.Holdings) {
        guard let observation = held.observation else { return }
        // A cancellation that came before the end may not have been posted yet.
        if isCancelled { observation.post(.cancelled, of: self) }
        observation.post(.finished(failure), of: self)
    }
}

extension AsyncOperation: ObservedOperation {
    final func announceEnqueued() { post(.enqueued) }
    final func announceProduced(_ other: Operation) { post(.produced(other)) }
}
