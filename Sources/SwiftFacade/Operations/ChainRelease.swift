// SPDX-License-Identifier: Apache-2.0
//
// Frees a chain of operations link by link. An operation that never ran holds the one above it, by its edge and by the
// closure that takes its output; some thousands freed in nested calls would overflow the stack. So an operation that
// ends hands what it holds to the loop below, or to the one that runs on its thread already.

import Foundation

enum ChainRelease {
    private final class Pending {
        var items: [OperationRecord.Holdings] = []
    }

    /// The thread's `Pending`, unretained, while the loop of `free` that owns it is on its stack.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        if pthread_key_create(&key, nil) != 0 {
            misuse("AsyncOperation", "", "the process has no thread-specific key left")
        }
        return key
    }()

    /// Releases `held`, and what its end releases, without nesting.
    static func free(_ held: consuming OperationRecord.Holdings) {
        if let running = pthread_getspecific(key) {
            Unmanaged<Pending>.fromOpaque(running).takeUnretainedValue().items.append(held)
            return
        }
        let pending = Pending()
        pthread_setspecific(key, Unmanaged.passUnretained(pending).toOpaque())
        pending.items.append(held)
        held = OperationRecord.Holdings()
        while !pending.items.isEmpty {
            // Its end may add items, which must not be changing then.
            let item = pending.items.removeLast()
            withExtendedLifetime(item) {}
        }
        withExtendedLifetime(pending) { _ = pthread_setspecific(key, nil) }
    }
}
