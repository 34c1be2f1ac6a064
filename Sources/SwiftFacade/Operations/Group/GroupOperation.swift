// SPDX-License-Identifier: Apache-2.0
//
// An operation made of operations. It counts them (ChildLedger.swift) and ends after the last; while it runs it keeps
// its place in its queue, but no thread.
//
//   execute                        each child                   add, any time
//   begins the ledger
//   adds the children to a queue
//                                                               admitted: adds it to the queue
//                                  ends: removed
//                                  failed: cancels the others
//                                  the last one: ends the group
//
// Children that the group will not run, because it was cancelled or ended before its beginning, are cancelled and ended
// by hand: what waits for them must not wait for ever.

import Foundation
import InterlockPool
import InterlockSync

/// An operation that runs other operations, its children, and ends after the last of them.
///
/// ```swift
/// let album = GroupOperation<Photo>(name: "album", limit: 4)
/// for url in urls { try album.add(AsyncOperation { try await load(url) }) }
/// operations.enqueue(album)
/// let photos = try await album.value
/// ```
///
/// The result is the children's outputs in the order they were added, or an error, by the ``FailurePolicy``;
/// ``results`` has each child's own. Children are added before and while the group runs, also by other children, and
/// may be groups. Cancelling the group cancels its children; it ends when they have ended. All of it may be used from
/// any thread.
///
/// ``AsyncOperation/finish(_:)`` from outside ends the group at once, and cancels its children.
///
/// Unchecked `Sendable` because its superclass is; its own state is behind mutexes or constant. A subclass owes the
/// same.
open class GroupOperation<Element: Sendable>: AsyncOperation<[Element]>, @unchecked Sendable {
    enum Home {
        case own(limit: Int?)
        case given(any GroupQueue)
    }

    private struct Members {
        /// Those with an output, in the order of addition, until the end.
        var children: [AsyncOperation<Element>] = []
        var results: [Result<Element, any Error>] = []
        var observers: [OperationObserver] = []
        var weights = ChildWeights()
        /// The queue in which the children run, once the group runs.
        var queue: (any GroupQueue)?
        /// Nothing else runs in that queue.
        var isQueueAlone = false
        /// The queue in which the group holds a place.
        var ownQueue: (any GroupQueue)?
    }

    private let members = VisibleMutex(Members())
    private let ledger: ChildLedger
    let suspension = GroupSuspension()
    private let home: Home

    /// The rest of each designated initializer: a subclass may call any of them.
    private func begin(_ name: String?) {
        self.name = name
        onChange { [weak self] event in
            switch event {
            case .cancelled: self?.abandonChildren()
            case .finished: self?.ended()
            case .ready, .executing: break
            }
        }
    }

    /// Makes a group whose children run in a queue of its own: for a group in an ``InterlockQueue``, on the same pool.
    ///
    /// What a child begins in the queue around the group runs in the group's place, beside what other children begin
    /// there: the limit of that queue is for each of them, also where it is one.
    ///
    /// - Parameters:
    ///   - name: names the group and its queue in errors and reports.
    ///   - limit: how many children run at once at most; by default as many as Foundation's queue chooses, or the pool
    ///     has threads. Below 1 is misuse.
    ///   - onFailure: what becomes of the other children when one has failed.
    public init(name: String? = nil, limit: Int? = nil, onFailure: FailurePolicy = .cancelOthers) {
        if let limit, limit < 1 {
            misuse("GroupOperation", "limit: \(limit)", "at least one child must be allowed at a time")
        }
        home = .own(limit: limit)
        ledger = ChildLedger(onFailure)
        super.init()
        begin(name)
    }

    /// Makes a group whose children run in `queue`, which may be the group's own, of any width.
    ///
    /// There the children run in the group's place, as many at once as the queue allows; `OperationQueue.current` is a
    /// queue of its own there. A child that waits for an operation behind the group in the same serial queue is
    /// refused, and so is the group that has one when it begins: it fails with ``ChildRefused``.
    public init(name: String? = nil, on queue: OperationQueue, onFailure: FailurePolicy = .cancelOthers) {
        home = .given(queue)
        ledger = ChildLedger(onFailure)
        super.init()
        begin(name)
    }

