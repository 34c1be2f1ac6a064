// SPDX-License-Identifier: Apache-2.0
//
// SafeArray under many threads (scenarios 1, 2 and 4), its copies, and its answers to misuse. The conformance suite
// tests that nothing is lost or torn, and that a section is one step.

import Interlock
import Synchronization
import Testing

/// A call, its name, and what is said of it after the address.
private let outOfRange: [(call: @Sendable () -> Void, name: String, sentence: String)] = [
    (
        { SafeArray<Int>().insert(1, at: 1) }, "insert(_:at:)",
        "index 1 is out of range; the array has 0 elements"
    ),
    (
        { SafeArray<Int>().insert(contentsOf: [1], at: -1) }, "insert(contentsOf:at:)",
        "index -1 is out of range; the array has 0 elements"
    ),
    ({ SafeArray<Int>().remove(at: 0) }, "remove(at:)", "index 0 is out of range; the array has 0 elements"),
    ({ SafeArray<Int>().removeLast() }, "removeLast", "1 element asked for; the array has 0 elements"),
    ({ SafeArray<Int>().removeFirst() }, "removeFirst", "1 element asked for; the array has 0 elements"),
    ({ SafeArray([1]).removeLast(2) }, "removeLast(_:)", "2 elements asked for; the array has 1 element"),
    ({ SafeArray([1]).removeFirst(-1) }, "removeFirst(_:)", "-1 elements asked for; the array has 1 element"),
    ({ SafeArray([1]).swapAt(0, 1) }, "swapAt", "index 1 is out of range; the array has 1 element"),
    ({ SafeArray([1])[-1] = 0 }, "subscript", "index -1 is out of range; the array has 1 element"),
    ({ SafeArray([1])[1] += 1 }, "subscript", "index 1 is out of range; the array has 1 element"),
    ({ SafeArray([1])[0...1].sort() }, "subscript", "range 0..<2 is out of range; the array has 1 element"),
    ({ _ = SafeArray([1])[..<(-1)] }, "subscript", "range 0..<-1 is out of range; the array has 1 element"),
    (
        { SafeArray([1]).removeSubrange(...Int.max) }, "replaceSubrange(_:with:)",
        "range 0..<\(Int.max) is out of range; the array has 1 element"
    ),
    ({ _ = SafeArray([1])[2...] }, "subscript", "range 2... is out of range; the array has 1 element"),
    ({ _ = SafeArray([1]).prefix(-1) }, "prefix", "-1 elements asked for; the array has 1 element"),
    (
        { SafeArray([1]).removeSubranges(RangeSet(1..<2)) }, "removeSubranges",
        "range 1..<2 is out of range; the array has 1 element"
    ),
    (
        { SafeArray([1]).moveSubranges(RangeSet(0..<1), to: 2) }, "moveSubranges(_:to:)",
        "index 2 is out of range; the array has 1 element"
    ),
    (
        { _ = SafeArray(repeating: 1, count: -1) }, "init(repeating:count:)",
        "-1 elements; an array has 0 or more"
    ),
]

// contract: SafeArray
@Suite struct SafeArrayTests {
    /// Reading and appending are two steps: numbers may repeat; the count may not fall short.
    @Test func aThousandReadsAndAppendsGiveAThousandElements() {
        let array: SafeArray<Int> = [0]
        onThreads(4) { _ in
            for _ in 0..<250 { array.append((array.last ?? 0) + 1) }
        }
        #expect(array.count == 1_001)
    }

    @Test func changingAnElementInPlaceIsOneStep() {
        let array = SafeArray(repeating: 0, count: 2)
        onThreads(4) { thread in
            for _ in 0..<5_000 {
                array[0] += 1
                array.update(at: 1) { $0 += 1 }
            }
        }
        #expect(array.snapshot == [20_000, 20_000])
    }

    @Test func onlyOneOfManyIsFirstToAppend() {
        let array = SafeArray<Int>()
        let added = Atomic<Int>(0)
        onThreads(4) { _ in
            for value in 0..<200 where array.appendIfAbsent(value) {
                added.add(1, ordering: .relaxed)
            }
        }
        #expect(added.load(ordering: .relaxed) == 200)
        #expect(array.sorted() == Array(0..<200))
    }

    // MARK: Copies

    private func base(_ elements: [Int]) -> Int {
        elements.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
    }

