// SPDX-License-Identifier: Apache-2.0
//
// A table of callers of a sequence: the standard library's, Foundation's and the package's. CollectionCallersTests runs
// each on collections that change meanwhile.
//
// A caller may ask a sequence for several things (a count, storage, an iterator), between which a shared collection
// changes. It is generic: what it gets are the witnesses of the conformance, as in a library that knows no collection.

import Foundation
import Interlock

/// A use of a sequence of elements that stand for numbers.
struct SequenceCaller<Elements: Sequence> {
    let name: String
    /// The numbers that were taken, a list for each pass over the sequence. Empty where the answer does not hold them.
    let call: (Elements) throws -> [[Int]]

    init(_ name: String, _ call: @escaping (Elements) throws -> [[Int]]) {
        self.name = name
        self.call = call
    }
}

/// The elements of one moment: those of a whole that the writer makes, or the first of them.
func isOneMoment(_ numbers: [Int]) -> Bool {
    guard let first = numbers.first else { return true }
    return first.isMultiple(of: Whole.stride) && numbers == Array(first..<first + numbers.count)
        && numbers.count <= Whole.size(first / Whole.stride)
}

/// What a writer fills a collection with, by the round.
enum Whole {
    static let stride = 64
    /// The numbers stay below the surrogates of Unicode: each is a scalar.
    private static let rounds = 800

    static func size(_ round: Int) -> Int { 8 + round % 33 }

    static func numbers(_ round: Int) -> [Int] {
        let round = round % rounds
        return Array(round * stride..<round * stride + size(round))
    }
}

