// SPDX-License-Identifier: Apache-2.0
//
// What stands between an operation and one of its dependencies. Foundation for Linux keeps an unretained pointer
// from a dependency to each operation that waits for it: a dependent that is dropped,
// or cancelled and done, before its dependency finishes is used after it was freed. Nor does Foundation
// count down when an unfinished dependency is removed: the operation never becomes ready.
//
// So what an `AsyncOperation` depends on, as Foundation sees it, is not the operation it was given but a
// gate of its own. The dependency opens the gate when it has finished; a gate whose operation is gone
// stays shut and nothing is touched; removing a dependency opens its gate. References run
//
//     dependent ──▶ gate ◀── dependency        gate ┄┄weak┄┄▶ dependent
//
// so that a graph that never runs is freed like any other value.

import Foundation

/// An operation that only ever becomes finished. In no queue, and never started.
///
/// `@unchecked Sendable` because its superclass is: what it adds is behind a mutex or set once in `init`.
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
    /// the answer until it has given up the lock: the answer may have become the last reference to the operation, and
    /// that operation's end runs what users write.
    var waitingDependent: (any GatedOperation)? { isFinished ? nil : dependent }

    /// Lets the dependent pass; the first call does, the others do nothing.
    ///
    /// The dependent learns of it before Foundation does. After that its queue may start it at any moment, and its
    /// readiness would be announced after its beginning.
    ///
    /// Foundation follows its unretained pointer to the dependent while this posts. So the
    /// dependent is held across it, and nothing is posted when it is gone: an object whose `deinit`
    /// has begun can no longer be held.
    ///
    /// - Parameter isNew: the dependency had finished before the gate was made, so the dependent never had to wait.
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
        }
    }

    /// Opens the gate when an operation of another kind finishes.
    ///
    /// Such an operation opens no gates; a block that waits for it does. A private
    /// queue holds the block until it has run, which keeps Foundation's unretained pointer to it valid.
    /// The price: an operation that never finishes is kept, with its block, for as long as the process.
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

/// What gates and the graph need to know of an `AsyncOperation`, whatever its output.
protocol GatedOperation: Operation {
    /// Opens the gate when this operation has finished, at once if it has.
    func openWhenFinished(_ gate: DependencyGate)
    /// A gate of this operation was opened; the post to Foundation comes next.
    func gateOpened(isNew: Bool)
    /// Remembers that an operation waits for this one. Called with the graph locked.
    func markDependedUpon()
}
