// SPDX-License-Identifier: Apache-2.0
//
// Every verb against Array's own, on random arguments; its announcements, replayed on the initial contents, give the
// final ones.

import Foundation
import Interlock
import Testing
// contract: SafeArray
@Suite struct SafeArrayVocabularyTests {
    /// One random step on both.
    private func step(
        _ array: SafeArray<Int>,
        _ model: inout [Int],
        _ random: inout some RandomNumberGenerator
    ) {
        let value = Int.random(in: 0..<50, using: &random)
        let index = model.isEmpty ? nil : Int.random(in: model.indices, using: &random)
        let place = Int.random(in: 0...model.count, using: &random)
        let range = place..<Int.random(in: place...model.count, using: &random)
        let several = (0..<Int.random(in: 0..<4, using: &random)).map { $0 + value }
        switch Int.random(in: 0..<41, using: &random) {
        case 0...4:
            array.append(value)
            model.append(value)
        case 5:
            array.append(contentsOf: several)
            model.append(contentsOf: several)
        case 6:
            array.insert(value, at: place)
            model.insert(value, at: place)
        case 7:
            array.insert(contentsOf: several, at: place)
            model.insert(contentsOf: several, at: place)
        case 8:
            guard let index else { return }
            #expect(array.remove(at: index) == model.remove(at: index))
        case 9: #expect(array.popLast() == model.popLast())
        case 10: #expect(array.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
        case 11:
            guard index != nil else { return }
            #expect(array.removeLast() == model.removeLast())
            guard !model.isEmpty else { return }
            #expect(array.removeFirst() == model.removeFirst())
        case 12:
            array.removeSubrange(range)
            model.removeSubrange(range)
        case 13:
            array.removeLast(range.count)
            model.removeLast(range.count)
            array.removeFirst(model.count / 8)
            model.removeFirst(model.count / 8)
        case 14:
            array.removeAll { $0 % 5 == value % 5 }
            model.removeAll { $0 % 5 == value % 5 }
        case 15:
            guard value < 5 else { return }
            array.removeAll(keepingCapacity: value < 2)
            model.removeAll()
        case 16:
            guard let index else { return }
            array[index] = value
            model[index] = value
        case 17:
            guard let index else { return }
            array[index] += value
            model[index] += value
        case 18:
            array[range] = several
            model[range] = several[...]
        case 19:
            guard let index else { return }
            array.swapAt(index, model.count - 1 - index)
            model.swapAt(index, model.count - 1 - index)
        case 20:
            array.sort()
            model.sort()
        case 21:
            array.sort { $0 % 10 > $1 % 10 }
            model.sort { $0 % 10 > $1 % 10 }
        case 22:
            array.reverse()
            model.reverse()
        case 23:
            #expect(array.appendIfAbsent(value) == !model.contains(value))
            if !model.contains(value) { model.append(value) }
        case 24:
            #expect(
                array.update(at: place) {
                    $0 += 1; return $0
                } == (place < model.count ? model[place] + 1 : nil)
            )
            if place < model.count { model[place] += 1 }
        case 25:
            let first = model.firstIndex { $0 > value }
            #expect(array.removeFirst { $0 > value } == first.map { model[$0] })
            if let first { model.remove(at: first) }
        case 26:
            #expect(array.replaceAll(with: several + model) == model)
            model = several + model
        case 27:
            let split = array.partition { $0 < value }
            #expect(model.partition { $0 < value } == split)
        case 28:
            array.withWriteLock {
                $0.append(value); $0.swapAt(0, $0.count - 1)
            }
            model.append(value)
            model.swapAt(0, model.count - 1)
        case 29:
            array[place...] = several
            model[place...] = several[...]
        case 30:
            array[range].sort(by: >)
            model[range].sort(by: >)
        case 31:
            array[..<place].append(value)
            model.replaceSubrange(..<place, with: model[..<place] + [value])
        case 32:
            array.removeSubrange(..<place)
            model.removeSubrange(..<place)
        case 33:
            array.replaceSubrange(place..., with: several)
            model.replaceSubrange(place..., with: several)
        case 34:
            let chosen = model.indices { $0 % 3 == value % 3 }
            #expect(array.indices { $0 % 3 == value % 3 } == chosen)
            array.removeSubranges(chosen)
            model.removeSubranges(chosen)
        case 35:
            let chosen = model.indices(of: value % 10)
            #expect(array.indices(of: value % 10) == chosen)
            #expect(array.moveSubranges(chosen, to: place) == model.moveSubranges(chosen, to: place))
        case 36:
            var (ours, theirs) = (random, random)
            array.shuffle(using: &ours)
            model.shuffle(using: &theirs)
            #expect(array.randomElement(using: &ours) == model.randomElement(using: &theirs))
        case 37:
            array[...].append(value)
            model.append(value)
        case 38:
            #expect(array.prefix(value) == Array(model.prefix(value)))
            #expect(array.suffix(value) == Array(model.suffix(value)))
            #expect(array.dropFirst(value) == Array(model.dropFirst(value)))
            #expect(array.dropLast() == Array(model.dropLast()))
        case 39:
            #expect(array[..<place] == Array(model.prefix(upTo: place)))
            #expect(array[place...] == Array(model.suffix(from: place)))
            if let index { #expect(array[...index] == Array(model.prefix(through: index))) }
            #expect(array.last { $0 < value } == model.last { $0 < value })
            #expect(array.randomElement().map(model.contains) ?? model.isEmpty)
        default:
            let first = model.firstIndex { $0 == value }
            let answer = array.updateFirst(where: { $0 == value }) {
                $0 = 1; return value
            }
            #expect(answer == first.map { _ in value })
            if let first { model[first] = 1 }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func everyVerbDoesWhatArraysDoes(seed: UInt64) {
        var random = SplitMix(state: seed)
        let array = SafeArray<Int>()
        var model: [Int] = []
        for _ in 0..<500 {
            step(array, &model, &random)
            guard array.snapshot == model else {
                Issue.record("seed \(seed): \(array) and not \(model)")
                return
            }
        }
        #expect(array.count == model.count && array.isEmpty == model.isEmpty)
        #expect(array.first == model.first && array.last == model.last)
        #expect(array.firstIndex(of: 7) == model.firstIndex(of: 7))
        #expect(array.lastIndex(of: 7) == model.lastIndex(of: 7))
        #expect(array.contains(3) == model.contains(3))
        #expect(array.first { $0 > 20 } == model.first { $0 > 20 })
        #expect(array.contains { $0 > 30 } == model.contains { $0 > 30 })
        #expect(array[0..<model.count / 2] == Array(model[..<(model.count / 2)]))
        #expect(array[..<model.count] == model && array[0...] == model)
        #expect(Array(array) == model)
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func announcedChangesReplayToTheSameContents(seed: UInt64) async {
        var random = SplitMix(state: seed)
        let array: SafeArray = [1, 2, 3]
        var replayed = array.snapshot
        var model = replayed
        let queue = DispatchQueue(label: "replay")
        let announced = SafeArray<SafeArray<Int>.Change>()
        let subscription = array.changes(deliverOn: queue) { announced.append($0) }
        for _ in 0..<300 { step(array, &model, &random) }
        array.append(-1)
        #expect(
            await eventuallySuspending { announced.last == .insertion(at: array.count - 1, elements: [-1]) }
        )
        subscription.cancel()
        for change in announced { change.apply(to: &replayed) }
        #expect(replayed == array.snapshot, "seed \(seed)")
    }

    /// Two threads, each at its half and both at the end: reading and then writing would lose a change.
    @Test func changingARangeInPlaceIsOneStep() {
        let array = SafeArray(repeating: 0, count: 8)
        onThreads(2) { thread in
            let range = thread * 4..<thread * 4 + 4
            for _ in 0..<2_000 {
                array[range].withUnsafeMutableBufferPointer { for index in $0.indices { $0[index] += 1 } }
                array[0...].withUnsafeMutableBufferPointer { $0[7] += 1 }
            }
        }
        #expect(array.prefix(7).allSatisfy { $0 == 2_000 } && array.last == 6_000)
    }

    /// Needs the end.
    private struct Last: RangeExpression {
        let count: Int
        func relative<C: Collection>(to collection: C) -> Range<Int> where C.Index == Int {
            max(collection.startIndex, collection.endIndex - count)..<collection.endIndex
        }
        func contains(_ element: Int) -> Bool { false }
    }

    /// Never there; asks an array first.
    private struct Behind: RangeExpression {
        var array: SafeArray<Int>?
        func relative<C: Collection>(to collection: C) -> Range<Int> where C.Index == Int {
            _ = array?.count
            return collection.endIndex + 1..<collection.endIndex + 2
        }
        func contains(_ element: Int) -> Bool { false }
    }

    @Test func rangesOfTheCallersOwnMeanWhatTheyMeanToAnArray() async {
        var model = Array(0..<8)
        let array = SafeArray(model)
        #expect(array[Last(count: 3)] == Array(model[Last(count: 3)]))
        model[Last(count: 2)] = [10, 11, 12]
        array[Last(count: 2)] = [10, 11, 12]
        #expect(array.snapshot == model)
        model[Last(count: 3)].reverse()
        array[Last(count: 3)].reverse()
        #expect(array.snapshot == model)
        model.replaceSubrange(Last(count: 1), with: [20, 21])
        array.replaceSubrange(Last(count: 1), with: [20, 21])
        #expect(array.snapshot == model)
        model.removeSubrange(Last(count: 4))
        array.removeSubrange(Last(count: 4))
        #expect(array.snapshot == model)
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            SafeArray([1]).removeSubrange(Behind())
        }
        #expect(result?.report.contains("range 2..<3 is out of range; the array has 1 element\n") == true)
        // Foreign code under the lock.
        let inside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let array = SafeArray([1])
            _ = array[Behind(array: array)]
        }
        #expect(inside?.report.contains("called from inside subscript of the same object") == true)
    }

