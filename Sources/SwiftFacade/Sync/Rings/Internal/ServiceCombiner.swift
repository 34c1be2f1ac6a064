// SPDX-License-Identifier: Apache-2.0
//
// Combining: decides which thread serves the tasks that wait on a ring. A thread that serves also does the work that
// other threads, or the service itself, post meanwhile, as the combiner of flat combining does (Hendler, Incze, Shavit,
// Tzafrir, SPAA 2010).
//
// A ring's hook runs in the middle of a push or pop. A service may make that call itself, under a queue's lock, for
// which a hook that served there would wait for ever. So a hook that finds a service under way only posts its events,
// and every service takes all posted events before it ends.
//
// Invariant: while `inside` is above 0, each registered thread reads `posted` once more: events posted then are not
// lost. Events posted otherwise make the posting thread serve.

final class ServiceCombiner: Sendable {
    private struct State {
        var inside = 0
        var posted: UInt32 = 0
    }

    private let state = ReadWriteLock(unwatched: State())

    /// Begins a service: the caller then uses the ring under a queue's lock, and ends by ``takeOrEnd()``.
    func begin() {
        state.withWriteLock { $0.inside += 1 }
    }

    /// Posts `events`. True if no service was under way: the caller has begun one, and serves by ``takeOrEnd()``.
    func post(_ events: UInt32) -> Bool {
        state.withWriteLock { state in
            state.posted |= events
            guard state.inside == 0 else { return false }
            state.inside = 1
            return true
        }
    }

    /// The events to serve before asking again, or `nil`: the caller's service has ended.
    func takeOrEnd() -> UInt32? {
        state.withWriteLock { state in
            guard state.posted != 0 else {
                state.inside -= 1
                return nil
            }
            defer { state.posted = 0 }
            return state.posted
        }
    }
}
