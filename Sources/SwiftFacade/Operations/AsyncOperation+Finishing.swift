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
        switch outcome {
        case .success(let value): finish(value: value)
        case .failure(let error): finish(error: error)
        }
    }

    @discardableResult
    final func finish(value: Output) -> Bool {
        let recorded = record.withLock { record in
            let recorded = record.record(.value)
            if recorded.accepted { storedValue = value }
            return recorded
        }
        if recorded.mustSettle { settle(wasExecuting: true) }
        return recorded.accepted
    }

    @discardableResult
    final func finish(error: any Error) -> Bool {
        let recorded = record.withLock { $0.record(.failure(error)) }
        if recorded.mustSettle { settle(wasExecuting: true) }
        return recorded.accepted
    }

    /// The ending is stored and this is the one call that makes it known.
    func settle(wasExecuting: Bool) {
        if wasExecuting { willChangeValue(for: \.isExecuting) }
        willChangeValue(for: \.isFinished)
        let held = record.withLock { $0.settle() }
        // Before Foundation's queue gives the place away: a dependent that is more urgent than the rest takes it, so
        // that a queue of chains can finish what has begun before it begins anew.
        for gate in held.gates { gate.open() }
        if wasExecuting { didChangeValue(for: \.isExecuting) }
        didChangeValue(for: \.isFinished)
        for hook in held.stateHooks { hook(.finished) }
        for hook in held.finishHooks { hook.body(self) }
    }
}
