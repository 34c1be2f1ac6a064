// SPDX-License-Identifier: Apache-2.0
//
// SafeDictionary and SafeSet: verbs that are one step, conformances, lifetimes, misuse. SafeDictionaryFuzzTests and
// SafeSetFuzzTests compare every verb with Dictionary's and Set's.

import Foundation
import Interlock
import Synchronization
import Testing
// contract: SafeDictionary
@Suite struct SafeDictionaryTests {
    @Test func whatIsMadeOfTheWholeIsWhatDictionaryMakes() {
        let model = [1: 10, 2: 20, 3: 30]
        let dictionary = SafeDictionary(model)
        #expect(dictionary.snapshot.mapValues(\.description) == [1: "10", 2: "20", 3: "30"])
        #expect(dictionary.filter { key, _ in key != 2 } == [1: 10, 3: 30])
        #expect(dictionary.first.map { model[$0.key] == $0.value } == true)
        #expect(dictionary.randomElement().map { model[$0.key] == $0.value } == true)
        #expect(SafeDictionary([("a", 1), ("a", 2)]) { $0 + $1 }.snapshot == ["a": 3])
        #expect(
            SafeDictionary(grouping: 1...5) { $0 % 2 == 0 }.snapshot == [true: [2, 4], false: [1, 3, 5]]
        )
        let roomy = SafeDictionary<Int, Int>(minimumCapacity: 100)
        #expect(roomy.capacity >= 100 && roomy.isEmpty && roomy.first == nil)
    }

    static let misuses = [
        Misuse(
            "interlock: SafeDictionary<String, Int>.init(uniqueKeysWithValues:)(): the key a comes twice\n"
        ) {
            _ = SafeDictionary(uniqueKeysWithValues: [("a", 1), ("a", 2)])
        },
        Misuse("init(dictionaryLiteral:)(): the key 7 comes twice\n") {
            let dictionary: SafeDictionary<Int, Int> = [7: 1, 7: 2]
            _ = dictionary
        },
        // It is entered from a closure of its own.
        Misuse("called from inside value(forKey:orInsert:) of the same object") {
            let dictionary: SafeDictionary<Int, Int> = [:]
            _ = dictionary.value(forKey: 1, orInsert: dictionary[2] ?? 0)
        },
        Misuse {
            let dictionary: SafeDictionary<Int, Int> = [1: 1]
            dictionary[1, default: 0] += dictionary.withWriteLock { _ in dictionary.count }
        },
    ]

    @Test(.serialized, .ownThreads, .timeLimit(.minutes(10)), arguments: misuses.indices)
    func misuseIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await SafeDictionaryTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }

    @Test func aMissingValueIsComputedOnceHoweverManyAsk() {
        let dictionary = SafeDictionary<Int, Int>()
        let computed = Atomic<Int>(0)
        onThreads(4) { _ in
            for key in 0..<500 {
                let value = dictionary.value(
                    forKey: key,
                    orInsert: {
                        computed.add(1, ordering: .relaxed)
                        return key * 2
                    }()
                )
                if value != key * 2 { Issue.record("wrong value") }
            }
        }
        #expect(computed.load(ordering: .relaxed) == 500)
    }

    /// A key whose first hashing, in a lookup under the read lock, does something.
    private struct HookedKey: Hashable, Sendable {
        let id: Int
        let hook: @Sendable () -> Void

        static func == (left: Self, right: Self) -> Bool { left.id == right.id }
        func hash(into hasher: inout Hasher) {
            hook()
            hasher.combine(id)
        }
    }

    /// thread 1: [ looks up ─ meets ─ nothing there ]  [ computes, inserts ]
    /// thread 2: [ looks up ─ meets ─ nothing there ]                        [ must recheck ]
    @Test func theSecondThreadFindsWhatTheFirstComputed() {
        let dictionary: SafeDictionary = [HookedKey(id: 0, hook: {}): 0]
        let arrived = [Event(), Event()]
        let computed = Atomic<Int>(0)
        onThreads(2) { me in
            let isFirst = SafeArray([true])
            let key = HookedKey(id: 1) {
                guard isFirst.popLast() != nil else { return }
                arrived[me].happen()
                arrived[1 - me].wait()
            }
            _ = dictionary.value(forKey: key, orInsert: computed.add(1, ordering: .relaxed).newValue)
        }
        #expect(computed.load(ordering: .relaxed) == 1)
    }

    @Test func countingInPlaceLosesNothing() {
        let hits = SafeDictionary<String, Int>()
        onThreads(4) { thread in
            for step in 0..<2_000 {
                hits["page \(step % 3)", default: 0] += 1
                hits.update(forKey: "all", default: 0) { $0 += 1 }
            }
        }
        #expect(hits["all"] == 8_000)
        #expect((0..<3).map { hits["page \($0)"] ?? 0 }.reduce(0, +) == 8_000)
    }

    @Test func aValueThatIsSetNeedsNoDefault() {
        func absent() -> Int {
            Issue.record("the default was evaluated")
            return 0
        }
        let dictionary: SafeDictionary = [1: 1]
        dictionary[1, default: absent()] = 2
        dictionary[2, default: absent()] = 3
        #expect(dictionary.snapshot == [1: 2, 2: 3])
    }

    @Test func aComputationThatThrowsInsertsNothing() {
        struct Refused: Error {}
        let dictionary: SafeDictionary<Int, Int> = [:]
        func refuse() throws(Refused) -> Int { throw Refused() }
        #expect(throws: Refused.self) { try dictionary.value(forKey: 1, orInsert: try refuse()) }
        #expect(dictionary.isEmpty)
        dictionary.merge([1: 1, 2: 2]) { $1 }
        #expect(throws: Refused.self) {
            try dictionary.removeAll { _, value in if value == 2 { throw Refused() } else { true } }
        }
        #expect(dictionary.snapshot == [1: 1, 2: 2])
    }

    @Test func aSnapshotDoesNotChange() {
        let dictionary: SafeDictionary = [1: "a"]
        let snapshot = dictionary.snapshot
        dictionary[1] = "b"
        dictionary[2] = "c"
        #expect(snapshot == [1: "a"] && dictionary.snapshot == [1: "b", 2: "c"])
    }

    @Test func conformancesAreThoseOfTheContents() throws {
        let dictionary: SafeDictionary = ["a": 1]
        #expect(
            "\(dictionary)" == #"["a": 1]"# && String(reflecting: dictionary) == #"SafeDictionary(["a": 1])"#
        )
        #expect(Mirror(reflecting: dictionary).displayStyle == .dictionary)
        #expect(children(dictionary) == children(dictionary.snapshot))
        let encoded = try JSONEncoder().encode(dictionary)
        #expect(String(decoding: encoded, as: UTF8.self) == #"{"a":1}"#)
        #expect(
            try JSONDecoder().decode(SafeDictionary<String, Int>.self, from: encoded).snapshot == ["a": 1]
        )
        #expect(dictionary.map(\.value) == [1])
        #expect(dictionary.drain() == ["a": 1] && dictionary.isEmpty)
    }

    /// The keys are data, which JSONEncoder and JSONDecoder convert for other types.
    @Test func keysAreEncodedAndDecodedAsADictionarysAre() throws {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = .sortedKeys
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let entries = ["userName": 1, "user_name": 2]
        let encoded = try encoder.encode([SafeDictionary(entries)])
        #expect(try encoded == encoder.encode([entries]))
        let decoded = try decoder.decode([SafeDictionary<String, Int>].self, from: encoded)
        #expect(decoded.map(\.snapshot) == [entries])
    }

    @Test func everyValueIsReleasedOnce() {
        let counter = LifetimeCounter()
        do {
            let dictionary = SafeDictionary(uniqueKeysWithValues: (0..<10).map { ($0, Counted($0, counter)) })
            dictionary[0] = Counted(10, counter)
            dictionary[1] = nil
            _ = dictionary.value(forKey: 1, orInsert: Counted(11, counter))
            dictionary.removeAll { key, _ in key > 5 }
            #expect(counter.living == 6)
        }
        #expect(counter.living == 0)
    }
}