    /// The number of moves grows as the logarithm; a copy on every write would move every time.
    @Test func appendingReallocatesAsSeldomAsAnArray() {
        func addresses(_ append: (Int) -> Void, _ address: () -> Int) -> Int {
            var moves = 0
            var last = address()
            for value in 0..<10_000 {
                append(value)
                let now = address()
                if now != last { moves += 1 }
                last = now
            }
            return moves
        }
        // The allocator may grow a block in place.
        var plain: [Int] = []
        let growth = 20
        #expect(addresses({ plain.append($0) }, { base(plain) }) <= growth)
        let array = SafeArray<Int>()
        #expect(addresses({ array.append($0) }, { array.withReadLock(base) }) <= growth)
        let inClosure = SafeArray<Int>()
        let moves = addresses(
            { value in inClosure.withWriteLock { $0.append(value) } },
            { inClosure.withReadLock(base) }
        )
        #expect(moves <= growth)
    }

    @Test func changesMadeInPlaceDoNotMoveTheStorage() {
        let array = SafeArray(0..<1_000)
        array[0] = 1  // the first write parts from the storage of the initial array
        let before = array.withReadLock(base)
        array[1] = 7
        array[2] += 1
        array.swapAt(3, 4)
        array.update(at: 5) { $0 = 0 }
        array.updateFirst(where: { $0 == 0 }) { $0 = 9 }
        array.sort()
        array.reverse()
        array.removeLast()
        array.remove(at: 0)
        array.insert(3, at: 1)
        array.removeAll { $0.isMultiple(of: 2) }
        array.withWriteLock { $0[0] = 1 }
        array.removeAll(keepingCapacity: true)
        array.append(1)
        #expect(array.withReadLock(base) == before)
    }

    @Test func aSnapshotSharesStorageAndDoesNotChange() {
        let array = SafeArray(0..<100)
        let snapshot = array.snapshot
        #expect(array.withReadLock(base) == base(snapshot), "taking a snapshot copies nothing")
        array[0] = -1
        array.append(100)
        array.removeFirst()
        #expect(snapshot == Array(0..<100))
        #expect(array.snapshot == Array(1...100))
    }

    // MARK: Lifetimes

    @Test func everyElementIsReleasedOnce() {
        let counter = LifetimeCounter()
        do {
            let array = SafeArray((0..<100).map { Counted($0, counter) })
            array.append(Counted(100, counter))
            array[0] = Counted(200, counter)
            array.removeAll { $0.id.isMultiple(of: 3) }
            _ = array.popFirst()
            array.replaceSubrange(0..<10, with: [Counted(300, counter)])
            let kept = array.snapshot
            array.removeAll()
            #expect(counter.living == kept.count)
            array.append(contentsOf: kept)
        }
        #expect(counter.living == 0)
    }

    /// Elements are released after the lock.
    @Test func releasedElementsMayCallTheArray() {
        // Its array is set before it is shared.
        final class Caller: @unchecked Sendable {
            // Weak only against the cycle.
            weak var array: SafeArray<Caller>?
            let seen: SafeArray<Int>
            init(_ array: SafeArray<Caller>, _ seen: SafeArray<Int>) {
                self.array = array
                self.seen = seen
            }
            deinit {
                if let array { seen.append(array.count) }
            }
        }
        let array = SafeArray<Caller>()
        let seen = SafeArray<Int>()
        for _ in 0..<4 { array.append(Caller(array, seen)) }
        array[0] = Caller(array, seen)
        array.remove(at: 0)
        _ = array.popLast()
        array.replaceAll(with: [Caller(array, seen)])
        array.removeAll()
        #expect(seen.snapshot == [4, 3, 2, 1, 1, 0])
    }

    /// A verb goes through its argument before it takes the lock.
    @Test(.timeLimit(.minutes(10))) func aSequenceGivenToAVerbMayCallTheCollection() {
        let array: SafeArray = [1, 2]
        let dictionary: SafeDictionary = [1: 1]
        let set: SafeSet = [1]
        // Each element asks for a count.
        let asking = (0..<2).lazy.map { $0 + array.count + dictionary.count + set.count }
        array.append(contentsOf: asking)
        #expect(array.snapshot == [1, 2, 4, 5])
        array += asking
        array.insert(contentsOf: asking, at: 0)
        #expect(array.snapshot == [8, 9, 1, 2, 4, 5, 6, 7])
        array.replaceSubrange(0..<6, with: asking)
        #expect(array.snapshot == [10, 11, 6, 7])
        array.append(contentsOf: array)
        #expect(array.count == 8)
        dictionary.merge(asking.lazy.map { ($0, $0) }) { _, new in new }
        #expect(dictionary.snapshot == [1: 1, 10: 10, 11: 11])
        set.formUnion(asking)
        #expect(set.snapshot == [1, 12, 13])
        set.subtract(asking)
        set.formIntersection(asking)
        set.formSymmetricDifference(asking)
        #expect(set.count == 2)
        // What works on a snapshot may call back as well.
        #expect(dictionary.filter { $0.key == dictionary.count } == [:])
    }

