// SPDX-License-Identifier: Apache-2.0
//
// A reader–writer lock: exclusion, concurrent readers, turns between readers and writers, deadlines that leave nothing
// behind. A queued writer shows in one way only: a try for reading fails while only a reader holds the lock.

import Foundation
import Synchronization
import Testing
// contract: ReadWriteLock
@Suite("conformance: reader–writer locks", .serialized)
struct LockConformance {
    @Test(arguments: Subjects.locks)
    func writersExcludeEachOther(_ subject: LockSubject) async throws {
        let (threads, each) = (4, 8_000)
        let ledger = Ledger()
        let lock = subject.make(Parcel(0, ledger))
        let crew = Crew()
        crew.add("writer", count: threads) { writer in
            for round in 0..<each {
                lock.writing {
                    let next = $0.sequence + 1
                    if round % 32 == 0 { Thread.yield() }
                    $0 = Parcel(from: writer, next, ledger)
                }
            }
        }
        try await crew.run()
        #expect(lock.reading(\.sequence) == threads * each)
    }

    @Test(arguments: Subjects.locks)
    func readersSeeWholeWritesOnly(_ subject: LockSubject) async throws {
        let rounds = 8_000
        let ledger = Ledger()
        let lock = subject.make(Parcel(0, ledger))
        let inside = Atomic<Int>(0)
        let crew = Crew()
        crew.add("writer", count: 2) { writer in
            for round in 0..<rounds {
                try lock.writing {
                    try ensure(inside.load(ordering: .relaxed) == 0, "a reader is inside a write")
                    $0 = Parcel(from: writer, $0.sequence + 1, ledger)
                    if round % 32 == 0 { Thread.yield() }
                    try ensure(inside.load(ordering: .relaxed) == 0, "a reader came into a write")
                }
            }
        }
        crew.add("reader", count: 2) { _ in
            var last = 0
            for round in 0..<rounds {
                try lock.reading {
                    inside.add(1, ordering: .relaxed)
                    defer { inside.subtract(1, ordering: .relaxed) }
                    if round % 32 == 0 { Thread.yield() }
                    try ensure($0.isWhole, "a torn value")
                    try ensure($0.sequence >= last, "\($0.sequence) read after \(last)")
                    last = $0.sequence
                }
            }
        }
        try await crew.run()
        #expect(lock.reading(\.sequence) == 2 * rounds)
    }

    @Test(arguments: Subjects.locks)
    func readersRunBesideEachOther(_ subject: LockSubject) async throws {
        let readers = 3
        let lock = subject.make(Parcel(0, Ledger()))
        let inside = Atomic<Int>(0)
        let crew = Crew()
        crew.add("reader", count: readers) { _ in
            try lock.reading { _ in
                inside.add(1, ordering: .sequentiallyConsistent)
                // No thread leaves before all are in.
                try waitUntil("all readers are inside") {
                    inside.load(ordering: .sequentiallyConsistent) == readers
                }
            }
        }
        try await crew.run()
    }

    @Test(arguments: Subjects.locks)
    func triesAnswerByWhoHoldsTheLock(_ subject: LockSubject) async throws {
        let lock = subject.make(Parcel(0, Ledger()))
        let phase = Phase()
        let crew = Crew()
        crew.add("holder") {
            try lock.writing { _ in try phase.advance(to: 1, thenAwait: 2) }
            try lock.reading { _ in try phase.advance(to: 3, thenAwait: 4) }
            phase.advance(to: 5)
        }
        crew.add("other") {
            let past = ContinuousClock.now - .seconds(1)
            try phase.await(1)
            try ensure(lock.readingIfAvailable { _ in } == nil, "read beside a writer")
            try ensure(lock.writingIfAvailable { _ in } == nil, "wrote beside a writer")
            try ensure(lock.reading(until: past) { _ in } == nil, "read beside a writer, timed")
            try ensure(lock.writing(until: past) { _ in } == nil, "wrote beside a writer, timed")
            try phase.advance(to: 2, thenAwait: 3)
            try ensure(lock.readingIfAvailable { _ in } != nil, "not let in beside a reader")
            try ensure(lock.reading(until: past) { _ in } != nil, "not let in beside a reader, timed")
            try ensure(lock.writingIfAvailable { _ in } == nil, "wrote beside a reader")
            try ensure(lock.writing(until: past) { _ in } == nil, "wrote beside a reader, timed")
            try phase.advance(to: 4, thenAwait: 5)
            try ensure(lock.writingIfAvailable { _ in } != nil, "a free lock refused to a writer")
            try ensure(lock.writing(until: past) { _ in } != nil, "a free lock refused to a timed writer")
            try ensure(lock.readingIfAvailable { _ in } != nil, "a free lock refused to a reader")
        }
        try await crew.run()
    }

    /// ```
    /// first reader          writer                 second reader
    /// takes the lock
    ///                       queues
    /// sees tries fail
    ///                                              asks for the lock
    /// leaves
    ///                       writes
    ///                                              reads
    /// ```
    @Test(arguments: Subjects.locks)
    func aWaitingWriterGoesBeforeLaterReaders(_ subject: LockSubject) async throws {
        let lock = subject.make(Parcel(0, Ledger()))
        let phase = Phase()
        let order = Journal<String>()
        let crew = Crew()
        crew.add("first reader") {
            try lock.reading { _ in
                phase.advance(to: 1)
                try waitUntil("the writer queues") { lock.readingIfAvailable { _ in } == nil }
                // However often it is asked, the lock lets no reader in before the writer.
                try phase.advance(to: 2, thenAwait: 3)
                for _ in 0..<1_000 {
                    try ensure(lock.readingIfAvailable { _ in } == nil, "a reader came before the writer")
                }
                order.note("first reader leaves")
            }
        }
        crew.add("writer") {
            try phase.await(1)
            lock.writing { _ in order.note("write") }
        }
        crew.add("second reader") {
            try phase.await(2)
            phase.advance(to: 3)
            lock.reading { _ in order.note("second read") }
        }
        try await crew.run()
        #expect(order.entries == ["first reader leaves", "write", "second read"])
    }

