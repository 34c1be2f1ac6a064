// SPDX-License-Identifier: Apache-2.0
//
// Foreign code that a verb of a shared collection runs: under the lock it is inside an access by closure, so that a
// call of the same collection is reported (CollectionStorage.swift); or it runs outside the lock, and may call. A
// member whose call in OverloadTests has foreign code, and that is in no table below, fails the suite.

import CInterlock
import Foundation
import Testing

import Interlock
@testable import InterlockSync

/// Where the foreign code runs.
// One thread.
private final class Site: @unchecked Sendable {
    enum Place { case insideAnAccess, underTheLock, outside }

    var lock: UnsafeMutablePointer<ilk_rwlock>?
    private(set) var places: Set<Place> = []

    /// The foreign code.
    func run() {
        guard let lock else { return }
        let entered = ThreadAccess.innermost.map { $0.pointee.lock == UnsafeRawPointer(lock) } ?? false
        // The C call knows nothing of closures: it sees any owner.
        let isFree = ilk_rwlock_try_write_lock(lock)
        if isFree { ilk_rwlock_write_unlock(lock) }
        places.insert(isFree ? .outside : entered ? .insideAnAccess : .underTheLock)
    }
}

/// An element with foreign comparisons.
private struct Compared: Comparable {
    let number: Int
    let site: Site

    static func == (left: Self, right: Self) -> Bool {
        left.site.run()
        return left.number == right.number
    }
    static func < (left: Self, right: Self) -> Bool {
        left.site.run()
        return left.number < right.number
    }
    mutating func touch() { site.run() }
}

private struct Value {
    let site: Site
    mutating func touch() { site.run() }
}

private struct ForeignGenerator: RandomNumberGenerator {
    let site: Site
    func next() -> UInt64 {
        site.run()
        return .max
    }
}

private struct ForeignRange: RangeExpression {
    let site: Site
    func relative<C: Collection>(to collection: C) -> Range<Int> where C.Index == Int {
        site.run()
        return collection.startIndex..<collection.endIndex
    }
    func contains(_ element: Int) -> Bool { false }
}
// contract: SafeDictionary
@Suite struct ClosureTests {
    fileprivate struct Verb<Collection> {
        let name: String
        let call: (Collection, Site) -> Void

        init(_ name: String, _ call: @escaping (Collection, Site) -> Void) {
            self.name = name
            self.call = call
        }
    }

    fileprivate static var ofArrays: [Verb<SafeArray<Compared>>] {
        [
            .init("append(_:unless:)") { x, site in x.append(x[0]) { _ in site.yes() } },
            .init("appendIfAbsent(_:)") { x, _ in x.appendIfAbsent(x[0]) },
            .init("contains(_:)") { x, _ in _ = x.contains(x[0]) },
            .init("contains(where:)") { x, site in _ = x.contains { _ in site.yes() } },
            .init("first(where:)") { x, site in _ = x.first { _ in site.yes() } },
            .init("firstIndex(of:)") { x, _ in _ = x.firstIndex(of: x[0]) },
            .init("firstIndex(where:)") { x, site in _ = x.firstIndex { _ in site.yes() } },
            .init("indices(of:)") { x, _ in _ = x.indices(of: x[0]) },
            .init("indices(where:)") { x, site in _ = x.indices { _ in site.yes() } },
            .init("last(where:)") { x, site in _ = x.last { _ in site.yes() } },
            .init("lastIndex(of:)") { x, _ in _ = x.lastIndex(of: x[0]) },
            .init("lastIndex(where:)") { x, site in _ = x.lastIndex { _ in site.yes() } },
            .init("partition(by:)") { x, site in x.partition { _ in site.yes() } },
            .init("removeAll(where:)") { x, site in x.removeAll { _ in site.yes() } },
            .init("removeFirst(equalTo:)") { x, _ in x.removeFirst(equalTo: x[0]) },
            .init("removeFirst(where:)") { x, site in x.removeFirst { _ in site.yes() } },
            .init("removeSubrange(_:)") { x, site in x.removeSubrange(ForeignRange(site: site)) },
            .init("replaceSubrange(_:with:)") { x, site in
                x.replaceSubrange(ForeignRange(site: site), with: [])
            },
            .init("shuffle(using:)") { x, site in
                var generator = ForeignGenerator(site: site)
                x.shuffle(using: &generator)
            },
            .init("sort()") { x, _ in x.sort() },
            .init("sort(by:)") { x, site in x.sort { _, _ in site.yes() } },
            .init("subscript(_:)") { x, _ in x[0].touch() },
            .init("subscript(_:)") { x, _ in x[0..<1].withUnsafeMutableBufferPointer { $0[0].touch() } },
            .init("subscript(_:)") { x, _ in x[...].withUnsafeMutableBufferPointer { $0[0].touch() } },
            .init("subscript(_:)") { x, site in _ = x[ForeignRange(site: site)] },
            .init("subscript(_:)") { x, site in x[ForeignRange(site: site)] = [] },
            .init("update(at:_:)") { x, site in x.update(at: 0) { _ in site.run() } },
            .init("updateFirst(where:_:)") { x, site in
                x.updateFirst { _ in
                    site.yes()
                } _: { _ in
                    site.run()
                }
            },
            .init("withReadLock(_:)") { x, site in x.withReadLock { _ in site.run() } },
            .init("withWriteLock(_:)") { x, site in x.withWriteLock { _ in site.run() } },
        ]
    }

