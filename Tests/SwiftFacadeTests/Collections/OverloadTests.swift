// SPDX-License-Identifier: Apache-2.0
//
// Which of several declarations of one name a caller gets: the shared collections' own, under the lock or in one step,
// or the standard library's, over an iterator. The compiler's choice for every public member is read from its syntax
// tree.

import Foundation
import Testing
// contract: SafeArray
@Suite struct OverloadTests {
    /// Calls by the member, as the compiler's list of symbols names it. `x` is the collection.
    typealias Calls = [String: [String]]

    static let ofArrays: Calls = [
        "+=(_:_:)": ["x += [1]"], "append(_:)": ["x.append(1)"],
        "append(_:unless:)": ["x.append(1) { $0 == 1 }", "try x.append(1, unless: refuse)"],
        "append(contentsOf:)": ["x.append(contentsOf: [1])"], "appendIfAbsent(_:)": ["x.appendIfAbsent(1)"],
        "capacity": ["_ = x.capacity"], "changes(deliverOn:_:)": ["_ = x.changes { _ in }"],
        "changes()": ["_ = x.changes()"], "contains(_:)": ["_ = x.contains(1)"],
        "contains(where:)": [
            "_ = x.contains { $0 == 1 }", "_ = x.contains(where: { $0 == 1 })",
            "_ = try x.contains(where: refuse)",
        ],
        "count": ["_ = x.count"], "customMirror": ["_ = x.customMirror"],
        "debugDescription": ["_ = x.debugDescription"], "description": ["_ = x.description"],
        "diagnose(_:)": ["try x.diagnose(.order)"],
        "drain()": ["_ = x.drain()"], "dropFirst(_:)": ["_ = x.dropFirst()", "_ = x.dropFirst(2)"],
        "dropLast(_:)": ["_ = x.dropLast()", "_ = x.dropLast(2)"], "element(at:)": ["_ = x.element(at: 1)"],
        "encode(to:)": ["try x.encode(to: encoder)"], "first": ["_ = x.first"],
        "first(where:)": [
            "_ = x.first { $0 == 1 }", "_ = x.first(where: { $0 == 1 })", "_ = try x.first(where: refuse)",
        ],
        "firstIndex(of:)": ["_ = x.firstIndex(of: 1)"],
        "firstIndex(where:)": ["_ = x.firstIndex { $0 == 1 }", "_ = try x.firstIndex(where: refuse)"],
        "indices(of:)": ["_ = x.indices(of: 1)"],
        "indices(where:)": ["_ = x.indices { $0 == 1 }"], "insert(_:at:)": ["x.insert(1, at: 0)"],
        "insert(contentsOf:at:)": ["x.insert(contentsOf: [1], at: 0)"], "isEmpty": ["_ = x.isEmpty"],
        "last": ["_ = x.last"],
        "last(where:)": ["_ = x.last { $0 == 1 }", "_ = try x.last(where: refuse)"],
        "lastIndex(of:)": ["_ = x.lastIndex(of: 1)"],
        "lastIndex(where:)": ["_ = x.lastIndex { $0 == 1 }", "_ = try x.lastIndex(where: refuse)"],
        "makeIterator()": ["_ = x.makeIterator()"],
        "moveSubranges(_:to:)": ["x.moveSubranges(RangeSet(0..<1), to: 0)"],
        "partition(by:)": ["x.partition { $0 > 1 }", "try x.partition(by: refuse)"],
        "popFirst()": ["_ = x.popFirst()"], "popLast()": ["_ = x.popLast()"],
        "prefix(_:)": ["_ = x.prefix(1)", "for _ in x.prefix(1) {}"],
        "randomElement()": ["_ = x.randomElement()"],
        "remove(at:)": ["x.remove(at: 0)"],
        "removeAll(keepingCapacity:)": ["x.removeAll()", "x.removeAll(keepingCapacity: true)"],
        "removeAll(where:)": ["x.removeAll { $0 == 1 }", "try x.removeAll(where: refuse)"],
        "removeFirst()": ["x.removeFirst()"], "removeFirst(_:)": ["x.removeFirst(1)"],
        "removeFirst(equalTo:)": ["x.removeFirst(equalTo: 1)"],
        "removeFirst(where:)": ["x.removeFirst { $0 == 1 }", "try x.removeFirst(where: refuse)"],
        "removeLast()": ["x.removeLast()"], "removeLast(_:)": ["x.removeLast(1)"],
        "removeSubrange(_:)": [
            "x.removeSubrange(0..<1)", "x.removeSubrange(0...1)", "x.removeSubrange(1...)",
        ],
        "removeSubranges(_:)": ["x.removeSubranges(RangeSet(0..<1))"],
        "replace(at:with:)": ["x.replace(at: 0, with: 1)"], "replaceAll(with:)": ["x.replaceAll(with: [])"],
        "replaceSubrange(_:with:)": [
            "x.replaceSubrange(0..<1, with: [1])", "x.replaceSubrange(1..., with: [1])",
        ],
        "reserveCapacity(_:)": ["x.reserveCapacity(1)"], "reverse()": ["x.reverse()"],
        "shuffle()": ["x.shuffle()"], "shuffle(using:)": ["x.shuffle(using: &generator)"],
        "snapshot": ["_ = x.snapshot"], "sort()": ["x.sort()"], "sort(by:)": ["x.sort { $0 > $1 }"],
        "subscript(_:)": [
            "_ = x[0]", "x[0] = 1", "x[0] += 1", "_ = x[0..<1]", "_ = x[0...1]", "_ = x[1...]", "_ = x[...]",
            "x[0..<1].sort()", "x[...].sort()",
        ],
        "suffix(_:)": ["_ = x.suffix(1)", "for _ in x.suffix(1) {}"],
        "swapAt(_:_:)": ["x.swapAt(0, 1)"],
        "update(at:_:)": ["x.update(at: 0) { $0 += 1 }"],
        "updateFirst(where:_:)": ["x.updateFirst { $0 == 1 } _: { $0 += 1 }"],
        "withReadLock(_:)": ["_ = x.withReadLock { $0.count }"],
        "withWriteLock(_:)": ["x.withWriteLock { $0.append(1) }"],
    ]