/// What a debugger shows of a collection.
private func children(_ collection: Any) -> [String] {
    Mirror(reflecting: collection).children.map { "\($0.value)" }
}
// contract: SafeSet
@Suite struct SafeSetTests {
    @Test func exactlyOneOfManyInsertsAMember() {
        let set = SafeSet<Int>()
        let first = Atomic<Int>(0)
        onThreads(4) { _ in
            for member in 0..<500 where set.insert(member).inserted { first.add(1, ordering: .relaxed) }
        }
        #expect(first.load(ordering: .relaxed) == 500 && set.snapshot == Set(0..<500))
    }

    @Test(arguments: [[], [1, 2], [2, 3], [1, 2, 3, 4], [5]])
    func theAlgebraIsThatOfSets(others: [Int]) {
        let model: Set = [1, 2, 3]
        let set = SafeSet(model)
        #expect(set.snapshot.union(others) == model.union(others))
        #expect(set.isSubset(of: others) == model.isSubset(of: others))
        #expect(set.isSuperset(of: others) == model.isSuperset(of: others))
        #expect(set.isStrictSubset(of: others) == model.isStrictSubset(of: others))
        #expect(set.isStrictSuperset(of: others) == model.isStrictSuperset(of: others))
        #expect(set.isDisjoint(with: others) == model.isDisjoint(with: others))
        #expect(set.filter { $0 > 1 } as Set == model.filter { $0 > 1 })
        #expect(set.isSubset(of: set), "the other side may be the set itself")
        #expect(set.first.map(model.contains) == true && set.randomElement().map(model.contains) == true)
        let roomy = SafeSet<Int>(minimumCapacity: 100)
        roomy.reserveCapacity(200)
        #expect(roomy.capacity >= 200 && roomy.first == nil && roomy.isEmpty)
    }

    @Test(.ownThreads, .timeLimit(.minutes(10))) func misuseIsReported() async {
        let empty = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            SafeSet<Int>().removeFirst()
        }
        #expect(empty?.report.contains("interlock: SafeSet<Int>.removeFirst(0x") == true)
        #expect(empty?.report.hasSuffix("): the set has no members\n") == true)
        let inside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let set: SafeSet = [1]
            set.removeAll { $0 == set.count }
        }
        #expect(inside?.report.contains("called from inside removeAll(where:) of the same object") == true)
    }

    @Test func conformancesAreThoseOfTheContents() throws {
        let set: SafeSet = [1]
        #expect("\(set)" == "[1]" && String(reflecting: set) == "SafeSet([1])")
        #expect(Mirror(reflecting: set).displayStyle == .set)
        #expect(children(set) == children(set.snapshot))
        let encoded = try JSONEncoder().encode(set)
        #expect(try JSONDecoder().decode(SafeSet<Int>.self, from: encoded).snapshot == [1])
        #expect(Array(set) == [1] && set.drain() == [1] && set.isEmpty)
    }
}
