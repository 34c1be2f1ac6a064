// SPDX-License-Identifier: Apache-2.0
//
// Rings of 1,024 64-bit elements: through Swift, from C, and pure Swift. The sum of the popped elements is checked.

import CBench
import CInterlock
import Foundation
import Interlock
import PureSwift
import Synchronization

private let capacity = 1_024
private let batch: UInt64 = 4_096

/// One thread uses `producer`, one `consumer`.
protocol RingAdapter: AnyObject, Sendable {
    init()
    func tryPush(_ element: UInt64) -> Bool
    func tryPop() -> UInt64?
    func pairs(_ count: UInt64) -> UInt64
    func push(from first: UInt64, _ count: UInt64)
    func drain() -> UInt64
    func close()
    var isClosed: Bool { get }
}

extension RingAdapter {
    @inline(__always) func pairs(_ count: UInt64) -> UInt64 {
        var sum: UInt64 = 0
        for number in 0..<count {
            guard tryPush(number), let popped = tryPop() else { return .max }
            sum &+= popped
        }
        return sum
    }
    @inline(__always) func push(from first: UInt64, _ count: UInt64) {
        var pauses: UInt32 = 0
        for number in first..<first &+ count {
            while !tryPush(number) { bench_pause(&pauses) }
        }
    }
    @inline(__always) func drain() -> UInt64 {
        var sum: UInt64 = 0
        var pauses: UInt32 = 0
        while true {
            if let popped = tryPop() {
                sum &+= popped
            } else if isClosed {
                while let popped = tryPop() { sum &+= popped }
                return sum
            } else {
                bench_pause(&pauses)
            }
        }
    }
}

// @unchecked: one thread uses the producer, one the consumer, which the benchmark ensures.
final class SwiftSPSC: RingAdapter, @unchecked Sendable {
    private let producer: SPSCRing<UInt64>.Producer
    private let consumer: SPSCRing<UInt64>.Consumer
    init() {
        var left: SPSCRing<UInt64>.Producer?
        var right: SPSCRing<UInt64>.Consumer?
        try! SPSCRing<UInt64>(capacity: capacity).split { producer, consumer in
            left = consume producer
            right = consume consumer
        }
        producer = left.take()!
        consumer = right.take()!
    }
    @inline(__always) func tryPush(_ element: UInt64) -> Bool { producer.tryPush(element).isPushed }
    @inline(__always) func tryPop() -> UInt64? { consumer.tryPop() }
    func close() { producer.close() }
    @inline(__always) var isClosed: Bool { producer.isClosed }

    // Each loop borrows its end once.
    @inline(__always) func pairs(_ count: UInt64) -> UInt64 { spscPairs(producer, consumer, count) }
}

@inline(never)
private func spscPairs(
    _ producer: borrowing SPSCRing<UInt64>.Producer,
    _ consumer: borrowing SPSCRing<UInt64>.Consumer,
    _ count: UInt64
) -> UInt64 {
    var sum: UInt64 = 0
    for number in 0..<count {
        guard producer.tryPush(number).isPushed, let popped = consumer.tryPop() else { return .max }
        sum &+= popped
    }
    return sum
}

final class SwiftMPMC: RingAdapter {
    private let ring = try! MPMCRing<UInt64>(capacity: capacity)
    init() {}
    @inline(__always) func tryPush(_ element: UInt64) -> Bool { ring.tryPush(element).isPushed }
    @inline(__always) func tryPop() -> UInt64? { ring.tryPop() }
    func close() { ring.close() }
    @inline(__always) var isClosed: Bool { ring.isClosed }
}

// @unchecked: as SwiftSPSC.
final class PureSPSC: RingAdapter, @unchecked Sendable {
    private let ring = AtomicSPSCRing<UInt64>(capacity: capacity)
    init() {}
    @inline(__always) func tryPush(_ element: UInt64) -> Bool { ring.tryPush(element) }
    @inline(__always) func tryPop() -> UInt64? { ring.tryPop() }
    func close() { ring.close() }
    @inline(__always) var isClosed: Bool { ring.isClosed }
}

// @unchecked: the ring is made for any number of threads.
final class PureMPMC: RingAdapter, @unchecked Sendable {
    private let ring = AtomicMPMCRing<UInt64>(capacity: capacity)
    init() {}
    @inline(__always) func tryPush(_ element: UInt64) -> Bool { ring.tryPush(element) }
    @inline(__always) func tryPop() -> UInt64? { ring.tryPop() }
    func close() { ring.close() }
    @inline(__always) var isClosed: Bool { ring.isClosed }
}

