// SPDX-License-Identifier: Apache-2.0
//
// The operation that a debouncer or throttler holds back. It is in no queue. Three may want it: the alarm, which gives it
// to the queue; a later operation, which takes its place; a cancellation. One of them takes it out, under the lock of the
// pacer, and starts it or has it started: an operation is started once.

import Foundation

/// An `AsyncOperation` that is held back, whatever its output.
protocol HeldBackOperation: Operation {
    /// Ends it, unstarted, with ``OperationSuperseded``. For the caller that took it out.
    func supersede()
    func onCancelBeforeStart(_ handler: @escaping @Sendable () -> Void)
}

extension AsyncOperation: HeldBackOperation {
    final func supersede() {
        finish(error: OperationSuperseded(operation: bareName))
        // Whatever dependencies it waits for.
        begin()
    }

    final func onCancelBeforeStart(_ handler: @escaping @Sendable () -> Void) {
        onChange { event in if event == .cancelled { handler() } }
        if isCancelled { handler() }
    }
}

/// Where a debouncer or throttler gives its operations.
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
