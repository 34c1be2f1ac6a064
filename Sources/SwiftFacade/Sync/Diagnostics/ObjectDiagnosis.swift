// SPDX-License-Identifier: Apache-2.0
//
// Diagnosis of one object.

import CInterlock

/// What an object's `diagnose(_:)` makes of the C core's answer.
private func check(_ status: ilk_status) throws(Diagnostics.Failure) {
    if status != ILK_OK { throw .memory }
}

extension ReadWriteLock where Value: ~Copyable {
    /// Has diagnosis watch this lock, also if it does not watch all; no features: not any more. Thread-safe; blocks
    /// briefly. Calls `ilk_rwlock_observe`.
    ///
    /// - Throws: ``Diagnostics/Failure/memory``; nothing has changed then.
    public borrowing func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_rwlock_observe(lock, features.rawValue))
    }
}

extension PriorityInheritingMutex where Value: ~Copyable {
    /// Has diagnosis watch this mutex, also if it does not watch all; no features: not any more. Thread-safe; blocks
    /// briefly. Calls `ilk_mutex_observe`.
    ///
    /// - Throws: ``Diagnostics/Failure/memory``; nothing has changed then.
    public borrowing func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_mutex_observe(storage.lock, features.rawValue))
    }
}

extension FIFOSemaphore {
    /// Has diagnosis watch this semaphore, also if it does not watch all; no features: not any more. Thread-safe;
    /// blocks briefly. Calls `ilk_semaphore_observe`.
    ///
    /// - Throws: ``Diagnostics/Failure/memory``; nothing has changed then.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_semaphore_observe(permits.pointer, features.rawValue))
    }
}

extension SafeArray {
    /// Has diagnosis watch this array's lock, also if it does not watch all; no features: not any more. Thread-safe;
    /// blocks briefly. Calls `ilk_rwlock_observe`.
    ///
    /// - Throws: ``Diagnostics/Failure/memory``; nothing has changed then.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_rwlock_observe(storage.guarded.lock, features.rawValue))
    }
}

extension SafeDictionary {
    /// Has diagnosis watch this dictionary's lock, also if it does not watch all; no features: not any more.
    /// Thread-safe; blocks briefly. Calls `ilk_rwlock_observe`.
    ///
    /// - Throws: ``Diagnostics/Failure/memory``; nothing has changed then.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_rwlock_observe(storage.guarded.lock, features.rawValue))
    }
}

extension SafeSet {
    /// Has diagnosis watch this set's lock, also if it does not watch all; no features: not any more. Thread-safe;
    /// blocks briefly. Calls `ilk_rwlock_observe`.
    ///
    /// - Throws: ``Diagnostics/Failure/memory``; nothing has changed then.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_rwlock_observe(storage.guarded.lock, features.rawValue))
    }
}

extension MPMCRing {
    /// Has diagnosis watch this ring, also if it does not watch all; no features: not any more. Thread-safe; blocks
    /// briefly. Calls `ilk_mpmc_observe`.
    ///
    /// - Throws: ``Diagnostics/Failure/memory``; nothing has changed then.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_mpmc_observe(ring, features.rawValue))
    }
}

extension SPSCRing {
    /// Has diagnosis watch this ring, also if it does not watch all; no features: not any more. Thread-safe; blocks
    /// briefly. Calls `ilk_spsc_observe`.
    ///
    /// - Throws: ``Diagnostics/Failure/memory``; nothing has changed then.
    public borrowing func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_spsc_observe(ring, features.rawValue))
    }
}