    /// Some reader is inside at almost every moment.
    @Test(arguments: Subjects.locks)
    func readersThatNeverPauseDoNotStarveAWriter(_ subject: LockSubject) async throws {
        let lock = subject.make(Parcel(0, Ledger()))
        let reads = Atomic<Int>(0)
        let done = Atomic<Bool>(false)
        let crew = Crew()
        crew.add("reader", count: 4) { _ in
            while !done.load(ordering: .relaxed) {
                lock.reading { _ in Thread.yield() }
                reads.add(1, ordering: .relaxed)
            }
        }
        crew.add("writer") {
            defer { done.store(true, ordering: .relaxed) }
            for round in 0..<300 {
                let before = reads.load(ordering: .relaxed)
                try waitUntil("readers go on") { reads.load(ordering: .relaxed) > before }
                try ensure(lock.writing(until: farDeadline) { _ in } != nil, "starved in round \(round)")
            }
        }
        try await crew.run()
    }

    @Test(arguments: Subjects.locks)
    func writersThatNeverPauseDoNotStarveAReader(_ subject: LockSubject) async throws {
        let ledger = Ledger()
        let lock = subject.make(Parcel(0, ledger))
        let writes = Atomic<Int>(0)
        let done = Atomic<Bool>(false)
        let crew = Crew()
        crew.add("writer", count: 4) { _ in
            while !done.load(ordering: .relaxed) {
                lock.writing { _ in Thread.yield() }
                writes.add(1, ordering: .relaxed)
            }
        }
        crew.add("reader") {
            defer { done.store(true, ordering: .relaxed) }
            for round in 0..<300 {
                let before = writes.load(ordering: .relaxed)
                try waitUntil("writers go on") { writes.load(ordering: .relaxed) > before }
                try ensure(lock.reading(until: farDeadline) { _ in } != nil, "starved in round \(round)")
            }
        }
        try await crew.run()
    }

    @Test(arguments: Subjects.locks)
    func deadlinesAreHonouredAndNeverEarly(_ subject: LockSubject) async throws {
        let lock = subject.make(Parcel(0, Ledger()))
        let phase = Phase()
        let crew = Crew()
        crew.add("holder") { try lock.writing { _ in try phase.advance(to: 1, thenAwait: 2) } }
        crew.add("waiter") {
            try phase.await(1)
            try expectTimeOut { deadline in lock.reading(until: deadline) { _ in } == nil }
            try expectTimeOut { deadline in lock.writing(until: deadline) { _ in } == nil }
            phase.advance(to: 2)
            // And one that is met: the holder leaves while this thread waits, or has left.
            try ensure(lock.writing(until: farDeadline) { _ in } != nil, "not let in after the holder left")
        }
        try await crew.run()
    }

    /// When the writer gives up, the later readers that it held back come in beside the first.
    @Test(arguments: Subjects.locks)
    func aWriterThatGivesUpLetsTheReadersBehindItIn(_ subject: LockSubject) async throws {
        let lock = subject.make(Parcel(0, Ledger()))
        let phase = Phase()
        let crew = Crew()
        crew.add("first reader") {
            try lock.reading { _ in
                phase.advance(to: 1)
                try waitUntil("the writer queues") { lock.readingIfAvailable { _ in } == nil }
                try phase.advance(to: 2, thenAwait: 3)
            }
        }
        crew.add("writer") {
            try phase.await(1)
            // Again, if the first reader was off its core for the whole wait.
            repeat {
                let wrote: Void? = lock.writing(until: .now + .milliseconds(200)) { _ in }
                try ensure(wrote == nil, "wrote beside a reader")
            } while !phase.has(2)
        }
        crew.add("second reader") {
            try phase.await(2)
            lock.reading { _ in phase.advance(to: 3) }
        }
        try await crew.run()
        #expect(lock.writingIfAvailable { _ in } != nil, "the lock is not free after everybody left")
    }

    /// Waits given up and waits met, in every mix.
    @Test(arguments: Subjects.locks)
    func waitsThatRunOutLeaveTheLockWhole(_ subject: LockSubject) async throws {
        let ledger = Ledger()
        let lock = subject.make(Parcel(0, ledger))
        let written = Atomic<Int>(0)
        let crew = Crew()
        crew.add("thread", count: 6) { index in
            for round in 0..<1_500 {
                let deadline = ContinuousClock.now + .microseconds((round * 7 + index * 13) % 90)
                if (round + index) % 3 == 0 {
                    let wrote: Void? = lock.writing(until: deadline) { value in
                        Thread.yield()
                        value = Parcel(from: index, value.sequence + 1, ledger)
                    }
                    if wrote != nil { written.add(1, ordering: .relaxed) }
                } else {
                    let whole = lock.reading(until: deadline) { value in
                        Thread.yield()
                        return value.isWhole
                    }
                    try ensure(whole != false, "a torn value")
                }
            }
        }
        try await crew.run()
        #expect(lock.writingIfAvailable(\.sequence) == written.load(ordering: .relaxed))
    }

    @Test(arguments: Subjects.locks)
    func theValueIsReleasedWithTheLock(_ subject: LockSubject) async throws {
        let ledger = Ledger()
        do {
            let lock = subject.make(Parcel(0, ledger))
            lock.writing { $0 = Parcel(1, ledger) }
            #expect(ledger.balance == 1)
        }
        #expect(ledger.balance == 0)
    }
}
