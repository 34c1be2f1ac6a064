// SPDX-License-Identifier: Apache-2.0
//
// Work that one of two sides claims: the thread that runs it, or the waiter that gives it up. The claim decides the
// race between beginning and cancellation. A closure given up is released at that moment, with its captures, while the
// executor still holds this empty box.

@usableFromInline
package final class PendingWork<Body>: Sendable {
    private let body: VisibleMutex<Body?>

    @usableFromInline
    package init(_ body: consuming sending Body) {
        self.body = VisibleMutex(body, isPacked: true)
    }

    /// The closure, for the first caller; nil for all others.
    @usableFromInline
    package func claim() -> sending Body? {
        body.withLock { $0.take() }
    }
}
