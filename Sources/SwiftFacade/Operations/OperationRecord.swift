// SPDX-License-Identifier: Apache-2.0
//
// The state machine of one operation, a plain value without locks, threads or notifications:
//
//     waiting ──begin──▶ starting ──launch──▶ executing ──settle──▶ finished
//        └───────────────── begin, when cancelled or recorded ─────────▲
//
// `AsyncOperation` owns one behind its lock and calls every method here under it; what a method answers
// is what the caller does after unlocking. Three rules make "exactly once" hold:
// - the outcome is set once, by the first call of `record`;
// - exactly one caller is told to settle: the recorder if work is executing, otherwise `begin` or
//   `launch`, which find the outcome there;
// - cancellation is delivered once: by `requestCancel` if work is executing, otherwise by `launch`.
// `starting` is the stretch in which `isExecuting` is being announced. Nothing settles in it, so nobody
// hears of the end before the beginning.

import Foundation

struct OperationRecord<Output: Sendable> {
    enum Phase { case waiting, starting, executing, finished }
    enum Begin { case misuse(Phase), settle, launch }
    enum Launch { case settle, cancelled, run }
    struct Recorded { var accepted: Bool, mustSettle: Bool }
    struct Edge { var source: Operation, gate: DependencyGate }
    struct Hook { var id: UInt64, body: @Sendable (Result<Output, any Error>) -> Void }

    private(set) var phase = Phase.waiting
    private(set) var outcome: Result<Output, any Error>?
    private(set) var cancelRequested = false

    /// What to run; taken to be run, and freed with its captures at the end if it never was.
    private var work: AsyncOperation<Output>.Work
    /// Whether a cancelled operation ends when its work does and not at once. So it is for closures that
    /// occupy a thread or a task until they return: ending before them would let a serial queue start
    /// the next one beside them.
    let windsDown: Bool
    /// Dependencies, in the order they were added. Freed when the operation has finished.
    var edges: [Edge] = []
    /// The gates of the operations that wait for this one. Opened and freed when it has finished.
    var gates: [DependencyGate] = []
    /// Whether an operation of this module was ever made to wait for this one.
    var isDependedUpon = false
    /// Whether there ever was anything to wait for; otherwise the operation has always been ready.
    private var hasWaited = false
    private var isNudging = false
    /// How many gates are still to be opened.
    private var shutGates = 0
    private var cancelHandlers: [@Sendable () -> Void] = []
    private var finishHooks: [Hook] = []
    private var lastHook: UInt64 = 0
    var stateHooks: [@Sendable (OperationEvent) -> Void] = []

    init(work: AsyncOperation<Output>.Work) {
        self.work = work
        windsDown =
            switch work {
            case .block, .task: true
            case .none, .handler: false
            }
    }

    var state: OperationState {
        switch phase {
        case .waiting: shutGates == 0 || cancelRequested ? .ready : .waiting
        case .starting, .executing: .executing
        case .finished: .finished
        }
    }

    // MARK: Starting

    /// `start()` was called. `cancelled` makes the error for an operation cancelled while it waited.
    mutating func begin(cancelled: () -> any Error) -> Begin {
        guard phase == .waiting else { return .misuse(phase) }
        if outcome == nil, cancelRequested { outcome = .failure(cancelled()) }
        if outcome != nil { return .settle }
        phase = .starting
        return .launch
    }

    /// The beginning has been announced: from here on the recorder settles.
    mutating func launch() -> Launch {
        phase = .executing
        if outcome != nil { return .settle }
        return cancelRequested ? .cancelled : .run
    }

    /// The work, once; nil where the operation got its outcome before the work could begin.
    mutating func takeWork() -> AsyncOperation<Output>.Work? {
        defer { work = .none }
        return outcome == nil ? work : nil
    }

    // MARK: Dependencies

    mutating func addEdge(_ edge: Edge) {
        edges.append(edge)
        shutGates += 1
        hasWaited = true
    }

    /// A gate was opened, for the first time; answers whether it was the last.
    mutating func gateOpened() -> Bool {
        shutGates -= 1
        return shutGates == 0 && phase == .waiting
    }

    /// Whether the queue is to be nudged: the operation may be in it, ready, and no nudge is on its way.
    mutating func beginNudge() -> Bool {
        guard phase == .waiting, hasWaited, !isNudging else { return false }
        isNudging = true
        return true
    }

    /// From here on an answer may come too late for this nudge.
    mutating func endNudge() { isNudging = false }

    // MARK: Finishing

    mutating func record(_ result: Result<Output, any Error>) -> Recorded {
        guard outcome == nil else { return Recorded(accepted: false, mustSettle: false) }
        outcome = result
        return Recorded(accepted: true, mustSettle: phase == .executing)
    }

    /// What the operation held until its end, moved out so that it is freed outside the lock.
    struct Remains {
        var outcome: Result<Output, any Error>
        var gates: [DependencyGate]
        var finishHooks: [Hook]
        var stateHooks: [@Sendable (OperationEvent) -> Void]
        var freed: [Any]
    }

    mutating func settle() -> Remains {
        guard let outcome, phase != .finished else {
            preconditionFailure("an operation settles once, with an outcome")
        }
        phase = .finished
        defer {
            work = .none
            (gates, edges, finishHooks, cancelHandlers, stateHooks) = ([], [], [], [], [])
        }
        return Remains(
            outcome: outcome,
            gates: gates,
            finishHooks: finishHooks,
            stateHooks: stateHooks,
            freed: [work, edges, cancelHandlers]
        )
    }

    /// What an operation that ends without having finished still holds; nil where that is nothing.
    mutating func takeUnused() -> [Any]? {
        if case .none = work, edges.isEmpty, gates.isEmpty, finishHooks.isEmpty, cancelHandlers.isEmpty,
            stateHooks.isEmpty
        {
            return nil
        }
        defer {
            work = .none
            (gates, edges, finishHooks, cancelHandlers, stateHooks) = ([], [], [], [], [])
        }
        return [work, edges, gates, finishHooks, cancelHandlers, stateHooks]
    }

    // MARK: Cancelling

    /// Records the request; `deliver` says that the work is running and has to be told.
    mutating func requestCancel() -> (isFirst: Bool, deliver: Bool) {
        guard phase != .finished, !cancelRequested else { return (false, false) }
        cancelRequested = true
        return (true, phase == .executing && outcome == nil)
    }

    /// Keeps a handler for the delivery of a cancellation; true asks the caller to run it now. One that was cancelled
    /// before its work began never delivers.
    mutating func addCancelHandler(_ handler: @escaping @Sendable () -> Void) -> Bool {
        if outcome != nil { return false }
        if cancelRequested { return phase == .executing }
        cancelHandlers.append(handler)
        return false
    }

    mutating func takeCancelHandlers() -> [@Sendable () -> Void] {
        defer { cancelHandlers = [] }
        return cancelHandlers
    }

    // MARK: Hooks

    /// Keeps a hook for the end; nil where the end has been, and the caller runs it itself.
    mutating func addFinishHook(_ body: @escaping @Sendable (Result<Output, any Error>) -> Void) -> UInt64? {
        if phase == .finished { return nil }
        lastHook += 1
        finishHooks.append(Hook(id: lastHook, body: body))
        return lastHook
    }

    var hookCount: Int { finishHooks.count }

    mutating func removeFinishHook(_ id: UInt64) {
        finishHooks.removeAll { $0.id == id }
    }
}
