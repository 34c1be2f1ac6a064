// SPDX-License-Identifier: Apache-2.0
//
// A question for a kept value, beside a SafeDictionary's read and beside the exact order of the questions under a
// Mutex; and a workload in which one question of ten computes.

import Foundation
import Interlock
import Synchronization

/// What a cache is asked for.
protocol CacheAdapter: AnyObject, Sendable {
    init(capacity: Int)
    /// The value of `key`, which is itself.
    func ask(_ key: Int) -> Int
}

final class SingleFlightAdapter: CacheAdapter {
    let cache: SingleFlightCache<Int, Int>
    init(capacity: Int) { cache = SingleFlightCache(capacity: capacity) }
    @inline(__always) func ask(_ key: Int) -> Int { (try? cache.value(forKey: key) { key }) ?? -1 }
}

final class CachedValueAdapter: CacheAdapter {
    let cache: SingleFlightCache<Int, Int>
    init(capacity: Int) { cache = SingleFlightCache(capacity: capacity) }
    @inline(__always) func ask(_ key: Int) -> Int {
        if let value = cache.cachedValue(forKey: key) { return value }
        cache.updateValue(key, forKey: key)
        return key
    }
}

/// Keeps everything.
final class DictionaryAdapter: CacheAdapter {
    let values = SafeDictionary<Int, Int>()
    init(capacity: Int) {}
    @inline(__always) func ask(_ key: Int) -> Int {
        if let value = values.value(forKey: key) { return value }
        values.updateValue(key, forKey: key)
        return key
    }
}

final class MutexLRUAdapter: CacheAdapter {
    private let order: Mutex<LRUOrder>
    init(capacity: Int) { order = Mutex(LRUOrder(capacity: capacity)) }
    @inline(__always) func ask(_ key: Int) -> Int {
        order.withLock { _ = $0.ask(key) }
        return key
    }
}

enum CacheWork: Sendable {
    /// Of 1,024 values, all of which are kept.
    case hit(threads: Int)
    /// Of 10,000 keys, asked for as by Zipf's law with the exponent 0.9; 6,000 are kept.
    case mixed(threads: Int)

    static let cells = [hit(threads: 1), hit(threads: 2), mixed(threads: 1), mixed(threads: 2)].map(\.cell)

    var title: String {
        switch self {
        case .hit(let threads): "kept value, \(threads == 1 ? "1 thread" : "\(threads) threads")"
        case .mixed(let threads): "cache with 90 % hits, \(threads == 1 ? "1 thread" : "\(threads) threads")"
        }
    }

    var cell: Cell {
        var contenders = [
            contender("SafeDictionary", DictionaryAdapter.self),
            contender("cachedValue", CachedValueAdapter.self),
            contender("value(forKey:orCompute:)", SingleFlightAdapter.self),
            contender("LRU under Mutex", MutexLRUAdapter.self),
        ]
        if case .mixed = self { contenders.removeFirst() }
        return Cell(title: title, contenders: contenders)
    }

    private func contender<Adapter: CacheAdapter>(_ name: String, _: Adapter.Type) -> Contender {
        Contender(name) { time in
            switch self {
            case .hit(let threads):
                let cache = Adapter(capacity: 2_048)
                for key in 0..<1_024 { _ = cache.ask(key) }
                return slice(threads: threads, time: time) { _, phase in
                    askLoop(cache, phase, CacheWork.inOrder)
                }
            case .mixed(let threads):
                let cache = Adapter(capacity: 6_000)
                for key in CacheTrace.keys { _ = cache.ask(key) }
                return slice(threads: threads, time: time) { _, phase in
                    askLoop(cache, phase, CacheTrace.keys)
                }
            }
        }
    }

    private static let inOrder = Array(0..<1_024)
}

private func askLoop<Adapter: CacheAdapter>(
    _ cache: Adapter,
    _ phase: Phase,
    _ keys: [Int]
) -> (nanoseconds: Double, operations: Int) {
    var sum: UInt64 = 0
    let mask = keys.count - 1
    let measured = phase.measure(size: 64) { first in
        for number in first..<first &+ 64 {
            sum &+= UInt64(truncatingIfNeeded: cache.ask(keys[number & mask]))
        }
    }
    keep(sum)
    return measured
}
