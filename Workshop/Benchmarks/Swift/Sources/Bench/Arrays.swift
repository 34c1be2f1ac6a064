// SPDX-License-Identifier: Apache-2.0
//
// Arrays that several threads share. The loops are generic, and specialised for each contender's adapter.

import CBench
import Dispatch
import Foundation
import Interlock
import NIOConcurrencyHelpers
import PureSwift
import Synchronization

protocol ArrayAdapter: AnyObject, Sendable {
    init(_ elements: [Int])
    func element(at index: Int) -> Int?
    var last: Int? { get }
    func append(_ element: Int)
    func set(_ index: Int, _ element: Int)
    func empty()
    var count: Int { get }
}

// Types that threads can share. A lock's adapter is the class around it.
extension SafeArray: ArrayAdapter where Element == Int {
    @inline(__always) func set(_ index: Int, _ element: Int) { self[index] = element }
    @inline(__always) func empty() { removeAll(keepingCapacity: true) }
}

/// The adapters with a lock and an array.
protocol LockedArrayAdapter: ArrayAdapter {
    func locked<Result: Sendable>(_ body: (inout [Int]) -> Result) -> Result
}

extension LockedArrayAdapter {
    @inline(__always) func element(at index: Int) -> Int? {
        locked { $0.indices.contains(index) ? $0[index] : nil }
    }
    @inline(__always) var last: Int? { locked { $0.last } }
    @inline(__always) func append(_ element: Int) { locked { $0.append(element) } }
    @inline(__always) func set(_ index: Int, _ element: Int) { locked { $0[index] = element } }
    @inline(__always) func empty() { locked { $0.removeAll(keepingCapacity: true) } }
    @inline(__always) var count: Int { locked { $0.count } }
}

final class MutexAdapter: LockedArrayAdapter {
    private let array: Mutex<[Int]>
    init(_ elements: [Int]) { array = Mutex(elements) }
    @inline(__always) func locked<Result: Sendable>(_ body: (inout [Int]) -> Result) -> Result {
        array.withLock { body(&$0) }
    }
}

final class NIOAdapter: LockedArrayAdapter {
    private let array: NIOLockedValueBox<[Int]>
    init(_ elements: [Int]) { array = NIOLockedValueBox(elements) }
    @inline(__always) func locked<Result: Sendable>(_ body: (inout [Int]) -> Result) -> Result {
        array.withLockedValue(body)
    }
}

// @unchecked: `array` is touched under the lock only.
final class NSLockAdapter: LockedArrayAdapter, @unchecked Sendable {
    private let lock = NSLock()
    private var array: [Int]
    init(_ elements: [Int]) { array = elements }
    @inline(__always) func locked<Result: Sendable>(_ body: (inout [Int]) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&array)
    }
}

// @unchecked: `array` is touched under the lock only.
final class PthreadAdapter: ArrayAdapter, @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
    private var array: [Int]
    init(_ elements: [Int]) {
        array = elements
        pthread_rwlock_init(lock, nil)
    }
    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }
    @inline(__always) private func reading<Result>(_ body: ([Int]) -> Result) -> Result {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return body(array)
    }
    @inline(__always) private func writing(_ body: (inout [Int]) -> Void) {
        pthread_rwlock_wrlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        body(&array)
    }
    @inline(__always) func element(at index: Int) -> Int? {
        reading { $0.indices.contains(index) ? $0[index] : nil }
    }
    @inline(__always) var last: Int? { reading { $0.last } }
    @inline(__always) func append(_ element: Int) { writing { $0.append(element) } }
    @inline(__always) func set(_ index: Int, _ element: Int) { writing { $0[index] = element } }
    @inline(__always) func empty() { writing { $0.removeAll(keepingCapacity: true) } }
    @inline(__always) var count: Int { reading { $0.count } }
}

/// The arrays of Tests/PureSwift.
final class PureAdapter<Array: GuardedArray>: ArrayAdapter where Array.Element == Int {
    private let array: Array
    init(_ elements: [Int]) { array = Array(elements) }
    @inline(__always) func element(at index: Int) -> Int? { array.element(at: index) }
    @inline(__always) var last: Int? { array.last }
    @inline(__always) func append(_ element: Int) { array.append(element) }
    @inline(__always) func set(_ index: Int, _ element: Int) { array[index] = element }
    @inline(__always) func empty() { array.withWriteLock { $0.removeAll(keepingCapacity: true) } }
    @inline(__always) var count: Int { array.count }
}

