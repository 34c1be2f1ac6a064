// SPDX-License-Identifier: Apache-2.0
//
// The end of an operation: decided once, under the record's lock, the result stored first; made known outside it by the
// call that decided.

import Foundation
import InterlockPool
import InterlockSync

extension AsyncOperation {
    /// Ends the operation with `outcome`.
    ///
    /// May be called any number of times: the first call decides. Before the start the outcome is only recorded, and
    /// the work will not run. Blocks only as long as the handlers that run here: ``onFinish(_:)`` and ``onChange(_:)``,
    /// and `onChange` of those that become ready.
    ///
    /// - Returns: whether this call was the first.
    @discardableResult
    public final func finish(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .success(let value): finish(value: value)
        case .failure(let error): finish(error: error)
        }
    }

    @discardableResult
    final func finish(value: Output) -> Bool {
        let (recorded, upstream) = record.withLock { record in
            let recorded = record.record(.value)
            if recorded.accepted { OutputSlot.store(value, in: &record.value) }
            return (recorded, record.watchedUpstream)
        }
        return finished(recorded, upstream)
    }

    @discardableResult
    final func finish(error: any Error) -> Bool {
        let (recorded, upstream) = record.withLock { ($0.record(.failure(error)), $0.watchedUpstream) }
        return finished(recorded, upstream)
    }

    /// Ends the operation with `error` unless its work has begun.
    final func refuseBeforeWork(_ error: any Error) {
        let (recorded, upstream) = record.withLock { ($0.refuse(error), $0.watchedUpstream) }
        _ = finished(recorded, upstream)
    }

    private func finished(_ recorded: OperationRecord.Recorded, _ upstream: [Operation]) -> Bool {
        if recorded.mustSettle {
            settle(wasExecuting: true)
        } else if recorded.accepted {
            UnneededUpstream.left(upstream)
        }
        return recorded.accepted
    }

    /// Makes the stored ending known, once.
    func settle(wasExecuting: Bool) {
        let stopsExecuting = wasExecuting && isObservedExecuting
        if stopsExecuting { willChangeValue(for: \.isExecuting) }
        willChangeValue(for: \.isFinished)
        let held = record.withLock { record in
            DependencyGraph.retire(&record.vertex)
            return record.settle()
        }
        // Before anything learns of the end: a category is free for the caller that has waited for this operation.
        held.policies?.withdraw()
        // Before Foundation's queue gives the place away: a more urgent dependent takes it, and a queue of chains can
        // finish what has begun before it begins anew.
        for gate in held.gates { gate.open() }
        if stopsExecuting { didChangeValue(for: \.isExecuting) }
        didChangeValue(for: \.isFinished)
        held.queue?.operationHasFinished()
        for hook in held.stateHooks { hook(.finished) }
        announceEnd(held)
        for hook in held.finishHooks { hook.body(self) }
    }
}
