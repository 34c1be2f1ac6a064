// SPDX-License-Identifier: Apache-2.0
//
// A Foundation operation that finishes when its work does and not when `main` returns, with a typed result: the meeting
// of two state machines, ours (`OperationRecord`) and Foundation's. Linux has no key-value observing: there
// `didChangeValue(for:)` advances Foundation's state, releases dependents, wakes waiters and fires the completion
// block. The recipe for there and Darwin:
//
// - `isAsynchronous`, `isExecuting`, `isFinished` and `start()` are overridden. `super.start()` is never called: beside
//   that `isFinished` it would fire the completion block twice.
// - Finishing is decided once under our lock, the result stored first. will/didChange bracket the mutation outside the
//   lock: observers come back into the getters.
// - Before `start()`, finishing and cancelling are only recorded: Foundation makes a cancelled operation ready at once,
//   and its queue calls `start()`, which ends it.
// - Dependencies go through gates. Foundation learns that the operation waits when it, or a user, first asks `isReady`
//   (`DependencyGate.swift`); on Darwin with the first edge.
//
// Lock order: graph, then an operation's record. Nothing that users write runs under a record's lock.

import Foundation
import InterlockSync

/// An operation whose work may go on after `start()` has returned, with a result of type `Output`.
///
/// It wraps a completion-handler function, an `async` closure or a plain closure; or a subclass overrides ``execute()``
/// and calls ``finish(_:)`` when the work is done. Runs once, from an `OperationQueue` or by `start()`. All of it may
/// be used from any thread.
///
/// ```swift
/// let page = AsyncOperation<Data>(name: "page") { completion in
///     fetch(url) { data, error in
///         if let data { completion.succeed(data) } else { completion.fail(error!) }
///     }
/// }
/// let length = page.then(name: "length") { data in data.count }
/// operations.enqueue(page, length)   // an OperationQueue
/// print(try await length.value)
/// ```
///
/// Finishing happens exactly once, however many callbacks, cancellations and threads race: the result is stored,
/// dependents are released, the completion block fires and the ``onFinish(_:)`` hooks run. A failed or cancelled
/// operation releases its dependents too; their steps get its error.
///
/// Four limits come from Foundation on Linux, the first two for operations of other classes only:
///
/// - One that depends on this operation must be kept until this one finishes.
/// - One that is added to its queue just as its last dependency finishes may never be started.
/// - A cycle is seen when its last edge is added to an `AsyncOperation`, not to another class.
/// - `OperationQueue.addBarrierBlock` beside cancelled operations can deadlock the queue's own lock. Make the barrier
///   an operation that depends on the others.
///
/// Unchecked `Sendable` because its superclass is; all state added here is behind one lock. A subclass owes the same.
open class AsyncOperation<Output: Sendable>: Operation, @unchecked Sendable {
    /// A value or an error.
    public typealias Outcome = Result<Output, any Error>

    let record: VisibleMutex<OperationRecord>
    /// Makes an operation for a subclass that overrides ``execute()``.
    public override init() {
        record = VisibleMutex(OperationRecord(work: nil), isPacked: true)
        super.init()
    }

    init(name: String?, work: OperationWork) {
        record = VisibleMutex(OperationRecord(work: work), isPacked: true)
        super.init()
        if let name { self.name = name }
    }

    /// Frees what an operation that never ran holds, at any length of its chain.
    deinit {
        let (upstream, policies) = record.withLock { record in
            DependencyGraph.retire(&record.vertex)
            // No other thread can want this lock: what frees the output may take its time.
            OutputSlot.destroy(Output.self, in: &record.value)
            return (record.watchedUpstream, record.held.policies)
        }
        UnneededUpstream.left(upstream)
        policies?.withdraw()
        // Bound here and nowhere else: a second binding would outlive the loop that frees it link by link.
        if let unused = record.withLock({ $0.takeUnused() }) { ChainRelease.free(unused) }
    }

    /// Wraps a completion-handler function.
    ///
    /// `body` starts the function and returns; the operation goes on until its completion is called. A cancelled one
    /// finishes at once; ``Completion/onCancel(_:)`` tells the function.
    public convenience init(name: String? = nil, _ body: @escaping @Sendable (Completion<Output>) -> Void) {
        self.init(name: name, work: Self.handlerWork(body))
    }