extension SequenceCaller where Elements.Element: Sendable {
    /// Callers that need nothing of the elements.
    static func ofAny(_ n: @escaping @Sendable (Elements.Element) -> Int) -> [Self] {
        let before = { (left: Elements.Element, right: Elements.Element) in n(left) < n(right) }
        let equal = { (left: Elements.Element, right: Int) in n(left) == right }
        let scalar = { (element: Elements.Element) in Unicode.Scalar(UInt32(n(element)))! }
        let end = Int.max
        return [
            .init("for") { s in
                var numbers: [Int] = []
                for element in s { numbers.append(n(element)) }
                return [numbers]
            },
            .init("IteratorSequence") { s in [IteratorSequence(s.makeIterator()).map(n)] },
            .init("AnyIterator") { s in [AnyIterator(s.makeIterator()).map(n)] },
            .init("AnySequence") { s in [Array(AnySequence(s)).map(n)] },
            .init("Array.init") { s in [Array(s).map(n)] },
            .init("ContiguousArray.init") { s in [ContiguousArray(s).map(n)] },
            .init("ArraySlice.init") { s in [ArraySlice(s).map(n)] },
            .init("Array.append(contentsOf:)") { s in
                var array: [Elements.Element] = []
                array.append(contentsOf: s)
                return [array.map(n)]
            },
            .init("Array.append(contentsOf:), with room") { s in
                var array: [Elements.Element] = []
                array.reserveCapacity(100)
                array.append(contentsOf: s)
                return [array.map(n)]
            },
            .init("ContiguousArray.append(contentsOf:)") { s in
                var array: ContiguousArray<Elements.Element> = []
                array.append(contentsOf: s)
                return [array.map(n)]
            },
            .init("ArraySlice.append(contentsOf:)") { s in
                var array: ArraySlice<Elements.Element> = []
                array.append(contentsOf: s)
                return [array.map(n)]
            },
            .init("Array.+=") { s in
                var array: [Elements.Element] = []
                array += s
                return [array.map(n)]
            },
            .init("Array + sequence") { s in [([] + s).map(n)] },
            .init("sequence + Array") { s in [(s + []).map(n)] },
            .init("UnsafeMutableBufferPointer.initialize(from:)") { s in
                let buffer = UnsafeMutableBufferPointer<Elements.Element>.allocate(capacity: 100)
                defer { buffer.deallocate() }
                let (_, end) = buffer.initialize(from: s)
                defer { buffer[..<end].deinitialize() }
                return [buffer[..<end].map(n)]
            },
            .init("withContiguousStorageIfAvailable") { s in
                s.withContiguousStorageIfAvailable { [$0.map(n)] } ?? []
            },
            .init("map") { s in [s.map(n)] },
            .init("flatMap") { s in [s.flatMap { [n($0)] }] },
            .init("compactMap") { s in [s.compactMap { n($0) as Int? }] },
            .init("filter") { s in [s.filter { _ in true }.map(n)] },
            .init("reduce") { s in [s.reduce([]) { $0 + [n($1)] }] },
            .init("reduce(into:)") { s in [s.reduce(into: []) { $0.append(n($1)) }] },
            .init("forEach") { s in
                var numbers: [Int] = []
                s.forEach { numbers.append(n($0)) }
                return [numbers]
            },
            .init("sorted(by:)") { s in [s.sorted(by: before).map(n)] },
            .init("reversed") { s in [s.reversed().reversed().map(n)] },
            .init("shuffled") { s in [s.shuffled().map(n).sorted()] },
            .init("min(by:), max(by:)") { s in
                _ = s.max(by: before)
                return [[s.min(by: before)].compactMap { $0 }.map(n)]
            },
            .init("count(where:), allSatisfy, contains(where:), first(where:)") { s in
                _ = s.count { n($0) > 0 }
                _ = s.allSatisfy { n($0) > 0 }
                _ = s.contains { n($0) < 0 }
                _ = s.first { n($0) < 0 }
                return []
            },
            .init("elementsEqual, starts(with:), lexicographicallyPrecedes") { s in
                _ = s.elementsEqual(0..<10, by: equal)
                _ = s.starts(with: 0..<10, by: equal)
                _ = s.lexicographicallyPrecedes(s, by: before)
                _ = s.elementsEqual(s) { n($0) == n($1) }
                return []
            },
            .init("enumerated") { s in [Array(s.enumerated()).map { n($0.element) }] },
            .init("zip") { s in
                // Ends with the shorter one.
                _ = Array(zip(s, s))
                return [Array(zip(s, 0...)).map { n($0.0) }]
            },
            .init("prefix") { s in [Array(s.prefix(end)).map(n)] },
            .init("suffix") { s in [s.suffix(end).map(n)] },
            .init("dropFirst") { s in [Array(s.dropFirst(0)).map(n)] },
            .init("dropLast") { s in [s.dropLast(0).map(n)] },
            .init("prefix(while:)") { s in [s.prefix { _ in true }.map(n)] },
            .init("drop(while:)") { s in [Array(s.drop { _ in false }).map(n)] },
            .init("split") { s in s.split { _ in false }.map { $0.map(n) } },
            .init("lazy") { s in [Array(s.lazy).map(n)] },
            .init("lazy.map") { s in [Array(s.lazy.map(n))] },
            .init("lazy.filter") { s in [Array(s.lazy.filter { _ in true }).map(n)] },
            .init("lazy.compactMap") { s in [Array(s.lazy.compactMap { n($0) as Int? })] },
            .init("lazy.flatMap") { s in [Array(s.lazy.flatMap { [n($0)] })] },
            .init("lazy.prefix(while:), lazy.drop(while:)") { s in
                [Array(s.lazy.prefix { _ in true }).map(n), Array(s.lazy.drop { _ in false }).map(n)]
            },
            .init("joined") { s in [Array([s].joined()).map(n), Array(s.lazy.map { [n($0)] }.joined())] },
            .init("joined(separator:)") { s in
                [s.lazy.map { "\(n($0))" }.joined(separator: " ").split(separator: " ").map { Int($0)! }]
            },
            .init("sequence(state:)") { s in
                [Array(sequence(state: s.makeIterator()) { $0.next().map(n) })]
            },
            .init("Dictionary.init") { s in
                [
                    Dictionary(uniqueKeysWithValues: s.lazy.map { (n($0), 0) }).keys.sorted(),
                    Dictionary(s.lazy.map { (n($0), 0) }) { $1 }.keys.sorted(),
                    Dictionary(grouping: s, by: n).keys.sorted(),
                ]
            },
            .init("Dictionary.merge") { s in
                var dictionary = [Int: Int]()
                dictionary.merge(s.lazy.map { (n($0), 0) }) { $1 }
                return [dictionary.keys.sorted()]
            },
            .init("String.UnicodeScalarView") { s in
                var view = String.UnicodeScalarView(s.lazy.map(scalar))
                view.append(contentsOf: s.lazy.map(scalar))
                return [String.UnicodeScalarView(s.lazy.map(scalar)).map { Int($0.value) }]
            },
            .init("String.init") { s in
                [String(s.lazy.map { Character(scalar($0)) }).unicodeScalars.map { Int($0.value) }]
            },
            .init("Data") { s in
                var data = Data(s.lazy.map { UInt8(truncatingIfNeeded: n($0)) })
                data.append(contentsOf: s.lazy.map { UInt8(truncatingIfNeeded: n($0)) })
                return []
            },

            // The package's.
            .init("SafeArray.init") { s in [SafeArray(s).snapshot.map(n)] },
            .init("SafeArray.append(contentsOf:)") { s in
                let array = SafeArray<Elements.Element>()
                array.append(contentsOf: s)
                return [array.snapshot.map(n)]
            },
            .init("SafeArray.+=") { s in
                let array = SafeArray<Elements.Element>()
                array += s
                return [array.snapshot.map(n)]
            },
            .init("SafeDictionary.init") { s in
                [
                    SafeDictionary(uniqueKeysWithValues: s.lazy.map { (n($0), 0) }).keys.sorted(),
                    SafeDictionary(s.lazy.map { (n($0), 0) }) { $1 }.keys.sorted(),
                    SafeDictionary(grouping: s, by: n).keys.sorted(),
                ]
            },
            .init("SafeDictionary.merge") { s in
                let dictionary = SafeDictionary<Int, Int>()
                dictionary.merge(s.lazy.map { (n($0), 0) }) { $1 }
                return [dictionary.keys.sorted()]
            },
            .init("concurrentMap") { s in [s.concurrentMap(maxConcurrency: 2, n)] },
            .init("concurrentMap(timeout:)") { s in [s.concurrentMap(timeout: .seconds(600), n)!] },
            .init("concurrentForEach") { s in
                let numbers = SafeArray<Int>()
                s.concurrentForEach(maxConcurrency: 2) { numbers.append(n($0)) }
                return [numbers.snapshot.sorted()]
            },
        ]
    }

