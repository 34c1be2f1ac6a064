// SPDX-License-Identifier: Apache-2.0
//
// The changes of collections on dispatch queues.

import Dispatch
import InterlockSync

extension SafeArray where Element: Sendable {
    /// Announces every change from now on, in order, by calling `handler` on `queue`. Thread-safe; blocks as a write
    /// does; allocates.
    ///
    /// The change is visible to `handler`, which runs outside the lock and may read and change the array. Handlers of
    /// one subscription run one at a time, also on a concurrent queue. The changes of ``withWriteLock(_:)`` are
    /// announced as one. A change that leaves `Equatable` elements equal is not
    /// announced.
    ///
    /// Writers copy each change for each observer; a verb for the whole array copies the storage once. Changes are kept
    /// until `handler` has had them: a queue that is slower than the writers, or rests, needs more and more memory.
    ///
    /// - Parameter queue: The main queue drains only in a program that runs it: an `async` main, `dispatchMain()` or a
    ///   run loop.
    /// - Returns: The subscription: cancelling or releasing it, on any thread and in any closure, ends the
    ///   announcements.
    public func changes(
        deliverOn queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        subscribe({ queue.async(execute: $0) }, handler)
    }
}

extension SafeDictionary where Key: Sendable, Value: Sendable {
    /// Announces every change from now on, in order, by calling `handler` on `queue`.
    ///
    /// The change is visible to `handler`, which runs outside the lock, one call of a subscription at a time. The
    /// changes of ``withWriteLock(_:)`` and of verbs for several entries are announced one by one, in no given order.
    /// An entry set to an equal `Equatable` value is not announced.
    public func changes(
        deliverOn queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        subscribe({ queue.async(execute: $0) }, handler)
    }
}

extension SafeSet where Element: Sendable {
    /// Announces every change from now on, in order, by calling `handler` on `queue`.
    ///
    /// The change is visible to `handler`, which runs outside the lock, one call of a subscription at a time. The
    /// changes of ``withWriteLock(_:)`` and of verbs for several elements are announced one by one, in no given order.
    public func changes(
        deliverOn queue: DispatchQueue = .main,
        _ handler: @escaping @Sendable (Change) -> Void
    ) -> ChangeSubscription {
        subscribe({ queue.async(execute: $0) }, handler)
    }
}