    /// Runs a closure on the queue's thread.
    ///
    /// A cancellation does not interrupt it: when the closure returns, the operation finishes with
    /// ``OperationCancelled``.
    public convenience init(name: String? = nil, _ body: @escaping @Sendable () throws -> Output) {
        self.init(name: name, work: Self.blockWork(body))
    }

    /// Runs an `async` closure in a task of its own.
    ///
    /// Cancelling the operation cancels the task. The operation finishes when the closure has; a `CancellationError`
    /// that it throws then becomes ``OperationCancelled``.
    public convenience init(
        name: String? = nil,
        priority: TaskPriority? = nil,
        _ body: @escaping @Sendable () async throws -> Output
    ) {
        self.init(name: name, work: Self.taskWork(priority, body))
    }

    // MARK: What Foundation asks

    /// True: the work may outlast `start()`.
    public final override var isAsynchronous: Bool { true }

    /// Whether a queue may start the operation: it waits for no dependency, and `.ready` has been announced; or it was
    /// cancelled. Foundation's queues hold it behind their barriers, too.
    public final override var isReady: Bool {
        let isPosted = ReadyPosting.isFirstQuestion(about: self)
        if !isPosted, let proxy = record.withLock({ $0.beginAnswering() }) { show(proxy) }
        // Foundation knows a proxy only, which may not be shown yet, and the barriers of its queue.
        let isReady = record.withLock { $0.isFree } && super.isReady
        willAnswer(isReady: isReady, isPosted: isPosted)
        return isReady
    }

    private func show(_ proxy: DependencyProxy) { ReadyPosting.around(self) { super.addDependency(proxy) } }

    /// Foundation has asked, and gets the answer next. Tests place a preemption here.
    func willAnswer(isReady: Bool, isPosted: Bool) {
        if isReady, !isPosted { recheckLater() }
    }

    /// Whether the operation was started and has not ended. Delays, conditions and categories come before its work.
    public final override var isExecuting: Bool { record.withLock { $0.state == .executing } }

    /// Whether the operation has its final result and its work has ended.
    public final override var isFinished: Bool { record.withLock { $0.hasEnded } }

    /// Whether the operation was asked to stop before it finished. It may have succeeded.
    public final override var isCancelled: Bool { record.withLock { $0.isCancelled } }

    /// The priority may be changed at any time while the operation waits in a queue; an ``InterlockQueue`` that has it
    /// goes by the last value.
    open override var queuePriority: Operation.QueuePriority { didSet { node?.priorityChanged() } }

    /// The operations this one waits for, in the order they were added; none once it has finished: a chain's last
    /// result does not keep the chain.
    public final override var dependencies: [Operation] { record.withLock { $0.held.edges.map(\.source) } }

    /// Begins the work, or ends the operation with what was recorded before.
    ///
    /// A queue calls it; an operation in no queue is started once by hand, when ``state`` is `.ready`: a dependency
    /// that has ended releases its dependents just after that. Starting a finished one does nothing; any other start is
    /// misuse. A plain closure has run, on the calling thread, when this returns, unless a delay, a condition, a
    /// category or a suspended group comes before it, or it is run again after a pause.
    public final override func start() {
        if !record.withLock({ $0.mayStart }) {
            let sentence =
                "it still waits for \(unfinishedDependencyNames); add it to a queue, which starts it in time, "
                + "and add dependencies before that"
            misuse("Operation.start", displayName, sentence)
        }
        startUnchecked()
    }

    /// Starts the operation without the check of its dependencies: for one that ends here, whatever it waits for.
    func startUnchecked() {
        let isObserved = isObservedExecuting
        if isObserved { willChangeValue(for: \.isExecuting) }
        let started = record.withLock { $0.markStarted(cancelled: { self.cancellationError }) }
        if isObserved { didChangeValue(for: \.isExecuting) }
        switch started {
        case .end: makeEndKnown(wasExecuting: false)
        case .launch:
            announceWillStart()
            announce(.executing)
            launch()
        case .misuse(.ended): return
        case .misuse:
            misuse("Operation.start", displayName, "it is executing already; an operation runs once")
        }
    }

    private func launch() {
        switch record.withLock({ $0.launch() }) {
        case .end: makeEndKnown(wasExecuting: true)
        case .cancelled: finish(error: cancellationError)
        case .admit: admit()
        case .run: runWork()
        }
    }

    final func runWork() {
        announceDidStart()
        // An observer, or another thread, may have ended it.
        if record.withLock({ $0.ending }) != nil { return }
        ThreadDiagnosis.working(on: self, "operation \(displayName)") { execute() }
    }

