// SPDX-License-Identifier: Apache-2.0
//
// What stands between an operation and one of its dependencies. Foundation for Linux keeps an unretained pointer from a
// dependency to each operation that waits for it: a dependent dropped, or cancelled and done, before its dependency
// finishes is used after it was freed. Nor does removing an unfinished dependency make an operation ready.
//
// So each edge of an `AsyncOperation` is a gate of its own, which opens when the dependency has finished or is removed;
// where the dependent is gone, nothing is touched. Foundation sees one dependency in place of all of them, the proxy,
// which opens with the last gate. It is made when Foundation, or a user, first asks whether the dependent is ready, or
// by the first edge after that: a queue of this module does not ask. On Darwin it is made by the first edge. References
// run
//
//     dependent ──▶ gate ◀── dependency        gate ┄┄weak┄┄▶ dependent        dependent ──▶ proxy
//
// so that a graph that never runs is freed like any other value.

import Foundation
import InterlockSync

/// One edge. It is open or shut as its dependent's record knows it.
// What changes is under the lock of the dependent's record; the rest is set in `init`, and loading a weak reference is
// atomic.
final class DependencyGate: @unchecked Sendable {
    /// Under the lock of the dependent's record.
    var isOpen = false
    private weak var dependent: (any GatedOperation)?
    /// What the dependency has failed with, where that fails the dependent.
    private let failure: (@Sendable () -> (any Error)?)?

    init(dependent: any GatedOperation, failure: (@Sendable () -> (any Error)?)? = nil) {
        self.dependent = dependent
        self.failure = failure
    }

    /// The operation that waits behind the gate; nil where it has passed or is gone. Takes the lock of its record. A
    /// caller that holds a lock keeps the answer until after it: the answer may be the last reference, whose end runs
    /// what users write.
    var waitingDependent: (any GatedOperation)? {
        guard let dependent, dependent.waits(behind: self) else { return nil }
        return dependent
    }

    /// Lets the dependent pass, at the first call.
    ///
    /// Foundation follows its unretained pointer to the dependent when the proxy opens. So the dependent is held
    /// across it, and nothing is posted when its `deinit` has begun: it can no longer be held.
    ///
    /// - Parameters:
    ///   - isNew: the dependency had finished before: the dependent never had to wait for it.
    ///   - isRemoved: the edge was removed: the dependency has not failed.
    func open(isNew: Bool = false, isRemoved: Bool = false) {
        guard let dependent else { return }
        withExtendedLifetime(dependent) {
            dependent.open(self, isNew: isNew, error: isRemoved ? nil : failure?())
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

    private static let relays = OperationQueue.relays("interlock.dependency-relays")
}

/// What Foundation sees of an operation's dependencies while one is unfinished: an operation that only becomes
/// finished. In no queue, and never started.
///
///     thread that asks                         thread that opens the last gate
///     isReady: puts a proxy into the record
///                                              takes it out of the record
///     shows it to Foundation
///                                              opens it
///
/// Shown last, it has finished, and changes nothing. Until the gate opens, other questions are answered by the record:
/// no. A start asks the record alone: between the last two steps Foundation still counts the proxy.
///
/// `@unchecked Sendable` because its superclass is: what it adds is behind a mutex.
final class DependencyProxy: Operation, @unchecked Sendable {
    #if canImport(ObjectiveC)
    /// A question may come under a lock there, where no dependency can be added: not documented.
    static let isSeenAtOnce = true
    #else
    static let isSeenAtOnce = false
    #endif

    private let isOpen = VisibleMutex(false, isPacked: true)

    override var isFinished: Bool { isOpen.withLock { $0 } }

    /// Lets `dependent` be started.
    func open(for dependent: Operation) {
        willChangeValue(for: \.isFinished)
        isOpen.withLock { $0 = true }
        ReadyPosting.around(dependent) { didChangeValue(for: \.isFinished) }
    }
}

/// What gates and the graph need of an `AsyncOperation`, whatever its output.
protocol GatedOperation: Operation {
    /// Opens the gate when this operation has finished, at once if it has.
    func openWhenFinished(_ gate: DependencyGate)
    /// Opens a gate of this operation, once; after the last, its queue is notified. The error of the
    /// dependency is recorded, unless this operation has started, has an outcome or was cancelled.
    func open(_ gate: DependencyGate, isNew: Bool, error: (any Error)?)
    /// Whether a gate of this operation is shut.
    func waits(behind gate: DependencyGate) -> Bool
    /// Its vertex, made at the first question; nil once it has finished. Under the graph's lock.
    func vertex(in order: inout DependencyOrder) -> DependencyOrder.Vertex?
    /// Its vertex, asked for by an operation that is about to wait for this one.
    func vertexAsDependency(in order: inout DependencyOrder) -> DependencyOrder.Vertex?
    /// Notifies a queue of this module that has it, where it is ready.
    func tellQueueIfReady()
    /// No dependency keeps it from its start, but Foundation does: a barrier of its queue. Not recorded as a question.
    var isHeldByFoundation: Bool { get }
    var waitStatus: OperationWaitStatus { get }
    /// The error it has ended with.
    var failure: (any Error)? { get }
    /// Cancelling it might leave something upstream unneeded.
    func watchUpstream()
    var cancelsUnneeded: Bool { get }
    /// It has opted in, and nothing waits for its result.
    var isUnneeded: Bool { get }
    /// It has no outcome and was not cancelled.
    var needsUpstream: Bool { get }
    /// The operation that its condition has run before it is asked.
    var preceding: Operation? { get }
    /// Before it is added to `queue` by a call of this module.
    func enlist(in queue: OperationQueue)
}
