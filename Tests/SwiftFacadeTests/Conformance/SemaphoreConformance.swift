// SPDX-License-Identifier: Apache-2.0
//
// A counting semaphore that serves first come, first served: permits, order, hand-off, deadlines. Its value shows which
// threads have joined the line.

import Foundation
import Synchronization
import Testing
// contract: FIFOSemaphore
@Suite("conformance: semaphores", .serialized)
struct SemaphoreConformance {
    @Test(arguments: Subjects.semaphores)
    func neverMoreInsideThanPermits(_ subject: SemaphoreSubject) async throws {
        let (permits, threads, each) = (3, 6, 3_000)
        let semaphore = subject.make(permits)
        let inside = Atomic<Int>(0)
        let crew = Crew()
        crew.add("user", count: threads) { _ in
            for round in 0..<each {
                if round % 2 == 0 {
                    semaphore.wait()
                } else {
                    try ensure(semaphore.wait(until: farDeadline), "no permit came in round \(round)")
                }
                let now = inside.add(1, ordering: .relaxed).newValue
                try ensure(now <= permits, "\(now) inside with \(permits) permits")
                if round % 8 == 0 { Thread.yield() }
                inside.subtract(1, ordering: .relaxed)
                semaphore.signal(1)
            }
        }
        try await crew.run()
        #expect(semaphore.value == permits)
    }

    @Test(arguments: Subjects.semaphores)
    func servesInOrderOfArrival(_ subject: SemaphoreSubject) async throws {
        let waiters = 6
        let semaphore = subject.make(0)
        let served = Journal<Int>()
        let crew = Crew()
        crew.add("waiter", count: waiters) { index in
            try waitUntil("\(index) in line") { semaphore.value == -index }
            semaphore.wait()
            served.note(index)
        }
        crew.add("signaller") {
            try waitUntil("all in line") { semaphore.value == -waiters }
            for turn in 1...waiters {
                semaphore.signal(1)
                try waitUntil("turn \(turn)") { served.count == turn }
            }
        }
        try await crew.run()
        #expect(served.entries == Array(0..<waiters))
    }

    /// The signaller tries for the permit while its owner is still waking up.
    @Test(arguments: Subjects.semaphores)
    func aPermitHandedOverCannotBeStolen(_ subject: SemaphoreSubject) async throws {
        let rounds = 300
        let semaphore = subject.make(0)
        let phase = Phase()
        let crew = Crew()
        crew.add("waiter") {
            for round in 1...rounds {
                try ensure(semaphore.wait(until: farDeadline), "round \(round): no permit came")
                phase.advance(to: round)
            }
        }
        crew.add("thief") {
            for round in 1...rounds {
                try waitUntil("round \(round) in line") { semaphore.value == -1 }
                semaphore.signal(1)
                try ensure(!semaphore.tryWait(), "round \(round): stolen")
                try phase.await(round)
            }
        }
        try await crew.run()
        #expect(semaphore.value == 0)
    }

    /// The textbooks' trace of the counter.
    @Test(arguments: Subjects.semaphores)
    func theCounterTraceOfThreeUsersOfOnePermit(_ subject: SemaphoreSubject) async throws {
        let semaphore = subject.make(1)
        let trace = Journal<Int>()
        let phase = Phase()
        let crew = Crew()
        for user in 1...3 {
            crew.add("user \(user)") {
                try phase.await(user)
                semaphore.wait()
                try phase.await(3 + user)
                semaphore.signal(1)
                trace.note(semaphore.value)
                phase.advance(to: 4 + user)
            }
        }
        crew.add("observer") {
            trace.note(semaphore.value)
            for (user, value) in [(1, 0), (2, -1), (3, -2)] {
                phase.advance(to: user)
                try waitUntil("user \(user) has come") { semaphore.value == value }
                trace.note(semaphore.value)
            }
            phase.advance(to: 4)
        }
        try await crew.run()
        #expect(trace.entries == [1, 0, -1, -2, -1, 0, 1])
    }

