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
    /// Waits for nothing but its turn.
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
        switch record.withLock({ $0.phase }) {
        case .waiting: isFreeOfDependencies ? .ready : .waiting
        case .starting, .executing: .executing
        case .finished: .finished
        }
    }

    /// The result; nil until there is one. Never blocks: ``value`` and `wait` are the ways to wait for it.
    ///
    /// May be read from any thread. Set before `isFinished` turns true; what the work did is visible to whoever
    /// reads a result.
    public final var result: Outcome? { record.withLock { $0.outcome } }

    /// Tells `handler` of each change from now on, each exactly once.
    ///
    /// May be called from any thread. The handler runs on the thread that makes the change and must not
    /// block. `.executing` is told before `.finished`, and nothing after `.finished`, except that a
    /// `.cancelled` that races with the end may come after it. An operation that never had to wait is
    /// not announced as ready. The handler is freed when the operation has finished.
    public final func onChange(_ handler: @escaping @Sendable (OperationEvent) -> Void) {
        record.withLock { if $0.phase != .finished { $0.stateHooks.append(handler) } }
    }

    func announce(_ event: OperationEvent) {
        for hook in record.withLock({ $0.stateHooks }) { hook(event) }
    }
}
