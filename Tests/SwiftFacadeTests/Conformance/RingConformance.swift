// SPDX-License-Identifier: Apache-2.0
//
// Every bounded ring with one producer and one consumer: exact capacity, order, close and drain, waits that end. At the
// likeliest wrong capacities: one, two, not a power of two, and a usual one.

import PureSwift
import Synchronization
import Testing

let ringCapacities = [1, 2, 3, 5, 8, 64]
// contract: MPMCRing, PopResult, SPSCRing
@Suite("conformance: rings", .serialized)
struct RingConformance {
    @Test(arguments: Subjects.rings, ringCapacities)
    func holdsExactlyItsCapacity(_ subject: RingSubject, _ capacity: Int) async throws {
        try await onThread {
            let ledger = Ledger()
            let ring = subject.make(capacity)
            try ensure(ring.capacity == capacity, "says it holds \(ring.capacity)")
            // Over several laps, starting at every slot.
            for lap in 0..<(2 * capacity + 3) {
                try ensure(ring.count == 0 && ring.tryPop() == nil, "lap \(lap): not empty")
                for sequence in 0..<capacity {
                    try ensure(ring.tryPush(Parcel(sequence, ledger)), "lap \(lap): full at \(sequence)")
                    try ensure(ring.count == sequence + 1, "lap \(lap): counts \(ring.count)")
                }
                try ensure(!ring.tryPush(Parcel(capacity, ledger)), "lap \(lap): holds one too many")
                try ensure(ledger.balance == capacity, "lap \(lap): the refused element was kept")
                for sequence in 0..<capacity {
                    let parcel = ring.tryPop()
                    try ensure(
                        parcel?.sequence == sequence && parcel?.isWhole == true,
                        "lap \(lap): popped \(String(describing: parcel)) instead of \(sequence)"
                    )
                }
                // This moves the start of the next lap by one slot.
                try ensure(ring.tryPush(Parcel(0, ledger)) && ring.tryPop() != nil, "lap \(lap): stuck")
            }
            try ensure(ledger.balance == 0, "\(ledger.balance) elements not released")
        }
    }

    @Test(arguments: Subjects.rings, ringCapacities)
    func oneToOneKeepsOrderAndLosesNothing(_ subject: RingSubject, _ capacity: Int) async throws {
        let total = 4_000
        let ledger = Ledger()
        let ring = subject.make(capacity)
        let crew = Crew()
        crew.add("producer") {
            for sequence in 0..<total {
                if sequence % 3 == 0 {
                    try waitUntil("room") { ring.tryPush(Parcel(sequence, ledger)) }
                } else {
                    let outcome = ring.push(Parcel(sequence, ledger), until: farDeadline)
                    try ensure(outcome == .pushed, "push \(sequence) ended \(outcome)")
                }
            }
        }
        crew.add("consumer") {
            for sequence in 0..<total {
                let parcel: Parcel
                if sequence % 5 == 0 {
                    var popped: Parcel?
                    try waitUntil("element \(sequence)") {
                        popped = ring.tryPop()
                        return popped != nil
                    }
                    parcel = popped!
                } else {
                    parcel = try ring.mustPop()
                }
                try ensure(parcel.isWhole, "a torn parcel at \(sequence)")
                try ensure(parcel.sequence == sequence, "\(parcel.sequence) instead of \(sequence)")
            }
            try ensure(ring.tryPop() == nil, "an element too many")
        }
        try await crew.run()
        #expect(ledger.balance == 0)
    }

    /// Each side waits for the other in every round: a lost wake-up is a hang.
    @Test(arguments: Subjects.rings, ringCapacities)
    func noWakeUpIsLostBetweenTwoThatWaitForEachOther(
        _ subject: RingSubject,
        _ capacity: Int
    ) async throws {
        let rounds = 1_500
        let ledger = Ledger()
        let (there, back) = (subject.make(capacity), subject.make(capacity))
        let crew = Crew()
        crew.add("server") {
            for round in 0..<rounds {
                let outcome = there.push(Parcel(round, ledger), until: farDeadline)
                try ensure(outcome == .pushed, "serving round \(round) ended \(outcome)")
                try ensure(try back.mustPop().sequence == round, "round \(round) came back as another")
            }
        }
        crew.add("returner") {
            for _ in 0..<rounds {
                let outcome = back.push(try there.mustPop(), until: farDeadline)
                try ensure(outcome == .pushed, "returning ended \(outcome)")
            }
        }
        try await crew.run()
    }

