// SPDX-License-Identifier: Apache-2.0
//
// One array, guarded in six ways, as a careful user would write it. Reading and writing are two steps.

import Dispatch
import Foundation
import Interlock
import Synchronization

protocol SharedArray: Sendable {
    init()
    var last: Int? { get }
    var count: Int { get }
    func append(_ value: Int)
}

extension SafeArray: SharedArray where Element == Int {}

/// Reads share a concurrent queue; a write is a barrier, asynchronous to its caller.
// The elements are touched on the queue only.
final class BarrierQueueArray: SharedArray, @unchecked Sendable {
    // Unchecked: touched only on `queue`, and changed only in a barrier.
    private var storage: [Int] = []
    private let queue = DispatchQueue(label: "array.barriers", attributes: .concurrent)

    var last: Int? { queue.sync { storage.last } }
    var count: Int { queue.sync { storage.count } }
    func append(_ value: Int) { queue.async(flags: .barrier) { self.storage.append(value) } }
}

// The elements are touched on the queue only.
final class SerialQueueArray: SharedArray, @unchecked Sendable {
    // Unchecked: touched only on `queue`.
    private var storage: [Int] = []
    private let queue = DispatchQueue(label: "array.serial")

    var last: Int? { queue.sync { storage.last } }
    var count: Int { queue.sync { storage.count } }
    func append(_ value: Int) { queue.async { self.storage.append(value) } }
}

// The elements are touched under the lock only.
final class NSLockArray: SharedArray, @unchecked Sendable {
    // Unchecked: touched only while `lock` is held.
    private var storage: [Int] = []
    private let lock = NSLock()

    var last: Int? { lock.withLock { storage.last } }
    var count: Int { lock.withLock { storage.count } }
    func append(_ value: Int) { lock.withLock { storage.append(value) } }
}

final class MutexArray: SharedArray {
    private let storage = Mutex<[Int]>([])

    var last: Int? { storage.withLock { $0.last } }
    var count: Int { storage.withLock { $0.count } }
    func append(_ value: Int) { storage.withLock { $0.append(value) } }
}

// The elements are touched under the lock only.
final class PthreadLockArray: SharedArray, @unchecked Sendable {
    // Unchecked: read under the read lock, changed under the write lock. The lock has an allocation of its own: its
    // address must not change.
    private var storage: [Int] = []
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    init() {
        pthread_rwlock_init(lock, nil)
    }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    var last: Int? { reading { storage.last } }
    var count: Int { reading { storage.count } }

    func append(_ value: Int) {
        pthread_rwlock_wrlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        storage.append(value)
    }

    private func reading<Output>(_ body: () -> Output) -> Output {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }
}

/// Without a guard: undefined behaviour on purpose, in a process of its own.
// Nothing protects the elements: the experiment shows that.
final class UnprotectedArray: SharedArray, @unchecked Sendable {
    // Unchecked, and wrong: this is the experiment.
    private var storage: [Int] = []

    var last: Int? { storage.last }
    var count: Int { storage.count }
    func append(_ value: Int) { storage.append(value) }
}
