// SPDX-License-Identifier: Apache-2.0
//
// A list in thread-specific data, for `GCD.sync`. Rejected: a task-local list, which tasks that outlive the `sync`
// would inherit.

import Foundation

/// The queues this thread is inside of through `GCD.sync`, outermost first.
///
/// Invariant: the thread's key holds the innermost list, unretained, exactly while the frame of `with` that owns it is
/// on the stack. So no destructor is needed, and a read costs a few nanoseconds (`Thread.current.threadDictionary`:
/// some thousands).
enum EnteredQueues {
    private final class List {
        let tags: [QueueTag]
        init(_ tags: [QueueTag]) { self.tags = tags }
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        if pthread_key_create(&key, nil) != 0 {
            misuse("GCD.sync", "", "the process has no thread-specific key left")
        }
        return key
    }()

    static var current: [QueueTag] {
        guard let list = pthread_getspecific(key) else { return [] }
        return Unmanaged<List>.fromOpaque(list).takeUnretainedValue().tags
    }

    /// Runs `body` with the list replaced, then restores it.
    static func with<Value, Failure: Error>(
        _ entered: [QueueTag],
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let before = pthread_getspecific(key)
        let list = List(entered)
        pthread_setspecific(key, Unmanaged.passUnretained(list).toOpaque())
        defer { withExtendedLifetime(list) { _ = pthread_setspecific(key, before) } }
        return try body()
    }
}