    static let ofDictionaries: Calls = [
        "capacity": ["_ = x.capacity"],
        "changes(deliverOn:_:)": ["_ = x.changes { _ in }"], "changes()": ["_ = x.changes()"],
        "contains(key:)": ["_ = x.contains(key: 1)"],
        "count": ["_ = x.count"], "customMirror": ["_ = x.customMirror"],
        "debugDescription": ["_ = x.debugDescription"], "description": ["_ = x.description"],
        "diagnose(_:)": ["try x.diagnose(.order)"],
        "drain()": ["_ = x.drain()"], "encode(to:)": ["try x.encode(to: encoder)"],
        "filter(_:)": ["_ = x.filter { $0.key == 1 }", "_ = try x.filter { try refuse($0.key) }"],
        "first": ["_ = x.first"],
        "insertIfAbsent(_:forKey:)": ["x.insertIfAbsent(1, forKey: 1)"], "isEmpty": ["_ = x.isEmpty"],
        "keys": ["_ = x.keys"], "makeIterator()": ["_ = x.makeIterator()"],
        "merge(_:uniquingKeysWith:)": [
            "x.merge([1: 1]) { old, _ in old }", "x.merge([(1, 1)]) { old, _ in old }",
        ],
        "update(forKey:default:_:)": ["x.update(forKey: 1, default: 0) { $0 += 1 }"],
        "popFirst()": ["_ = x.popFirst()"], "randomElement()": ["_ = x.randomElement()"],
        "removeAll(keepingCapacity:)": ["x.removeAll()", "x.removeAll(keepingCapacity: true)"],
        "removeAll(where:)": ["x.removeAll { key, _ in key == 1 }"],
        "removeValue(forKey:)": ["x.removeValue(forKey: 1)"],
        "replaceAll(with:)": ["x.replaceAll(with: [:])"],
        "reserveCapacity(_:)": ["x.reserveCapacity(1)"], "snapshot": ["_ = x.snapshot"],
        "subscript(_:)": ["_ = x[1]", "x[1] = 1", "x[1]? += 1"],
        "subscript(_:default:)": ["_ = x[1, default: 0]", "x[1, default: 0] += 1"],
        "update(forKey:_:)": ["x.update(forKey: 1) { $0 += 1 }"],
        "updateValue(_:forKey:)": ["x.updateValue(1, forKey: 1)"],
        "value(forKey:)": ["_ = x.value(forKey: 1)"],
        "value(forKey:default:)": ["_ = x.value(forKey: 1, default: 0)"],
        "value(forKey:orInsert:)": ["_ = x.value(forKey: 1, orInsert: 0)"], "values": ["_ = x.values"],
        "withReadLock(_:)": ["_ = x.withReadLock { $0.count }"],
        "withWriteLock(_:)": ["x.withWriteLock { $0[1] = 1 }"],
    ]

