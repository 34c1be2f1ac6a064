// SPDX-License-Identifier: Apache-2.0
//
// Who serves the tasks that wait on a ring, when serving them makes the ring call again.
//
// A ring's hook runs in the middle of whatever push or pop set it off, and that may be one that a service
// makes itself, under the lock of a line: serving there and then would wait for that lock for ever. So a
// hook that finds a service under way only leaves word, and every service looks for word before it ends.
//
// Invariant: while `inside` is above 0, whoever is counted in it will look at `wanted` once more. So word
// left then is never lost, and word left otherwise makes the one who leaves it serve.

/// Events waiting to be served, and how many are at it.
final class ServiceGate: Sendable {
    private struct State {
        var inside = 0
        var wanted: UInt32 = 0
    }

    private let state = ReadWriteLock(State())

    /// Counts the caller in: it is about to use the ring under a line's lock, and will ``leave()``.
    func enter() {
        state.withWriteLock { $0.inside += 1 }
    }

    /// Leaves word that `events` are to be served. True if the caller must do so, by ``leave()``: it has been
    /// counted in.
    func leaveWord(_ events: UInt32) -> Bool {
        state.withWriteLock { state in
            state.wanted |= events
            guard state.inside == 0 else { return false }
            state.inside = 1
            return true
        }
    }

    /// What the caller is to serve before it asks again, or `nil`: then it has been counted out.
    func leave() -> UInt32? {
        state.withWriteLock { state in
            guard state.wanted != 0 else {
                state.inside -= 1
                return nil
            }
            defer { state.wanted = 0 }
            return state.wanted
        }
    }
}
