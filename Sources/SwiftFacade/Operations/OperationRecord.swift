// SPDX-License-Identifier: Apache-2.0
//
// What an operation adds to the state machine of work (`WorkState`): an ending that is decided before it is made known,
// hooks, dependencies, and what is held until the end. A plain value.
//
// `AsyncOperation` owns one behind its lock and calls every method under it; an answer is what the caller does after
// unlocking. Three rules make "exactly once" hold:
// - the ending is set once, by the first `decide`;
// - one caller must end it: the one that decides if work runs or is being admitted, otherwise `start` or `launch`;
// - cancellation is delivered once: by `cancel` if work runs, otherwise by `launch`.
//
// The record has no type parameter: a generic one has no layout until run time, and each access would ask the runtime.
// The value of type `Output` is in a slot.

import Foundation
import InterlockPool
import InterlockSync

struct OperationRecord {
    enum Start { case misuse(WorkState.Phase), end, launch }
    enum Launch { case end, cancelled, admit, run }
    struct Decided { var isFirst: Bool, mustEnd: Bool }
    struct Edge { var source: Operation, gate: DependencyGate, order: DependencyOrder.Edge? }

    /// How the operation ends; the value is in the record's slot.
    enum Ending {
        case value
        case failure(any Error)
    }

    /// What the operation holds until its end. Moved out whole, to be freed outside the lock.
    struct Holdings {
        /// What to run; freed with its captures at the end if it never was.
        var body: OperationWork?
        var edges: [Edge] = []
        var gates: [DependencyGate] = []
        var cancelHandlers: [@Sendable () -> Void] = []
        /// Given the operation.
        var finishHooks = EndHooks<@Sendable (Operation) -> Void>()
        var stateHooks: [@Sendable (OperationEvent) -> Void] = []
        /// The queue that it was added to, by a call of this module.
        var queue: (any ExplainingQueue)?
        /// What it passes before its work, and the limits of the work; nil for most.
        var policies: OperationPolicies?
        /// The suspension of the group that it is a child of.
        var suspension: GroupSuspension?
        /// Observers and streams of states.
        var observation: Observation?
        /// The job for which the operation stands; its work refers to it too.
        var job: JobNode?

        var isEmpty: Bool {
            body == nil && edges.isEmpty && gates.isEmpty && cancelHandlers.isEmpty && finishHooks.isEmpty
                && stateHooks.isEmpty && queue == nil && policies == nil && observation == nil
                && suspension == nil
        }
    }

    private(set) var work = WorkState()
    private(set) var ending: Ending?
    /// The value of an ending with one: stored with the ending, freed with the operation.
    var value = OutputSlot()
    private var wasCancelledRunning = false
    /// What `OperationWork.windsDown` says, also after the work was taken.
    let windsDown: Bool
    var held: Holdings
    /// What it waits for between its start and its work, or between two attempts of its work.
    var admission: WaitReason? { held.policies?.reason }
    /// Made when it is asked for, and kept after the end.
    var progress: OperationProgress?
    /// Whether an operation of this module ever waited for this one.
    var isDependedUpon = false
    /// A debouncer or throttler has it, or had it.
    var isHeldBack = false
    /// Whether there ever was anything to wait for.
    private var hasWaited = false
    private var isRechecking = false
    private var shutGates = 0
    /// Since it was last ready a gate has opened that it had to wait for.
    private var hasPassedGate = false
    /// How often the last gate has opened, and its listeners do not know yet.
    private var unannounced = 0
    /// Whether it came to `starting`.
    private(set) var hasStarted = false

    init(work: OperationWork?) {
        held = Holdings(body: work)
        windsDown = work?.windsDown ?? false
    }

    var phase: WorkState.Phase { work.phase }
    var isCancelled: Bool { work.isCancelled }
    var hasEnded: Bool { work.hasEnded }

    var state: OperationState {
        switch phase {
        case .waiting, .listed, .submitted: mayStart ? .ready : .waiting
        case .starting, .admitting, .running: .executing
        case .ended: .finished
        }
    }

    // MARK: Starting

    /// `cancelled` makes the error for an operation cancelled while it waited.
    mutating func markStarted(cancelled: () -> any Error) -> Start {
        guard phase == .waiting else { return .misuse(phase) }
        if ending == nil, isCancelled { ending = .failure(cancelled()) }
        if ending != nil { return .end }
        work.move(to: .starting)
        hasStarted = true
        return .launch
    }

    /// The beginning has been announced: from now on the one that decides ends.
    mutating func launch() -> Launch {
        if ending == nil, !isCancelled, held.policies != nil || held.suspension?.suspendedBy != nil {
            if held.policies == nil { held.policies = OperationPolicies() }
            work.move(to: .admitting)
            return .admit
        }
        work.move(to: .running)
        return ending != nil ? .end : isCancelled ? .cancelled : .run
    }

