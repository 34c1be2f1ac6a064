// SPDX-License-Identifier: Apache-2.0
//
// Which value goes where there is no room, and readers beside each other.

import Foundation
import Testing

import Interlock
@testable import InterlockPool

/// SIEVE as a list of entries, the oldest first.
private struct SieveModel {
    struct Entry: Equatable {
        let key: Int
        let value: Int
        var isVisited = false
    }
    let capacity: Int
    let costLimit: Int
    var entries: [Entry] = []
    var hand: Int?

    static func cost(_ value: Int) -> Int { value % 5 }
    var totalCost: Int { entries.map { Self.cost($0.value) }.reduce(0, +) }

    func value(_ key: Int) -> Int? { entries.first { $0.key == key }?.value }

    mutating func ask(_ key: Int) -> Int? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        entries[index].isVisited = true
        return entries[index].value
    }

    mutating func remove(_ key: Int) -> Int? {
        guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
        return remove(at: index)
    }

    private mutating func remove(at index: Int) -> Int {
        let entry = entries.remove(at: index)
        if hand == entry.key { hand = index < entries.count ? entries[index].key : nil }
        return entry.value
    }

    mutating func insert(_ key: Int, _ value: Int) {
        guard Self.cost(value) <= costLimit else { return }
        while entries.count == capacity || totalCost + Self.cost(value) > costLimit {
            var index = entries.firstIndex { $0.key == hand } ?? 0
            while entries[index].isVisited {
                entries[index].isVisited = false
                index = (index + 1) % entries.count
            }
            hand = entries[index].key
            _ = remove(at: index)
        }
        entries.append(Entry(key: key, value: value))
    }

    mutating func removeAll() {
        entries = []
        hand = nil
    }
}
// contract: SingleFlightCache
@Suite(.timeLimit(.minutes(10))) struct SingleFlightCacheRoomTests {
    @Test func aValueAskedForSinceTheHandPassedIsSpared() {
        let cache = SingleFlightCache<Int, Int>(capacity: 3)
        for key in 1...3 { cache.updateValue(key, forKey: key) }
        #expect(cache.cachedValue(forKey: 1) == 1)
        cache.updateValue(4, forKey: 4)
        #expect(kept(cache) == [1, 3, 4], "1 was asked for, 2 is the oldest other one")
        // That asked for all three; the hand is at 3, passes 4, 1, 3 and 4 once, and takes the oldest, 1.
        cache.updateValue(5, forKey: 5)
        #expect(cache.count == 3 && cache.cachedValue(forKey: 5) == 5)
    }

    // asks                       another
    // finds nothing
    //                            keeps a value
    // finds it as it joins
    @Test func aValueThatIsKeptMeanwhileIsSparedToo() throws {
        let cache = SingleFlightCache<Int, Int>(capacity: 2)
        for key in 1...2 { cache.updateValue(key, forKey: key) }
        let ask = { try cache.missingValue(forKey: 1) { -1 } }
        #expect(try ask() == 1)
        cache.updateValue(3, forKey: 3)
        #expect(kept(cache) == [1, 3])
    }

    private func kept(_ cache: SingleFlightCache<Int, Int>) -> [Int] {
        (1...9).filter { cache.cachedValue(forKey: $0) != nil }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>, [(1, 100), (2, 100), (3, 4), (8, 12), (8, 0)])
    func whatGoesIsWhatTheModelOfSieveTakes(seed: UInt64, limits: (capacity: Int, cost: Int)) async throws {
        var random = SplitMix(state: seed)
        let cache = SingleFlightCache<Int, Int>(capacity: limits.capacity, costLimit: limits.cost) {
            SieveModel.cost($1)
        }
        #expect(cache.capacity == limits.capacity && cache.costLimit == limits.cost)
        var model = SieveModel(capacity: limits.capacity, costLimit: limits.cost)
        for step in 0..<400 {
            let key = Int.random(in: 0..<12, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: #expect(cache.removeValue(forKey: key) == model.remove(key), "\(seed)")
            case 1:
                #expect(cache.updateValue(step, forKey: key) == model.remove(key), "\(seed)")
                model.insert(key, step)
            case 2, 3: #expect(cache.cachedValue(forKey: key) == model.ask(key), "\(seed)")
            case 4 where step % 50 == 0:
                cache.removeAll()
                model.removeAll()
            default:
                let value = try await cache.value(forKey: key) { step }
                if let known = model.ask(key) {
                    #expect(value == known, "\(seed)")
                } else {
                    #expect(value == step, "\(seed): a value that is too dear is answered")
                    model.insert(key, step)
                }
            }
            #expect(cache.count == model.entries.count && cache.totalCost == model.totalCost, "\(seed)")
        }
    }

    @Test func aValueThatIsTooOldIsNotSpared() {
        let clock = TimerlessClock()
        let cache = SingleFlightCache<Int, Int>(capacity: 2, maximumAge: .seconds(10), clock: clock)
        cache.updateValue(1, forKey: 1)
        clock.advance(by: .seconds(10))
        #expect(cache.cachedValue(forKey: 1) == 1)
        cache.updateValue(2, forKey: 2)
        clock.advance(by: .seconds(1))
        cache.updateValue(3, forKey: 3)
        #expect(cache.cachedValue(forKey: 2) == 2 && cache.cachedValue(forKey: 3) == 3)
        #expect(cache.count == 2)
    }

    @Test func aValueDearerThanTheLimitIsAnsweredAndNotKept() throws {
        let cache = SingleFlightCache<String, [Int]>(costLimit: 10) { $1.count }
        cache.updateValue([1, 2, 3], forKey: "small")
        #expect(cache.totalCost == 3)
        let ask = { try cache.value(forKey: "large") { Array(0..<11) } }
        #expect(try ask().count == 11)
        #expect(cache.cachedValue(forKey: "large") == nil)
        #expect(cache.cachedValue(forKey: "small") == [1, 2, 3], "nothing went for it")
        cache.updateValue(Array(0..<10), forKey: "fits")
        #expect(cache.totalCost == 10 && cache.count == 1)
        #expect(cache.updateValue(Array(0..<11), forKey: "fits")?.count == 10)
        #expect(cache.totalCost == 0 && cache.count == 0, "the old value goes all the same")
        #expect(SingleFlightCache<Int, Int>().costLimit == nil)
    }

    @Test func theCostIsAskedOutsideTheLockOnceAValue() throws {
        let asked = Trace<Int>()
        let itself = SafeArray<SingleFlightCache<Int, Int>>()
        let cache = SingleFlightCache<Int, Int>(costLimit: 100) { key, _ in
            // Under the lock the thread would wait for itself, which is reported.
            asked.add(key * 10 + (itself.last?.count ?? -1))
            return 1
        }
        itself.append(cache)
        defer { itself.removeAll() }
        let ask = { try cache.value(forKey: 1) { 5 } }
        #expect(try ask() == 5 && ask() == 5)
        cache.updateValue(6, forKey: 2)
        #expect(asked.events == [10, 21])
    }

    @Test(.ownThreads) func impossibleCostsAreReported() async {
        let negative = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let cache = SingleFlightCache<Int, Int>(costLimit: 10) { _, value in value }
            cache.updateValue(-1, forKey: 7)
        }
        let sentence =
            "interlock: SingleFlightCache.updateValue(): a cost of -1 for the key 7; it is 0 or more"
        #expect(negative?.report.contains(sentence) == true)
        let limit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = SingleFlightCache<Int, Int>(costLimit: -2) { _, _ in 0 }
        }
        #expect(limit?.report.contains("interlock: SingleFlightCache.init(): a costLimit of -2") == true)
    }

    // MARK: Readers

    /// A key whose hashing, under the cache's lock, waits for another thread's.
    private struct Meeting: Hashable {
        let number: Int
        let together: (@Sendable () -> Void)?
        static func == (left: Meeting, right: Meeting) -> Bool { left.number == right.number }
        func hash(into hasher: inout Hasher) {
            together?()
            hasher.combine(number)
        }
    }

    //   A: asks, hashes its key under the lock, waits for B
    //   B: asks, hashes its key under the lock, waits for A
    @Test(arguments: [Duration?.none, .seconds(100)])
    func questionsForKeptValuesAreInsideBesideEachOther(maximumAge: Duration?) {
        let cache = SingleFlightCache<Meeting, Int>(maximumAge: maximumAge)
        cache.updateValue(1, forKey: Meeting(number: 1, together: nil))
        for round in 0..<2 {
            let inside = [Event(), Event()]
            onThreads(2) { thread in
                let key = Meeting(number: 1) {
                    inside[thread].happen()
                    if !inside[1 - thread].wait() { Issue.record("one reader at a time") }
                }
                do {
                    let value =
                        try round == 0 ? cache.cachedValue(forKey: key) : cache.value(forKey: key) { -1 }
                    #expect(value == 1)
                } catch {
                    Issue.record("\(error)")
                }
            }
        }
    }

    @Test func everyReaderBesideAWriterSeesAWholeValue() {
        let lifetimes = LifetimeCounter()
        do {
            let cache = SingleFlightCache<Int, Counted>(capacity: 4)
            onThreads(4) { thread in
                for step in 0..<3_000 {
                    let key = (step &* 7 &+ thread) % 8
                    if thread == 0 { cache.updateValue(Counted(key, lifetimes), forKey: key) }
                    if let value = cache.cachedValue(forKey: key) { #expect(value.id == key) }
                    if thread == 1, step % 100 == 0 { cache.removeAll() }
                    if thread == 2 { _ = try? cache.value(forKey: key) { Counted(key, lifetimes) } }
                }
            }
            #expect(cache.count <= 4 && lifetimes.living == cache.count)
        }
        #expect(eventually { lifetimes.living == 0 })
    }
}
