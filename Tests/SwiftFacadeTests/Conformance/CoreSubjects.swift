// SPDX-License-Identifier: Apache-2.0
//
// The C-backed versions under the suite's protocols. Only names are translated: each promise comes from the version
// itself.

import Interlock

extension Subjects {
    static let coreArrays = [ArraySubject("C-backed SafeArray") { CoreArray<Parcel>([]) }]
    static let coreLocks = [LockSubject("C-backed ReadWriteLock") { CoreLock($0) }]
    static let coreSemaphores = [
        SemaphoreSubject("C-backed FIFOSemaphore") { CoreSemaphore(permits: $0) }
    ]
}

/// An array is Sendable only if its elements are, and no conformance can depend on that.
final class CoreArray<Element: Sendable>: ConformanceArray {
    private let array: SafeArray<Element>

    init(_ elements: [Element]) { array = SafeArray(elements) }

    func append(_ element: Element) { array.append(element) }
    func popFirst() -> Element? { array.popFirst() }
    func popLast() -> Element? { array.popLast() }
    func element(at index: Int) -> Element? { array.element(at: index) }
    func removeAll(where predicate: (Element) -> Bool) { array.removeAll(where: predicate) }
    subscript(index: Int) -> Element {
        get { array[index] }
        set { array[index] = newValue }
    }
    var count: Int { array.count }
    var last: Element? { array.last }
    var snapshot: [Element] { array.snapshot }
    func reading<Result: Sendable>(_ body: ([Element]) -> Result) -> Result { array.withReadLock(body) }
    func writing<Result: Sendable>(_ body: (inout [Element]) -> Result) -> Result {
        array.withWriteLock(body)
    }
}

/// The lock is noncopyable; a test shares this class.
final class CoreLock<Value: Sendable>: ConformanceLock {
    private let lock: ReadWriteLock<Value>

    init(_ value: Value) { lock = ReadWriteLock(value) }

    func reading<Result: Sendable>(_ body: (Value) throws -> Result) rethrows -> Result {
        try lock.withReadLock { try body($0) }
    }
    func writing<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withWriteLock { try body(&$0) }
    }
    func readingIfAvailable<Result: Sendable>(_ body: (Value) throws -> Result) rethrows -> Result? {
        try lock.withReadLockIfAvailable { try body($0) }
    }
    func writingIfAvailable<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result? {
        try lock.withWriteLockIfAvailable { try body(&$0) }
    }
    func reading<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: (Value) throws -> Result
    ) rethrows -> Result? {
        try lock.withReadLock(until: deadline) { try body($0) }
    }
    func writing<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws -> Result
    ) rethrows -> Result? {
        try lock.withWriteLock(until: deadline) { try body(&$0) }
    }
}

/// "No deadline" is another call there.
final class CoreSemaphore: ConformanceSemaphore {
    private let semaphore: FIFOSemaphore

    init(permits: Int) { semaphore = FIFOSemaphore(permits: permits) }

    func wait() { semaphore.wait() }
    func tryWait() -> Bool { semaphore.tryWait() }
    func wait(until deadline: ContinuousClock.Instant?) -> Bool {
        guard let deadline else {
            semaphore.wait()
            return true
        }
        return semaphore.wait(until: deadline)
    }
    func signal(_ permits: Int) { semaphore.signal(permits) }
    var value: Int { semaphore.value }
}
