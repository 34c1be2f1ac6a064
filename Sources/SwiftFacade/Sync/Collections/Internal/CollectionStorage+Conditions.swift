// SPDX-License-Identifier: Apache-2.0
//
// Waiting under a collection's lock until its contents satisfy a predicate: the thread by Condition.swift, the task by
// TaskCondition.swift. A predicate is an access by closure of its own: it runs on any thread.

import CInterlock

extension CollectionStorage {
    /// Begins writing by closure once `predicate` holds. False: it did not until `deadline`.
    @inlinable
    func beginWriting<Contents, Change>(
        _ call: StaticString,
        when predicate: @Sendable (Contents) -> Bool,
        until deadline: (() -> UInt64)? = nil
    ) -> Bool where State == Observed<Owner, Contents, Change> {
        requireOutside(call)
        nonisolated(unsafe) let (lock, identity, location) = (guarded.lock, identity, location)
        if let deadline {
            guard ilk_rwlock_try_write_lock(lock) || ilk_rwlock_write_lock_until(lock, deadline()) == ILK_OK
            else { return false }
        } else {
            ilk_rwlock_write_lock(lock)
        }
        let holds = awaitCondition(
            until: deadline ?? { forever },
            {
                ThreadAccess.judge(identity, call, type: Owner.self) {
                    predicate(location.pointee.state.contents)
                }
            },
            by: { ilk_rwlock_write_await_until(lock, $0, $1, $2) }
        )
        if holds { enterWriter(call) } else { unlockForWriting() }
        return holds
    }

    /// Suspends the task until `predicate` holds, until `deadline` at most, and runs `body`, which ends writing by
    /// closure, begun for it. `nil`: it did not hold in time.
    @inlinable
    func suspendToWrite<Contents, Change, Output: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ call: StaticString,
        when predicate: @escaping @Sendable (Contents) -> Bool,
        until deadline: ContinuousClock.Instant?,
        _ body: () throws(Failure) -> Output
    ) async throws -> Output? where State == Observed<Owner, Contents, Change> {
        nonisolated(unsafe) let (identity, location) = (identity, location)
        let condition = TaskCondition(.rwlock(guarded.lock), writes: true, until: deadline) {
            ThreadAccess.judge(identity, call, type: Owner.self) {
                predicate(location.pointee.state.contents)
            }
        }
        repeat {
            if let output = try writeIf(condition, call, body) { return output }
        } while try await condition.wakesAgain()
        return nil
    }

    // A function of its own: see ReadWriteLock+Conditions.swift.
    @inlinable @inline(never)
    func writeIf<Output: ~Copyable, Failure: Error>(
        _ condition: TaskCondition,
        _ call: StaticString,
        _ body: () throws(Failure) -> Output
    ) throws(Failure) -> Output? {
        lockForWriting(call)
        guard condition.judge() else {
            unlockForWriting()
            return nil
        }
        enterWriter(call)
        return try body()
    }
}
