// SPDX-License-Identifier: Apache-2.0
//
// The conformances of the shared collections, to callers that know only the protocol, while the collection changes: in
// each gap between two questions (forced), and beside a thread that adds and removes.

import Foundation
import Interlock
import Synchronization
import Testing

/// A shared collection and what changes it. Every state is a whole of one round, or the first part of one.
struct Changing<Elements: Sequence & Sendable>: Sendable where Elements.Element: Sendable {
    let elements: Elements
    let number: @Sendable (Elements.Element) -> Int
    /// Whether an iteration goes from the first to the last.
    let isOrdered: Bool
    let fill: @Sendable (_ numbers: [Int]) -> Void
    /// Removes the last elements.
    let shorten: @Sendable () -> Void

    func isOneMoment(_ numbers: [Int]) -> Bool {
        InterlockTests.isOneMoment(isOrdered ? numbers : numbers.sorted())
    }
}

/// The same, with the collection shortened after each answer.
struct Shortening<Elements: Sequence & Sendable>: Sequence, Sendable where Elements.Element: Sendable {
    let changing: Changing<Elements>

    var underestimatedCount: Int {
        defer { changing.shorten() }
        return changing.elements.underestimatedCount
    }

    func makeIterator() -> Elements.Iterator {
        defer { changing.shorten() }
        return changing.elements.makeIterator()
    }

    func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<Elements.Element>) throws -> Result
    ) rethrows -> Result? {
        defer { changing.shorten() }
        return try changing.elements.withContiguousStorageIfAvailable(body)
    }
}

