// SPDX-License-Identifier: Apache-2.0
//
// The two arrays of GCD tutorials: over a concurrent queue with barriers, and over a serial queue.
//
// Barrier array: reads are `sync` and run beside each other. A write is a barrier: it waits for the reads submitted
// before it, and holds back those submitted after it. Serial array: one section at a time. In both an append is
// asynchronous: it allocates a block, without a bound on how many pile up, and on Linux needs a worker thread. The next
// read of the same thread sees it, because a queue starts its work in order. A nested section traps or deadlocks.

import Dispatch

// @unchecked: `elements` is touched only in work items of `queue`, written only by barriers.
/// An array over a concurrent queue with barriers. See `GuardedArray`.
public final class BarrierQueueArray<Element: Sendable>: GuardedArray, @unchecked Sendable {
    private let queue = DispatchQueue(label: "PureSwift.BarrierQueueArray", attributes: .concurrent)
    private var elements: [Element]

    /// An array that starts with `elements`.
    public init(_ elements: [Element]) {
        self.elements = elements
    }

    /// Runs `body` with the elements, beside other readers. Blocks; runs on the calling thread.
    public func withReadLock<Result: Sendable, Failure: Error>(
        _ body: ([Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.sync { Swift.Result { () throws(Failure) in try body(elements) } }.get()
    }

    /// Runs `body` alone with the elements, in place. Otherwise as `withReadLock`.
    public func withWriteLock<Result: Sendable, Failure: Error>(
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.sync(flags: .barrier) {
            Swift.Result { () throws(Failure) in try body(&elements) }
        }.get()
    }

    /// Adds `element` at the end, later: every later read of the same thread sees it. Does not block; allocates a work
    /// item.
    public func append(_ element: Element) {
        queue.async(flags: .barrier) { self.elements.append(element) }
    }
}

// @unchecked: `elements` is touched only in work items of `queue`, which runs one at a time.
/// An array over a serial queue; readers do not run beside each other. See `GuardedArray`.
public final class SerialQueueArray<Element: Sendable>: GuardedArray, @unchecked Sendable {
    private let queue = DispatchQueue(label: "PureSwift.SerialQueueArray")
    private var elements: [Element]

    /// An array that starts with `elements`.
    public init(_ elements: [Element]) {
        self.elements = elements
    }

    /// Runs `body` alone with the elements. Blocks; runs on the calling thread.
    public func withReadLock<Result: Sendable, Failure: Error>(
        _ body: ([Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.sync { Swift.Result { () throws(Failure) in try body(elements) } }.get()
    }

    /// Runs `body` alone with the elements, in place. Blocks; runs on the calling thread.
    public func withWriteLock<Result: Sendable, Failure: Error>(
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.sync { Swift.Result { () throws(Failure) in try body(&elements) } }.get()
    }

    /// Adds `element` at the end, later. As in `BarrierQueueArray`.
    public func append(_ element: Element) {
        queue.async { self.elements.append(element) }
    }
}
