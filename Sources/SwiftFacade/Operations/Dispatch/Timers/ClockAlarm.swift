// SPDX-License-Identifier: Apache-2.0
//
// One alarm on one clock, which holds no thread while it runs. On the clocks of the system it is a timer of libdispatch
// (`Task.sleep` would need a thread of the cooperative pool to begin, and those may all be blocked); on any other
// clock, a test's, a task that sleeps on it.
//
// The alarm and `cancel()` race to claim the work (PendingWork.swift): it is freed, with its captures, at once.

import Dispatch
import InterlockSync

final class ClockAlarm: Sendable {
    private enum Timer {
        case unarmed
        /// With what stops it.
        case armed(@Sendable () -> Void)
        case over
    }

    private let work: PendingWork<@Sendable () -> Void>
    private let timer = VisibleMutex(Timer.unarmed)

    init(_ work: @escaping @Sendable () -> Void) { self.work = PendingWork(work) }

    /// Prevents the work if it has not begun; answers whether it did.
    @discardableResult
    func cancel() -> Bool {
        let prevented = work.claim() != nil
        stop()
        return prevented
    }

    /// Runs the work on some thread, `duration` from now on `clock`, unless cancelled before. Once.
    func arm(after duration: Duration, on clock: any Clock<Duration>) {
        let stop: @Sendable () -> Void
        if clock is ContinuousClock || clock is SuspendingClock {
            // A time that never comes needs no timer. The work stays pending for `cancel()`.
            guard isReached(moment(in: duration)) else { return }
            // libdispatch's sources may be used from any thread.
            nonisolated(unsafe) let source = DispatchSource.makeTimerSource(queue: .global())
            let deadline = DispatchTime.after(duration)
            // A timer that fires early by the deadline's clock is set again. `stop()` frees the handler, which keeps
            // the source.
            source.setEventHandler {
                if DispatchTime.now() < deadline { source.schedule(deadline: deadline) } else { self.fire() }
            }
            source.schedule(deadline: deadline)
            source.resume()
            stop = { source.cancel() }
        } else {
            let task = Task {
                try? await clock.sleep(for: duration)
                // A clock that gives up early ends the wait too: nothing would end it later.
                if !Task.isCancelled { fire() }
            }
            stop = { task.cancel() }
        }
        let isOver = timer.withLock { timer in
            guard case .unarmed = timer else { return true }
            timer = .armed(stop)
            return false
        }
        if isOver { stop() }
    }

    private func fire() {
        let work = work.claim()
        stop()
        work?()
    }

    private func stop() {
        let stop: (@Sendable () -> Void)? = timer.withLock { timer in
            defer { timer = .over }
            if case .armed(let stop) = timer { return stop }
            return nil
        }
        stop?()
    }
}
