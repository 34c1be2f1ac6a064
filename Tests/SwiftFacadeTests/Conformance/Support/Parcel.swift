// SPDX-License-Identifier: Apache-2.0
//
// The element of every conformance test: it knows its producer, shows tearing, and counts its lifetimes.

import Synchronization

/// Four words that belong together, one a counted reference.
struct Parcel: Sendable {
    let producer: Int
    let sequence: Int
    private let seal: Int
    private let life: Life

    init(from producer: Int = 0, _ sequence: Int, _ ledger: Ledger) {
        self.producer = producer
        self.sequence = sequence
        seal = Self.seal(producer, sequence)
        life = Life(producer, sequence, ledger)
    }

    /// False for a torn or stale copy, which mixes two parcels.
    var isWhole: Bool {
        seal == Self.seal(producer, sequence) && life.producer == producer && life.sequence == sequence
    }

    private static func seal(_ producer: Int, _ sequence: Int) -> Int {
        (producer &* 1_000_003 ^ sequence) &* 0x9E37_79B9
    }
}

/// The part of a parcel that is made and destroyed once, however often the parcel is copied.
private final class Life: Sendable {
    let producer: Int
    let sequence: Int
    private let ledger: Ledger

    init(_ producer: Int, _ sequence: Int, _ ledger: Ledger) {
        self.producer = producer
        self.sequence = sequence
        self.ledger = ledger
        ledger.living.add(1, ordering: .relaxed)
    }

    deinit {
        ledger.living.subtract(1, ordering: .relaxed)
    }
}

final class Ledger: Sendable {
    // relaxed: read after the counting threads have been joined.
    fileprivate let living = Atomic<Int>(0)

    var balance: Int { living.load(ordering: .relaxed) }
}

/// Checks one consumer's parcels: whole, and each producer's in order.
struct Inspection {
    private var lastSequence: [Int: Int] = [:]

    mutating func check(_ parcel: Parcel) throws {
        try ensure(parcel.isWhole, "a torn parcel: producer \(parcel.producer), sequence \(parcel.sequence)")
        if let last = lastSequence[parcel.producer] {
            try ensure(
                last < parcel.sequence,
                "producer \(parcel.producer): \(parcel.sequence) came after \(last)"
            )
        }
        lastSequence[parcel.producer] = parcel.sequence
    }
}

/// Results of threads, for the test to read after the join. Made of nothing this package provides.
final class Journal<Entry: Sendable>: Sendable {
    private let lock = UnfairPlainLock<[Entry]>([])

    func note(_ entry: Entry) { lock.with { $0.append(entry) } }
    func note(contentsOf entries: [Entry]) { lock.with { $0.append(contentsOf: entries) } }
    var entries: [Entry] { lock.with { $0 } }
    var count: Int { lock.with { $0.count } }
}
