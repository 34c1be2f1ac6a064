// SPDX-License-Identifier: Apache-2.0
//
// The handle of a running subscription.

/// A running delivery of announcements. It ends with ``cancel()`` or with its last reference: keep it. Thread-safe.
public final class ChangeSubscription: Sendable {
    private let end: ReadWriteLock<(@Sendable () -> Void)?>

    init(end: @escaping @Sendable () -> Void) {
        self.end = ReadWriteLock(unwatched: end)
    }

    deinit {
        cancel()
    }

    /// Ends the delivery. Thread-safe; does not wait for a handler: it may be called anywhere, also inside a closure of
    /// the collection. A second call does nothing.
    ///
    /// On return no further announcement is taken up. Unless a handler is still running, on another thread or around
    /// this call, it has been released, with the announcements that it had not received.
    public func cancel() {
        // Called outside the lock: it releases the handler, which is foreign code.
        let end = end.withWriteLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}