    /// The suspending ones.
    static func suspending(
        _ s: Elements,
        _ n: @escaping @Sendable (Elements.Element) -> Int
    ) async throws -> [[Int]] {
        let numbers = SafeArray<Int>()
        try await s.concurrentForEach { numbers.append(n($0)) }
        return [
            try await s.concurrentMap(n), try await s.concurrentMap(timeout: .seconds(600), n) ?? [-1],
            numbers.snapshot.sorted(),
        ]
    }
}

extension SequenceCaller where Elements.Element == Int {
    /// Callers that compare the elements.
    static var ofNumbers: [Self] {
        let none: Set<Int> = []
        return [
            .init("sorted") { s in [s.sorted()] },
            .init("min, max") { s in
                _ = s.max()
                return [[s.min()].compactMap { $0 }]
            },
            .init("contains, elementsEqual, starts(with:), lexicographicallyPrecedes") { s in
                _ = s.contains(-1)
                _ = s.elementsEqual(s)
                _ = s.starts(with: s)
                _ = [0, 1].starts(with: s)
                _ = s.lexicographicallyPrecedes(s)
                return []
            },
            .init("split(separator:)") { s in s.split(separator: -1).map { Array($0) } },
            .init("Set.init") { s in [Set(s).sorted()] },
            .init("Set's algebra") { s in
                var (united, different) = (none, none)
                united.formUnion(s)
                different.formSymmetricDifference(s)
                different.subtract([])
                return [
                    united.sorted(), different.sorted(), none.union(s).sorted(),
                    none.symmetricDifference(s).sorted(),
                ]
            },
            .init("Set's questions") { s in
                var some: Set = [0, 1, 64, 65]
                some.subtract(s)
                some.formIntersection(s)
                _ = some.intersection(s).count + some.subtracting(s).count
                _ = some.isSubset(of: s) && some.isSuperset(of: s) && some.isDisjoint(with: s)
                _ = some.isStrictSubset(of: s) && some.isStrictSuperset(of: s)
                return []
            },
            .init("IndexSet") { s in [Array(IndexSet(s))] },
            .init("SafeSet.init") { s in [SafeSet(s).snapshot.sorted()] },
            .init("SafeSet.formUnion, formSymmetricDifference") { s in
                let (united, different) = (SafeSet<Int>(), SafeSet<Int>())
                united.formUnion(s)
                different.formSymmetricDifference(s)
                return [united.snapshot.sorted(), different.snapshot.sorted()]
            },
            .init("SafeSet.subtract, formIntersection") { s in
                let some: SafeSet = [0, 1, 64, 65]
                some.subtract(s)
                some.formIntersection(s)
                return []
            },
            .init("SafeSet's questions") { s in
                let some: SafeSet = [0, 1, 64, 65]
                _ = some.isSubset(of: s)
                _ = some.isSuperset(of: s)
                _ = some.isStrictSubset(of: s)
                _ = some.isStrictSuperset(of: s)
                _ = some.isDisjoint(with: s)
                return []
            },
        ]
    }
}

extension SequenceCaller
where
    Elements: Encodable & CustomStringConvertible & CustomDebugStringConvertible & CustomReflectable
{
    /// Callers of the other protocols. Values are printed beside equal keys.
    static var ofConformances: [Self] {
        func numbers(in text: String) -> [Int] {
            Set(text.split { !$0.isNumber }.map { Int($0)! }).sorted()
        }
        return [
            .init("description") { c in [numbers(in: c.description), numbers(in: "\(c)")] },
            .init("debugDescription") { c in
                [numbers(in: c.debugDescription), numbers(in: String(reflecting: c))]
            },
            .init("dump") { c in
                var text = ""
                dump(c, to: &text)
                return []
            },
            .init("Mirror") { c in
                let children = Mirror(reflecting: c).children
                return [numbers(in: children.map { "\($0.value)" }.joined(separator: " "))]
            },
            .init("JSONEncoder") { c in
                [numbers(in: String(decoding: try JSONEncoder().encode(c), as: UTF8.self))]
            },
            .init("PropertyListEncoder") { c in
                let list = try PropertyListEncoder().encode(["c": c])
                return [numbers(in: "\(try PropertyListSerialization.propertyList(from: list, format: nil))")]
            },
        ]
    }
}
