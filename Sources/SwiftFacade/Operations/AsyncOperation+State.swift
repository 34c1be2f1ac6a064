// SPDX-License-Identifier: Apache-2.0
//
// What can be seen of an operation: a state to read, and events. Foundation for Linux has no observers, so our own
// transitions announce the events, each exactly once and outside the lock.

import Foundation

/// Where an operation stands. A cancellation is beside it: see `isCancelled`.
public enum OperationState: Sendable, Hashable {
    /// Waits for dependencies.
    case waiting
    /// Waits for no dependency, or was cancelled. It begins when its queue starts it.
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

    /// The result; nil until there is one. May be read from any thread.
    ///
    /// Does not wait for the result: ``value`` and `wait` do. It is set before `isFinished` turns true; what the work
    /// did is visible to the thread that reads a result.
    public final var result: Outcome? {
        switch record.withLock({ $0.ending }) {
        case nil: nil
        case .value: .success(storedValue!)
        case .failure(let error): .failure(error)
        }
    }

    /// The output, for the step below; throws the error of an operation that failed.
    final func output(forStep step: @autoclosure () -> String) throws -> Output {
        switch record.withLock({ $0.ending }) {
        case nil: throw OperationInputMissing(operation: step(), upstream: bareName)
        case .value: return storedValue!
        case .failure(let error): throw error
        }
    }

    /// Calls `handler` with each change from now on, each exactly once.
    ///
    /// May be called from any thread. The handler runs on the thread that makes the change and must not
    /// block. `.ready` comes before `.executing` and that before `.finished`. Of an operation that was
    /// cancelled, `.cancelled` and `.ready` may come at any point, also after the end with which they race.
    ///
    /// `.ready` comes each time the operation has had to wait and need not any longer: not at all if it never had to.
    /// The handler is freed when the operation has finished.
    public final func onChange(_ handler: @escaping @Sendable (OperationEvent) -> Void) {
        record.withLock { if $0.phase != .finished { $0.held.stateHooks.append(handler) } }
    }

    func announce(_ event: OperationEvent) {
        for hook in record.withLock({ $0.held.stateHooks }) { hook(event) }
    }
}
