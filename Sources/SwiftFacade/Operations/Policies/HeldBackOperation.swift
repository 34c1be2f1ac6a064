// SPDX-License-Identifier: Apache-2.0
//
// The operation that a debouncer or throttler holds back. It is in no queue. Three may want it: the alarm, which gives
// it to the queue; a later operation, which takes its place; a cancellation. One of them takes it out, under the lock
// of the pacer, and starts it or has it started: an operation is started once.

import Foundation
import InterlockPool
import InterlockSync

/// An `AsyncOperation` that is held back, whatever its output.
protocol HeldBackOperation: Operation {
    /// Ends it, unstarted, with ``OperationSuperseded``. For the caller that took it out.
    func supersede()
    func onCancelBeforeStart(_ handler: @escaping @Sendable () -> Void)
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

    final func onCancelBeforeStart(_ handler: @escaping @Sendable () -> Void) {
        onChange { event in if event == .cancelled { handler() } }
        if isCancelled { handler() }
    }
}

/// The queue to which a debouncer or throttler gives its operations.
struct OperationTarget: Sendable {
    let add: @Sendable (Operation) -> Void

    /// Adds the first operation that goes on.
    func take(_ pacer: Pacer<any HeldBackOperation>) {
        if let operation = pacer.takeReady() { add(operation) }
    }
}

extension Pacer where Item == any HeldBackOperation {
    /// Ends `operation` at once when it is cancelled while it is held back.
    func endWhenCancelled(_ operation: any HeldBackOperation) {
        operation.onCancelBeforeStart { [weak self, weak operation] in
            guard let operation else { return }
            self?.take { $0 === operation }?.start()
        }
    }
}
