// SPDX-License-Identifier: Apache-2.0
//
// Sentences of the collections' documentation that no other test holds.

import Foundation
import Interlock
import Synchronization
import Testing
// contract: ChangesSequence, SafeDictionary, SafeSet
@Suite(.timeLimit(.minutes(10))) struct CollectionContractTests {
    /// A standard collection is one reference to its storage.
    private func storage<Contents>(_ contents: Contents) -> UInt {
        unsafeBitCast(contents, to: UInt.self)
    }

    @Test func theWholeIsSharedOrMovedAndNotCopied() {
        let elements = Array(0..<100)
        let array = SafeArray(elements)
        #expect(storage(array.snapshot) == storage(elements))
        #expect(storage(Array(array)) == storage(elements))
        let others = Array(100..<200)
        #expect(storage(array.replaceAll(with: others)) == storage(elements))
        #expect(storage(array.drain()) == storage(others))

        let entries = Dictionary(uniqueKeysWithValues: elements.map { ($0, $0) })
        let dictionary = SafeDictionary(entries)
        #expect(storage(dictionary.snapshot) == storage(entries))
        let otherEntries = entries.mapValues { -$0 }
        #expect(storage(dictionary.replaceAll(with: otherEntries)) == storage(entries))
        #expect(storage(dictionary.drain()) == storage(otherEntries))

        let members = Set(elements)
        let set = SafeSet(members)
        #expect(storage(set.snapshot) == storage(members))
        let otherMembers = Set(others)
        #expect(storage(set.replaceAll(with: otherMembers)) == storage(members))
        #expect(storage(set.drain()) == storage(otherMembers))
    }

    /// The capacity shows that it did not grow from element to element.
    @Test func anArrayOfTheWholeIsMadeWithRoomForIt() {
        let array = SafeArray(0..<1_000)
        let dictionary = SafeDictionary(uniqueKeysWithValues: (0..<1_000).map { ($0, $0) })
        let set = SafeSet(0..<1_000)
        #expect(ContiguousArray(array).capacity == ContiguousArray(array.snapshot).capacity)
        #expect(Array(dictionary).capacity == Array(dictionary.snapshot).capacity)
        #expect(Array(set).capacity == Array(set.snapshot).capacity)
    }

    @Test func theFirstWriteBesideASnapshotCopiesAndLaterOnesDoNot() {
        let array = SafeArray(0..<100)
        let dictionary = SafeDictionary(Dictionary(uniqueKeysWithValues: (0..<100).map { ($0, $0) }))
        let set = SafeSet(0..<100)
        let kept = (array.snapshot, dictionary.snapshot, set.snapshot)
        array[0] = -1
        dictionary[0] = -1
        set.remove(0)
        let copied = (
            array.withReadLock(storage), dictionary.withReadLock(storage), set.withReadLock(storage)
        )
        #expect(copied.0 != storage(kept.0) && copied.1 != storage(kept.1) && copied.2 != storage(kept.2))
        array[1] = -1
        dictionary[1] = -1
        set.remove(1)
        #expect(array.withReadLock(storage) == copied.0)
        #expect(dictionary.withReadLock(storage) == copied.1)
        #expect(set.withReadLock(storage) == copied.2)
        #expect(kept.0 == Array(0..<100) && kept.1[0] == 0 && kept.2.contains(1))
    }

    /// The copy that observers receive is the one copy.
    @Test func aWriteClosureCopiesAnObservedCollectionOnce() {
        let array = SafeArray(0..<100)
        let dictionary = SafeDictionary(uniqueKeysWithValues: (0..<100).map { ($0, $0) })
        let set = SafeSet(0..<100)
        func copies<Contents>(_ contents: inout Contents, _ changes: [(inout Contents) -> Void]) -> Int {
            var last = storage(contents)
            return changes.count { change in
                change(&contents)
                defer { last = storage(contents) }
                return last != storage(contents)
            }
        }
        func copies() -> [Int] {
            [
                array.withWriteLock { copies(&$0, [{ $0[0] += 1 }, { $0[1] += 1 }]) },
                dictionary.withWriteLock { copies(&$0, [{ $0[0]! += 1 }, { $0[1]! += 1 }]) },
                set.withWriteLock { copies(&$0, [{ $0.remove($0.first!) }, { $0.remove($0.first!) }]) },
            ]
        }
        _ = copies()  // the first write parts from the storage of the initial contents
        #expect(copies() == [0, 0, 0])
        let queue = DispatchQueue(label: "observers")
        let subscriptions = [
            array.changes(deliverOn: queue) { _ in }, dictionary.changes(deliverOn: queue) { _ in },
            set.changes(deliverOn: queue) { _ in },
        ]
        #expect(copies() == [1, 1, 1])
        withExtendedLifetime(subscriptions) {}
    }

    @Test func keysAndValuesAreInOneOrder() {
        let dictionary = SafeDictionary(uniqueKeysWithValues: (0..<100).map { ($0, -$0) })
        #expect(dictionary.values == dictionary.keys.map { -$0 })
    }

    // contract: SafeArray, SafeSet
    @Test func aPredicateThatThrowsLeavesTheContentsAsTheyWere() {
        struct Refused: Error {}
        func isRemoved(_ number: Int) throws -> Bool { if number == 5 { throw Refused() } else { true } }
        let array = SafeArray(0..<10)
        #expect(throws: Refused.self) { try array.removeAll(where: isRemoved) }
        #expect(array.snapshot == Array(0..<10))
        let set = SafeSet(0..<10)
        #expect(throws: Refused.self) { try set.removeAll(where: isRemoved) }
        #expect(set.snapshot == Set(0..<10))
    }

    @Test func whatAChangeDidBeforeItThrewStays() throws {
        struct Refused: Error {}
        let dictionary: SafeDictionary = ["a": 1]
        #expect(throws: Refused.self) {
            try dictionary.update(forKey: "b", default: 2) { _ in throw Refused() }
        }
        #expect(dictionary.snapshot == ["a": 1, "b": 2])
        #expect(throws: Refused.self) {
            try dictionary.merge([("c", 3), ("a", 4), ("d", 5)]) { _, _ in throw Refused() }
        }
        #expect(dictionary.snapshot == ["a": 1, "b": 2, "c": 3])
    }

    @Test func whatIsNotEqualToItselfIsFoundByNoVerb() {
        let dictionary = SafeDictionary<Double, Int>([.nan: 1, 2: 2])
        dictionary.removeAll { _, _ in true }
        #expect(dictionary.count == 1 && dictionary[.nan] == nil)
        let set = SafeSet<Double>([.nan, 2])
        set.removeAll { _ in true }
        #expect(set.count == 1 && !set.contains(.nan))
    }

    @Test func anIterationGoesOverASnapshot() {
        let array: SafeArray = [1, 2, 3]
        for element in array { array.append(element) }
        #expect(array.snapshot == [1, 2, 3, 1, 2, 3])
        let dictionary: SafeDictionary = [1: 1, 2: 2]
        for (key, value) in dictionary { dictionary[key + 10] = value }
        #expect(dictionary.snapshot == [1: 1, 2: 2, 11: 1, 12: 2])
        let set: SafeSet = [1, 2]
        for member in set { set.insert(member + 10) }
        #expect(set.snapshot == [1, 2, 11, 12])
    }

    /// thread 1: [ reads ─ here ─ waits for the other ]
    /// thread 2: [ reads ─ here ─ waits for the other ]
    @Test func readersRunBesideEachOther() {
        let array: SafeArray = [1]
        let dictionary: SafeDictionary = [1: 1]
        let set: SafeSet = [1]
        let readers: [@Sendable (() -> Bool) -> Bool] = [
            { meet in array.withReadLock { _ in meet() } },
            { meet in dictionary.withReadLock { _ in meet() } },
            { meet in set.withReadLock { _ in meet() } },
        ]
        for read in readers {
            let here = [Event(), Event()]
            onThreads(2) { thread in
                let met = read {
                    here[thread].happen()
                    return here[1 - thread].wait()
                }
                #expect(met)
            }
        }
    }

    /// What the other thread sees is whole at every moment.
    @Test func verbsForSeveralElementsAreOneStep() {
        let batch = 200
        let array = SafeArray<Int>()
        let dictionary = SafeDictionary<Int, Int>()
        let set = SafeSet<Int>()
        let probes = Atomic<Int>(0)
        let ended = Atomic<Bool>(false)
        onThreads(2) { thread in
            guard thread == 0 else {
                while !ended.load(ordering: .relaxed) {
                    let counts = (array.count, dictionary.count, set.count)
                    if [counts.0, counts.1, counts.2].contains(where: { $0 % batch != 0 }) {
                        Issue.record("in the middle of a step: \(counts)")
                        break
                    }
                    probes.add(1, ordering: .relaxed)
                }
                probes.store(.max / 2, ordering: .relaxed)
                return
            }
            for round in 0..<250 {
                // The other thread is at work.
                let seen = probes.load(ordering: .relaxed)
                while probes.load(ordering: .relaxed) == seen, seen < .max / 2 { sched_yield() }
                let values = Array(batch * round..<batch * (round + 1))
                array.append(contentsOf: values)
                array.insert(contentsOf: values, at: 0)
                array.replaceSubrange(0..<0, with: values)
                array.removeSubrange(batch..<2 * batch)
                array.removeFirst(batch)
                array.removeAll { $0 >= batch * round }
                dictionary.merge(values.map { ($0, $0) }) { old, _ in old }
                dictionary.removeAll { key, _ in key < batch * (round - 1) }
                set.formUnion(values)
                set.formSymmetricDifference(values.map { $0 + 1_000_000 })
                set.subtract(values)
                set.formIntersection([])
            }
            ended.store(true, ordering: .relaxed)
        }
    }

    /// Two threads, which meet before each step, do the same at once: one comes first, the other finds it done.
    @Test func compoundVerbsAreOneStep() {
        let each = 2_000
        let counters: SafeArray = [0, 0]
        let appended = SafeArray<Int>()
        let pool = SafeArray(0..<each)
        let entries: SafeDictionary = ["a": 0]
        let members = SafeSet(0..<each)
        let won = (0..<4).map { _ in SafeArray<Int>() }
        let stream = SafeArray<Int>()
        let drained = Atomic<Int>(0)
        let meeting = Meeting()
        onThreads(2) { thread in
            var arrivals = 0
            func meet() {
                arrivals += 2
                meeting.wait(for: arrivals)
            }
            for step in 0..<each {
                meet()
                if appended.append(step, unless: { $0 == step }) { won[0].append(step) }
                meet()
                if entries.insertIfAbsent(thread, forKey: "\(step)") { won[1].append(step) }
                meet()
                if pool.removeFirst(where: { $0 == step }) != nil { won[2].append(step) }
                if members.remove(step) != nil { won[3].append(step) }
                meet()
                counters.update(at: 0) { $0 += 1 }
                counters.updateFirst(where: { $0 >= 0 }) { $0 += 1 }
                entries.update(forKey: "a") { $0 += 1 }
                meet()
                if thread == 0 {
                    for value in 0..<8 { stream.append(value) }
                } else {
                    for _ in 0..<8 { drained.add(stream.drain().count, ordering: .relaxed) }
                }
            }
        }
        for exactlyOnce in won { #expect(exactlyOnce.sorted() == Array(0..<each)) }
        #expect(counters.snapshot == [4 * each, 0] && entries["a"] == 2 * each)
        #expect(drained.load(ordering: .relaxed) + stream.count == 8 * each)
    }

    /// A closure under the lock would be reported.
    @Test func whatRunsOutsideTheLockMayCallTheDictionary() {
        let dictionary: SafeDictionary = [1: 1]
        #expect(dictionary.value(forKey: 2, default: dictionary.count) == 1)
        #expect(dictionary.filter { $0.value == dictionary.count } == [1: 1])
        #expect(dictionary.filter { dictionary.updateValue($0.value + 6, forKey: 1) == 1 } == [1: 1])
        #expect(dictionary.snapshot == [1: 7])
    }

    /// Memory that only the collection guards, for ThreadSanitizer.
    @Test func whatAWriterDidIsVisibleWithItsChange() {
        let array = SafeArray<Int>()
        let dictionary = SafeDictionary<Int, Int>()
        let set = SafeSet<Int>()
        let steps: [(write: @Sendable () -> Void, sees: @Sendable () -> Bool)] = [
            ({ array.append(1) }, { array.element(at: 0) == 1 }),
            ({ dictionary[1] = 1 }, { dictionary.value(forKey: 1) == 1 }),
            ({ set.insert(1) }, { set.contains(1) }),
        ]
        for step in steps {
            nonisolated(unsafe) var written = 0
            onThreads(2) { thread in
                if thread == 0 {
                    written = 7
                    step.write()
                } else {
                    #expect(eventually(step.sees))
                    #expect(written == 7)
                }
            }
        }
    }

    @Test func sequencesOfDictionaryAndSetDeliverAndEndWithTheirCollection() async {
        var dictionary: SafeDictionary<Int, Int>? = [:]
        var set: SafeSet<Int>? = []
        let entries = dictionary!.changes()
        let members = set!.changes()
        dictionary![1] = 1
        dictionary![1] = 1
        dictionary![1] = 2
        dictionary![1] = nil
        set!.insert(1)
        set!.insert(1)
        set!.update(with: 1)
        set!.remove(1)
        dictionary = nil
        set = nil
        var heard: [SafeDictionary<Int, Int>.Change] = []
        for await change in entries { heard.append(change) }
        #expect(
            heard == [
                .insertion(key: 1, value: 1), .replacement(key: 1, old: 1, new: 2),
                .removal(key: 1, value: 2),
            ]
        )
        var seen: [SafeSet<Int>.Change] = []
        for await change in members { seen.append(change) }
        #expect(seen == [.insertion(1), .removal(1), .insertion(1), .removal(1)])
    }
}
