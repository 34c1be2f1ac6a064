// SPDX-License-Identifier: Apache-2.0
//
// The lock and its value without closures, for code that cannot use them: a lock held across callbacks of a C library,
// or handed to C by address. The compiler checks nothing here. The only net is what the C core reports: a lock given up
// that was not held, or freed while held.

import CInterlock

extension ReadWriteLock where Value: ~Copyable {
    /// The lock and the value as a raw pair, to be locked and unlocked by hand. The view is valid as long as the lock
    /// lives, and does not keep it alive.
    @unsafe @inlinable
    public var unsafeView: UnsafeView {
        UnsafeView(handle: lock, value: storage.value)
    }

    /// A reader–writer lock without its safety. Each `lock` call needs exactly one matching `unlock`, on every path and
    /// on the same thread; the value may be touched only in between.
    ///
    /// An unlock on another thread may take the share of a reader that is still at work, and let a writer in beside
    /// that reader. It is reported only where no thread holds the lock in that mode.
    @unsafe @frozen
    public struct UnsafeView {
        // First of the two, for the reason given at GuardedStorage.value.

        /// The value: read it while the lock is held in any mode, change it while the lock is held for writing.
        public let value: UnsafeMutablePointer<Value>
        /// The C lock, for C code that takes part in the locking.
        public let handle: UnsafeMutablePointer<ilk_rwlock>

        @usableFromInline
        init(handle: UnsafeMutablePointer<ilk_rwlock>, value: UnsafeMutablePointer<Value>) {
            self.handle = handle
            self.value = value
        }

        /// Takes the lock for reading. Blocks while a writer holds the lock or waits for it. Calls
        /// `ilk_rwlock_read_lock`.
        @inlinable
        public func lockForReading() { ilk_rwlock_read_lock(handle) }

        /// Gives up the lock that this thread holds for reading. An unlock that no reader matches is reported and ends
        /// the process. Calls `ilk_rwlock_read_unlock`.
        @inlinable
        public func unlockForReading() { ilk_rwlock_read_unlock(handle) }

        /// Takes the lock for writing. Blocks while another thread holds it. Calls `ilk_rwlock_write_lock`.
        @inlinable
        public func lockForWriting() { ilk_rwlock_write_lock(handle) }

        /// Gives up the lock that this thread holds for writing. An unlock that no writer matches is reported and ends
        /// the process. Calls `ilk_rwlock_write_unlock`.
        @inlinable
        public func unlockForWriting() { ilk_rwlock_write_unlock(handle) }
    }
}
