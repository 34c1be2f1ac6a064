// SPDX-License-Identifier: Apache-2.0
//
// What a caller who asked for announcements holds on to.

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

    /// Ends the delivery. Thread-safe; twice does nothing more.
    ///
    /// On return nothing further is taken up for delivery. An announcement whose handler is running, on
    /// another thread, may be finishing.
    ///
    /// - Precondition: Not called from inside a closure of the collection, whose lock it takes.
    public func cancel() {
        // Taken out under the lock and called outside: ending takes the collection's lock.
        let end = end.withWriteLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}
