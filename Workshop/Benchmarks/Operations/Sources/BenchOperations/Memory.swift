// SPDX-License-Identifier: Apache-2.0
//
// The heap's bytes of what waits in a queue that is suspended.

import CFlowGraph
import CHeap
import Foundation
import Interlock

/// The bytes of one that waits, with all that the queue keeps of it.
struct Size: Encodable {
    let kind: String
    let bytes: Int
}

enum Memory {
    static let count = 100_000

    static func measure() -> [Size] {
        var sizes = [
            Size(kind: "Job, with its closure", bytes: jobs()),
            Size(kind: "Job in a chain, with its closure and edge", bytes: chain()),
            Size(kind: "AsyncOperation in an InterlockQueue", bytes: operations()),
            Size(kind: "BlockOperation in an OperationQueue", bytes: peers()),
        ]
        if flow_graph_is_there() {
            let bytes = Int(flow_graph_bytes(Graph.chain(count).above, count))
            sizes.append(Size(kind: "oneTBB node in a chain, with its body and edge", bytes: bytes))
        }
        return sizes
    }

    static func markdown(_ sizes: [Size]) -> String {
        "### Bytes of the heap, each of \(count) that wait\n\n| | bytes |\n|---|---:|\n"
            + sizes.map { "| \($0.kind) | \($0.bytes) |\n" }.joined()
    }

    private static func jobs() -> Int {
        let queue = InterlockQueue(isSuspended: true)
        defer { end(queue) }
        return bytes { (0..<count).map { number in queue.job { number } } }
    }

    private static func chain() -> Int {
        let queue = InterlockQueue(isSuspended: true)
        defer { end(queue) }
        return bytes {
            var last = queue.job { 0 }
            for number in 1..<count { last = last.then { $0 &+ number } }
            return [last]
        }
    }

    private static func operations() -> Int {
        let queue = InterlockQueue(isSuspended: true)
        defer { end(queue) }
        return bytes {
            for number in 0..<count { queue.enqueue(AsyncOperation<Int> { number }) }
            return [Int]()
        }
    }

    private static func peers() -> Int {
        let queue = OperationQueue()
        queue.isSuspended = true
        defer {
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
        }
        return bytes {
            for number in 0..<count { queue.addOperation(BlockOperation { keep(number) }) }
            return [Int]()
        }
    }

    private static func end(_ queue: InterlockQueue) {
        queue.resume()
        queue.wait()
    }

    /// Of one of `count` that `make` makes, without the array in which it returns some.
    private static func bytes<Kept>(_ make: () -> [Kept]) -> Int {
        let before = stillBytes()
        let made = make()
        let after = Int(heap_bytes())
        return (after - before - made.count * MemoryLayout<Kept>.stride) / count
    }

    /// Once what the measurement before has left is freed, which threads of its queue may still be at.
    private static func stillBytes() -> Int {
        var bytes = Int(heap_bytes())
        for _ in 0..<100 {
            usleep(20_000)
            let now = Int(heap_bytes())
            if now == bytes { break }
            bytes = now
        }
        return bytes
    }
}