    /// Nothing stands before the work any more; false where the operation ended meanwhile, or its canceller is about
    /// to end it.
    mutating func admitted() -> Bool {
        guard phase == .admitting, ending == nil, !isCancelled else { return false }
        work.move(to: .running)
        held.policies?.reason = nil
        return true
    }

    /// The operation begins to wait for an admission, which `keep` stores; false as of `admitted`.
    mutating func beginWaiting(for reason: WaitReason?, _ keep: (OperationPolicies) -> Void = { _ in })
        -> Bool
    {
        guard phase == .admitting, ending == nil, !isCancelled, let policies = held.policies else {
            return false
        }
        policies.reason = reason
        keep(policies)
        return true
    }

    /// The work waits for an operation that it made; false where it has ended.
    mutating func beginAwaiting(_ operation: Operation) -> Bool {
        guard phase == .running, ending == nil else { return false }
        if held.policies == nil { held.policies = OperationPolicies() }
        held.policies?.awaited = operation
        return true
    }

    /// The policies, made where there are none; nil after the start.
    mutating func policiesToChange() -> OperationPolicies? {
        guard phase == .waiting else { return nil }
        if held.policies == nil { held.policies = OperationPolicies() }
        return held.policies
    }

    // MARK: Dependencies

    /// Whether the queue must recheck: the operation may be in it, ready, and no recheck is on its way.
    mutating func beginRecheck() -> Bool {
        guard phase == .waiting, hasWaited, !isRechecking else { return false }
        isRechecking = true
        return true
    }

    /// From here on an answer may come too late for this recheck.
    mutating func endRecheck() { isRechecking = false }

    // MARK: Ending

    mutating func decide(_ ending: Ending) -> Decided {
        guard self.ending == nil else { return Decided(isFirst: false, mustEnd: false) }
        // Once the limit has passed, nothing else is the result.
        let timedOut = held.policies?.timedOut
        self.ending = timedOut.map { Ending.failure($0) } ?? ending
        return Decided(isFirst: timedOut == nil, mustEnd: phase == .running || phase == .admitting)
    }

    /// Decides the ending of an operation whose admission is refused: work that has begun meanwhile is not ended by it.
    mutating func refuseAdmission(_ error: any Error) -> Decided {
        guard phase == .admitting else { return Decided(isFirst: false, mustEnd: false) }
        return decide(.failure(error))
    }

    /// What an operation whose ending is decided has to give back before it ends.
    mutating func takePolicies() -> OperationPolicies? { held.policies.take() }

    mutating func markEnded() -> Holdings {
        precondition(ending != nil && !hasEnded, "an operation ends once, with an ending")
        work.move(to: .ended)
        return takeHoldings()
    }

    /// What an operation freed unfinished still holds, or nil.
    mutating func takeUnused() -> Holdings? { held.isEmpty ? nil : takeHoldings() }

    private mutating func takeHoldings() -> Holdings {
        var taken = Holdings()
        swap(&taken, &held)  // a copy would retain each part
        return taken
    }

    // MARK: Cancelling

    /// An operation that has not been started, or of which the ending is decided, ends in another's call: as
    /// `beforeStart`.
    mutating func cancel() -> WorkState.Cancel {
        let cancel = work.cancel()
        if ending != nil, cancel != .ignored { return .beforeStart }
        wasCancelledRunning = wasCancelledRunning || cancel == .duringWork
        return cancel
    }

    /// The limit of running work has passed; false where it has ended or been cancelled.
    mutating func timeOut(_ error: OperationTimedOut, hasBegun: Bool) -> Bool {
        guard phase == .running, ending == nil, !isCancelled, let policies = held.policies else {
            return false
        }
        policies.timedOut = error
        _ = work.cancel()
        wasCancelledRunning = hasBegun
        return true
    }

    /// Keeps a handler for the delivery of a cancellation; true: the caller runs it now. An operation cancelled before
    /// its work began delivers none. The end of a cancelled one may come before the handler: its work goes on.
    mutating func addCancelHandler(_ handler: @escaping @Sendable () -> Void) -> Bool {
        if wasCancelledRunning { return !hasValue }
        if ending == nil, !isCancelled { held.cancelHandlers.append(handler) }
        return false
    }

    private var hasValue: Bool { if case .value = ending { true } else { false } }

    mutating func takeCancelHandlers() -> [@Sendable () -> Void] {
        defer { held.cancelHandlers = [] }
        return held.cancelHandlers
    }

    // MARK: Hooks

    /// What observers learn of a change.
    struct Listeners {
        var hooks: [@Sendable (OperationEvent) -> Void]
        var observation: Observation?
    }

    var listeners: Listeners { Listeners(hooks: held.stateHooks, observation: held.observation) }

    /// Keeps a hook for the end; nil after the end, and the caller runs it.
    mutating func addFinishHook(_ body: @escaping @Sendable (Operation) -> Void) -> UInt64? {
        if hasEnded { return nil }
        return held.finishHooks.add(body)
    }

