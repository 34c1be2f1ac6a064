// SPDX-License-Identifier: Apache-2.0
//
// Work that one of two claims: the thread that runs it, or the waiter that gives it up. The claim decides the race
// between beginning and cancellation, before there is a result to race for. The claimant owns the closure: one that is
// given up is released at that moment, with its captures, while what the executor still holds is this empty box.

final class PendingWork<Body>: Sendable {
    private let body: VisibleMutex<Body?>

    init(_ body: consuming sending Body) {
        self.body = VisibleMutex(body)
    }

    /// The closure, for the first caller; nil for all others.
    func claim() -> sending Body? {
        body.withLock { $0.take() }
    }
}
