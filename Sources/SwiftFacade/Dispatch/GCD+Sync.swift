// SPDX-License-Identifier: Apache-2.0
//
// `sync` that refuses to wait for itself. libdispatch traps without a sentence when a thread waits for the queue it is
// on, and hangs when the queue was entered further out. Two sources are read before waiting: the tag of the current
// queue, which also tells of work that arrived by plain `async`; and the list of the queues this thread has entered
// through `GCD.sync`.

import Dispatch

extension GCD {
    /// Runs `body` on `queue` and blocks until it has run, or reports that it never could.
    ///
    /// Entering a queue that this thread is already on, directly or further out (A, then B, then A again), is misuse,
    /// reported with the labels of all queues on the way; for concurrent queues too, where a second `sync` hangs as
    /// soon as a barrier waits in between. The global queues, which have no barriers, are exempt.
    ///
    /// Queues entered through this call are seen, and so is the current queue, however work got there, if ``GCD`` made
    /// it or met it before. A queue entered by plain `sync` or `async` is not seen once another was entered in between.
    /// A queue without a tag of its own counts as the queue it targets, which is right where that one is serial; a
    /// concurrent target made with ``concurrentQueue(label:qos:target:)`` is told apart.
    ///
    /// - Returns: the value of `body`, whose error is thrown on. `body` sees what was done before; what it did is
    ///   visible.
    @discardableResult
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; use `try await GCD.run(on:)`"
    )
    public static func sync<Value, Failure: Error>(
        on queue: DispatchQueue,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        guard let target = QueueTag.of(queue) else { return try perform(on: queue, body) }
        let entered = enteredQueues()
        if let outermost = entered.firstIndex(where: { $0 === target }) {
            let path = (entered[outermost...] + [target]).map(\.quoted).joined(separator: " → ")
            misuse(
                "GCD.sync",
                "on: \(target.quoted)",
                "would wait for itself: this thread is running on \(entered[entered.count - 1].quoted) and "
                    + "has entered \(target.quoted) already (\(path)), so the work could never start; "
                    + "call it directly or use async"
            )
        }
        let inside = entered + [target]
        return try perform(on: queue) { () throws(Failure) -> Value in
            try EnteredQueues.with(inside, body)
        }
    }

    /// The list kept by `sync`, followed by the current queue where work got there another way; not a concurrent one,
    /// whose tag may be that of a target.
    private static func enteredQueues() -> [QueueTag] {
        let entered = EnteredQueues.current
        guard let current = QueueTag.current, current.width != .concurrent,
            !entered.contains(where: { $0 === current })
        else { return entered }
        return entered + [current]
    }

    /// `DispatchQueue.sync` with the error's type kept.
    private static func perform<Value, Failure: Error>(
        on queue: DispatchQueue,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let result: Result<Value, Failure> = queue.sync {
            do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