    /// The producer waits for room all the time.
    @Test(arguments: Subjects.rings, ringCapacities)
    func aWaitingPushIsWokenByEachPop(_ subject: RingSubject, _ capacity: Int) async throws {
        let total = capacity + 300
        let ledger = Ledger()
        let ring = subject.make(capacity)
        let crew = Crew()
        crew.add("producer") {
            for sequence in 0..<total {
                let outcome = ring.push(Parcel(sequence, ledger), until: farDeadline)
                try ensure(outcome == .pushed, "push \(sequence) ended \(outcome)")
            }
        }
        crew.add("consumer") {
            for sequence in 0..<total {
                try waitUntil("the ring is full, or holds the rest") {
                    ring.count == min(capacity, total - sequence)
                }
                // It may be counted and not yet there.
                var parcel: Parcel?
                try waitUntil("element \(sequence)") {
                    parcel = ring.tryPop()
                    return parcel != nil
                }
                try ensure(parcel?.sequence == sequence, "element \(sequence) is not next")
            }
        }
        try await crew.run()
    }

    @Test(arguments: Subjects.rings, ringCapacities)
    func aClosedRingRefusesPushesAndDrains(_ subject: RingSubject, _ capacity: Int) async throws {
        try await onThread {
            let ledger = Ledger()
            let ring = subject.make(capacity)
            for sequence in 0..<capacity { _ = ring.tryPush(Parcel(sequence, ledger)) }
            try ensure(!ring.isClosed, "closed before close")
            ring.close()
            ring.close()
            try ensure(ring.isClosed && ring.count == capacity, "open after close, or \(ring.count) elements")
            try ensure(!ring.tryPush(Parcel(99, ledger)), "pushed into a closed, full ring")
            try ensure(ring.push(Parcel(99, ledger), until: nil) == .closed, "push into a closed, full ring")
            for sequence in 0..<capacity {
                try ensure(try ring.mustPop().sequence == sequence, "element \(sequence) lost by closing")
                try ensure(!ring.tryPush(Parcel(99, ledger)), "pushed into a closed ring with room")
                let outcome = ring.push(Parcel(99, ledger), until: nil)
                try ensure(outcome == .closed, "a push into a closed ring ended \(outcome)")
            }
            try ensure(ring.tryPop() == nil, "an element out of a drained ring")
            guard case .closed = ring.pop(until: nil) else { throw Broken(description: "not drained") }
            try ensure(ledger.balance == 0, "\(ledger.balance) elements not released")
        }
    }