// @unchecked: as SwiftSPSC.
final class CoreSPSC: RingAdapter, @unchecked Sendable {
    private let ring: UnsafeMutablePointer<ilk_spsc>
    init() {
        var made: UnsafeMutablePointer<ilk_spsc>?
        guard ilk_spsc_create(&made, capacity, 8) == ILK_OK, let made else { fatalError("no memory") }
        ring = made
    }
    deinit { ilk_spsc_destroy(ring) }
    func tryPush(_ element: UInt64) -> Bool { fatalError("C has its own loops") }
    func tryPop() -> UInt64? { fatalError("C has its own loops") }
    @inline(__always) func pairs(_ count: UInt64) -> UInt64 { bench_spsc_pairs(ring, count) }
    @inline(__always) func push(from first: UInt64, _ count: UInt64) { bench_spsc_push(ring, first, count) }
    @inline(__always) func drain() -> UInt64 { bench_spsc_drain(ring) }
    func close() { ilk_spsc_close(ring) }
    var isClosed: Bool { ilk_spsc_is_closed(ring) }
}

// @unchecked: the ring is made for any number of threads.
final class CoreMPMC: RingAdapter, @unchecked Sendable {
    private let ring: UnsafeMutablePointer<ilk_mpmc>
    init() {
        var made: UnsafeMutablePointer<ilk_mpmc>?
        guard ilk_mpmc_create(&made, capacity, 8) == ILK_OK, let made else { fatalError("no memory") }
        ring = made
    }
    deinit { ilk_mpmc_destroy(ring) }
    func tryPush(_ element: UInt64) -> Bool { fatalError("C has its own loops") }
    func tryPop() -> UInt64? { fatalError("C has its own loops") }
    @inline(__always) func pairs(_ count: UInt64) -> UInt64 { bench_mpmc_pairs(ring, count) }
    @inline(__always) func push(from first: UInt64, _ count: UInt64) { bench_mpmc_push(ring, first, count) }
    @inline(__always) func drain() -> UInt64 { bench_mpmc_drain(ring) }
    func close() { ilk_mpmc_close(ring) }
    var isClosed: Bool { ilk_mpmc_is_closed(ring) }
}

enum RingWork {
    static var cells: [Cell] {
        [
            Cell(
                title: "SPSC ring, push and pop, 1 thread",
                contenders: [
                    pairs("through Swift", SwiftSPSC.self), pairs("from C", CoreSPSC.self),
                    pairs("pure Swift", PureSPSC.self),
                ]
            ),
            Cell(
                title: "MPMC ring, push and pop, 1 thread",
                contenders: [
                    pairs("through Swift", SwiftMPMC.self), pairs("from C", CoreMPMC.self),
                    pairs("pure Swift", PureMPMC.self),
                ]
            ),
            Cell(
                title: "SPSC ring, one thread to another",
                contenders: [
                    across("through Swift", SwiftSPSC.self), across("from C", CoreSPSC.self),
                    across("pure Swift", PureSPSC.self),
                ]
            ),
            Cell(
                title: "MPMC ring, one thread to another",
                contenders: [
                    across("through Swift", SwiftMPMC.self), across("from C", CoreMPMC.self),
                    across("pure Swift", PureMPMC.self),
                ]
            ),
        ]
    }

    private static func pairs<Adapter: RingAdapter>(_ name: String, _: Adapter.Type) -> Contender {
        Contender(name) { time in
            let ring = Adapter()
            return slice(threads: 1, time: time) { _, phase in pairLoop(ring, phase) }
        }
    }

    private static func across<Adapter: RingAdapter>(_ name: String, _: Adapter.Type) -> Contender {
        Contender(name) { time in
            let ring = Adapter()
            return slice(threads: 2, time: time) { thread, phase in acrossLoop(ring, phase, thread) }
        }
    }
}

private func pairLoop<Adapter: RingAdapter>(_ ring: Adapter, _ phase: Phase) -> (
    nanoseconds: Double, operations: Int
) {
    phase.measure(size: Int(batch)) { _ in
        guard ring.pairs(batch) == batch * (batch - 1) / 2 else {
            fatalError("\(Adapter.self) lost elements")
        }
    }
}

private func acrossLoop<Adapter: RingAdapter>(
    _ ring: Adapter,
    _ phase: Phase,
    _ thread: Int
) -> (nanoseconds: Double, operations: Int) {
    if thread == 1 {
        keep(ring.drain())
        return (1, 0)
    }
    defer { ring.close() }
    return phase.measure(size: Int(batch)) { first in ring.push(from: UInt64(first), batch) }
}
