// SPDX-License-Identifier: Apache-2.0
//
// What stands between an operation and one of its dependencies. Foundation for Linux keeps a pointer
// from a dependency to each operation that waits for it and does not retain it: one that is dropped,
// or cancelled and done, before its dependency finishes is used after it was freed. It also never
// counts down when an unfinished dependency is removed, so the operation never becomes ready.
//
// So an `AsyncOperation` never depends, in Foundation's eyes, on the operation it was given, but on a
// gate of its own. The dependency opens the gate when it has finished; a gate whose operation is gone
// stays shut and nothing is touched; removing a dependency opens its gate. References run
//
//     dependent ──▶ gate ◀── dependency        gate ┄┄weak┄┄▶ dependent
//
// so that a graph nobody runs is freed like any other value.

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
    /// the answer until the lock is given up: it may have become the last reference to the operation, whose end
    /// runs what users write.
    var waitingDependent: (any GatedOperation)? { isFinished ? nil : dependent }

    /// Lets the dependent pass; the first call does, the others do nothing.
    ///
    /// The dependent is told before Foundation is: after that its queue may start it at any moment, and it would hear
    /// of its readiness after its beginning.
    ///
    /// Foundation follows its unretained pointer to the dependent while this posts, which is why the
    /// dependent is held across it, and why nothing is posted when it is gone: an object whose `deinit`
    /// has begun can no longer be held.
    ///
    /// - Parameter isNew: the gate was never shut in the eyes of the dependent, because what it is to wait for has
    ///   finished already.
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
    /// Such an operation cannot be asked to open gates, so a block that waits for it does. A private
    /// queue holds the block until it has run, which keeps Foundation's unretained pointer to it valid.
    /// The price: an operation that never finishes is kept, with its block, for as long as the process.
    func openAfter(_ foreign: Operation) {
        if foreign.isFinished { return open(isNew: true) }
        let relay = BlockOperation { [self] in open() }
        relay.addDependency(foreign)
        Self.relays.addOperation(relay)
        // One added while what it waits for finishes may never be started (Readiness.swift).
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
    /// A gate of this operation was opened; Foundation is told next.
    func gateOpened(isNew: Bool)
    /// Remembers that an operation waits for this one. Called with the graph locked.
    func markDependedUpon()
}
