// SPDX-License-Identifier: Apache-2.0
//
// The lock and its value without closures: for a lock held across callbacks of a C library, or handed to C by address.
// Nothing is checked but by the C core, which reports an unlock without a lock and a lock freed while held.

import CInterlock

extension ReadWriteLock where Value: ~Copyable {
    /// The lock and the value, to be locked by hand. The view is valid while the lock lives, and does not keep it
    /// alive.
    @unsafe @inlinable
    public var unsafeView: UnsafeView {
        UnsafeView(handle: lock, value: storage.value)
    }

    /// A reader–writer lock without its safety. Each lock call needs one matching unlock, on every path and on the same
    /// thread; touch the value only in between.
    ///
    /// An unlock on another thread may take the share of a reader that is at work, and let a writer in beside it. It is
    /// reported only where no thread holds the lock in that mode, and ends the process then.
    @unsafe @frozen
    public struct UnsafeView {
        // First of the two: see GuardedStorage.value.

        /// The value: read it with the lock held in any mode, change it with the lock held for writing.
        public let value: UnsafeMutablePointer<Value>
        /// The C lock, for C code that locks too.
        public let handle: UnsafeMutablePointer<ilk_rwlock>

        @usableFromInline
        init(handle: UnsafeMutablePointer<ilk_rwlock>, value: UnsafeMutablePointer<Value>) {
            self.handle = handle
            self.value = value
        }

        /// Takes the lock for reading. Blocks while a writer holds it or waits for it. Calls `ilk_rwlock_read_lock`.
        @inlinable
        public func lockForReading() { ilk_rwlock_read_lock(handle) }

        /// Gives up the lock that this thread holds for reading. Calls `ilk_rwlock_read_unlock`.
        @inlinable
        public func unlockForReading() { ilk_rwlock_read_unlock(handle) }

        /// Takes the lock for writing. Blocks while another thread holds it. Calls `ilk_rwlock_write_lock`.
        @inlinable
        public func lockForWriting() { ilk_rwlock_write_lock(handle) }

        /// Gives up the lock that this thread holds for writing. Calls `ilk_rwlock_write_unlock`.
        @inlinable
        public func unlockForWriting() { ilk_rwlock_write_unlock(handle) }
    }
}