    static let ofSets: Calls = [
        "capacity": ["_ = x.capacity"],
        "changes(deliverOn:_:)": ["_ = x.changes { _ in }"], "changes()": ["_ = x.changes()"],
        "contains(_:)": ["_ = x.contains(1)"], "count": ["_ = x.count"],
        "customMirror": ["_ = x.customMirror"],
        "debugDescription": ["_ = x.debugDescription"], "description": ["_ = x.description"],
        "diagnose(_:)": ["try x.diagnose(.order)"],
        "drain()": ["_ = x.drain()"], "encode(to:)": ["try x.encode(to: encoder)"],
        "filter(_:)": ["_ = x.filter { $0 == 1 }", "_ = try x.filter(refuse)"], "first": ["_ = x.first"],
        "formIntersection(_:)": ["x.formIntersection([1])"],
        "formSymmetricDifference(_:)": ["x.formSymmetricDifference([1])"],
        "formUnion(_:)": ["x.formUnion([1])"],
        "insert(_:)": ["x.insert(1)"],
        "isDisjoint(with:)": ["_ = x.isDisjoint(with: [1])"],
        "isEmpty": ["_ = x.isEmpty"], "isStrictSubset(of:)": ["_ = x.isStrictSubset(of: [1])"],
        "isStrictSuperset(of:)": ["_ = x.isStrictSuperset(of: [1])"],
        "isSubset(of:)": ["_ = x.isSubset(of: [1])"], "isSuperset(of:)": ["_ = x.isSuperset(of: [1])"],
        "makeIterator()": ["_ = x.makeIterator()"], "popFirst()": ["_ = x.popFirst()"],
        "randomElement()": ["_ = x.randomElement()"],
        "remove(_:)": ["x.remove(1)"],
        "removeAll(keepingCapacity:)": ["x.removeAll()", "x.removeAll(keepingCapacity: true)"],
        "removeAll(where:)": ["x.removeAll { $0 == 1 }", "try x.removeAll(where: refuse)"],
        "removeFirst()": ["x.removeFirst()"], "replaceAll(with:)": ["x.replaceAll(with: [])"],
        "reserveCapacity(_:)": ["x.reserveCapacity(1)"], "snapshot": ["_ = x.snapshot"],
        "subtract(_:)": ["x.subtract([1])"], "update(with:)": ["x.update(with: 1)"],
        "withReadLock(_:)": ["_ = x.withReadLock { $0.count }"],
        "withWriteLock(_:)": ["x.withWriteLock { $0.remove(1) }"],
    ]

    /// Of all three.
    static let waits: Calls = [
        "withWriteLock(when:_:)": ["_ = x.withWriteLock(when: { !$0.isEmpty }) { $0.count }"],
        "withWriteLock(when:until:_:)": [
            "_ = x.withWriteLock(when: { !$0.isEmpty }, until: .now) { $0.count }"
        ],
        "withWriteLock(isolation:when:_:)": [
            "Task { _ = try await x.withWriteLock(when: { !$0.isEmpty }) { $0.count } }"
        ],
        "withWriteLock(isolation:when:until:_:)": [
            "Task { _ = try await x.withWriteLock(when: { !$0.isEmpty }, until: .now) { $0.count } }"
        ],
    ]

    static let calls: [String: Calls] = [
        "SafeArray<Int>": ofArrays, "SafeDictionary<Int, Int>": ofDictionaries, "SafeSet<Int>": ofSets,
    ].mapValues { $0.merging(waits) { own, _ in own } }

    @Test(arguments: calls.keys.sorted())
    func theCompilerPicksOurs(instance: String) async throws {
        let type = String(instance.prefix { $0 != "<" })
        let calls = try #require(Self.calls[instance])
        let symbols = try await PublicInterface.symbols()
        let own = Set(symbols.filter { $0.type == type && !$0.isInherited && !$0.isType }.map(\.name))
            .filter { !$0.hasPrefix("init(") }
        #expect(own.count > 40, "the symbols are found")
        #expect(own.subtracting(calls.keys).isEmpty, "members without a call")
        #expect(Set(calls.keys).subtracting(own).isEmpty, "calls without a member")

        let probes = calls.sorted { $0.key < $1.key }.flatMap { name, calls in calls.map { (name, $0) } }
        let picked = try await Self.picked(probes.map(\.1), on: instance)
        #expect(picked.count == probes.count)
        for ((name, call), picked) in zip(probes, picked) {
            let base = String(name.prefix { $0 != "(" })
            let isOurs = picked.contains {
                $0.contains(/^Interlock(Sync|Operations)\.\(file\)\./) && $0.contains(").\(type)")
                    && $0.contains(".\(base)")
            }
            #expect(isOurs, "\(call): \(picked)")
        }
    }

    /// Sequence has this, the collections have not: the test above can fail.
    @Test func whatIsNotOursIsToldApart() async throws {
        let picked = try await Self.picked(["_ = x.max()"], on: "SafeArray<Int>")
        #expect(picked.count == 1)
        #expect(!picked[0].contains { $0.hasPrefix("Interlock") })
        #expect(picked[0].contains { $0.hasPrefix("Swift.(file).Sequence extension.max()") })
    }

    /// A function for each call: `probe0` and so on.
    static func probes(_ calls: [String], on instance: String) -> String {
        var program = """
            func refuse(_ value: Int) throws -> Bool { value == 1 }

            """
        for (index, call) in calls.enumerated() {
            program += """
                func probe\(index)(_ x: \(instance), encoder: any Encoder,
                    generator: inout some RandomNumberGenerator) throws {
                    var x = x
                    \(call)
                }

                """
        }
        return program
    }

    /// The declarations that the compiler refers to in each call.
    static func picked(_ calls: [String], on instance: String) async throws -> [[String]] {
        let tree = try await Compiler.syntaxTree(probes(calls, on: instance))
        var picked = [[String]](repeating: [], count: calls.count)
        var current: Int?
        for line in tree.split(separator: "\n") {
            if let name = line.firstMatch(of: /\(func_decl .*"probe(\d+)\(/) {
                current = Int(name.1)
            } else if let current {
                for match in line.matches(of: /decl="([A-Za-z_]+\.\(file\)[^"@ ]*( extension[^"@ ]*)?)/) {
                    picked[current].append(String(match.1))
                }
            }
        }
        return picked
    }
}
