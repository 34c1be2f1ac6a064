// SPDX-License-Identifier: Apache-2.0
//
// The end of an operation: decided once, under the record's lock, with the result stored first; made known by the one
// call that decided it, outside the lock.

extension AsyncOperation {
    /// Ends the operation with `outcome`.
    ///
    /// May be called from any thread, any number of times: the first call decides. Before the operation
    /// has started the outcome is only recorded, and the work will not run. Blocks only as long as the
    /// handlers that run here: ``onFinish(_:)`` and ``onChange(_:)`` of this operation, and `onChange` of
    /// those that become ready by it.
    ///
    /// - Returns: whether this call was the first.
    @discardableResult
    public final func finish(_ outcome: Outcome) -> Bool {
        let recorded = record.withLock { $0.record(outcome) }
        if recorded.mustSettle { settle(wasExecuting: true) }
        return recorded.accepted
    }

    /// The outcome is stored and this is the one call that makes it known.
    func settle(wasExecuting: Bool) {
        if wasExecuting { willChangeValue(for: \.isExecuting) }
        willChangeValue(for: \.isFinished)
        let remains = record.withLock { $0.settle() }
        // Before Foundation's queue gives the place away: a dependent that is more urgent than the rest takes it, so
        // that a queue of chains can finish what has begun before it begins anew.
        for gate in remains.gates { gate.open() }
        if wasExecuting { didChangeValue(for: \.isExecuting) }
        didChangeValue(for: \.isFinished)
        for hook in remains.stateHooks { hook(.finished) }
        for hook in remains.finishHooks { hook.body(remains.outcome) }
    }
}