    var hookCount: Int { held.finishHooks.count }

    /// The hook, for the caller to free outside the lock.
    mutating func removeFinishHook(_ id: UInt64) -> (@Sendable (Operation) -> Void)? {
        held.finishHooks.remove(id)
    }

    // MARK: The graph (DependencyGraph.swift)

    /// Its vertex in the order of dependencies, from its first edge to its end.
    var vertex = DependencyOrder.none
    /// The dependency that Foundation sees while a gate is shut, from its first question on.
    private var proxy: DependencyProxy?
    /// No dependency is left to wait for: it may be started by hand.
    var mayStart: Bool { shutGates == 0 || isCancelled }
    /// A queue may start it: what listens knows that it is ready.
    var isFree: Bool { shutGates + unannounced == 0 || isCancelled }
    /// Why it waits for nothing more. A queue of this module that has it was or is being notified that it is ready.
    var noLongerWaits: String? {
        if phase != .waiting { return "it has started" }
        guard isFree, !isCancelled, let node = held.queue as? WorkNode else { return nil }
        return "it is ready in the queue \(node.core.name)"
    }
    /// The sources of the edges, where they are many.
    private var sources: Set<ObjectIdentifier>?

    mutating func hasEdge(to source: Operation) -> Bool {
        if held.edges.count < 16 { return held.edges.contains { $0.source === source } }
        if sources == nil { sources = Set(held.edges.map { ObjectIdentifier($0.source) }) }
        return sources!.contains(ObjectIdentifier(source))
    }

    /// Adds an edge with its gate; gives the proxy where Foundation has to see a new one.
    mutating func shut(_ edge: Edge) -> DependencyProxy? {
        held.edges.append(edge)
        shutGates += 1
        hasWaited = true
        sources?.insert(ObjectIdentifier(edge.source))
        return wasAsked || DependencyProxy.isSeenAtOnce ? newProxy() : nil
    }

    /// It is asked whether it is ready, other than by its own postings: from now on Foundation has to see that it
    /// waits, and gets the proxy.
    mutating func beginAnswering() -> DependencyProxy? {
        wasAsked = true
        return shutGates + unannounced == 0 ? nil : newProxy()
    }

    private mutating func newProxy() -> DependencyProxy? {
        if proxy != nil { return nil }
        proxy = DependencyProxy()
        return proxy
    }

    /// What the opening of the last gate is followed by.
    enum Opening {
        /// `.ready` is announced, and then `endAnnouncing` called.
        case announce(Listeners)
        /// The proxy is opened, and the queue notified.
        case notify(DependencyProxy?)
    }

    /// Opens a gate, once, and records the error of the dependency; nil where it was open, or another is shut. `isNew`:
    /// the dependency had finished before.
    mutating func open(_ gate: DependencyGate, _ error: (any Error)?, isNew: Bool) -> Opening? {
        if gate.isOpen { return nil }
        gate.isOpen = true
        if let error, phase == .waiting, ending == nil, !isCancelled { ending = .failure(error) }
        shutGates -= 1
        hasPassedGate = hasPassedGate || !isNew
        if shutGates != 0 { return nil }
        defer { hasPassedGate = false }
        let hasListeners = !held.stateHooks.isEmpty || held.observation != nil
        if !hasPassedGate || phase != .waiting || !hasListeners { return .notify(takeProxy()) }
        unannounced += 1
        return .announce(listeners)
    }

    mutating func endAnnouncing() -> DependencyProxy? {
        unannounced -= 1
        return takeProxy()
    }

    private mutating func takeProxy() -> DependencyProxy? {
        shutGates + unannounced == 0 ? proxy.take() : nil
    }

    mutating func removeEdge(to source: Operation) -> DependencyGate? {
        guard let index = held.edges.firstIndex(where: { $0.source === source }) else { return nil }
        sources = nil
        let edge = held.edges.remove(at: index)
        DependencyGraph.retire(edge.order)
        return edge.gate
    }

    // MARK: Cancellation up the graph (UnneededUpstream.swift)

    var cancelsUnneeded = false
    /// Whether an upstream operation may have opted in.
    var watchesUpstream = false
    /// What it leaves when it needs no result any more. Its end releases them.
    var watchedUpstream: [Operation] { watchesUpstream ? held.edges.map(\.source) : [] }

    // MARK: Explaining

    /// The light job for which the operation stands, until its end.
    var job: JobNode? {
        get { held.job }
        set { if !hasEnded { held.job = newValue } }
    }
    /// Whether it was asked if it is ready, other than by its own postings.
    var wasAsked = false

    var waitStatus: OperationWaitStatus {
        OperationWaitStatus(
            phase: phase,
            admission: admission,
            isCancelled: isCancelled,
            hasOutcome: ending != nil,
            wasAsked: wasAsked,
            queue: held.queue,
            job: held.job,
            suspension: held.suspension
        )
    }
}
