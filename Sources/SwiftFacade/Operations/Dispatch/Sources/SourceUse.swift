// SPDX-License-Identifier: Apache-2.0
//
// The ends of a source: several signals or iterators, of which the last ends it, and a closure that is called at the
// end.

import Dispatch
import InterlockSync

/// A count that two threads may bring down to zero; one of them learns that it did.
final class UseCount: Sendable {
    private let count: VisibleMutex<Int>

    init(_ count: Int = 0) { self.count = VisibleMutex(count) }

    func add() { count.withLock { $0 += 1 } }

    /// Whether it was the last.
    func remove() -> Bool {
        count.withLock { count in
            count -= 1
            return count == 0
        }
    }
}

/// Held by an iterator: when the last of those that share a count is dropped, calls `end`.
final class SourceUse: Sendable {
    private let count: UseCount
    private let end: @Sendable () -> Void

    init(of count: UseCount, end: @escaping @Sendable () -> Void) {
        self.count = count
        self.end = end
        count.add()
    }

    deinit { if count.remove() { end() } }
}

// libdispatch's sources may be used from any thread.
/// A read source that has been activated.
final class ReadSource: @unchecked Sendable {
    private let source: any DispatchSourceRead
    private let ended = VisibleMutex<(@Sendable () -> Void)?>(nil)

    init(_ descriptor: Int32, on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler(handler: handler)
        source.setCancelHandler { self.ended.withLock { $0.take() }?() }
        source.activate()
    }

    /// Ends it. `ended` is called when no handler runs any more. Once.
    func cancel(_ ended: @escaping @Sendable () -> Void) {
        self.ended.withLock { $0 = ended }
        source.cancel()
    }
}
