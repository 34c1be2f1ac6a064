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

    var givenName: String? { withStripe { fields, _ in fields.pointee.box?.extras.name } }

    func name(given name: String?) -> String {
        name ?? "job 0x" + String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    }

    /// Under the stripe's lock.
    var cancellation: OperationCancelled {
        OperationCancelled(operation: name(given: fields.pointee.box?.extras.name))
    }

    // MARK: Hooks

    package var nameInDiagnosis: String { "a job of \"\(core.name)\"" }

    package func addEndHook(_ body: @escaping @Sendable () -> Void) -> UInt64? {
        withStripe { fields, _ in
            if fields.pointee.state.hasEnded { return nil }
            return extras(fields).extras.hooks.add(body)
        }
    }

    package func removeEndHook(_ id: UInt64) {
        let removed = withStripe { fields, _ in fields.pointee.box?.extras.hooks.remove(id) }
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
        var arrival: AnyObject? = arrival
        withStripe { fields, _ in
            if !fields.pointee.state.hasEnded { swap(&extras(fields).extras.arrival, &arrival) }
        }
        withExtendedLifetime(arrival) {}  // the last one is freed under no lock
    }

    func extras(_ fields: UnsafeMutablePointer<JobFields>) -> JobExtrasBox {
        if let box = fields.pointee.box { return box }
        let box = JobExtrasBox()
        fields.pointee.box = box
        return box
    }
}