    fileprivate static var ofDictionaries: [Verb<SafeDictionary<Int, Value>>] {
        [
            .init("merge(_:uniquingKeysWith:)") { x, site in
                x.merge(x.snapshot) { old, _ in
                    site.run(); return old
                }
            },
            .init("merge(_:uniquingKeysWith:)") { x, site in
                x.merge(x.lazy.map { ($0.key, $0.value) }) { old, _ in
                    site.run(); return old
                }
            },
            .init("update(forKey:default:_:)") { x, site in
                x.update(forKey: 9, default: site.value()) { _ in site.run() }
            },
            .init("removeAll(where:)") { x, site in x.removeAll { _, _ in site.yes() } },
            .init("subscript(_:)") { x, _ in x[0]?.touch() },
            .init("subscript(_:default:)") { x, site in x[9, default: site.value()].touch() },
            .init("update(forKey:_:)") { x, site in x.update(forKey: 0) { _ in site.run() } },
            .init("value(forKey:orInsert:)") { x, site in _ = x.value(forKey: 9, orInsert: site.value()) },
            .init("withReadLock(_:)") { x, site in x.withReadLock { _ in site.run() } },
            .init("withWriteLock(_:)") { x, site in x.withWriteLock { _ in site.run() } },
        ]
    }

    fileprivate static var ofSets: [Verb<SafeSet<Int>>] {
        [
            .init("removeAll(where:)") { x, site in x.removeAll { _ in site.yes() } },
            .init("withReadLock(_:)") { x, site in x.withReadLock { _ in site.run() } },
            .init("withWriteLock(_:)") { x, site in x.withWriteLock { _ in site.run() } },
        ]
    }

    fileprivate static var outsideOfDictionaries: [Verb<SafeDictionary<Int, Value>>] {
        [
            .init("filter(_:)") { x, site in _ = x.filter { _ in site.yes() } },
            .init("subscript(_:default:)") { x, site in _ = x[9, default: site.value()] },
            .init("value(forKey:default:)") { x, site in _ = x.value(forKey: 9, default: site.value()) },
        ]
    }

    fileprivate static var outsideOfSets: [Verb<SafeSet<Int>>] {
        [
            .init("filter(_:)") { x, site in _ = x.filter { _ in site.yes() } }
        ]
    }

    private func expect<Collection>(
        _ place: Site.Place,
        of verbs: [Verb<Collection>],
        _ lock: (Collection) -> UnsafeMutablePointer<ilk_rwlock>,
        _ make: (Site) -> Collection
    ) {
        for verb in verbs {
            let site = Site()
            let collection = make(site)
            site.lock = lock(collection)
            verb.call(collection, site)
            #expect(site.places == [place], "\(Collection.self).\(verb.name)")
            site.lock = nil
        }
    }

