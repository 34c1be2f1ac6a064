// SPDX-License-Identifier: Apache-2.0
//
// One value handed from whoever settles it first to one task that awaits it. Every `async` form in this
// folder that races an event with a time limit and with cancellation meets here: each of the three
// calls `settle`, the first one decides, the rest are told that they came too late. The continuation is
// resumed outside the lock, and a value that arrives before the task does is kept for it.

final class Rendezvous<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case settled(Value)
        case taken
    }

    private let state = VisibleMutex(State.open)

    /// Settles the value if nobody has; answers whether this call did.
    @discardableResult
    func settle(_ value: Value) -> Bool {
        let waiting: CheckedContinuation<Value, Never>?
        switch state.withLock({ state -> (won: Bool, waiting: CheckedContinuation<Value, Never>?) in
            switch state {
            case .open:
                state = .settled(value)
                return (true, nil)
            case .awaited(let continuation):
                state = .taken
                return (true, continuation)
            case .settled, .taken:
                return (false, nil)
            }
        }) {
        case (true, let continuation): waiting = continuation
        case (false, _): return false
        }
        waiting?.resume(returning: value)
        return true
    }

    /// Waits for the value. One task may do so, once.
    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let early: Value? = state.withLock { state in
                switch state {
                case .open:
                    state = .awaited(continuation)
                    return nil
                case .settled(let value):
                    state = .taken
                    return value
                case .awaited, .taken:
                    preconditionFailure("a rendezvous is awaited once")
                }
            }
            if let early { continuation.resume(returning: early) }
        }
    }
}
