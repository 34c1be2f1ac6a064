// SPDX-License-Identifier: Apache-2.0
//
// Handshakes by a number that only grows, and the checks of deadlines that several suites share.

import Synchronization

final class Phase: Sendable {
    private let reached = Atomic<Int>(0)

    func advance(to step: Int) { reached.store(step, ordering: .releasing) }

    func has(_ step: Int) -> Bool { reached.load(ordering: .acquiring) >= step }

    func await(_ step: Int) throws {
        try waitUntil("step \(step)") { has(step) }
    }

    func advance(to step: Int, thenAwait next: Int) throws {
        advance(to: step)
        try self.await(next)
    }
}

/// Checks that `attempt`, which cannot succeed, gives up: not before its deadline, and not much later.
func expectTimeOut(_ attempt: (ContinuousClock.Instant) throws -> Bool) throws {
    let deadline = ContinuousClock.now + .milliseconds(30)
    try ensure(try attempt(deadline), "something to be had where there was nothing")
    let end = ContinuousClock.now
    try ensure(end >= deadline, "gave up \(end.duration(to: deadline)) before the deadline")
    try ensure(end < deadline + .seconds(30), "gave up \(deadline.duration(to: end)) after the deadline")
}
