// SPDX-License-Identifier: Apache-2.0
//
// The versions that take the conformance suite, and the pure-Swift ones under its protocols.

import PureSwift
import Testing

/// One version of a primitive: its name in the test report, and its maker.
struct Subject<Make: Sendable>: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: Make

    init(_ name: String, _ make: Make) {
        testDescription = name
        self.make = make
    }
}

typealias ArraySubject = Subject<@Sendable () -> any ConformanceArray<Parcel>>
typealias LockSubject = Subject<@Sendable (Parcel) -> any ConformanceLock<Parcel>>
typealias SPSCSubject = Subject<@Sendable (Int) -> any ConformanceSPSC<Parcel>>
typealias MPMCSubject = Subject<@Sendable (Int) -> any ConformanceMPMC<Parcel>>
typealias RingSubject = Subject<@Sendable (Int) -> any ConformanceRing<Parcel>>
typealias SemaphoreSubject = Subject<@Sendable (Int) -> any ConformanceSemaphore>

enum Subjects {
    static let arrays =
        coreArrays + [
            ArraySubject("barrier queue") { BarrierQueueArray<Parcel>([]) },
            ArraySubject("serial queue") { SerialQueueArray<Parcel>([]) },
            ArraySubject("Mutex") { MutexArray<Parcel>([]) },
        ]
    static let locks = coreLocks + [LockSubject("pure Swift, phase-fair") { PureSwiftLock($0) }]
    static let spscRings = coreSPSCRings + [SPSCSubject("pure Swift SPSC") { AtomicSPSCRing(capacity: $0) }]
    static let mpmcRings = coreMPMCRings + [MPMCSubject("pure Swift MPMC") { AtomicMPMCRing(capacity: $0) }]
    static let semaphores =
        coreSemaphores + [SemaphoreSubject("pure Swift, Mutex") { MutexFIFOSemaphore(permits: $0) }]

    static let rings =
        spscRings.map { subject in RingSubject(subject.testDescription) { subject.make($0) } }
        + mpmcRings.map { subject in RingSubject(subject.testDescription) { subject.make($0) } }
}

extension GuardedArray {
    func reading<Result: Sendable>(_ body: ([Element]) -> Result) -> Result { withReadLock(body) }
    func writing<Result: Sendable>(_ body: (inout [Element]) -> Result) -> Result { withWriteLock(body) }
}

extension BarrierQueueArray: ConformanceArray {}
extension SerialQueueArray: ConformanceArray {}
extension MutexArray: ConformanceArray {}

/// A lock is Sendable only if its value is, and no conformance can depend on that.
final class PureSwiftLock<Value: Sendable>: ConformanceLock {
    private let lock: PhaseFairLock<Value>

    init(_ value: Value) { lock = PhaseFairLock(value) }

    func reading<Result: Sendable>(_ body: (Value) throws -> Result) rethrows -> Result {
        try lock.withReadLock(body)
    }
    func writing<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withWriteLock(body)
    }
    func readingIfAvailable<Result: Sendable>(_ body: (Value) throws -> Result) rethrows -> Result? {
        try lock.withReadLockIfAvailable(body)
    }
    func writingIfAvailable<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result? {
        try lock.withWriteLockIfAvailable(body)
    }
    func reading<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: (Value) throws -> Result
    ) rethrows -> Result? {
        try lock.withReadLock(until: deadline, body)
    }
    func writing<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws -> Result
    ) rethrows -> Result? {
        try lock.withWriteLock(until: deadline, body)
    }
}

extension AtomicSPSCRing: ConformanceSPSC {}
extension AtomicMPMCRing: ConformanceMPMC {}
extension MutexFIFOSemaphore: ConformanceSemaphore {}