final class PhaseFairAdapter: ArrayAdapter {
    private let array: PhaseFairLock<[Int]>
    init(_ elements: [Int]) { array = PhaseFairLock(elements) }
    @inline(__always) func element(at index: Int) -> Int? {
        array.withReadLock { $0.indices.contains(index) ? $0[index] : nil }
    }
    @inline(__always) var last: Int? { array.withReadLock { $0.last } }
    @inline(__always) func append(_ element: Int) { array.withWriteLock { $0.append(element) } }
    @inline(__always) func set(_ index: Int, _ element: Int) { array.withWriteLock { $0[index] = element } }
    @inline(__always) func empty() { array.withWriteLock { $0.removeAll(keepingCapacity: true) } }
    @inline(__always) var count: Int { array.withReadLock { $0.count } }
}

/// The work.
enum ArrayWork: Sendable {
    case read(threads: Int)
    case append
    /// One operation in so many replaces an element.
    case mixed(threads: Int, writeEvery: Int)
    /// Scenario 2: 1,000 iterations on all cores: read the last element, append one more.
    case lastAndAppend

    var title: String {
        switch self {
        case .read(let threads): "element read, \(threads == 1 ? "1 thread" : "\(threads) threads")"
        case .append: "append, 1 thread"
        case .mixed(let threads, let every): "\(100 / Double(every)) % writes, \(threads) threads"
        case .lastAndAppend: "read last and append, 1,000 concurrent iterations"
        }
    }

    var cell: Cell {
        Cell(
            title: title,
            contenders: [
                contender("SafeArray", SafeArray<Int>.self),
                contender("Mutex", MutexAdapter.self),
                contender("NIOLockedValueBox", NIOAdapter.self),
                contender("NSLock", NSLockAdapter.self),
                contender("pthread_rwlock_t", PthreadAdapter.self),
                contender("pure-Swift reader–writer lock", PhaseFairAdapter.self),
                contender("serial queue", PureAdapter<SerialQueueArray<Int>>.self),
                contender("barrier queue", PureAdapter<BarrierQueueArray<Int>>.self),
            ]
        )
    }

    private func contender<Adapter: ArrayAdapter>(_ name: String, _: Adapter.Type) -> Contender {
        Contender(name) { time in
            switch self {
            case .read(let threads):
                let array = Adapter(Array(0..<1_024))
                return slice(threads: threads, time: time) { _, phase in readLoop(array, phase) }
            case .append:
                let array = Adapter([])
                return slice(threads: 1, time: time) { _, phase in appendLoop(array, phase) }
            case .mixed(let threads, let every):
                let array = Adapter(Array(0..<1_024))
                return slice(threads: threads, time: time) { thread, phase in
                    mixedLoop(array, phase, every, thread * every / threads)
                }
            case .lastAndAppend:
                return iterate(Adapter.self, time)
            }
        }
    }
}

private func readLoop<Adapter: ArrayAdapter>(_ array: Adapter, _ phase: Phase) -> (
    nanoseconds: Double, operations: Int
) {
    var sum: UInt64 = 0
    let measured = phase.measure(size: 64) { first in
        var part: UInt64 = 0
        for number in first..<first &+ 64 {
            part &+= UInt64(truncatingIfNeeded: array.element(at: number & 1_023) ?? 0)
        }
        sum &+= part
    }
    keep(sum)
    return measured
}

private func appendLoop<Adapter: ArrayAdapter>(_ array: Adapter, _ phase: Phase) -> (
    nanoseconds: Double, operations: Int
) {
    phase.measure(size: 1_024) { first in
        for number in first..<first &+ 1_024 { array.append(number) }
        // Bounds the memory, and waits for asynchronous appends.
        array.empty()
    }
}

private func mixedLoop<Adapter: ArrayAdapter>(
    _ array: Adapter,
    _ phase: Phase,
    _ every: Int,
    _ offset: Int
) -> (nanoseconds: Double, operations: Int) {
    var sum: UInt64 = 0
    var untilWrite = offset + 1
    let measured = phase.measure(size: 64) { first in
        for number in first..<first &+ 64 {
            untilWrite &-= 1
            if untilWrite == 0 {
                untilWrite = every
                array.set(number & 1_023, number)
            } else {
                sum &+= UInt64(truncatingIfNeeded: array.element(at: number & 1_023) ?? 0)
            }
        }
    }
    keep(sum)
    return measured
}

private func iterate<Adapter: ArrayAdapter>(_: Adapter.Type, _ time: Duration) -> Double {
    var rounds = 0
    let begin = ContinuousClock.now
    repeat {
        let array = Adapter([0])
        DispatchQueue.concurrentPerform(iterations: 1_000) { _ in
            let last = array.last ?? 0
            array.append(last + 1)
        }
        guard array.count == 1_001 else { fatalError("\(Adapter.self) lost elements") }
        rounds += 1
    } while begin.duration(to: .now) < time
    return begin.duration(to: .now) / .nanoseconds(1) / Double(rounds * 1_000)
}
