// SPDX-License-Identifier: Apache-2.0
//
// The end of an operation: decided once, under the record's lock, the result stored first; made known outside it by the
// call that decided.

import Foundation
import InterlockSync

extension AsyncOperation {
    /// Ends the operation with `outcome`.
    ///
    /// May be called any number of times: the first call decides. Before the start the outcome is only recorded, and
    /// the work will not run. Blocks only as long as the handlers that run here: ``onFinish(_:)``, ``onChange(_:)``
    /// and observers, and `onChange` of those that become ready.
    ///
    /// Meant for subclasses and for what their work calls, from any thread. It is public because Swift has no access
    /// for subclasses of other modules alone.
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
        let (decided, upstream) = record.withLock { record in
            let decided = record.decide(.value)
            if decided.isFirst { OutputSlot.store(value, in: &record.value) }
            return (decided, record.watchedUpstream)
        }
        return makeKnown(decided, upstream)
    }

    @discardableResult
    final func finish(error: any Error) -> Bool {
        let (decided, upstream) = record.withLock { ($0.decide(.failure(error)), $0.watchedUpstream) }
        return makeKnown(decided, upstream)
    }

    /// Ends the operation with `error` unless its work has begun.
    final func refuseAdmission(_ error: any Error) {
        let (decided, upstream) = record.withLock { ($0.refuseAdmission(error), $0.watchedUpstream) }
        _ = makeKnown(decided, upstream)
    }

    private func makeKnown(_ decided: OperationRecord.Decided, _ upstream: [Operation]) -> Bool {
        if decided.mustEnd {
            makeEndKnown(wasExecuting: true)
        } else if decided.isFirst {
            UnneededUpstream.left(upstream)
        }
        return decided.isFirst
    }

    /// Makes the decided ending known, once.
    func makeEndKnown(wasExecuting: Bool) {
        let stopsExecuting = wasExecuting && isObservedExecuting
        if stopsExecuting { willChangeValue(for: \.isExecuting) }
        willChangeValue(for: \.isFinished)
        // Before anything learns of the end: a category is free for the caller that has waited for this operation.
        record.withLock { $0.takePolicies() }?.withdraw()
        var held = record.withLock { record in
            DependencyGraph.retire(&record.vertex)
            return record.markEnded()
        }
        // Before Foundation's queue gives the place away: a more urgent dependent takes it, and a queue of chains can
        // finish what has begun before it begins anew.
        for gate in held.gates { gate.open() }
        if stopsExecuting { didChangeValue(for: \.isExecuting) }
        didChangeValue(for: \.isFinished)
        held.queue?.operationHasFinished()
        for hook in held.stateHooks { hook(.finished) }
        announceEnd(held)
        for hook in held.finishHooks.takeAll() { hook(self) }
    }
}