    @Test func outOfRangeIsNilForTheCheckedForms() {
        let array: SafeArray = ["a", "b"]
        #expect(array.element(at: 1) == "b")
        #expect(array.element(at: 2) == nil && array.element(at: -1) == nil)
        #expect(SafeArray<Int>().first == nil && SafeArray<Int>().last == nil)
        #expect(array.update(at: 9) { $0 = "" } == nil)
    }

    @Test func conformancesAreThoseOfTheContents() throws {
        let array: SafeArray = [1, 2, 3]
        #expect(array.elementsEqual(1...3) && array.snapshot == [1, 2, 3])
        #expect("\(array)" == "[1, 2, 3]" && String(reflecting: array) == "SafeArray([1, 2, 3])")
        #expect(Mirror(reflecting: array).children.map { $0.value as? Int } == [1, 2, 3])
        #expect(Mirror(reflecting: array).displayStyle == .collection)
        let encoded = try JSONEncoder().encode(array)
        #expect(String(decoding: encoded, as: UTF8.self) == "[1,2,3]")
        #expect(try JSONDecoder().decode(SafeArray<Int>.self, from: encoded).snapshot == [1, 2, 3])
        #expect(array.map { $0 * 2 } == [2, 4, 6] && array.reduce(0, +) == 6)
        array += [4]
        #expect(array.count == 4)
        #expect(array.drain() == [1, 2, 3, 4] && array.isEmpty)
    }

    @Test func aPredicateThatThrowsLeavesTheElementsAsTheyWere() {
        struct Refused: Error {}
        let array = SafeArray(0..<10)
        #expect(throws: Refused.self) {
            try array.removeAll { if $0 == 5 { throw Refused() } else { true } }
        }
        #expect(array.snapshot == Array(0..<10))
    }
}

/// Vigna's splitmix64.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
