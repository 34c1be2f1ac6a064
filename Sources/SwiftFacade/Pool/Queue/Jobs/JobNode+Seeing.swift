// SPDX-License-Identifier: Apache-2.0
//
// What can be seen of a node, and what it keeps for its end.

import InterlockSync

extension JobNode: EndingWork {
    package var isFinished: Bool { withStripe { fields, _ in fields.pointee.state.hasEnded } }
    var phase: WorkState.Phase { withStripe { fields, _ in fields.pointee.state.phase } }
    /// Whether it was given to the pool, and has not ended.
    package var isPlaced: Bool {
        withStripe { fields, _ in
            fields.pointee.state.phase == .submitted || fields.pointee.state.phase == .running
        }
    }
    var isCancelled: Bool { withStripe { fields, _ in fields.pointee.state.isCancelled } }

    /// The error of a node that is known to have ended: it is not written any more.
    @usableFromInline
    var finalError: (any Error)? { fields.pointee.error }

    /// Written before the node is shared.
    var givenName: String? { fields.pointee.box?.extras.name }

    var cancellation: OperationCancelled { OperationCancelled(operation: bareName) }

    // MARK: Hooks

    package var nameInDiagnosis: String { "a job of \"\(core.name)\"" }

    package func addEndHook(_ body: @escaping @Sendable () -> Void) -> UInt64? {
        withStripe { fields, _ in
            if fields.pointee.state.hasEnded { return nil }
            let box = extras(fields)
            box.extras.lastHook += 1
            box.extras.hooks.append((box.extras.lastHook, body))
            return box.extras.lastHook
        }
    }

    package func removeEndHook(_ id: UInt64) {
        let removed = withStripe { fields, _ in
            guard let box = fields.pointee.box,
                let index = box.extras.hooks.firstIndex(where: { $0.id == id })
            else { return (@Sendable () -> Void)?.none }
            return box.extras.hooks.remove(at: index).body
        }
        // Freed outside the lock.
        withExtendedLifetime(removed) {}
    }

    /// Keeps what tells the running work of a cancellation; true: it was cancelled, and the caller tells it.
    func setCancelHandler(_ handler: @escaping @Sendable () -> Void) -> Bool {
        withStripe { fields, _ in
            if fields.pointee.state.hasEnded { return false }
            if fields.pointee.state.isCancelled { return true }
            extras(fields).extras.cancelHandler = handler
            return false
        }
    }

    /// Keeps `arrival` until the node ends, or releases the last one.
    package func setArrival(_ arrival: AnyObject & Sendable) {
        withStripe { fields, _ in
            if !fields.pointee.state.hasEnded { extras(fields).extras.arrival = arrival }
        }
    }

    func extras(_ fields: UnsafeMutablePointer<JobFields>) -> JobExtrasBox {
        if let box = fields.pointee.box { return box }
        let box = JobExtrasBox()
        fields.pointee.box = box
        return box
    }
}
