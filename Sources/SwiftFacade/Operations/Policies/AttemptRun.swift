// SPDX-License-Identifier: Apache-2.0
//
// Work that is run more than once: after a failure (`RetryPolicy`) or a success (`RepeatPolicy`). Each attempt is a job
// of its own, with its own completion, cancellation handlers and end: a late callback of an earlier attempt is not taken
// for one of the present. What an attempt's result means is decided once, when it ends:
//
//     begin ──▶ attempt ──ended──▶ decide ──last──▶ the operation finishes
//       ▲                            └──again──▶ pause (no thread) ──┐
//       └────────────────────────────────────────────────────────────┘
//
// An attempt that ends while it is being begun is followed by the next one in a loop, not in a nested call.

import Foundation

final class AttemptRun<Output: Sendable>: Sendable {
    enum Decision {
        case last(Result<Output, any Error>)
        case again(after: Duration)
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
    private let clock: any Clock<Duration>
    private let decide: @Sendable (Int, Result<Output, any Error>) -> Decision
    private let body: @Sendable (Attempt<Output>) -> Void
    private let state = VisibleMutex(State())

    /// On the thread on which the work begins.
    init(
        of operation: AsyncOperation<Output>,
        clock: any Clock<Duration>,
        _ body: @escaping @Sendable (Attempt<Output>) -> Void,
        _ decide: @escaping @Sendable (Int, Result<Output, any Error>) -> Decision
    ) {
        self.operation = operation
        place = ResumePlace(startedIn: operation.record.withLock { $0.held.queue })
        self.clock = clock
        self.body = body
        self.decide = decide
    }

    /// Begins the first attempt.
    func start() {
        operation.onCancel { self.cancelled() }
        next()
    }

    func ended(_ attempt: Attempt<Output>, with result: Result<Output, any Error>) {
        let isCurrent = state.withLock { state in
            guard state.current === attempt else { return false }
            state.current = nil
            return true
        }
        guard isCurrent else { return }
        if operation.isCancelled { return operation.endCancelled(result, isTask: attempt.isTask) }
        switch decide(attempt.number, result) {
        case .last(let result): operation.finish(result)
        case .again(let pause) where pause > .zero: wait(pause)
        case .again: next()
        }
    }

    private func wait(_ pause: Duration) {
        let alarm = ClockAlarm { [self] in
            operation.record.withLock { $0.held.policies?.reason = nil }
            place.run(for: operation) { [self] in next() }
        }
        state.withLock { $0.pause = alarm }
        let hasEnded = operation.record.withLock { record in
            guard record.ending == nil, let policies = record.held.policies else { return true }
            policies.reason = .delay
            policies.pause = alarm
            return false
        }
        if hasEnded { return }
        // A cancellation that came before the alarm was stored found nothing to end.
        if operation.isCancelled { return cancelled() }
        alarm.arm(after: pause, on: clock)
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
            } else if !operation.isFinished {
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
            let attempt = Attempt(self, number: state.number)
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
        var isTask = false
        var handlers: [@Sendable () -> Void] = []
    }

    let number: Int
    let operation: AsyncOperation<Output>
    private let run: AttemptRun<Output>
    private let state = VisibleMutex(State())

    fileprivate init(_ run: AttemptRun<Output>, number: Int) {
        self.run = run
        self.number = number
        operation = run.operation
    }

    @discardableResult
    func finish(_ outcome: Result<Output, any Error>) -> Bool {
        let handlers: [@Sendable () -> Void]? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            defer { state.handlers = [] }
            return state.handlers
        }
        guard let handlers else { return false }
        withExtendedLifetime(handlers) {}
        if operation.isFinished { return false }
        run.ended(self, with: outcome)
        return true
    }

    /// Whether a task runs it, which decides its end when it is cancelled.
    var isTask: Bool {
        get { state.withLock { $0.isTask } }
        set { state.withLock { $0.isTask = newValue } }
    }

    func completionDropped() {
        finish(.failure(OperationAbandoned(operation: operation.bareName)))
    }

    var isCancelled: Bool { operation.isCancelled }

    func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let runsNow = state.withLock { state in
            if state.hasEnded { return false }
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
