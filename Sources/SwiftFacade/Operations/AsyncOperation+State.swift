// SPDX-License-Identifier: Apache-2.0
//
// What can be seen of an operation. Foundation for Linux has no observers: our own transitions announce the events,
// each once and outside the lock.

import Foundation
import InterlockSync

/// How far an operation has come. Whether it was cancelled is another question, which `isCancelled` answers.
public enum OperationState: Sendable, Hashable {
    /// Waits for dependencies.
    case waiting
    /// Waits for its queue only: no dependency is left, or it was cancelled.
    case ready
    /// It was started. Delays, conditions and categories come before its work.
    case executing
    /// It has its result.
    case finished
}

/// A change announced to ``AsyncOperation/onChange(_:)``.
public enum OperationEvent: Sendable, Hashable {
    /// The last unfinished dependency has ended.
    case ready
    /// It was started; its work may still wait for a delay, a condition or a category, and be refused.
    case executing
    /// It was asked to stop.
    case cancelled
    /// It has its result, and dependents have been released.
    case finished
}

extension AsyncOperation {
    /// How far the operation has come.
    public final var state: OperationState { record.withLock { $0.state } }

    /// The result; nil until there is one. Does not wait.
    ///
    /// Set before `isFinished` turns true. What the work did is visible to the thread that reads a result.
    public final var result: Outcome? {
        record.withLock { record in
            switch record.ending {
            case nil: nil
            case .value: .success(OutputSlot.load(Output.self, from: &record.value))
            case .failure(let error): .failure(error)
            }
        }
    }

    /// The output, for the downstream step; throws a failed operation's error.
    final func output(forStep step: @autoclosure () -> String) throws -> Output {
        guard let result else { throw OperationInputMissing(operation: step(), upstream: bareName) }
        return try result.get()
    }

    /// Calls `handler` with each later change, each exactly once.
    ///
    /// The handler runs on the thread that makes the change, must not block, and is freed when the operation has
    /// finished. `.ready` comes before `.executing`, and that before `.finished`. If the operation is cancelled,
    /// `.cancelled` and `.ready` may come at any point, also after the end with which they race.
    ///
    /// `.ready` comes each time the operation had to wait and need not any longer: not at all if it never had to. A
    /// queue starts it after that; where it is started by hand meanwhile, handlers may learn of that and of the end
    /// first.
    public final func onChange(_ handler: @escaping @Sendable (OperationEvent) -> Void) {
        record.withLock { if !$0.hasEnded { $0.held.stateHooks.append(handler) } }
    }

    /// Whether changes of `isExecuting` are posted to Foundation. Without key-value observing only its own queues read
    /// that; each change costs as much as all else at the start.
    var isObservedExecuting: Bool {
        #if canImport(ObjectiveC)
        true
        #else
        node == nil
        #endif
    }

    func announce(_ event: OperationEvent) { announce(event, to: record.withLock { $0.listeners }) }

    /// `listeners`: taken in the critical section of the change, after which another thread may end the operation.
    func announce(_ event: OperationEvent, to listeners: OperationRecord.Listeners) {
        for hook in listeners.hooks { hook(event) }
        listeners.observation?.post(.init(event), of: self)
    }
}
