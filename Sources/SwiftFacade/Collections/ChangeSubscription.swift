// SPDX-License-Identifier: Apache-2.0
//
// The handle of a running subscription.

/// A running delivery of announcements. It ends with ``cancel()``, or when the last reference to it goes: keep it as
/// long as announcements are wanted. Thread-safe.
public final class ChangeSubscription: Sendable {
    private let end: ReadWriteLock<(@Sendable () -> Void)?>

    init(end: @escaping @Sendable () -> Void) {
        self.end = ReadWriteLock(end)
    }

    deinit {
        cancel()
    }

    /// Ends the delivery. Thread-safe; never blocks for a handler: it may be called anywhere, also inside a closure of
    /// the collection. A second call does nothing.
    ///
    /// On return no further announcement is taken up. A handler that is running, on another thread or around this call,
    /// may be finishing. Otherwise the handler has been released, with the announcements that it had not received.
    public func cancel() {
        // Taken out under the lock and called outside: ending releases the handler, which is foreign code.
        let end = end.withWriteLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}
