// SPDX-License-Identifier: Apache-2.0
//
// The way past the closures, for code that cannot be written with them: a lock held across callbacks of
// a C library, or handed to C by address. Nothing here is checked by the compiler; what the C core
// reports of it (a lock given up that was not held, freed while held) is all the net there is.

import CInterlock

extension ReadWriteLock where Value: ~Copyable {
    /// The lock and the value as a raw pair, to be locked and unlocked by hand.
    ///
    /// The view is valid as long as the lock lives, and does not keep it alive.
    @unsafe @inlinable
    public var unsafeView: UnsafeView {
        UnsafeView(handle: lock, value: storage.value)
    }

    /// A reader–writer lock without its safety: each `lock` call needs exactly one matching `unlock`, on
    /// every path and on the same thread, and the value may be touched only in between.
    ///
    /// An unlock on another thread may take the share of a reader that is still at work, and let a writer in beside
    /// it; it is reported only where nobody holds the lock in that mode.
    @unsafe @frozen
    public struct UnsafeView {
        // First of the two, for the reason given at GuardedStorage.value.

        /// The value: to be read while the lock is held in any mode, changed while it is held for writing.
        public let value: UnsafeMutablePointer<Value>
        /// The C lock, for C code that takes part in the locking.
        public let handle: UnsafeMutablePointer<ilk_rwlock>

        @usableFromInline
        init(handle: UnsafeMutablePointer<ilk_rwlock>, value: UnsafeMutablePointer<Value>) {
            self.handle = handle
            self.value = value
        }

        /// Takes the lock for reading; blocks while a writer holds the lock or waits for it. Calls
        /// `ilk_rwlock_read_lock`.
        @inlinable
        public func lockForReading() { ilk_rwlock_read_lock(handle) }

        /// Gives up a lock that this thread holds for reading; one that no reader holds is reported and ends the
        /// process.
        @inlinable
        public func unlockForReading() { ilk_rwlock_read_unlock(handle) }

        /// Takes the lock for writing; blocks while anybody holds it. Calls `ilk_rwlock_write_lock`.
        @inlinable
        public func lockForWriting() { ilk_rwlock_write_lock(handle) }

        /// Gives up a lock that this thread holds for writing; one that no writer holds is reported and ends the
        /// process.
        @inlinable
        public func unlockForWriting() { ilk_rwlock_write_unlock(handle) }
    }
}
