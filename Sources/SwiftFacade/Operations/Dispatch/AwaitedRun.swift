// SPDX-License-Identifier: Apache-2.0
//
// Work on a queue that a task awaits: the queue begins it, or a cancellation or a limit gives it up, whichever is
// first. One object where a promise would be four; without type parameters, so that the result's type is known where
// the call is compiled (20,300 instructions a call with a promise: callgrind).
//
//   pending ──begin──▶ begun ──its return──▶ ended(ran)
//      └────cancel, the limit──▶ ended(not run); the work is freed

import Dispatch
import InterlockPool
import InterlockSync

/// Memory for the result of work, initialised by the work and read after its end.
// The run's lock orders the two. Not an object: the end of a generic one asks the runtime for types (670 instructions).
@frozen @usableFromInline
struct AwaitedResult<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let place = UnsafeMutablePointer<Result<Value, any Error>>.allocate(capacity: 1)
    @inlinable init() {}
}

@usableFromInline
final class AwaitedRun: Sendable {
    @usableFromInline
    enum End: Sendable { case ran, cancelled, late }

    private struct State {
        var work: (@Sendable () -> Void)?
        var end: End?
        var waiter: CheckedContinuation<End, Never>?
    }

    private let state: VisibleMutex<State>

    @usableFromInline
    init(_ work: @escaping @Sendable () -> Void) {
        // The work is a part of what this task computes for a SingleFlightCache.
        let computation = FlightWaits.current
        var inside = work
        if let computation { inside = { FlightWaits.inside(computation, work) } }
        state = VisibleMutex(State(work: inside), isPacked: true)
    }

    /// Runs the work on `queue`, and waits for its end; until `deadline` for its beginning.
    @usableFromInline
    func end(on queue: DispatchQueue, until deadline: ContinuousClock.Instant?) async -> End {
        await withTaskCancellationHandler {
            if hasPassed(deadline) {
                giveUp(.late)
            } else {
                queue.async { QueueTag.running(on: queue) { self.begin(before: deadline) } }
            }
            let timer = deadline.flatMap(timer(at:))
            defer { timer?.cancel() }
            return await withCheckedContinuation { waiter in
                let end = state.withLock { state in
                    if state.end == nil { state.waiter = waiter }
                    return state.end
                }
                if let end { waiter.resume(returning: end) }
            }
        } onCancel: {
            giveUp(.cancelled)
        }
    }

    private func begin(before deadline: ContinuousClock.Instant?) {
        // The timer comes a little later.
        if hasPassed(deadline) { return giveUp(.late) }
        guard let work = state.withLock({ $0.work.take() }) else { return }
        work()
        ended(.ran)
    }

    /// Frees work that has not begun.
    private func giveUp(_ end: End) {
        // Freed outside the lock: its captures' ends are the user's.
        if let work = state.withLock({ $0.work.take() }) {
            withExtendedLifetime(work) {}
            ended(end)
        }
    }

    private func ended(_ end: End) {
        let waiter = state.withLock { state in
            state.end = end
            return state.waiter.take()
        }
        waiter?.resume(returning: end)
    }

    private func timer(at deadline: ContinuousClock.Instant) -> (any DispatchSourceTimer)? {
        guard isReached(deadline) else { return nil }
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.setEventHandler { self.giveUp(.late) }
        timer.schedule(deadline: .at(deadline))
        timer.resume()
        return timer
    }
}