    /// Asks the operation to stop. May be called more than once.
    ///
    /// Before its start, the operation finishes with ``OperationCancelled`` as soon as its queue starts it, without
    /// waiting for dependencies, and the work never runs. Between its start and its work (a delay, a condition, a
    /// category) it finishes at once. While the work executes, ``executionCancelled()`` is called. After the end,
    /// nothing happens.
    ///
    /// A suspended queue starts nothing, cancelled operations included. Resume a queue before you drop it: otherwise it
    /// and its operations keep each other, unfinished, for as long as the process.
    ///
    /// The first call runs the ``onChange(_:)`` and ``onCancel(_:)`` handlers and the observers before it returns,
    /// where it ends the operation the ``onFinish(_:)`` hooks as well, and those of what it thereby cancels upstream.
    /// It blocks no longer than they do.
    public final override func cancel() {
        // A queue may have started and ended it before this call comes to leave the upstream.
        let (cancel, listeners, upstream) = record.withLock {
            ($0.cancel(), $0.listeners, $0.watchedUpstream)
        }
        if cancel == .ignored { return }
        tellCancelled(listeners)
        switch cancel {
        case .duringWork: stopWork()
        case .beforeWork: finish(error: cancellationError)
        case .beforeStart, .ignored: break
        }
        UnneededUpstream.left(upstream)
    }

    // MARK: What a subclass overrides

    /// The work. An override may return before the work is done, calls ``finish(_:)`` when it is, and does not call
    /// `super`.
    ///
    /// Called once, on the queue's thread, unless the operation was cancelled or finished before. Without an override
    /// or a closure it is misuse.
    open func execute() {
        let (work, hasEnding) = record.withLock { ($0.held.body.take(), $0.ending != nil) }
        // It ended before the work could begin, which is freed here, under no lock.
        if hasEnding { return }
        guard let work else {
            let fault = "there is no work: override execute() or give a closure"
            misuse("AsyncOperation.execute", displayName, fault)
        }
        work.run(self)
    }

    /// Called once when the operation was cancelled while executing, on the cancelling thread, after the
    /// ``onCancel(_:)`` handlers. Not to be called.
    ///
    /// By default finishes at once with ``OperationCancelled``; closures that
    /// occupy a thread or a task are waited for. An override must see to it that ``finish(_:)`` is called.
    open func executionCancelled() {
        if !record.withLock({ $0.windsDown }) { finish(error: cancellationError) }
    }

    // MARK: Dependencies

    /// Makes this operation wait until `dependency` has finished, in whatever queue either is.
    ///
    /// To be called before the start; for an operation in an ``InterlockQueue``, while it still waits for another, or
    /// by a handler of its `.ready`. A second call for the same dependency changes nothing. Misuse: a dependency that
    /// would close a cycle, reported with the names of all in it (``cycle(byDependingOn:)`` asks first), and a call
    /// that comes later.
    ///
    /// Takes a lock of the process for the search, and under it asks operations of other classes for `isFinished` and
    /// `dependencies`: their overrides must not add dependencies.
    ///
    /// - Complexity: O(1) where nothing waits for this operation, or `dependency` waits for nothing. Otherwise
    ///   amortised O(√*m*) in the *m* edges between operations of this module, and some edges read in a random graph.
    ///   Always O(*f*) in the unfinished operations of other classes that operations of this module wait for, directly
    ///   or by others of their kind; and where one of these waits for an operation of this module, and something for
    ///   this one, in the unfinished operations upstream of `dependency` and their edges.
    public final override func addDependency(_ dependency: Operation) {
        depend(on: dependency, as: dependency as? any GatedOperation)
    }

    /// `gated` is `dependency` where it is of this module, which saves the cast.
    func depend(
        on dependency: Operation,
        as gated: (any GatedOperation)?,
        failure: (@Sendable () -> (any Error)?)? = nil
    ) {
        guard let (gate, proxy) = addEdge(to: dependency, as: gated, failure: failure) else { return }
        if let proxy { show(proxy) }
        if let gated { gated.openWhenFinished(gate) } else { gate.openAfter(dependency) }
    }

    /// Stops waiting for `dependency`, finished or not: after the last, this operation is ready. Does nothing without
    /// such an edge.
    public final override func removeDependency(_ dependency: Operation) {
        guard let gate = record.withLock({ $0.removeEdge(to: dependency) }) else { return }
        gate.open(isRemoved: true)
        UnneededUpstream.left([dependency])
    }
}