    /// Makes a group whose children run in an ``InterlockQueue``, which may be the group's own, of any width. There
    /// they run in the group's place. A child that waits for an operation behind the group in the same serial queue is
    /// refused, and so is the group that has one when it begins: it fails with ``ChildRefused``.
    public init(name: String? = nil, on queue: InterlockQueue, onFailure: FailurePolicy = .cancelOthers) {
        home = .given(queue.core)
        ledger = ChildLedger(onFailure)
        super.init()
        begin(name)
    }

    /// The results of the children that have an output, in the order they were added; empty until the last has ended.
    public final var results: [Result<Element, any Error>] { members.withLock { $0.results } }

    /// The children that have not finished, in the order they were added.
    public final var unfinishedChildren: [Operation] { ledger.unfinished }

    final var awaitedOperations: [Operation] { ledger.unfinished }

    // MARK: Adding

    /// Adds a child whose output is part of the result, before the group has finished. It is run by the group alone.
    ///
    /// - Parameter weight: the child's part in ``AsyncOperation/progress``, beside those of the others: 0 to 2³², else
    ///   misuse.
    /// - Throws: ``ChildRefused``, and the child stays the caller's: after the group's end, its cancellation or, where
    ///   that cancels the others, a failure; for a child that was started or waits for the group.
    /// - Complexity: O(1), and the unfinished operations upstream of the child and in it, with their edges; a group
    ///   that begins looks through those of its children again. Takes the lock of ``AsyncOperation/addDependency(_:)``.
    public final func add(_ child: AsyncOperation<Element>, weight: Int64 = 1) throws(ChildRefused) {
        try admit(child, weight) { $0.children.append(child) }
    }

    /// Adds a child of any class without a part in the result. The group waits for it, and fails if it does.
    ///
    /// An operation of another class than `AsyncOperation` fails if it is cancelled.
    public final func add(other child: Operation, weight: Int64 = 1) throws(ChildRefused) {
        try admit(child, weight) { _ in }
    }

    /// Has `observer` observe each child of this module that has not been started.
    public final func addChildObserver(_ observer: OperationObserver) {
        members.withLock { $0.observers.append(observer) }
    }

    private func admit(
        _ child: Operation,
        _ weight: Int64,
        _ note: (inout Members) -> Void
    ) throws(ChildRefused) {
        if weight < 0 || weight > ChildWeights.most {
            let sentence = "weight: \(weight): a part is 0 to \(ChildWeights.most)"
            misuse("GroupOperation.add", displayName, sentence)
        }
        var (met, walk) = (DependencyGraph.Walk(), DependencyGraph.Walk())
        // The lock of the graph: an edge that closes a cycle with this child is added before or after.
        let admission: Admission = DependencyGraph.lock.withLock { graph in
            if let reason = refusal(of: child, &met) { return Admission(refusal: reason) }
            let admission = ledger.admit(child) {
                members.withLock { members in
                    note(&members)
                    members.weights.add(child, weight)
                }
            }
            if admission.refusal == nil { _ = pathClosed(byAwaiting: child, &graph, &walk) }
            return admission
        }
        // Not freed under the lock.
        withExtendedLifetime((met, walk)) {}
        if let reason = admission.refusal {
            throw ChildRefused(group: bareName, child: child.nameInExplanations, reason: reason)
        }
        members.withLock { $0.weights.progress }.map { ChildWeights.attach(child, weight, to: $0) }
        (child as? any EndingOperation)?.join(suspension)
        if let inner = child as? any SuspendableGroup { suspension.adopt(inner.suspension) }
        if admission.starts {
            announceProduced(child)
            run(child)
        }
    }

    private func refusal(of child: Operation, _ met: inout DependencyGraph.Walk) -> ChildRefused.Reason? {
        if child === self { return .waitsForGroup }
        return ChildEnd.isUnstarted(child) ? cycle(through: [child], &met) : .hasStarted
    }

    private func cycle(
        through children: [Operation],
        _ met: inout DependencyGraph.Walk
    ) -> ChildRefused.Reason? {
        GroupCycle.reason(
            against: children,
            in: self,
            behind: members.withLock { $0.ownQueue },
            isKnown: ledger.contains,
            &met
        )
    }