    @Test(arguments: Subjects.semaphores)
    func oneSignalServesSeveralAndKeepsTheRest(_ subject: SemaphoreSubject) async throws {
        let semaphore = subject.make(0)
        let served = Atomic<Int>(0)
        let crew = Crew()
        crew.add("waiter", count: 3) { _ in
            semaphore.wait()
            served.add(1, ordering: .relaxed)
        }
        crew.add("signaller") {
            try waitUntil("all in line") { semaphore.value == -3 }
            semaphore.signal(0)
            try ensure(semaphore.value == -3, "a signal of nothing changed \(semaphore.value)")
            semaphore.signal(2)
            try waitUntil("two are served") { served.load(ordering: .relaxed) == 2 }
            try ensure(semaphore.value == -1, "\(semaphore.value) with one waiter left")
            semaphore.signal(3)
            try ensure(semaphore.value == 2, "\(semaphore.value) left instead of 2")
        }
        try await crew.run()
        #expect(semaphore.tryWait() && semaphore.tryWait() && !semaphore.tryWait())
    }

    @Test(arguments: Subjects.semaphores)
    func deadlinesAreHonouredAndLeaveNothingBehind(_ subject: SemaphoreSubject) async throws {
        try await onThread {
            let semaphore = subject.make(0)
            try expectTimeOut { !semaphore.wait(until: $0) }
            try ensure(semaphore.value == 0, "\(semaphore.value) after a wait that timed out")
            semaphore.signal(1)
            try ensure(semaphore.wait(until: .now - .seconds(1)), "a permit refused: the deadline had passed")
            try ensure(!semaphore.tryWait(), "a permit out of nothing")
        }
    }

    /// ```
    /// first in line      second in line     signaller
    /// gives up
    ///                                       signals
    ///                    is served
    /// ```
    @Test(arguments: Subjects.semaphores)
    func aWaiterThatGivesUpIsPassedOver(_ subject: SemaphoreSubject) async throws {
        let semaphore = subject.make(0)
        let phase = Phase()
        let crew = Crew()
        crew.add("first") {
            try ensure(!semaphore.wait(until: .now + .milliseconds(100)), "served before anybody signalled")
            phase.advance(to: 1)
        }
        crew.add("second") {
            try waitUntil("the first is in line, or has been") { semaphore.value == -1 || phase.has(1) }
            try ensure(semaphore.wait(until: farDeadline), "never served")
        }
        crew.add("signaller") {
            try phase.await(1)
            semaphore.signal(1)
        }
        try await crew.run()
        #expect(semaphore.value == 0)
    }

    /// A signal in the moment a wait gives up: the permit is taken or left. Both threads aim at the same instant, the
    /// signaller a little beside it, by another bit each round.
    @Test(arguments: Subjects.semaphores)
    func aRaceOfSignalAndDeadlineLosesNoPermit(_ subject: SemaphoreSubject) async throws {
        let rounds = 3_000
        let semaphore = subject.make(0)
        let base = ContinuousClock.now
        let deadline = Atomic<Int>(0)  // nanoseconds after base, published by the phase
        let waited = Phase()
        let signalled = Phase()
        let crew = Crew()
        crew.add("waiter") {
            for round in 1...rounds {
                let end = ContinuousClock.now + .microseconds(40)
                deadline.store(Int(base.duration(to: end) / .nanoseconds(1)), ordering: .relaxed)
                waited.advance(to: 2 * round - 1)
                let taken = semaphore.wait(until: end)
                try signalled.await(round)
                try ensure(semaphore.tryWait() != taken, "round \(round): a permit lost or made")
                waited.advance(to: 2 * round)
            }
        }
        crew.add("signaller") {
            for round in 1...rounds {
                try waited.await(2 * round - 1)
                let nanoseconds = deadline.load(ordering: .relaxed) + round * 37 % 80_000 - 10_000
                let moment = base + .nanoseconds(nanoseconds)
                while ContinuousClock.now < moment {}
                semaphore.signal(1)
                signalled.advance(to: round)
                try waited.await(2 * round)
            }
        }
        try await crew.run()
        #expect(semaphore.value == 0)
    }
}
