// SPDX-License-Identifier: Apache-2.0
//
// A thread's wait under a lock for a predicate, by the C core (<interlock/condition.h>). TaskCondition.swift has the
// wait of a task.
//
// The core calls the predicate on any thread that gives the lock up, while the waiter sleeps. So it is `@Sendable`, and
// finds the value by its address: a C function knows no type parameters. Its closure stays in the waiter's frame.

import CInterlock

/// A predicate as the core's `context`.
@frozen @usableFromInline
struct Condition: Sendable {
    @usableFromInline let holds: @Sendable () -> Bool

    @inlinable
    init(_ holds: @escaping @Sendable () -> Bool) {
        self.holds = holds
    }

    /// The `ilk_predicate`.
    @usableFromInline
    static func holds(_ context: UnsafeMutableRawPointer?) -> Bool {
        context!.assumingMemoryBound(to: Condition.self).pointee.holds()
    }
}

/// Waits, with a lock held before and after, until `holds`, until `deadline` at most: whether it does. Reads the clock
/// only to wait.
///
/// - Parameter wait: Calls the core for the lock, as it is held.
@inlinable
func awaitCondition(
    until deadline: () -> UInt64,
    _ holds: @Sendable () -> Bool,
    by wait: (ilk_predicate, UnsafeMutableRawPointer, UInt64) -> ilk_status
) -> Bool {
    if holds() { return true }
    let deadline = deadline()
    if hasPassed(deadline) { return false }
    return withoutActuallyEscaping(holds) { holds in
        var condition = Condition(holds)
        // What the waiter waits for may need the worker that it blocks.
        ilk_pool_will_block()
        defer { ilk_pool_did_block() }
        return withUnsafeMutablePointer(to: &condition) { wait({ Condition.holds($0) }, $0, deadline) }
            == ILK_OK
    }
}

extension ThreadAccess {
    /// Runs a predicate as a closure of the object: one that calls the object is reported, on whichever thread.
    @inlinable
    static func judge(
        _ lock: UnsafeRawPointer,
        _ call: StaticString,
        type: Any,
        _ predicate: () -> Bool
    ) -> Bool {
        var access = ThreadAccess(lock: lock, call: call)
        return withUnsafeMutablePointer(to: &access) { access in
            begin(access, type: type)
            defer { end(access, type: type) }
            return predicate()
        }
    }
}
