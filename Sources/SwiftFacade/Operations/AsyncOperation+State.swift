// SPDX-License-Identifier: Apache-2.0
//
// What can be seen of an operation: a state to read and events to be told of. Foundation for
// Linux has no observers, so the events are announced from our own transitions, each exactly once and
// outside the lock.

import Foundation

/// Where an operation stands. Being cancelled is beside it: see `isCancelled`.
public enum OperationState: Sendable, Hashable {
    /// Waits for dependencies.
    case waiting
    /// Waits for no dependency, or was cancelled: it begins when its queue starts it.
    case ready
    /// Its work has begun.
    case executing
    /// It has its result.
    case finished
}

/// A change announced to ``AsyncOperation/onChange(_:)``.
public enum OperationEvent: Sendable, Hashable {
    /// The last unfinished dependency has ended.
    case ready
    /// The work begins.
    case executing
    /// It was asked to stop.
    case cancelled
    /// It has its result, and dependents have been released.
    case finished
}

extension AsyncOperation {
    /// Where the operation stands at this moment. May be read from any thread.
    public final var state: OperationState {
        record.withLock { $0.state }
    }

    /// The result; nil until there is one. Never blocks: ``value`` and `wait` are the ways to wait for it.
    ///
    /// May be read from any thread. Set before `isFinished` turns true; what the work did is visible to the thread that
    /// reads a result.
    public final var result: Outcome? { record.withLock { $0.outcome } }

    /// Tells `handler` of each change from now on, each exactly once.
    ///
    /// May be called from any thread. The handler runs on the thread that makes the change and must not
    /// block. `.ready` is told before `.executing` and that before `.finished`; of an operation that was
    /// cancelled, `.cancelled` and `.ready` may come at any point, also after the end with which they race.
    /// An operation is announced as ready each time it has had to wait and need not any longer, so not if
    /// it never had to. The handler is freed when the operation has finished.
    public final func onChange(_ handler: @escaping @Sendable (OperationEvent) -> Void) {
        record.withLock { if $0.phase != .finished { $0.stateHooks.append(handler) } }
    }

    func announce(_ event: OperationEvent) {
        for hook in record.withLock({ $0.stateHooks }) { hook(event) }
    }
}
