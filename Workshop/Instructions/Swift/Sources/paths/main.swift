// SPDX-License-Identifier: Apache-2.0
//
// The fast paths through Swift whose instructions are counted: paths PATH ROUNDS [switched], as paths.c. With
// "switched" the objects are made while diagnosis is on, which is off again when the rounds begin.

import Dispatch
import Interlock

typealias Path = (_ rounds: Int) throws -> Void

let arguments = CommandLine.arguments
if arguments.count > 3 { Diagnostics.enabled = [.order, .hang] }

let lock = ReadWriteLock(1)
let array = SafeArray(0..<64)
let dictionary = SafeDictionary<Int, Int>(uniqueKeysWithValues: (0..<64).map { ($0, $0) })
let set = SafeSet(0..<64)
let semaphore = FIFOSemaphore(permits: 1)
let mutex = PriorityInheritingMutex(1)
let cache = SingleFlightCache<Int, Int>()
let smallCache = SingleFlightCache<Int, Int>(capacity: 32)
var spsc: SPSCRing<UInt64>? = try SPSCRing(capacity: 64)
let mpmc = try MPMCRing<UInt64>(capacity: 64)
let queue = GCD.serialQueue(label: "counted")
Diagnostics.enabled = []

/// Keeps a result from being optimised away.
@inline(never) func use(_: Int) {}

let paths: KeyValuePairs<String, Path> = [
    "swift-lock-read": { for _ in 0..<$0 { use(lock.withReadLock { $0 }) } },
    "swift-lock-write": { for _ in 0..<$0 { lock.withWriteLock { $0 &+= 1 } } },
    "swift-mutex": { for _ in 0..<$0 { mutex.withLock { $0 &+= 1 } } },
    "swift-semaphore": { rounds in
        for _ in 0..<rounds {
            semaphore.wait()
            semaphore.signal()
        }
    },
    "swift-array-read": { for round in 0..<$0 { use(array[round & 63]) } },
    "swift-array-write": { for round in 0..<$0 { array[round & 63] = round } },
    "swift-dictionary-read": { for round in 0..<$0 { use(dictionary[round & 63] ?? 0) } },
    "swift-set-read": { for round in 0..<$0 { use(set.contains(round & 63) ? 1 : 0) } },
    "swift-cache-hit": { for round in 0..<$0 { use(cache.cachedValue(forKey: round & 63) ?? 0) } },
    "swift-cache-miss": { for round in 0..<$0 { use((try? smallCache.value(forKey: round) { 1 }) ?? 0) } },
    "swift-cache-update": { for round in 0..<$0 { use(cache.updateValue(round, forKey: round & 63) ?? 0) } },
    "swift-spsc-push-pop": { rounds in
        spsc.take()!.split { producer, consumer in
            for _ in 0..<rounds {
                _ = producer.tryPush(1)
                use(Int(consumer.tryPop() ?? 0))
            }
        }
    },
    "swift-mpmc-push-pop": { rounds in
        for _ in 0..<rounds {
            _ = mpmc.tryPush(1)
            use(Int(mpmc.tryPop() ?? 0))
        }
    },
    "swift-sync": { for _ in 0..<$0 { use(GCD.sync(on: queue) { 1 }) } },
]

if arguments.count < 3 {
    for path in paths { print(path.key) }
} else {
    for key in 0..<64 { _ = try cache.value(forKey: key) { key } }
    guard let path = paths.first(where: { $0.key == arguments[1] }), let rounds = Int(arguments[2]) else {
        fatalError("no path is called \"\(arguments[1])\", or \"\(arguments[2])\" is no number")
    }
    try path.value(rounds)
}
