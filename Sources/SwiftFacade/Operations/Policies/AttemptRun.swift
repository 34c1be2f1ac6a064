// SPDX-License-Identifier: Apache-2.0
//
// Work that is run more than once: after a failure (`RetryPolicy`) or a success (`RepeatPolicy`). Each attempt is a job
// of its own, with its own completion, cancellation handlers and end: a late callback of an earlier attempt is not
// taken for one of the present. What an attempt's result means is decided once, when it ends:
//
//     begin ──▶ attempt ──ended──▶ decide ──last──▶ the operation finishes
//       ▲                            └──again──▶ pause (no thread) ──┐
//       └────────────────────────────────────────────────────────────┘
//
// An attempt that ends while it is being begun is followed by the next one in a loop, not in a nested call.
//
// An attempt may have a limit. What passes first, under the attempt's lock, decides: its end stops the alarm; its limit
// tells the work, and the attempt has failed. It then ends at once, or, where it occupies a thread or a task, with
// that: two attempts never run at once.

import Foundation
import InterlockPool
import InterlockSync

final class AttemptRun<Output: Sendable>: Sendable {
    typealias Outcome = Result<Output, any Error>

    enum Decision {
        case last(Outcome)
        case again(after: Duration)
    }

    struct Terms: Sendable {
        /// Measures limits and pauses.
        var clock: any Clock<Duration>
        /// The limit of one attempt.
        var limit: Duration?
        /// What `OperationWork.windsDown` says.
        var windsDown: Bool
        /// Whether a task runs an attempt, which decides its end when it is cancelled.
        var isTask: Bool
        var decide: @Sendable (Int, Outcome) -> Decision
    }

    private struct State {
        var number = 0
        var current: Attempt<Output>?
        var pause: ClockAlarm?
        var isBeginning = false
        var isDue = false
    }

    let operation: AsyncOperation<Output>
    private let place: ResumePlace
    private let terms: Terms
    private let body: @Sendable (Attempt<Output>) -> Void
    private let state = VisibleMutex(State())

    /// On the thread on which the work begins.
    init(
        of operation: AsyncOperation<Output>,
        _ terms: Terms,
        _ body: @escaping @Sendable (Attempt<Output>) -> Void
    ) {
        self.operation = operation
        place = ResumePlace(of: operation, startedIn: operation.record.withLock { $0.held.queue })
        self.terms = terms
        self.body = body
    }

    /// Begins the first attempt.
    func start() {
        operation.onCancel { self.cancelled() }
        next()
    }

    /// Whether the result is used.
    ///
    /// - Parameter isElsewhere: the caller has no place in the operation's queue.
    @discardableResult
    func ended(_ attempt: Attempt<Output>, with result: Outcome, isElsewhere: Bool = false) -> Bool {
        guard forget(attempt) else { return false }
        if operation.isCancelled {
            let isTask = terms.isTask && attempt.timedOut == nil
            return operation.endCancelled(result, isTask: isTask) && isTask
        }
        switch terms.decide(attempt.number, result) {
        case .last(let result): return operation.finish(result)
        case .again(let pause) where pause > .zero: wait(pause)
        case .again where isElsewhere: place.run(for: operation) { [self] in next() }
        case .again: next()
        }
        return true
    }

    /// Whether it was the present one. Run and attempt keep each other until then.
    @discardableResult
    func forget(_ attempt: Attempt<Output>) -> Bool {
        state.withLock { state in
            guard state.current === attempt else { return false }
            state.current = nil
            return true
        }
    }

    private func wait(_ pause: Duration) {
        let alarm = ClockAlarm { [self] in
            operation.record.withLock { $0.held.policies?.reason = nil }
            place.run(for: operation) { [self] in next() }
        }
        state.withLock { $0.pause = alarm }
        guard keep(alarm, .delay) else {
            // It keeps the run, which keeps it.
            alarm.cancel()
            return
        }
        // A cancellation that came before the alarm was stored found nothing to end.
        if operation.isCancelled { return cancelled() }
        alarm.arm(after: pause, on: terms.clock)
    }

    /// The end of the operation stops the alarm; false where it has ended.
    private func keep(_ alarm: ClockAlarm, _ reason: WaitReason?) -> Bool {
        operation.record.withLock { record in
            guard record.ending == nil, let policies = record.held.policies else { return false }
            policies.reason = reason
            policies.attemptAlarm = alarm
            return true
        }
    }

