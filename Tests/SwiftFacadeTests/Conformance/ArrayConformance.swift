// SPDX-License-Identifier: Apache-2.0
//
// A shared array: nothing lost, nothing torn, sections whole, copies independent, every element released.

import Foundation
import Testing

@Suite("conformance: arrays", .serialized)
struct ArrayConformance {
    @Test(arguments: Subjects.arrays)
    func appendsOfManyThreadsAreAllThereAndInOrder(_ subject: ArraySubject) async throws {
        let (threads, each) = (4, 2_000)
        let ledger = Ledger()
        let array = subject.make()
        let crew = Crew()
        crew.add("appender", count: threads) { producer in
            for sequence in 0..<each {
                array.append(Parcel(from: producer, sequence, ledger))
                // A thread sees all that it has appended.
                try ensure(array.count > sequence, "\(array.count) elements after \(sequence + 1) appends")
            }
        }
        try await crew.run()
        let all = array.snapshot
        #expect(all.count == threads * each)
        var inspection = Inspection()
        for parcel in all { try inspection.check(parcel) }
        for producer in 0..<threads { #expect(all.count { $0.producer == producer } == each) }
    }

    @Test(arguments: Subjects.arrays)
    func readersSeeWholeElementsWhileTheyAreReplaced(_ subject: ArraySubject) async throws {
        let ledger = Ledger()
        let array = subject.make()
        array.append(Parcel(0, ledger))
        let crew = Crew()
        let rounds = 1_000
        crew.add("writer", count: 2) { writer in
            for sequence in 1...rounds {
                array[0] = Parcel(from: writer, sequence, ledger)
                array.append(Parcel(from: writer, sequence, ledger))
            }
        }
        crew.add("reader", count: 2) { _ in
            for _ in 0..<rounds {
                try ensure(array[0].isWhole, "a torn first element")
                try ensure(array.last?.isWhole == true, "a torn last element")
                try ensure(array.element(at: array.count - 1)?.isWhole == true, "a torn element")
            }
        }
        try await crew.run()
        #expect(array.count == 1 + 2 * rounds)
    }

    @Test(arguments: Subjects.arrays)
    func aWritingSectionIsOneStep(_ subject: ArraySubject) async throws {
        let (threads, each) = (4, 2_000)
        let ledger = Ledger()
        let array = subject.make()
        let crew = Crew()
        crew.add("writer", count: threads) { _ in
            for _ in 0..<each {
                array.writing {
                    let count = $0.count
                    $0.append(Parcel(count, ledger))
                    if count % 32 == 0 { Thread.yield() }
                    $0.append(Parcel(count + 1, ledger))
                }
            }
        }
        crew.add("reader", count: 2) { _ in
            for _ in 0..<2 * each {
                let (read, counted) = (array.reading { $0.count }, array.count)
                try ensure(read % 2 == 0 && counted % 2 == 0, "half a section: \(read), \(counted) elements")
            }
        }
        try await crew.run()
        #expect(array.snapshot.map(\.sequence) == Array(0..<2 * threads * each))
    }

    @Test(arguments: Subjects.arrays)
    func popsOfManyThreadsTakeEachElementOnce(_ subject: ArraySubject) async throws {
        let (threads, total) = (4, 4_000)
        let ledger = Ledger()
        let array = subject.make()
        array.writing { $0 = (0..<total).map { Parcel($0, ledger) } }
        let taken = Journal<Int>()
        let crew = Crew()
        crew.add("popper", count: threads) { popper in
            let popsFirst = popper % 2 == 0
            var inspection = Inspection()
            while let parcel = popsFirst ? array.popFirst() : array.popLast() {
                if popsFirst { try inspection.check(parcel) }
                try ensure(parcel.isWhole, "a torn parcel \(parcel.sequence)")
                taken.note(parcel.sequence)
            }
        }
        try await crew.run()
        #expect(taken.entries.sorted() == Array(0..<total))
        #expect(array.count == 0)
    }

    @Test(arguments: Subjects.arrays)
    func aSnapshotIsNotChangedByLaterWrites(_ subject: ArraySubject) async throws {
        try await onThread {
            let ledger = Ledger()
            let array = subject.make()
            for sequence in 0..<10 { array.append(Parcel(sequence, ledger)) }
            let before = array.snapshot
            array[3] = Parcel(99, ledger)
            array.removeAll { $0.sequence < 3 }
            array.append(Parcel(100, ledger))
            try ensure(
                before.map(\.sequence) == Array(0..<10),
                "the snapshot became \(before.map(\.sequence))"
            )
            let after = array.snapshot.map(\.sequence)
            try ensure(after == [99, 4, 5, 6, 7, 8, 9, 100], "the array became \(after)")
        }
    }

    @Test(arguments: Subjects.arrays)
    func whatIsNotThereIsAnsweredWithNil(_ subject: ArraySubject) async throws {
        try await onThread {
            let array = subject.make()
            try ensure(array.count == 0, "a new array is not empty")
            try ensure(
                array.last == nil && array.popFirst() == nil && array.popLast() == nil,
                "an element out of an empty array"
            )
            array.append(Parcel(7, Ledger()))
            try ensure(array.element(at: 0)?.sequence == 7, "element 0 is missing")
            try ensure(
                array.element(at: 1) == nil && array.element(at: -1) == nil,
                "an element out of bounds"
            )
        }
    }

    @Test(arguments: Subjects.arrays)
    func everyElementIsReleased(_ subject: ArraySubject) async throws {
        try await onThread {
            let ledger = Ledger()
            do {
                let array = subject.make()
                for sequence in 0..<50 { array.append(Parcel(sequence, ledger)) }
                array.removeAll { $0.sequence % 2 == 0 }
                array[0] = Parcel(1, ledger)
                _ = array.popFirst()
                try ensure(array.count == 24, "\(array.count) elements instead of 24")
            }
            // Not at once for an array over a queue: the appending work item may still end.
            try waitUntil("the last element is released") { ledger.balance == 0 }
        }
    }
}