    @Test func keepingCapacityKeepsRoomForAsMany() {
        func expectRoom<Element>(for elements: [Element]) {
            let array = SafeArray(elements)
            array.reserveCapacity(200)
            let capacity = array.capacity
            array.removeAll(keepingCapacity: true)
            #expect(array.isEmpty && array.capacity >= capacity)
        }
        expectRoom(for: [1, 2])
        expectRoom(for: ["one", "two"])
        let dictionary = SafeDictionary<String, Int>(minimumCapacity: 100)
        #expect(dictionary.capacity >= 100)
        dictionary.reserveCapacity(200)
        let set = SafeSet<String>(minimumCapacity: 200)
        dictionary["one"] = 1
        set.insert("one")
        dictionary.removeAll(keepingCapacity: true)
        set.removeAll(keepingCapacity: true)
        #expect(dictionary.isEmpty && dictionary.capacity >= 200)
        #expect(set.isEmpty && set.capacity >= 200)
    }

    // MARK: Misuse

    @Test(.serialized, .ownThreads, .timeLimit(.minutes(10)), arguments: outOfRange.indices)
    func everyOtherWayOutOfRangeIsReportedToo(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            outOfRange[index].call()
        }
        let report = result?.report ?? "no report"
        let (_, name, sentence) = outOfRange[index]
        #expect(
            report.contains("interlock: SafeArray<Int>.\(name)(") && report.hasSuffix("): \(sentence)\n"),
            "\(report)"
        )
    }

    static let misuses = [
        Misuse(
            "interlock: SafeArray<Int>.subscript(0x",
            "index 7 is out of range; the array has 3 elements"
        ) {
            let array: SafeArray = [1, 2, 3]
            _ = array[7]
        },
        Misuse("range 0..<2 is out of range; the array has 1 element\n") {
            let array: SafeArray = [1]
            array.removeSubrange(0..<2)
        },
        Misuse("is out of range; the array has 1 element\n") {
            let array: SafeArray = [1]
            _ = array[5...]
        },
        // It is entered from a closure of its own.
        Misuse("called from inside withWriteLock of the same object") {
            let array: SafeArray = [1]
            array.withWriteLock { _ in array.withReadLock { _ in } }
        },
        Misuse("SafeArray<Int>.subscript") {
            let array: SafeArray = [1]
            array.withWriteLock { elements in elements[0] = array[0] }
        },
        Misuse("called from inside withReadLock of the same object") {
            let array: SafeArray = [1]
            array.withReadLock { elements in array.append(elements[0]) }
        },
        Misuse("called from inside subscript of the same object") {
            let array: SafeArray = [1, 2]
            swap(&array[0], &array[1])
        },
        // Under the lock, unlike Sequence's form.
        Misuse("called from inside first(where:) of the same object") {
            let array: SafeArray = [1, 2]
            _ = array.first { $0 == array.count }
        },
        Misuse("called from inside contains(where:) of the same object") {
            let array: SafeArray = [1, 2]
            _ = array.contains { $0 == array.count }
        },
        Misuse("called from inside removeAll(where:)") {
            let array: SafeArray = [1, 2]
            array.removeAll { $0 == array.count }
        },
    ]

    @Test(.serialized, .ownThreads, .timeLimit(.minutes(10)), arguments: misuses.indices)
    func misuseIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await SafeArrayTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }

    @Test func otherArraysMayBeEnteredInAClosure() {
        let one: SafeArray = [1]
        let other: SafeArray = [2]
        one.withWriteLock { ones in
            other.withReadLock { ones += $0 }
            other.append(ones.count)
        }
        #expect(one.snapshot == [1, 2] && other.snapshot == [2, 2])
        one.withReadLock { _ in }
        one.append(3)
        #expect(one.count == 3, "an access that has ended is forgotten")
    }

    @Test func aClosureThatThrowsEndsItsAccess() {
        struct Refused: Error {}
        let array: SafeArray = [1]
        #expect(throws: Refused.self) {
            try array.withWriteLock {
                $0.append(2); throw Refused()
            }
        }
        #expect(throws: Refused.self) { try array.withReadLock { _ in throw Refused() } }
        array.append(3)
        #expect(array.snapshot == [1, 2, 3])
    }
}
