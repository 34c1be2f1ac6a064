// SPDX-License-Identifier: Apache-2.0
//
// The operation that a debouncer or throttler holds back. It is in no queue. Three may want it: the alarm, which gives it
// to the queue; a later operation, which takes its place; a cancellation. One of them takes it out, under the lock of the
// debouncer or throttler, and starts it or has it started: an operation is started once.

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
}

/// The holder of one pending operation and of the alarm that ends the wait for it.
struct PendingOperation {
    private(set) var operation: (any HeldBackOperation)?
    var alarm: ClockAlarm?

    /// Keeps `operation`; gives back the one whose place it takes.
    mutating func replace(by operation: any HeldBackOperation) -> (any HeldBackOperation)? {
        let old = self.operation
        self.operation = operation
        return old
    }

    mutating func take() -> (any HeldBackOperation)? { operation.take() }

    /// Takes out the pending operation if it is `cancelled`.
    mutating func take(_ cancelled: Operation) -> (any HeldBackOperation)? {
        operation === cancelled ? operation.take() : nil
    }
}
