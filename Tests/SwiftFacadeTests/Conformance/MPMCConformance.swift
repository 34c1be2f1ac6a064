// SPDX-License-Identifier: Apache-2.0
//
// A ring for many, beyond what one producer and one consumer can see.

import PureSwift
import Synchronization
import Testing
// contract: MPMCRing
@Suite("conformance: rings for many", .serialized)
struct MPMCConformance {
    @Test(arguments: Subjects.mpmcRings, ringCapacities)
    func manyToManyLosesNothingAndKeepsEachProducersOrder(
        _ subject: MPMCSubject,
        _ capacity: Int
    ) async throws {
        let (producers, consumers, each) = (3, 3, 4_000)
        let ledger = Ledger()
        let ring = subject.make(capacity)
        let toFinish = Atomic<Int>(producers)
        let received = Journal<[Int]>()
        let crew = Crew()
        crew.add("producer", count: producers) { producer in
            for sequence in 0..<each {
                if sequence % 4 == 0 {
                    try waitUntil("room") { ring.tryPush(Parcel(from: producer, sequence, ledger)) }
                } else {
                    let outcome = ring.push(Parcel(from: producer, sequence, ledger), until: farDeadline)
                    try ensure(outcome == .pushed, "push \(sequence) ended \(outcome)")
                }
            }
            if toFinish.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ring.close() }
        }
        crew.add("consumer", count: consumers) { _ in
            var inspection = Inspection()
            var mine: [Int] = []
            while case .element(let parcel) = ring.pop(until: farDeadline) {
                try inspection.check(parcel)
                mine.append(parcel.producer * each + parcel.sequence)
            }
            try ensure(ring.isClosed, "a pop from an open ring failed")
            received.note(mine)
        }
        try await crew.run()
        #expect(received.entries.flatMap { $0 }.sorted() == Array(0..<producers * each))
        #expect(ledger.balance == 0)
    }

    /// A wake-up spent on a consumer that gives up must reach another.
    @Test(arguments: Subjects.mpmcRings, ringCapacities)
    func consumersThatGiveUpLeaveNoneAsleep(_ subject: MPMCSubject, _ capacity: Int) async throws {
        let total = 1_500
        let ledger = Ledger()
        let ring = subject.make(capacity)
        let received = Atomic<Int>(0)
        let crew = Crew()
        crew.add("producer", count: 2) { producer in
            // Also where this role fails: the others end with the ring.
            defer { ring.close() }
            for sequence in 0..<total / 2 {
                let outcome = ring.push(Parcel(from: producer, sequence, ledger), until: farDeadline)
                try ensure(outcome == .pushed, "push \(sequence) ended \(outcome)")
                // All is received: everybody sleeps or is about to.
                if sequence % 8 == 0 { try waitUntil("the ring is empty") { ring.count == 0 } }
            }
            try waitUntil("everything is received") { received.load(ordering: .relaxed) == total }
        }
        crew.add("patient consumer", count: 2) { _ in
            while case .element = ring.pop(until: farDeadline) { received.add(1, ordering: .relaxed) }
            try ensure(ring.isClosed, "an element did not come")
        }
        crew.whenOver { ring.close() }
        crew.add("impatient consumer", count: 2) { index in
            for round in 0... {
                switch ring.pop(until: .now + .microseconds((round * 11 + index * 5) % 60)) {
                case .element: received.add(1, ordering: .relaxed)
                case .closed: return
                case .timedOut: continue
                }
            }
        }
        try await crew.run()
        #expect(ledger.balance == 0)
    }

    /// ```
    /// impatient consumer     patient consumer     producer
    /// waits, gives up
    ///                        waits
    ///                                             pushes
    ///                        is woken
    /// ```
    /// The producer leaves the patient one time to fall asleep; otherwise the round shows less, nothing false.
    @Test(arguments: Subjects.mpmcRings, ringCapacities)
    func aConsumerThatGaveUpIsNotWokenInPlaceOfAnother(
        _ subject: MPMCSubject,
        _ capacity: Int
    ) async throws {
        let rounds = 40
        let ledger = Ledger()
        let ring = subject.make(capacity)
        let gaveUp = Phase()
        let received = Phase()
        let crew = Crew()
        crew.add("impatient consumer") {
            for round in 1...rounds {
                guard case .timedOut = ring.pop(until: .now + .microseconds(300)) else {
                    throw Broken(description: "round \(round): an element out of an empty ring")
                }
                gaveUp.advance(to: round)
                try received.await(round)
            }
        }
        crew.add("patient consumer") {
            for round in 1...rounds {
                try gaveUp.await(round)
                try ensure(try ring.mustPop().sequence == round, "round \(round): another round's element")
                received.advance(to: round)
            }
        }
        crew.add("producer") {
            for round in 1...rounds {
                try gaveUp.await(round)
                let moment = ContinuousClock.now + .microseconds(400)
                try waitUntil("some time has passed") { ContinuousClock.now > moment }
                try ensure(ring.tryPush(Parcel(round, ledger)), "round \(round): no room in an empty ring")
                try received.await(round)
            }
        }
        try await crew.run()
        #expect(ledger.balance == 0)
    }

    @Test(arguments: Subjects.mpmcRings, ringCapacities)
    func aRaceOfCloseAndManyLosesNothing(_ subject: MPMCSubject, _ capacity: Int) async throws {
        let ledger = Ledger()
        for round in 0..<40 {
            let ring = subject.make(capacity)
            let (pushed, popped) = (Journal<Int>(), Journal<Int>())
            let crew = Crew()
            crew.whenOver { ring.close() }
            crew.add("producer", count: 2) { producer in
                for sequence in 0... {
                    let parcel = Parcel(from: producer, sequence, ledger)
                    if sequence % 2 == 0 {
                        guard ring.push(parcel, until: farDeadline) == .pushed else { break }
                    } else {
                        var done = false
                        try waitUntil("room or close") {
                            done = ring.tryPush(parcel)
                            return done || ring.isClosed
                        }
                        if !done { break }
                    }
                    pushed.note(producer << 32 | sequence)
                }
            }
            crew.add("consumer", count: 2) { _ in
                var inspection = Inspection()
                while case .element(let parcel) = ring.pop(until: farDeadline) {
                    try inspection.check(parcel)
                    popped.note(parcel.producer << 32 | parcel.sequence)
                }
            }
            crew.add("closer") {
                // Also without the traffic: the others go on until the ring is closed.
                defer { ring.close() }
                try waitUntil("traffic") { popped.count >= round % 20 }
            }
            try await crew.run()
            #expect(pushed.entries.sorted() == popped.entries.sorted(), "round \(round)")
            #expect(ring.tryPop() == nil && ring.count == 0, "round \(round)")
        }
        #expect(ledger.balance == 0)
    }
}
