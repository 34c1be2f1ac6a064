// SPDX-License-Identifier: Apache-2.0
//
// Handles on a thread, one after the other, what would nest: an item that comes while another is handled waits for the
// loop below it on the stack. Calls as deep as a chain of operations is long would overflow the stack.

import Foundation

/// A process has few: each keeps a thread-specific key for ever.
// Its fields are set once; items are reached on the thread that handles them only.
final class ThreadLoop<Item>: @unchecked Sendable {
    private final class Pending {
        var items: [Item] = []
    }

    private let key = threadKey()
    private let handle: (consuming Item) -> Void

    init(_ handle: @escaping (consuming Item) -> Void) { self.handle = handle }

    /// Handles `item` now, and what comes meanwhile after it, the last first; or, within such a call on this thread,
    /// leaves it to that.
    func run(_ item: consuming Item) {
        if let running = pthread_getspecific(key) {
            Unmanaged<Pending>.fromOpaque(running).takeUnretainedValue().items.append(item)
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

/// A new key of the process, for what is on the stack of each thread.
func threadKey() -> pthread_key_t {
    var key = pthread_key_t()
    if pthread_key_create(&key, nil) != 0 {
        misuse("AsyncOperation", "", "the process has no thread-specific key left")
    }
    return key
}
