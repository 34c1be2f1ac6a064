// SPDX-License-Identifier: Apache-2.0
//
// Suspension of a group, as its users see it.

import Foundation

/// A group, whatever its output.
protocol SuspendableGroup: Operation {
    var suspension: GroupSuspension { get }
}

extension GroupOperation: SuspendableGroup {
    /// Whether no further child begins: the group was suspended, or one around it. False once it was cancelled or has
    /// ended.
    public final var isSuspended: Bool { suspension.suspendedBy != nil }

    /// Begins no further child, nor one of the groups within, until ``resume()``. What has begun goes on.
    ///
    /// Thread-safe; does not wait for anything. May be called before the group starts, and more than once; after the
    /// end it does nothing. Children may be added meanwhile. The group keeps its place in its queue, and no thread.
    ///
    /// A group that is cancelled, or fails so that the others are cancelled, ends: suspended or not. A child that is
    /// cancelled alone ends when the group is resumed, at the latest.
    ///
    /// If the children run in a queue that was given, and is not the group's own, those that it starts meanwhile keep
    /// their places in it, and no thread, until the group is resumed. An operation of another class that was in this
    /// queue before begins.
    ///
    /// - Complexity: O(1), and the groups within; for a queue of the group's own, as its suspension.
    public final func suspend() { suspension.suspend(bareName) }

    /// Lets children begin again, unless a group around this one is suspended. Thread-safe; does not wait for anything.
    ///
    /// - Complexity: O(1), and the groups within and what was held.
    public final func resume() { suspension.resume() }
}

extension AsyncOperation {
    /// It is a child of the group of `suspension`.
    final func join(_ suspension: GroupSuspension) {
        record.withLock { if $0.phase == .waiting { $0.held.suspension = suspension } }
    }
}
