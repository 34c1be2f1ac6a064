// SPDX-License-Identifier: Apache-2.0
//
// Frees a chain of operations link by link. An operation that never ran holds the one above it, by its
// edge and by the closure that takes its output, so the end of one is the end of the next: left to the
// compiler, a chain of some thousands would be freed in as many nested calls and overflow the stack. So an
// operation that ends hands what it holds to the loop below. Where it ends inside another's end that loop is
// running on the thread already, and frees it when it comes to it.

import Foundation

enum ChainRelease {
    private final class Pending {
        var items: [Any]
        init(_ items: consuming [Any]) { self.items = items }
    }

    /// Holds the thread's `Pending`, unretained, while the loop of `free` that owns it is on its stack.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        if pthread_key_create(&key, nil) != 0 {
            misuse("AsyncOperation", "", "the process has no thread-specific key left")
        }
        return key
    }()

    /// Releases `items`, and what their ends release by this function, without nesting.
    static func free(_ items: consuming [Any]) {
        if let running = pthread_getspecific(key) {
            Unmanaged<Pending>.fromOpaque(running).takeUnretainedValue().items.append(contentsOf: items)
            return
        }
        let pending = Pending(items)
        pthread_setspecific(key, Unmanaged.passUnretained(pending).toOpaque())
        while !pending.items.isEmpty {
            // Its end may add to the items: it is released when they are not being changed.
            let item = pending.items.removeLast()
            withExtendedLifetime(item) {}
        }
        withExtendedLifetime(pending) { _ = pthread_setspecific(key, nil) }
    }
}