    private func limit(_ attempt: Attempt<Output>) {
        guard let limit = terms.limit else { return }
        let alarm = ClockAlarm { [weak attempt] in attempt?.limitPassed(limit) }
        attempt.keep(alarm)
        if keep(alarm, nil) { alarm.arm(after: limit, on: terms.clock) }
    }

    private func next() {
        let mayBegin = state.withLock { state in
            state.isDue = true
            defer { state.isBeginning = true }
            return !state.isBeginning
        }
        guard mayBegin else { return }
        while let attempt = nextAttempt() {
            if operation.isCancelled {
                ended(attempt, with: .failure(CancellationError()))
            } else if operation.isFinished {
                forget(attempt)
            } else {
                limit(attempt)
                body(attempt)
            }
        }
    }

    /// The attempt that is due, nil where none is.
    private func nextAttempt() -> Attempt<Output>? {
        state.withLock { state in
            guard state.isDue else {
                state.isBeginning = false
                return nil
            }
            state.isDue = false
            state.pause = nil
            state.number += 1
            let attempt = Attempt(self, number: state.number, windsDown: terms.windsDown)
            state.current = attempt
            return attempt
        }
    }

    private func cancelled() {
        let (attempt, pause) = state.withLock { ($0.current, $0.pause) }
        attempt?.cancelled()
        // Nothing runs in a pause: the canceller ends the operation.
        if let pause, pause.cancel() { operation.finish(error: operation.cancellationError) }
    }
}

/// One attempt, which a `Completion` may end.
final class Attempt<Output: Sendable>: CompletableJob, Sendable {
    private struct State {
        var hasEnded = false
        var isCancelled = false
        var handlers: [@Sendable () -> Void] = []
        /// The alarm of its limit.
        var alarm: ClockAlarm?
        var timedOut: OperationTimedOut?
    }

    let number: Int
    private let windsDown: Bool
    let operation: AsyncOperation<Output>
    private let run: AttemptRun<Output>
    private let state = VisibleMutex(State())

    fileprivate init(_ run: AttemptRun<Output>, number: Int, windsDown: Bool) {
        (self.run, self.number, self.windsDown) = (run, number, windsDown)
        operation = run.operation
    }

    @discardableResult
    func finish(_ outcome: Result<Output, any Error>) -> Bool {
        let before: State? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            let before = state
            state.hasEnded = true
            (state.handlers, state.alarm) = ([], nil)
            return before
        }
        guard let before else { return false }
        withExtendedLifetime(before) { _ = before.alarm?.cancel() }
        if operation.isFinished {
            run.forget(self)
            return false
        }
        if let timedOut = before.timedOut {
            run.ended(self, with: .failure(timedOut))
            return false
        }
        return run.ended(self, with: outcome)
    }

    // MARK: Its limit

    fileprivate func keep(_ alarm: ClockAlarm) { state.withLock { $0.alarm = alarm } }

    /// Set when its limit has passed: it has failed with this.
    var timedOut: OperationTimedOut? { state.withLock { $0.timedOut } }

    func limitPassed(_ limit: Duration) {
        let error = OperationTimedOut(operation: operation.bareName, limit: limit)
        let handlers: [@Sendable () -> Void]? = state.withLock { state in
            if state.hasEnded || state.isCancelled { return nil }
            state.timedOut = error
            state.isCancelled = true
            state.hasEnded = !windsDown
            defer { (state.handlers, state.alarm) = ([], nil) }
            return state.handlers
        }
        guard let handlers else { return }
        operation.record.withLock { $0.held.policies?.limitsPassed += 1 }
        for handler in handlers { handler() }
        if !windsDown { run.ended(self, with: .failure(error), isElsewhere: true) }
    }

    func completionDropped() { finish(.failure(OperationAbandoned(operation: operation.bareName))) }

    var isCancelled: Bool { operation.isCancelled || state.withLock { $0.isCancelled } }

    func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let runsNow = state.withLock { state in
            // A limit that passed before the handler came still stops the work.
            if state.hasEnded { return state.timedOut != nil }
            if !state.isCancelled { state.handlers.append(handler) }
            return state.isCancelled
        }
        if runsNow { handler() }
    }

    fileprivate func cancelled() {
        let handlers = state.withLock { state in
            state.isCancelled = true
            defer { state.handlers = [] }
            return state.handlers
        }
        for handler in handlers { handler() }
    }
}
