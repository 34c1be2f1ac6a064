// SPDX-License-Identifier: Apache-2.0
//
// A closure that is taken once: by the queue that runs it or by the caller who cancels it. Whoever takes
// it owns it, so a cancelled closure is freed by the canceller at that moment, captures and all, while
// the block libdispatch still holds keeps only this empty box.

final class PendingWork<Value>: Sendable {
    private let work: VisibleMutex<(@Sendable () throws -> Value)?>

    init(_ work: @escaping @Sendable () throws -> Value) {
        self.work = VisibleMutex(work)
    }

    /// The closure, for the first caller; nil for all others.
    func take() -> (@Sendable () throws -> Value)? {
        work.withLock { work in
            defer { work = nil }
            return work
        }
    }
}
