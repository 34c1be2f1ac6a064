// SPDX-License-Identifier: Apache-2.0
//
// Elements leave the lock before they are released: each verb of the shared collections runs on elements without
// another owner, whose `deinit` tries the collection's lock. A verb in none of the tables below fails the suite.

import CInterlock
import Dispatch
import Synchronization
import Testing

import Interlock
@testable import InterlockSync

// One thread at a time: each test lets a subscription's queue rest while elements die.
private final class Witness: @unchecked Sendable {
    var lock: UnsafeMutablePointer<ilk_rwlock>?
    private(set) var freed = 0
    private(set) var freedUnderLock = 0

    func death() {
        freed += 1
        guard let lock else { return }
        // The C call knows nothing of closures: it sees any owner.
        if ilk_rwlock_try_write_lock(lock) {
            ilk_rwlock_write_unlock(lock)
        } else {
            freedUnderLock += 1
        }
    }
}

/// An element, key or value. Equal to all of its number, so that a verb can find one by another.
private final class Mortal: Comparable, Hashable, Sendable {
    let number: Int
    private let witness: Witness

    init(_ number: Int, _ witness: Witness) {
        self.number = number
        self.witness = witness
    }
    deinit { witness.death() }

    static func == (left: Mortal, right: Mortal) -> Bool { left.number == right.number }
    static func < (left: Mortal, right: Mortal) -> Bool { left.number < right.number }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

private struct Tail: RangeExpression {
    func relative<C: Collection>(to collection: C) -> Range<Int> where C.Index == Int {
        collection.endIndex - 2..<collection.endIndex
    }
    func contains(_ element: Int) -> Bool { false }
}
// contract: SafeArray, SafeDictionary, SafeSet
@Suite struct ReleaseTests {
    /// The subscribers to the changes. The next write forgets a cancelled one.
    enum Audience: CaseIterable, Sendable {
        case none, waiting, cancelled
    }

    /// A verb, as the compiler's list of symbols names it, and a call that makes elements die.
    fileprivate struct Verb<Collection>: CustomTestStringConvertible, Sendable {
        let name: String
        let call: @Sendable (Collection, _ make: (Int) -> Mortal) -> Void
        var testDescription: String { name }

        init(_ name: String, _ call: @escaping @Sendable (Collection, (Int) -> Mortal) -> Void) {
            self.name = name
            self.call = call
        }
    }

    fileprivate static let ofArrays: [Verb<SafeArray<Mortal>>] = [
        .init("append(_:unless:)") { array, make in array.append(make(9), unless: { $0.number == 1 }) },
        .init("appendIfAbsent(_:)") { array, make in array.appendIfAbsent(make(1)) },
        .init("drain()") { array, _ in _ = array.drain() },
        .init("popFirst()") { array, _ in _ = array.popFirst() },
        .init("popLast()") { array, _ in _ = array.popLast() },
        .init("remove(at:)") { array, _ in array.remove(at: 2) },
        .init("removeAll(keepingCapacity:)") { array, _ in array.removeAll() },
        .init("removeAll(keepingCapacity:)") { array, _ in array.removeAll(keepingCapacity: true) },
        .init("removeAll(where:)") { array, _ in array.removeAll { $0.number.isMultiple(of: 2) } },
        .init("removeFirst()") { array, _ in array.removeFirst() },
        .init("removeFirst(_:)") { array, _ in array.removeFirst(2) },
        .init("removeFirst(equalTo:)") { array, make in array.removeFirst(equalTo: make(3)) },
        .init("removeFirst(where:)") { array, _ in array.removeFirst { $0.number == 3 } },
        .init("removeLast()") { array, _ in array.removeLast() },
        .init("removeLast(_:)") { array, _ in array.removeLast(2) },
        .init("removeSubrange(_:)") { array, _ in array.removeSubrange(1..<3) },
        .init("removeSubrange(_:)") { array, _ in array.removeSubrange(...2) },
        .init("removeSubrange(_:)") { array, _ in array.removeSubrange(Tail()) },
        .init("removeSubranges(_:)") { array, _ in
            array.removeSubranges(array.indices { $0.number.isMultiple(of: 2) })
        },
        .init("replace(at:with:)") { array, make in array.replace(at: 0, with: make(9)) },
        .init("replaceAll(with:)") { array, make in array.replaceAll(with: [make(9)]) },
        .init("replaceSubrange(_:with:)") { array, make in array.replaceSubrange(1..<3, with: [make(9)]) },
        .init("replaceSubrange(_:with:)") { array, make in array.replaceSubrange(1..., with: [make(9)]) },
        .init("subscript(_:)") { array, make in array[2] = make(9) },
        .init("subscript(_:)") { array, make in array[1..<3] = [make(9)] },
        .init("subscript(_:)") { array, make in array[1...] = [make(9)] },
        .init("subscript(_:)") { array, _ in array[...] = [] },
        .init("subscript(_:)") { array, _ in array[1..<4].removeAll() },
        .init("subscript(_:)") { array, _ in array[1...].removeLast(2) },
        .init("subscript(_:)") { array, _ in array[...].removeAll() },
    ]