@Suite(.timeLimit(.minutes(10))) struct CollectionCallersTests {
    static func array() -> Changing<SafeArray<Int>> {
        let array = SafeArray<Int>()
        return Changing(
            elements: array,
            number: { $0 },
            isOrdered: true,
            fill: { numbers in
                if numbers[0].isMultiple(of: 2 * Whole.stride) {
                    array.replaceAll(with: numbers)
                } else {
                    array.removeAll()
                    array.append(contentsOf: numbers)
                }
                if let last = array.popLast() { array.append(last) }
            },
            shorten: { array.withWriteLock { $0.removeLast($0.count / 2) } }
        )
    }

    static func dictionary() -> Changing<SafeDictionary<Int, Int>> {
        let dictionary = SafeDictionary<Int, Int>()
        return Changing(
            elements: dictionary,
            number: { $0.key },
            isOrdered: false,
            fill: { numbers in
                dictionary.removeAll()
                dictionary.merge(numbers.map { ($0, $0) }) { $1 }
                dictionary[numbers.last!] = nil
                dictionary[numbers.last!] = numbers.last!
            },
            shorten: {
                dictionary.withWriteLock { entries in
                    for key in entries.keys.sorted().suffix(entries.count / 2) { entries[key] = nil }
                }
            }
        )
    }

    static func set() -> Changing<SafeSet<Int>> {
        let set = SafeSet<Int>()
        return Changing(
            elements: set,
            number: { $0 },
            isOrdered: false,
            fill: { numbers in
                set.removeAll()
                set.formUnion(numbers)
                set.remove(numbers.last!)
                set.insert(numbers.last!)
            },
            shorten: { set.withWriteLock { $0.subtract($0.sorted().suffix($0.count / 2)) } }
        )
    }

    // MARK: A change between two questions

    /// caller:     [ how many? ]             [ the elements ]             …
    /// collection:               [ shorter ]                  [ shorter ]
    private func expectAnswers<Elements>(
        of callers: [SequenceCaller<Shortening<Elements>>],
        on changing: Changing<Elements>
    ) throws {
        #expect(callers.count > 50)
        for (round, caller) in callers.enumerated() {
            changing.fill(Whole.numbers(round))
            for numbers in try caller.call(Shortening(changing: changing)) {
                #expect(changing.isOneMoment(numbers), "\(caller.name): \(numbers)")
            }
        }
    }

    @Test func noCallerTrapsOnACollectionShortenedBetweenTwoQuestions() throws {
        try expectAnswers(of: SequenceCaller.ofAny { $0 } + SequenceCaller.ofNumbers, on: Self.array())
        try expectAnswers(of: SequenceCaller.ofAny { $0.key }, on: Self.dictionary())
        try expectAnswers(of: SequenceCaller.ofAny { $0 } + SequenceCaller.ofNumbers, on: Self.set())
    }

    // MARK: Beside a thread that adds and removes

    private func expectMoments<Elements>(
        of callers: [SequenceCaller<Elements>],
        on changing: Changing<Elements>
    ) throws {
        let writer = Writer(changing)
        defer { writer.end() }
        for caller in callers {
            try writer.beside {
                for numbers in try caller.call(changing.elements) where !changing.isOneMoment(numbers) {
                    Issue.record("\(caller.name): \(numbers)")
                }
            }
        }
    }

    @Test func everyCallerOfAnArrayGetsOneMoment() throws {
        typealias Caller = SequenceCaller<SafeArray<Int>>
        let callers = Caller.ofAny { $0 } + Caller.ofNumbers + Caller.ofConformances
        try expectMoments(of: callers, on: Self.array())
    }

    @Test func everyCallerOfADictionaryGetsOneMoment() throws {
        typealias Caller = SequenceCaller<SafeDictionary<Int, Int>>
        let callers = Caller.ofAny { $0.key } + Caller.ofConformances
        try expectMoments(of: callers, on: Self.dictionary())
    }

    @Test func everyCallerOfASetGetsOneMoment() throws {
        typealias Caller = SequenceCaller<SafeSet<Int>>
        let callers = Caller.ofAny { $0 } + Caller.ofNumbers + Caller.ofConformances
        try expectMoments(of: callers, on: Self.set())
    }

    private func expectMomentsSuspending<Elements>(of changing: Changing<Elements>) async throws {
        let writer = Writer(changing)
        defer { writer.end() }
        for _ in 0..<100 {
            for numbers in try await SequenceCaller.suspending(changing.elements, changing.number) {
                #expect(changing.isOneMoment(numbers))
            }
        }
    }

    @Test func everySuspendingCallerGetsOneMoment() async throws {
        try await expectMomentsSuspending(of: Self.array())
        try await expectMomentsSuspending(of: Self.dictionary())
        try await expectMomentsSuspending(of: Self.set())
    }

    @Test func whatIsOfTwoMomentsIsToldApart() {
        let (one, other) = (Whole.numbers(3), Whole.numbers(4))
        #expect(isOneMoment(one) && isOneMoment([]) && isOneMoment(Array(one.dropLast(3))))
        #expect(!isOneMoment(one + other) && !isOneMoment(one + [one.last! + 1]))
        #expect(!isOneMoment(Array(one.dropFirst())) && !isOneMoment(one.filter { $0 != one[4] }))
    }

    // MARK: Arguments that are collections too

    @Test func everyVerbMayBeGivenItsOwnCollection() {
        let array: SafeArray = [1, 2]
        array.append(contentsOf: array)
        #expect(array.snapshot == [1, 2, 1, 2])
        array += array
        array += array.lazy.map { $0 + array.count }
        #expect(array.count == 16 && array[8...] == array[..<8].map { $0 + 8 })
        let dictionary: SafeDictionary = [1: 1, 2: 2]
        dictionary.merge(dictionary.lazy.map { ($0.key, $0.value) }) { $0 + $1 }
        #expect(dictionary.snapshot == [1: 2, 2: 4])
        let set: SafeSet = [1, 2]
        set.formUnion(set)
        set.formIntersection(set)
        #expect(set.snapshot == [1, 2])
        #expect(set.isSubset(of: set) && set.isSuperset(of: set) && !set.isDisjoint(with: set))
        #expect(!set.isStrictSubset(of: set) && !set.isStrictSuperset(of: set))
        set.formSymmetricDifference(set)
        #expect(set.isEmpty)
        set.insert(1)
        set.subtract(set)
        #expect(set.isEmpty)
    }

    /// thread 1: [ one ← other ]  thread 2: [ other ← one ]
    @Test func twoCollectionsMayBeGivenEachOtherAtOnce() {
        let arrays = [SafeArray(0..<8), SafeArray(0..<8)]
        let dictionaries = [SafeDictionary([0: 0]), SafeDictionary([1: 1])]
        let sets = [SafeSet(0..<8), SafeSet(4..<12)]
        onThreads(2) { thread in
            for round in 0..<2_000 {
                arrays[thread].append(contentsOf: arrays[1 - thread])
                // Shortened by length: by rounds, threads out of step grew each other ninefold in four.
                if arrays[thread].count > 64 { arrays[thread].replaceAll(with: [1]) }
                dictionaries[thread].merge(dictionaries[1 - thread].lazy.map { ($0.key, $0.value) }) { $1 }
                sets[thread].formUnion(sets[1 - thread])
                _ = sets[thread].isSubset(of: sets[1 - thread])
                sets[thread].formSymmetricDifference(sets[1 - thread])
                sets[thread].formIntersection(sets[1 - thread])
                sets[thread].subtract(sets[1 - thread])
                sets[thread].insert(round % 12)
            }
        }
        #expect(arrays.allSatisfy { !$0.isEmpty } && dictionaries.allSatisfy { $0.count == 2 })
    }
}

/// A thread that fills and shortens a collection.
private final class Writer: Sendable {
    private let rounds = Atomic<Int>(0)
    private let isEnding = Atomic<Bool>(false)
    private let thread = Locked<TestThread?>(nil)

    init<Elements>(_ changing: Changing<Elements>) {
        let thread = TestThread { [self] in
            while !isEnding.load(ordering: .relaxed) {
                changing.fill(Whole.numbers(rounds.add(1, ordering: .relaxed).newValue))
                changing.shorten()
            }
        }
        self.thread.withLock { $0 = thread }
    }

    /// Runs `use` again and again until it and the writer have gone round often.
    func beside(_ use: () throws -> Void) throws {
        let often = repetitions(100, underThreadSanitizer: 20)
        let start = rounds.load(ordering: .relaxed)
        var uses = 0
        while uses < often || rounds.load(ordering: .relaxed) < start + often {
            try use()
            uses += 1
            if uses > often { sched_yield() }
        }
    }

    func end() {
        isEnding.store(true, ordering: .relaxed)
        thread.withLock { $0.take() }?.join()
    }
}
