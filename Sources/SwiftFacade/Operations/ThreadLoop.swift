// SPDX-License-Identifier: Apache-2.0
//
// Handles on a thread what nests as deep as a chain of operations is long, in little stack: an item that comes while
// others are handled is handled at once, up to a depth; a deeper one waits for the loop below it on the stack.
//
// At once, because what handles an item may run users' handlers, and those may wait for what the next item brings.

import Foundation
import InterlockSync

/// A process has few: each keeps a thread-specific key for ever.
// Its fields are set once; items are reached on the thread that handles them only.
final class ThreadLoop<Item>: @unchecked Sendable {
    private final class Pending { var items: [Item] = [], depth = 1 }

    /// A level of steps that make steps takes some two kilobytes of stack.
    private let most = 16

    private let key = threadKey()
    private let handle: (consuming Item) -> Void

    init(_ handle: @escaping (consuming Item) -> Void) { self.handle = handle }

    /// Handles `item` now; deep within such calls on this thread, leaves it to the first of them, which takes the last
    /// one first.
    func run(_ item: consuming Item) {
        if let running = pthread_getspecific(key) {
            let pending = Unmanaged<Pending>.fromOpaque(running).takeUnretainedValue()
            if pending.depth == most { return pending.items.append(item) }
            pending.depth += 1
            handle(item)
            pending.depth -= 1
            return
        }
        let pending = Pending()
        pthread_setspecific(key, Unmanaged.passUnretained(pending).toOpaque())
        pending.items.append(item)
        // Taken out before it is handled: that adds items.
        while let next = pending.items.popLast() { handle(next) }
        withExtendedLifetime(pending) { _ = pthread_setspecific(key, nil) }
    }
}

/// Ends and cancellations that pass on through operations inside operations.
enum NestedEnds {
    private static let loop = ThreadLoop<() -> Void> { $0() }

    static func run(_ body: @escaping () -> Void) { loop.run(body) }
}

/// A new key of the process, for what is on the stack of each thread.
func threadKey() -> pthread_key_t {
    var key = pthread_key_t()
    if pthread_key_create(&key, nil) != 0 {
        misuse("AsyncOperation", "", "the process has no thread-specific key left")
    }
    return key
}