    fileprivate static let ofDictionaries: [Verb<SafeDictionary<Mortal, Mortal>>] = [
        .init("drain()") { dictionary, _ in _ = dictionary.drain() },
        .init("insertIfAbsent(_:forKey:)") { dictionary, make in
            dictionary.insertIfAbsent(make(9), forKey: make(1))
        },
        .init("merge(_:uniquingKeysWith:)") { dictionary, make in
            dictionary.merge([(make(1), make(9)), (make(7), make(7))]) { _, new in new }
        },
        .init("merge(_:uniquingKeysWith:)") { dictionary, make in
            dictionary.merge([(make(1), make(9)), (make(2), make(9))]) { old, _ in old }
        },
        .init("merge(_:uniquingKeysWith:)") { dictionary, make in
            dictionary.merge([make(1): make(9), make(7): make(7)]) { _, new in new }
        },
        .init("popFirst()") { dictionary, _ in _ = dictionary.popFirst() },
        .init("removeAll(keepingCapacity:)") { dictionary, _ in dictionary.removeAll() },
        .init("removeAll(keepingCapacity:)") { dictionary, _ in dictionary.removeAll(keepingCapacity: true) },
        .init("removeAll(where:)") { dictionary, _ in
            dictionary.removeAll { key, _ in key.number.isMultiple(of: 2) }
        },
        .init("removeValue(forKey:)") { dictionary, make in dictionary.removeValue(forKey: make(1)) },
        .init("replaceAll(with:)") { dictionary, make in dictionary.replaceAll(with: [make(9): make(9)]) },
        .init("subscript(_:)") { dictionary, make in dictionary[make(1)] = nil },
        .init("subscript(_:)") { dictionary, make in dictionary[make(1)] = make(9) },
        .init("subscript(_:default:)") { dictionary, make in
            dictionary[make(1), default: make(8)] = make(9)
        },
        .init("updateValue(_:forKey:)") { dictionary, make in
            dictionary.updateValue(make(9), forKey: make(1))
        },
        .init("value(forKey:orInsert:)") { dictionary, make in
            _ = dictionary.value(forKey: make(1), orInsert: make(9))
        },
    ]

    fileprivate static let ofSets: [Verb<SafeSet<Mortal>>] = [
        .init("drain()") { set, _ in _ = set.drain() },
        .init("formIntersection(_:)") { set, make in set.formIntersection([make(1), make(9)]) },
        .init("formSymmetricDifference(_:)") { set, make in set.formSymmetricDifference([make(1), make(9)]) },
        .init("formUnion(_:)") { set, make in set.formUnion([make(1), make(9)]) },
        .init("insert(_:)") { set, make in set.insert(make(1)) },
        .init("popFirst()") { set, _ in _ = set.popFirst() },
        .init("remove(_:)") { set, make in set.remove(make(1)) },
        .init("removeAll(keepingCapacity:)") { set, _ in set.removeAll() },
        .init("removeAll(keepingCapacity:)") { set, _ in set.removeAll(keepingCapacity: true) },
        .init("removeAll(where:)") { set, _ in set.removeAll { $0.number.isMultiple(of: 2) } },
        .init("removeFirst()") { set, _ in set.removeFirst() },
        .init("replaceAll(with:)") { set, make in set.replaceAll(with: [make(9)]) },
        .init("subtract(_:)") { set, make in set.subtract([make(1), make(2)]) },
        .init("update(with:)") { set, make in set.update(with: make(1)) },
    ]

