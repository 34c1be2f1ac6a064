// SPDX-License-Identifier: Apache-2.0
//
// What the conformance suite asks of a primitive, in any of its versions (`Subjects.swift`). What only one version can
// do is tested elsewhere. Deadlines are points in time of `ContinuousClock`; nil waits for ever.

import PureSwift

/// An array that several threads share.
protocol ConformanceArray<Element>: AnyObject, Sendable {
    associatedtype Element: Sendable
    init(_ elements: [Element])
    func append(_ element: Element)
    func popFirst() -> Element?
    func popLast() -> Element?
    func element(at index: Int) -> Element?
    func removeAll(where predicate: (Element) -> Bool)
    subscript(index: Int) -> Element { get set }
    var count: Int { get }
    var last: Element? { get }
    var snapshot: [Element] { get }
    func reading<Result: Sendable>(_ body: ([Element]) -> Result) -> Result
    func writing<Result: Sendable>(_ body: (inout [Element]) -> Result) -> Result
}

/// A reader–writer lock around a value. nil: the body has not run.
protocol ConformanceLock<Value>: AnyObject, Sendable {
    associatedtype Value: Sendable
    init(_ value: Value)
    func reading<Result: Sendable>(_ body: (Value) throws -> Result) rethrows -> Result
    func writing<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result
    func readingIfAvailable<Result: Sendable>(_ body: (Value) throws -> Result) rethrows -> Result?
    func writingIfAvailable<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result?
    func reading<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: (Value) throws -> Result
    ) rethrows -> Result?
    func writing<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws -> Result
    ) rethrows -> Result?
}

/// A bounded queue that can be closed: what SPSC and MPMC rings share.
protocol ConformanceRing<Element>: AnyObject, Sendable {
    associatedtype Element: Sendable
    init(capacity: Int)
    func tryPush(_ element: consuming Element) -> Bool
    func tryPop() -> Element?
    func push(_ element: Element, until deadline: ContinuousClock.Instant?) -> PureSwift.PushOutcome
    func pop(until deadline: ContinuousClock.Instant?) -> PureSwift.PopOutcome<Element>
    func close()
    var isClosed: Bool { get }
    var count: Int { get }
    var capacity: Int { get }
}

/// One producer thread, one consumer thread.
protocol ConformanceSPSC<Element>: ConformanceRing {}

/// Any number of either.
protocol ConformanceMPMC<Element>: ConformanceRing {}

/// A counting semaphore that serves first come, first served.
protocol ConformanceSemaphore: AnyObject, Sendable {
    init(permits: Int)
    func wait()
    func tryWait() -> Bool
    func wait(until deadline: ContinuousClock.Instant?) -> Bool
    func signal(_ permits: Int)
    /// The permits there, or minus the number of threads waiting.
    var value: Int { get }
}
