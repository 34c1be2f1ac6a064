// SPDX-License-Identifier: Apache-2.0
//
// How the end of any operation is learned, and how one that will never be run is ended.

import Foundation
import InterlockPool
import InterlockSync

/// What groups and scopes need of an `AsyncOperation`, whatever its output.
protocol EndingOperation: ObservedOperation {
    /// Runs `body` with the error it ended with, when it has finished, at once if it has.
    func whenEnded(_ body: @escaping @Sendable ((any Error)?) -> Void)
    func addObserver(_ observer: OperationObserver)
    var progress: Progress { get }
    /// It may be added to a queue still.
    var isUnstarted: Bool { get }
    /// It does not begin while `suspension` says so.
    func join(_ suspension: GroupSuspension)
}

extension AsyncOperation: EndingOperation {
    func whenEnded(_ body: @escaping @Sendable ((any Error)?) -> Void) {
        let hook = record.withLock { $0.addFinishHook { body(Self.own($0).failure) } }
        if hook == nil { body(failure) }
    }

    var isUnstarted: Bool { record.withLock { $0.phase == .waiting } }
}

enum ChildEnd {
    static func isUnstarted(_ child: Operation) -> Bool {
        (child as? any EndingOperation)?.isUnstarted ?? (!child.isExecuting && !child.isFinished)
    }

    /// Runs `body` when `child` has finished. An operation of another class has the error of its cancellation, or none.
    static func of(_ child: Operation, _ body: @escaping @Sendable ((any Error)?) -> Void) {
        if let child = child as? any EndingOperation { return child.whenEnded(body) }
        let relay = AsyncOperation<Void> {}
        relay.addDependency(child)
        relay.whenEnded { [child] _ in
            let name = child.nameInExplanations
            body(child.isCancelled ? OperationCancelled(operation: name) : nil)
        }
        relays.addOperation(relay)
    }

    /// Ends an operation that is in no queue: dependents must not wait for what will never run.
    static func withoutRun(_ child: Operation) {
        child.cancel()
        if isUnstarted(child) { child.start() }
    }

    private static let relays = OperationQueue.relays("interlock.child-relays")
}
