// SPDX-License-Identifier: Apache-2.0
//
// The C-backed rings under the suite's protocols. Only names are translated.

import Interlock
import PureSwift

extension Subjects {
    static let coreSPSCRings = [SPSCSubject("C-backed SPSCRing") { CoreSPSCRing(capacity: $0) }]
    static let coreMPMCRings = [MPMCSubject("C-backed MPMCRing") { CoreMPMCRing(capacity: $0) }]
}

// @unchecked: an end is for one thread at a time. The suite pushes from one thread, pops from one, and calls only
// close, isClosed and count from anywhere.
final class CoreSPSCRing<Element: Sendable>: ConformanceSPSC, @unchecked Sendable {
    private struct Ends: ~Copyable {
        let producer: SPSCRing<Element>.Producer
        let consumer: SPSCRing<Element>.Consumer
    }

    private let ends: Ends

    init(capacity: Int) {
        do {
            let ring = try SPSCRing<Element>(capacity: capacity)
            ends = ring.split { producer, consumer in Ends(producer: producer, consumer: consumer) }
        } catch {
            fatalError("no ring of capacity \(capacity): \(error)")
        }
    }

    func tryPush(_ element: consuming Element) -> Bool { ends.producer.tryPush(element).isPushed }
    func tryPop() -> Element? { ends.consumer.tryPop() }
    func push(_ element: Element, until deadline: ContinuousClock.Instant?) -> PushOutcome {
        guard let deadline else { return outcome(ends.producer.push(element)) }
        return outcome(ends.producer.push(element, until: deadline))
    }
    func pop(until deadline: ContinuousClock.Instant?) -> PopOutcome<Element> {
        unfailing {
            guard let deadline else {
                guard let element = try ends.consumer.pop() else { return .closed }
                return .element(element)
            }
            return outcome(try ends.consumer.pop(until: deadline))
        }
    }
    func close() { ends.producer.close() }
    var isClosed: Bool { ends.consumer.isClosed }
    var count: Int { ends.consumer.count }
    var capacity: Int { ends.consumer.capacity }
}

/// The ring, whose initialiser throws.
final class CoreMPMCRing<Element: Sendable>: ConformanceMPMC {
    private let ring: MPMCRing<Element>

    init(capacity: Int) {
        do { ring = try MPMCRing(capacity: capacity) } catch {
            fatalError("no ring of capacity \(capacity): \(error)")
        }
    }

    func tryPush(_ element: consuming Element) -> Bool { ring.tryPush(element).isPushed }
    func tryPop() -> Element? { ring.tryPop() }
    func push(_ element: Element, until deadline: ContinuousClock.Instant?) -> PushOutcome {
        guard let deadline else { return outcome(ring.push(element)) }
        return outcome(ring.push(element, until: deadline))
    }
    func pop(until deadline: ContinuousClock.Instant?) -> PopOutcome<Element> {
        unfailing {
            guard let deadline else {
                guard let element = try ring.pop() else { return .closed }
                return .element(element)
            }
            return outcome(try ring.pop(until: deadline))
        }
    }
    func close() { ring.close() }
    var isClosed: Bool { ring.isClosed }
    var count: Int { ring.count }
    var capacity: Int { ring.capacity }
}

/// Pops throw a closing error; the suite closes with none.
@inline(__always)
private func unfailing<Result>(_ body: () throws -> Result) -> Result {
    do { return try body() } catch { fatalError("a ring closed without an error threw \(error)") }
}

@inline(__always)
private func outcome<Element>(_ result: PushResult<Element>) -> PushOutcome {
    switch result {
    case .pushed: .pushed
    case .closed: .closed
    case .full: .timedOut
    case .cancelled: fatalError("a thread's push was cancelled")
    }
}

@inline(__always)
private func outcome<Element>(_ result: PopResult<Element>) -> PopOutcome<Element> {
    switch result {
    case .popped(let element): .element(element)
    case .closed: .closed
    case .empty: .timedOut
    }
}
