// SPDX-License-Identifier: Apache-2.0
//
// How often work that fails is tried again, and after what pauses. A value: the pauses follow from the number of the
// attempt and one random number each.

import Foundation
import InterlockSync

/// How work that fails is tried again.
///
/// ```swift
/// let policy = RetryPolicy(attempts: 5, backoff: .exponential(initial: .milliseconds(100), cap: .seconds(5)))
/// let page = AsyncOperation<Image>(name: "page", retry: policy) { try await render(url) }
/// ```
///
/// A value of constants and `Sendable` closures: may be shared by operations and used from any thread.
public struct RetryPolicy: Sendable {
    /// How the pause grows from attempt to attempt.
    public enum Backoff: Sendable, Hashable {
        /// Every pause is as long.
        case constant(Duration)
        /// `initial` after the first attempt, `step` more after each further one, up to `cap`.
        case linear(initial: Duration, step: Duration, cap: Duration)
        /// `initial` after the first attempt, `factor` times as much after each further one, up to `cap`.
        case exponential(initial: Duration, factor: Double = 2, cap: Duration)
    }

    /// What part of a pause is random, so that what failed together does not come again together.
    public enum Jitter: Sendable, Hashable {
        /// None: the whole pause.
        case none
        /// Any pause from zero to the whole.
        case full
        /// Half of the pause, and any part of the other half.
        case equal
    }

    /// How often the work is begun at most, the first time included.
    public let attempts: Int
    /// How long an attempt may take; nil: as long as it needs.
    public let attemptLimit: Duration?
    let backoff: Backoff
    let jitter: Jitter
    let clock: any Clock<Duration>
    let random: @Sendable () -> Double
    let isWorthRetrying: @Sendable (any Error) -> Bool

    /// Makes a policy.
    ///
    /// Misuse: fewer than one attempt, a negative pause, a factor below 1 or that is no number, a limit of zero or
    /// less.
    ///
    /// An attempt that has not ended after `attemptLimit` has failed with ``OperationTimedOut``: that is the error
    /// given to `where`, and the operation's after the last attempt. The work of the attempt learns of it by a
    /// cancellation of its own; the operation is not cancelled. A completion-handler function's attempt ends at once,
    /// and its late calls are ignored. A closure that occupies a thread or a task is waited for, so that no two
    /// attempts run at once, and what it gives is not used. ``AsyncOperation/timeOut(after:clock:)`` limits all
    /// attempts together.
    ///
    /// - Parameters:
    ///   - attempts: how often the work is begun at most, the first time included.
    ///   - backoff: how the pause grows.
    ///   - jitter: what part of a pause is random.
    ///   - attemptLimit: how long an attempt may take.
    ///   - clock: measures the pauses and the limits.
    ///   - random: gives numbers from 0 to 1; by default the system's. For tests.
    ///   - isWorthRetrying: given the error of an attempt; false ends the operation with it. Runs where the attempt
    ///     ended, and must not block.
    public init(
        attempts: Int,
        backoff: Backoff = .constant(.zero),
        jitter: Jitter = .none,
        attemptLimit: Duration? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) },
        where isWorthRetrying: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) {
        if let fault = backoff.fault ?? (attempts < 1 ? "there must be at least one attempt" : nil) {
            misuse("RetryPolicy", "attempts: \(attempts), backoff: \(backoff)", fault)
        }
        if let attemptLimit, attemptLimit <= .zero {
            misuse("RetryPolicy", "attemptLimit: \(attemptLimit)", "no attempt could end in time")
        }
        self.attemptLimit = attemptLimit
        self.attempts = attempts
        self.backoff = backoff
        self.jitter = jitter
        self.clock = clock
        self.random = random
        self.isWorthRetrying = isWorthRetrying
    }

    /// The pause between attempt `number`, counted from 1, and the next one. Draws a random number where there is
    /// jitter.
    public func pause(afterAttempt number: Int) -> Duration {
        let whole = backoff.pause(afterAttempt: number)
        switch jitter {
        case .none: return whole
        case .full: return whole * part()
        case .equal: return whole * (0.5 + part() / 2)
        }
    }

    private func part() -> Double {
        let part = random()
        return part.isNaN ? 1 : min(max(part, 0), 1)
    }
}

extension RetryPolicy.Backoff {
    fileprivate var fault: String? {
        switch self {
        case .constant(let pause): pause < .zero ? "a pause cannot be negative" : nil
        case .linear(let initial, let step, let cap):
            initial < .zero || step < .zero || cap < .zero ? "a pause cannot be negative" : nil
        case .exponential(let initial, let factor, let cap):
            if initial < .zero || cap < .zero {
                "a pause cannot be negative"
            } else if !(factor >= 1) {
                "a factor below 1 does not back off"
            } else {
                nil
            }
        }
    }

    fileprivate func pause(afterAttempt number: Int) -> Duration {
        switch self {
        case .constant(let pause): return pause
        case .linear(let initial, let step, let cap):
            // Above any cap after many attempts, and then no duration.
            let steps = Double(max(number, 1) - 1)
            if initial >= cap { return cap }
            if step == .zero { return initial }
            return steps < (cap - initial) / step ? initial + step * steps : cap
        case .exponential(let initial, let factor, let cap):
            // Infinite after many attempts, and then above any cap.
            let growth = pow(factor, Double(max(number, 1) - 1))
            guard initial > .zero, growth < cap / initial else {
                return min(initial, cap) == .zero ? .zero : cap
            }
            return min(initial * growth, cap)
        }
    }
}
