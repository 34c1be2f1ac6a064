// SPDX-License-Identifier: Apache-2.0
//
// Which share of the questions a cache answers that keeps a part of the keys: SingleFlightCache beside the exact order
// of the questions (LRU) and CLOCK. `bench_swift --trace` prints it.

import Foundation
import Interlock

enum CacheTrace {
    private static let keyCount = 10_000

    /// 2^20 keys drawn by Zipf's law with the exponent 0.9, the same in every run.
    static let keys: [Int] = {
        var sums: [Double] = []
        var sum = 0.0
        for rank in 1...keyCount {
            sum += pow(Double(rank), -0.9)
            sums.append(sum)
        }
        var state: UInt64 = 1
        return (0..<1 << 20).map { _ in
            // Vigna's SplitMix64.
            state &+= 0x9E37_79B9_7F4A_7C15
            var bits = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
            let drawn = Double((bits ^ (bits >> 31)) >> 11) / Double(1 << 53) * sum
            var (low, high) = (0, keyCount - 1)
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < drawn { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }()

    static func print() {
        Swift.print(
            "| capacity, of \(keyCount) keys | SingleFlightCache | LRU | CLOCK |\n|---:|---:|---:|---:|"
        )
        for capacity in [100, 1_000, 5_000] {
            let cache = SingleFlightCache<Int, Int>(capacity: capacity)
            var lru = LRUOrder(capacity: capacity)
            var clock = ClockOrder(capacity: capacity)
            var hits = [0, 0, 0]
            for key in keys {
                if cache.cachedValue(forKey: key) != nil {
                    hits[0] += 1
                } else {
                    cache.updateValue(key, forKey: key)
                }
                if lru.ask(key) { hits[1] += 1 }
                if clock.ask(key) { hits[2] += 1 }
            }
            let shares = hits.map { String(format: "%.1f %%", 100 * Double($0) / Double(keys.count)) }
            Swift.print("| \(capacity) | \(shares.joined(separator: " | ")) |")
        }
    }
}

/// The keys in the order last asked for, as a list in arrays.
struct LRUOrder: Sendable {
    private var places: [Int: Int] = [:]
    private var keys: [Int]
    private var older: [Int]
    private var newer: [Int]
    // The list's ends meet in the place behind the last.
    private let end: Int

    init(capacity: Int) {
        end = capacity
        keys = Array(repeating: -1, count: capacity)
        older = Array(repeating: capacity, count: capacity + 1)
        newer = older
    }

    /// Whether `key` is kept; it is from now on.
    mutating func ask(_ key: Int) -> Bool {
        if let place = places[key] {
            unlink(place)
            linkNewest(place)
            return true
        }
        var place = places.count
        if place == end {
            place = newer[end]
            places[keys[place]] = nil
            unlink(place)
        }
        keys[place] = key
        places[key] = place
        linkNewest(place)
        return false
    }

    private mutating func unlink(_ place: Int) {
        newer[older[place]] = newer[place]
        older[newer[place]] = older[place]
    }

    private mutating func linkNewest(_ place: Int) {
        (older[place], newer[place]) = (older[end], end)
        newer[older[end]] = place
        older[end] = place
    }
}

struct ClockOrder {
    private var places: [Int: Int] = [:]
    private var keys: [Int?]
    private var isVisited: [Bool]
    private var hand = 0

    init(capacity: Int) {
        keys = Array(repeating: nil, count: capacity)
        isVisited = Array(repeating: false, count: capacity)
    }

    /// Whether `key` is kept; it is from now on.
    mutating func ask(_ key: Int) -> Bool {
        if let place = places[key] {
            isVisited[place] = true
            return true
        }
        while isVisited[hand] {
            isVisited[hand] = false
            hand = (hand + 1) % keys.count
        }
        if let old = keys[hand] { places[old] = nil }
        keys[hand] = key
        places[key] = hand
        hand = (hand + 1) % keys.count
        return false
    }
}