    // MARK: Running

    /// Starts the children.
    public final override func execute() {
        let own: (any GroupQueue)? = QueueCore.outerQueue(of: self) ?? StepPlace.currentOuterQueue
        let (queue, isAlone) = childQueue()
        members.withLock { ($0.queue, $0.isQueueAlone, $0.ownQueue) = (queue, isAlone, own) }
        if isAlone { suspension.begin(queue) }
        var met = DependencyGraph.Walk()
        let waiting = ledger.unfinished
        if let reason = cycle(through: waiting, &met) {
            let child = waiting.first { child in
                var met = DependencyGraph.Walk()
                return cycle(through: [child], &met) != nil
            }
            let name = child?.nameInExplanations ?? "?"
            finish(error: ChildRefused(group: bareName, child: name, reason: reason))
        }
        let (children, isLast) = ledger.begin()
        for child in children { run(child) }
        if isLast { finishWithResults() }
    }

    /// The queue of the children, and whether nothing else runs in it.
    private func childQueue() -> (any GroupQueue, isAlone: Bool) {
        switch home {
        case .given(let queue):
            return queue.hasPlace(for: self) ? (queue.placeForChildren(), true) : (queue, false)
        case .own(let limit):
            if let core = QueueCore.outerQueue(of: self) {
                let isBlocking = node?.taskPool === WorkerPool.blocking
                return (core.place(bareName, limit: limit, isBlocking: isBlocking), true)
            }
            let queue = StepPlace.currentOuterQueue.map { StepPlace(in: $0) } ?? OperationQueue()
            queue.name = bareName
            queue.underlyingQueue = nil
            if qualityOfService != .default { queue.qualityOfService = qualityOfService }
            if let limit { queue.maxConcurrentOperationCount = limit }
            return (queue, true)
        }
    }

    private func run(_ child: Operation) {
        follow(child)
        let (queue, isAlone) = members.withLock { ($0.queue!, $0.isQueueAlone) }
        let hand: @Sendable () -> Void = {
            (child as? any ObservedOperation)?.announceEnqueued()
            queue.addChild(child)
        }
        if isAlone { hand() } else { suspension.pass(hand) }
    }

    private func follow(_ child: Operation) {
        let observers = members.withLock { $0.observers }
        for observer in observers { (child as? any EndingOperation)?.addObserver(observer) }
        ChildEnd.of(child) { [self] error in
            members.withLock { $0.weights.end(child) }
            let removal = ledger.remove(child, error: error)
            if removal.cancelsOthers { cancelChildren() }
            if removal.isLast { NestedEnds.run { self.finishWithResults() } }
        }
    }

    /// All children have ended.
    private func finishWithResults() {
        let children = members.withLock { members in
            defer { members.children = [] }
            return members.children
        }
        let results = children.compactMap(\.result)
        members.withLock { $0.results = results }
        if isCancelled {
            finish(error: cancellationError)
        } else if let error = ledger.error {
            finish(error: error)
        } else {
            finish(Result { try results.map { try $0.get() } })
        }
    }

    // MARK: Ending without or before the children

    /// Cancels the children; the last of them ends the group.
    public final override func executionCancelled() {
        ledger.close()
        cancelChildren()
    }

    /// They end, suspended or not.
    private func cancelChildren() {
        ledger.cancelAll()
        suspension.end()
    }

    /// They never run: the group was cancelled or has ended before it began.
    private func abandonChildren() {
        guard let children = ledger.abandon() else { return }
        for child in children {
            follow(child)
            NestedEnds.run { ChildEnd.withoutRun(child) }
        }
        forgetMembers()
    }

    private func ended() {
        abandonChildren()
        ledger.close()
        cancelChildren()
        forgetMembers()
    }

    private func forgetMembers() {
        let freed = members.withLock { members in
            defer { (members.children, members.observers, members.weights) = ([], [], ChildWeights()) }
            return members
        }
        withExtendedLifetime(freed) {}
    }
}

extension GroupOperation: ProgressTree {
    final func fill(_ progress: OperationProgress) {
        let weights = members.withLock { members in
            members.weights.progress = progress
            return members.weights
        }
        weights.fill(progress)
    }
}
