// SPDX-License-Identifier: Apache-2.0
//
// What stands between an operation and one of its dependencies. Foundation for Linux keeps an unretained pointer from a
// dependency to each operation that waits for it: a dependent dropped, or cancelled and done, before its dependency
// finishes is used after it was freed. Nor does removing an unfinished dependency make an operation ready.
//
// So an `AsyncOperation` depends, as Foundation sees it, on a gate of its own, which opens when the dependency has
// finished or is removed; where the dependent is gone, nothing is touched. References run
//
//     dependent ──▶ gate ◀── dependency        gate ┄┄weak┄┄▶ dependent
//
// so that a graph that never runs is freed like any other value.

import Foundation

/// An operation that only becomes finished. In no queue, and never started.
///
/// `@unchecked Sendable` because its superclass is: what it adds is behind a mutex or set in `init`.
final class DependencyGate: Operation, @unchecked Sendable {
    private struct State {
        var claimed = false
        var open = false
    }

    private let state = VisibleMutex(State())
    /// Set in `init` only; loading a weak reference is atomic.
    private weak var dependent: (any GatedOperation)?

    init(dependent: any GatedOperation) {
        self.dependent = dependent
        super.init()
    }

    override var isFinished: Bool { state.withLock { $0.open } }

    /// The operation that waits behind the gate; nil where it has passed or is gone. A caller that holds a lock keeps
    /// the answer until after it: the answer may be the last reference, whose end runs what users write.
    var waitingDependent: (any GatedOperation)? { isFinished ? nil : dependent }

    /// Lets the dependent pass, at the first call.
    ///
    /// The dependent learns of it first: Foundation's queue may then start it, and its readiness comes before its
    /// beginning.
    ///
    /// Foundation follows its unretained pointer to the dependent while this posts. So the dependent is held across it,
    /// and nothing is posted when its `deinit` has begun: it can no longer be held.
    ///
    /// - Parameter isNew: the dependency had finished before: the dependent never had to wait.
    func open(isNew: Bool = false) {
        guard let dependent else { return }
        let isFirst = state.withLock { state in
            defer { state.claimed = true }
            return !state.claimed
        }
        guard isFirst else { return }
        withExtendedLifetime(dependent) {
            willChangeValue(for: \.isFinished)
            state.withLock { $0.open = true }
            dependent.gateOpened(isNew: isNew)
            ReadyPosting.around(dependent) { didChangeValue(for: \.isFinished) }
            dependent.tellQueueIfReady()
        }
    }

    /// Opens the gate when an operation of another kind finishes, by a block that waits for it. A private queue holds
    /// the block until it has run: Foundation's unretained pointer to it stays valid. The price: an operation that
    /// never finishes is kept, with its block, for as long as the process.
    func openAfter(_ foreign: Operation) {
        if foreign.isFinished { return open(isNew: true) }
        let relay = BlockOperation { [self] in open() }
        relay.addDependency(foreign)
        Self.relays.addOperation(relay)
        // A block that is added just as its dependency finishes may never be started (Readiness.swift).
        if foreign.isFinished { open() }
    }

    private static let relays: OperationQueue = {
        let queue = OperationQueue()
        queue.name = "interlock.dependency-relays"
        queue.qualityOfService = .userInitiated
        return queue
    }()
}

/// What gates and the graph need of an `AsyncOperation`, whatever its output.
protocol GatedOperation: Operation {
    /// Opens the gate when this operation has finished, at once if it has.
    func openWhenFinished(_ gate: DependencyGate)
    /// A gate of this operation was opened; Foundation is told next.
    func gateOpened(isNew: Bool)
    /// Foundation has been told: a queue of this module may learn of it.
    func tellQueueIfReady()
    /// Under the graph's lock.
    func markDependedUpon()
}