    static let keepers = [
        "+=(_:_:)", "append(_:)", "append(contentsOf:)", "insert(_:at:)", "insert(contentsOf:at:)",
        "moveSubranges(_:to:)", "partition(by:)", "reserveCapacity(_:)", "reverse()", "shuffle()",
        "shuffle(using:)", "sort()", "sort(by:)", "swapAt(_:_:)",
    ]
    /// Elements die in a closure of the caller's.
    static let byClosure = [
        "update(at:_:)", "updateFirst(where:_:)", "withWriteLock(_:)", "update(forKey:default:_:)",
        "update(forKey:_:)", "withWriteLock(when:_:)", "withWriteLock(when:until:_:)",
        "withWriteLock(isolation:when:_:)", "withWriteLock(isolation:when:until:_:)",
    ]
    /// Reads, or work on a snapshot.
    static let readers = [
        "Change", "capacity", "changes(deliverOn:_:)", "changes()",
        "contains(_:)", "contains(where:)", "contains(key:)", "count", "customMirror", "debugDescription",
        "description", "diagnose(_:)", "dropFirst(_:)", "dropLast(_:)", "element(at:)", "encode(to:)",
        "filter(_:)", "first", "first(where:)", "firstIndex(of:)", "firstIndex(where:)", "indices(of:)",
        "indices(where:)", "isDisjoint(with:)", "isEmpty", "isStrictSubset(of:)",
        "isStrictSuperset(of:)", "isSubset(of:)", "isSuperset(of:)", "keys", "last", "last(where:)",
        "lastIndex(of:)", "lastIndex(where:)", "makeIterator()", "prefix(_:)",
        "randomElement()", "snapshot", "suffix(_:)", "value(forKey:)",
        "value(forKey:default:)", "values", "withReadLock(_:)",
    ]

    @Test func everyVerbIsInATable() async throws {
        let symbols = try await PublicInterface.symbols()
        let known = Set(Self.keepers + Self.byClosure + Self.readers)
        for (type, tabled) in [
            ("SafeArray", Self.ofArrays.map(\.name)), ("SafeDictionary", Self.ofDictionaries.map(\.name)),
            ("SafeSet", Self.ofSets.map(\.name)),
        ] {
            let own = Set(symbols.filter { $0.type == type && !$0.isInherited }.map(\.name))
            #expect(own.count > 40, "the symbols are found")
            let missing = own.filter { !$0.hasPrefix("init(") }.subtracting(known).subtracting(tabled)
            #expect(missing.isEmpty, "\(type): \(missing.sorted())")
        }
    }

    @Test(arguments: ofArrays, Audience.allCases)
    fileprivate func anArrayReleasesOutsideItsLock(verb: Verb<SafeArray<Mortal>>, audience: Audience) {
        let witness = Witness()
        let array = SafeArray((0..<6).map { Mortal($0, witness) })
        let queue = DispatchQueue(label: "at rest", attributes: .initiallyInactive)
        defer { queue.activate() }
        let subscription = audience == .none ? nil : array.changes(deliverOn: queue) { _ in }
        check(witness, array.storage.guarded.lock, subscription, audience) {
            verb.call(array) { Mortal($0, witness) }
        }
    }

    @Test(arguments: ofDictionaries, Audience.allCases)
    fileprivate func aDictionaryReleasesOutsideItsLock(
        verb: Verb<SafeDictionary<Mortal, Mortal>>,
        audience: Audience
    ) {
        let witness = Witness()
        let dictionary = SafeDictionary(
            uniqueKeysWithValues: (0..<6).map { (Mortal($0, witness), Mortal($0, witness)) }
        )
        let queue = DispatchQueue(label: "at rest", attributes: .initiallyInactive)
        defer { queue.activate() }
        let subscription = audience == .none ? nil : dictionary.changes(deliverOn: queue) { _ in }
        check(witness, dictionary.storage.guarded.lock, subscription, audience) {
            verb.call(dictionary) { Mortal($0, witness) }
        }
    }

    @Test(arguments: ofSets, Audience.allCases)
    fileprivate func aSetReleasesOutsideItsLock(verb: Verb<SafeSet<Mortal>>, audience: Audience) {
        let witness = Witness()
        let set = SafeSet((0..<6).map { Mortal($0, witness) })
        let queue = DispatchQueue(label: "at rest", attributes: .initiallyInactive)
        defer { queue.activate() }
        let subscription = audience == .none ? nil : set.changes(deliverOn: queue) { _ in }
        check(witness, set.storage.guarded.lock, subscription, audience) {
            verb.call(set) { Mortal($0, witness) }
        }
    }

    private func check(
        _ witness: Witness,
        _ lock: UnsafeMutablePointer<ilk_rwlock>,
        _ subscription: ChangeSubscription?,
        _ audience: Audience,
        _ call: () -> Void
    ) {
        if audience == .cancelled { subscription?.cancel() }
        witness.lock = lock
        call()
        // What a subscriber has not heard yet lives until then.
        subscription?.cancel()
        #expect(witness.freed > 0, "the call made something die")
        #expect(witness.freedUnderLock == 0, "of \(witness.freed)")
        witness.lock = nil
    }
}
