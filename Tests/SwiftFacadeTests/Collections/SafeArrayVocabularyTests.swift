// SPDX-License-Identifier: Apache-2.0
//
// What SafeArray has beside Array's verbs, which SafeArrayFuzzTests compares: changes of a range as one step, ranges
// of the caller's own, checked forms, conformances.

import Foundation
import Interlock
import Testing
// contract: SafeArray
@Suite struct SafeArrayVocabularyTests {
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

    @Test(.ownThreads) func rangesOfTheCallersOwnMeanWhatTheyMeanToAnArray() async {
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
}
