// SPDX-License-Identifier: Apache-2.0
//
// What a caller that asked for announcements holds on to.

/// A running delivery of announcements. It ends with ``cancel()``, or when the last reference to it goes:
/// keep it as long as announcements are wanted.
public final class ChangeSubscription: Sendable {
    private let end: ReadWriteLock<(@Sendable () -> Void)?>

    init(end: @escaping @Sendable () -> Void) {
        self.end = ReadWriteLock(end)
    }

    deinit {
        cancel()
    }

    /// Ends the delivery. Thread-safe; twice does nothing more. Waits for nobody: it may be called anywhere, also from
    /// inside a closure of the collection.
    ///
    /// On return nothing further is taken up for delivery. An announcement whose handler is running, on
    /// another thread or around this call, may be finishing. Otherwise the handler has been released, and with it what
    /// it had not heard yet.
    public func cancel() {
        // Taken out under the lock and called outside: ending releases the handler, which is foreign code.
        let end = end.withWriteLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}
