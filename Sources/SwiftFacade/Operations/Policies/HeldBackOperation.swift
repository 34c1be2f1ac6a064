// SPDX-License-Identifier: Apache-2.0
//
// The operation that a debouncer or throttler holds back. It is in no queue. Three may want it: the alarm, which gives
// it to the queue; a later operation, which takes its place; a cancellation. One of them takes it out, under the lock
// of the pacer, and starts it or has it started: an operation is started once.

import Foundation
import InterlockSync

/// An `AsyncOperation` that is held back, whatever its output.
protocol HeldBackOperation: Operation {
    /// Ends it, unstarted, with ``OperationSuperseded``. For the caller that took it out.
    func supersede()
}

extension AsyncOperation: HeldBackOperation {
    /// Before a debouncer or a throttler has it. Otherwise Foundation's queue would stop the program without a name,
    /// later.
    final func beHeldBack(_ call: String) {
        let reason: String? = record.withLock { record in
            if record.isHeldBack { return "it was submitted already; an operation is submitted once" }
            if record.hasEnded { return "it has finished already; an operation runs once" }
            if record.phase != .waiting { return "it is executing already; an operation runs once" }
            if record.held.queue != nil { return "it is in a queue already; an operation is added once" }
            record.isHeldBack = true
            return nil
        }
        if let reason { misuse(call, displayName, reason) }
    }

    final func supersede() {
        finish(error: OperationSuperseded(operation: bareName))
        startUnchecked()
    }
}

extension GroupQueue {
    /// Adds the first operation of a debouncer or throttler that goes on.
    func takeReady(from pacer: Pacer<any HeldBackOperation>) {
        if let operation = pacer.takeReady() { addChild(operation) }
    }
}

extension Pacer where Item == any HeldBackOperation {
    /// Submits `operation`, which ends at once when it is cancelled while it is held back. The one before it, if it
    /// still waits, is superseded.
    func hold<Output>(_ operation: AsyncOperation<Output>, for call: String) -> AsyncOperation<Output> {
        operation.beHeldBack(call)
        submit(operation)?.supersede()
        let end: @Sendable () -> Void = { [weak self, weak operation] in
            guard let operation else { return }
            self?.take { $0 === operation }?.start()
        }
        operation.onChange { event in if event == .cancelled { end() } }
        if operation.isCancelled { end() }
        return operation
    }
}
