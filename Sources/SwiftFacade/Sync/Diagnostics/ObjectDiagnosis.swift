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
    /// As ``ReadWriteLock/diagnose(_:)``. Calls `ilk_mutex_observe`.
    public borrowing func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_mutex_observe(storage.lock, features.rawValue))
    }
}

extension FIFOSemaphore {
    /// As ``ReadWriteLock/diagnose(_:)``. Calls `ilk_semaphore_observe`.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_semaphore_observe(permits.pointer, features.rawValue))
    }
}

extension SafeArray {
    /// As ``ReadWriteLock/diagnose(_:)``, of the array's lock.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_rwlock_observe(storage.guarded.lock, features.rawValue))
    }
}

extension SafeDictionary {
    /// As ``ReadWriteLock/diagnose(_:)``, of the dictionary's lock.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_rwlock_observe(storage.guarded.lock, features.rawValue))
    }
}

extension SafeSet {
    /// As ``ReadWriteLock/diagnose(_:)``, of the set's lock.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_rwlock_observe(storage.guarded.lock, features.rawValue))
    }
}

extension MPMCRing {
    /// As ``ReadWriteLock/diagnose(_:)``. Calls `ilk_mpmc_observe`.
    public func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_mpmc_observe(ring, features.rawValue))
    }
}

extension SPSCRing {
    /// As ``ReadWriteLock/diagnose(_:)``. Calls `ilk_spsc_observe`.
    public borrowing func diagnose(_ features: Diagnostics.Features) throws(Diagnostics.Failure) {
        try check(ilk_spsc_observe(ring, features.rawValue))
    }
}