    @Test(arguments: Subjects.rings, ringCapacities)
    func closingWakesTheWaiters(_ subject: RingSubject, _ capacity: Int) async throws {
        let ledger = Ledger()
        for _ in 0..<20 {
            let (empty, full) = (subject.make(capacity), subject.make(capacity))
            for sequence in 0..<capacity { #expect(full.tryPush(Parcel(sequence, ledger))) }
            let crew = Crew()
            crew.add("consumer") {
                guard case .closed = empty.pop(until: farDeadline) else {
                    throw Broken(description: "not woken by close")
                }
            }
            crew.add("producer") {
                let outcome = full.push(Parcel(99, ledger), until: farDeadline)
                try ensure(outcome == .closed, "not woken by close but \(outcome)")
            }
            crew.add("closer") {
                empty.close()
                full.close()
            }
            try await crew.run()
        }
        // A thread releases the rings a moment after it has said that it is done.
        try await onThread { try waitUntil("everything is released") { ledger.balance == 0 } }
    }

    @Test(arguments: Subjects.rings, ringCapacities)
    func deadlinesAreHonouredAndNeverEarly(_ subject: RingSubject, _ capacity: Int) async throws {
        try await onThread {
            let ledger = Ledger()
            let ring = subject.make(capacity)
            try expectTimeOut { deadline in
                guard case .timedOut = ring.pop(until: deadline) else { return false }
                return true
            }
            let past = ContinuousClock.now - .seconds(1)
            for sequence in 0..<capacity {
                let outcome = ring.push(Parcel(sequence, ledger), until: past)
                try ensure(outcome == .pushed, "room refused because the deadline had passed: \(outcome)")
            }
            try expectTimeOut { ring.push(Parcel(99, ledger), until: $0) == .timedOut }
            try ensure(ledger.balance == capacity, "the element of a push that timed out was kept")
            guard case .element(let parcel) = ring.pop(until: past) else {
                throw Broken(description: "an element refused because the deadline had passed")
            }
            try ensure(parcel.sequence == 0, "popped \(parcel.sequence) first")
        }
    }

    @Test(arguments: Subjects.rings, ringCapacities)
    func aRaceOfCloseAndPushLosesNothing(_ subject: RingSubject, _ capacity: Int) async throws {
        let ledger = Ledger()
        for round in 0..<60 {
            let ring = subject.make(capacity)
            let pushed = Atomic<Int>(0)
            let popped = Atomic<Int>(0)
            let crew = Crew()
            crew.add("producer") {
                var outcome: PushOutcome
                repeat {
                    outcome = ring.push(Parcel(pushed.load(ordering: .relaxed), ledger), until: farDeadline)
                    if outcome == .pushed { pushed.add(1, ordering: .relaxed) }
                } while outcome == .pushed
                // Not `isClosed`: a version may refuse pushes before its close takes effect.
                try ensure(outcome == .closed, "a push ended \(outcome)")
            }
            crew.add("consumer") {
                while case .element(let parcel) = ring.pop(until: farDeadline) {
                    let next = popped.add(1, ordering: .relaxed).oldValue
                    try ensure(parcel.sequence == next, "\(parcel.sequence) popped instead of \(next)")
                }
                try ensure(ring.isClosed, "a pop from an open ring failed")
            }
            crew.add("closer") {
                // Also without the traffic: the others go on until the ring is closed.
                defer { ring.close() }
                // Another moment each round.
                try waitUntil("traffic") { popped.load(ordering: .relaxed) >= round % 20 }
            }
            try await crew.run()
            let (sent, got) = (pushed.load(ordering: .relaxed), popped.load(ordering: .relaxed))
            #expect(sent == got, "round \(round), capacity \(capacity): \(sent) pushed, \(got) popped")
        }
        #expect(ledger.balance == 0)
    }

    /// The window of a drain: between the consumer's failed pop and its check for a close, the last element is pushed
    /// and the ring closed.
    @Test(arguments: Subjects.rings, ringCapacities)
    func whatIsPushedJustBeforeTheCloseIsPopped(_ subject: RingSubject, _ capacity: Int) async throws {
        let rounds = 3_000
        let ledger = Ledger()
        let rings = (0..<rounds).map { _ in subject.make(capacity) }
        let phase = Phase()
        let crew = Crew()
        crew.add("producer") {
            for (round, ring) in rings.enumerated() {
                let parcel = Parcel(round, ledger)
                try phase.await(round + 1)
                // Another moment each round.
                for _ in 0..<round % 97 { _ = ring.count }
                try ensure(ring.tryPush(parcel), "round \(round): no room in an empty ring")
                ring.close()
            }
        }
        crew.add("consumer") {
            for (round, ring) in rings.enumerated() {
                phase.advance(to: round + 1)
                guard case .element(let parcel) = ring.pop(until: farDeadline) else {
                    throw Broken(description: "round \(round): closed with an element inside")
                }
                try ensure(parcel.sequence == round, "popped \(parcel.sequence) in round \(round)")
                guard case .closed = ring.pop(until: farDeadline) else {
                    throw Broken(description: "round \(round): not closed after the last element")
                }
            }
        }
        try await crew.run()
        #expect(ledger.balance == 0)
    }

    @Test(arguments: Subjects.rings, ringCapacities)
    func whatIsLeftInARingIsReleasedWithIt(_ subject: RingSubject, _ capacity: Int) async throws {
        try await onThread {
            let ledger = Ledger()
            do {
                let ring = subject.make(capacity)
                // So that the rest lies across the end of the memory.
                for sequence in 0..<capacity { _ = ring.tryPush(Parcel(sequence, ledger)) }
                _ = ring.tryPop()
                _ = ring.tryPush(Parcel(capacity, ledger))
                try ensure(ledger.balance == capacity, "\(ledger.balance) alive in a ring of \(capacity)")
            }
            try ensure(ledger.balance == 0, "\(ledger.balance) elements not released")
        }
    }
}

extension ConformanceRing {
    func mustPop() throws -> Element {
        switch pop(until: farDeadline) {
        case .element(let element): return element
        case .closed: throw Broken(description: "the ring is closed")
        case .timedOut: throw Broken(description: "no element came")
        }
    }
}