    private static func array(_ site: Site) -> SafeArray<Compared> {
        SafeArray((0..<8).reversed().map { Compared(number: $0, site: site) })
    }

    private static func dictionary(_ site: Site) -> SafeDictionary<Int, Value> {
        SafeDictionary(uniqueKeysWithValues: (0..<8).map { ($0, Value(site: site)) })
    }

    @Test func foreignCodeUnderTheLockIsInsideAnAccess() {
        expect(.insideAnAccess, of: Self.ofArrays, { $0.storage.guarded.lock }, Self.array)
        expect(.insideAnAccess, of: Self.ofDictionaries, { $0.storage.guarded.lock }, Self.dictionary)
        expect(.insideAnAccess, of: Self.ofSets, { $0.storage.guarded.lock }) { _ in SafeSet(0..<8) }
    }

    @Test func otherForeignCodeRunsOutsideTheLock() {
        expect(.outside, of: Self.outsideOfDictionaries, { $0.storage.guarded.lock }, Self.dictionary)
        expect(.outside, of: Self.outsideOfSets, { $0.storage.guarded.lock }) { _ in SafeSet(0..<8) }
    }

    /// outer: [ … inner: [ … outer: waits for its own thread ] ]
    @Test(.ownThreads, .timeLimit(.minutes(10))) func aCallThroughAnotherCollectionsClosureIsReportedToo()
        async
    {
        let array = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(240)
            let (outer, inner): (SafeArray<Int>, SafeSet<Int>) = ([1], [1])
            outer.withWriteLock { _ in inner.removeAll { _ in outer.popLast() == nil } }
        }
        #expect(
            array?.report.contains("called from inside withWriteLock of the same object") == true
        )
        #expect(array?.report.contains("suspended") == false)
        let dictionary = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(240)
            let (outer, inner): (SafeDictionary<Int, Int>, SafeArray<Int>) = ([1: 1], [1])
            outer.withReadLock { _ in inner.removeAll { _ in outer.removeValue(forKey: 1) == nil } }
        }
        #expect(
            dictionary?.report.contains("called from inside withReadLock of the same object") == true
        )
    }

    private static func change(_ element: inout Int, _ begun: Handshake) async {
        begun.give()
        while element == 1 { await Task.yield() }
    }

    /// task    changes an element in place, suspends
    /// other                                          on the same thread: calls the array
    @Test(.ownThreads) func aChangeInPlaceThatSuspendsIsNamed() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            alarm(240)
            let pool = try WorkerPool(threads: 1, maximumThreads: 1)
            let array = SafeArray([1])
            let begun = Handshake()
            let task = Task(executorPreference: pool) { await ClosureTests.change(&array[0], begun) }
            await begun.taken()
            try await pool.run { array.append(2) }
            await task.value
        }
        let report = result?.report ?? ""
        #expect(report.contains("called from inside subscript of the same object"), "\(report)")
        #expect(report.contains("or a task suspended in a change in place"), "\(report)")
    }

    @Test func everyMemberWithForeignCodeIsInATable() {
        for (type, calls, tabled) in [
            ("SafeArray", OverloadTests.ofArrays, Self.ofArrays.map(\.name)),
            (
                "SafeDictionary", OverloadTests.ofDictionaries,
                Self.ofDictionaries.map(\.name) + Self.outsideOfDictionaries.map(\.name)
            ),
            ("SafeSet", OverloadTests.ofSets, Self.ofSets.map(\.name) + Self.outsideOfSets.map(\.name)),
        ] {
            let foreign = calls.filter { _, calls in
                calls.contains { $0.contains("{ ") || $0.contains("refuse") || $0.contains("generator") }
            }
            // A handler runs on a queue.
            let missing = Set(foreign.keys).subtracting(tabled).subtracting(["changes(deliverOn:_:)"])
            #expect(missing.isEmpty, "\(type): \(missing.sorted())")
        }
    }
}

extension Site {
    func yes() -> Bool {
        run()
        return true
    }
    func value() -> Value {
        run()
        return Value(site: self)
    }
}
