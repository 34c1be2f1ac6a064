// SPDX-License-Identifier: Apache-2.0
//
// Which computation of a cache waits for which: a graph under one lock of the process, because a cycle may lead through
// several caches. Only questions asked inside a computation take it. Here because whatever runs work for a caller that
// waits passes on what the caller is part of.

import InterlockSync

// Its one field is guarded by the lock of FlightWaits.
@usableFromInline
package class AnyFlight: @unchecked Sendable {
    // What this one waits for, as often as it does.
    fileprivate var waitsFor: [AnyFlight] = []

    @usableFromInline
    package init() {}

    /// Whether this computation waits for `other`, directly or by others, or is it.
    fileprivate func leads(to other: AnyFlight) -> Bool {
        var found: Set<ObjectIdentifier> = []
        var next = [self]
        while let flight = next.popLast() {
            if flight === other { return true }
            if found.insert(ObjectIdentifier(flight)).inserted { next += flight.waitsFor }
        }
        return false
    }
}

@usableFromInline
package enum FlightWaits {
    /// The computation that the current task or thread is part of.
    @TaskLocal package static var current: AnyFlight?

    // Guards `waitsFor` of every flight.
    private static let lock = ReadWriteLock(unwatched: ())

    @usableFromInline
    package struct Edge: Sendable { fileprivate let from: AnyFlight, to: AnyFlight }

    /// Runs `body` as a part of a computation, or of none where `flight` is nil. ``current`` passes on to tasks; code
    /// that passes a closure to another thread and waits for it calls this there.
    @inlinable
    package static func inside<Result, Failure: Error>(
        _ flight: AnyFlight?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let flight else { return try body() }
        var result: Swift.Result<Result, Failure>?
        setCurrent(flight) {
            do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
        }
        return try result!.get()
    }

    // Not generic, unlike `withValue`, which also forgets the error's type.
    @usableFromInline
    static func setCurrent(_ flight: AnyFlight, during body: () -> Void) {
        $current.withValue(flight, operation: body)
    }

    /// Registers that the current computation, if any, waits for one that it starts and that waits for nothing yet.
    @usableFromInline
    package static func begin(starting flight: AnyFlight) -> Edge? {
        guard let current else { return nil }
        lock.withWriteLock { _ in current.waitsFor.append(flight) }
        return Edge(from: current, to: flight)
    }

    /// Registers that the current computation, if any, will wait for `flight`; throws if `flight` waits for it already.
    /// ``end(_:)`` takes the edge.
    @usableFromInline
    package static func begin<Failure: Error>(
        _ flight: AnyFlight,
        orFail failure: @autoclosure () -> Failure
    ) throws(Failure) -> Edge? {
        guard let current else { return nil }
        let closesACycle = lock.withWriteLock { _ in
            if flight.leads(to: current) { return true }
            current.waitsFor.append(flight)
            return false
        }
        if closesACycle { throw failure() }
        return Edge(from: current, to: flight)
    }

    @usableFromInline
    package static func end(_ edge: Edge?) {
        guard let edge else { return }
        lock.withWriteLock { _ in
            let index = edge.from.waitsFor.firstIndex { $0 === edge.to }
            edge.from.waitsFor.remove(at: index!)
        }
    }
}
