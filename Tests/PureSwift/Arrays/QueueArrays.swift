// SPDX-License-Identifier: Apache-2.0
//
// The two arrays that GCD tutorials teach: over a concurrent queue with barriers, and over a serial queue.
//
// Barrier array: reads are `sync` and run beside each other. A write is a barrier: it waits for the reads
// submitted before it, and holds back those submitted after it. Serial array: one section at a time. In both
// an append is asynchronous, so the appender does not wait. The next read of the same thread sees it, because
// a queue starts its work in order.
//
// What they lack beside the C-backed `SafeArray`: a section costs a trip through the queue (hundreds of
// nanoseconds, where an uncontended lock takes a few); each append allocates a block, without a bound on how
// many pile up; there is no try; a section inside a section traps or deadlocks without a report; on Linux an
// asynchronous append needs a worker thread, of which there are at first as many as processors.

import Dispatch

// @unchecked: `elements` is touched only in work items of `queue`, written only by barriers.
/// An array over a concurrent queue with barriers. See `GuardedArray` for the calls.
public final class BarrierQueueArray<Element: Sendable>: GuardedArray, @unchecked Sendable {
    private let queue = DispatchQueue(label: "PureSwift.BarrierQueueArray", attributes: .concurrent)
    private var elements: [Element]

    /// An array that starts with `elements`.
    public init(_ elements: [Element]) {
        self.elements = elements
    }

    /// Runs `body` with the elements, beside other readers. Blocks; the work runs on the calling thread.
    public func withReadLock<Result: Sendable, Failure: Error>(
        _ body: ([Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.sync { Swift.Result { () throws(Failure) in try body(elements) } }.get()
    }

    /// Runs `body` alone with the elements, in place. Blocks; the work runs on the calling thread.
    public func withWriteLock<Result: Sendable, Failure: Error>(
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.sync(flags: .barrier) {
            Swift.Result { () throws(Failure) in try body(&elements) }
        }.get()
    }

    /// Adds `element` at the end, later: every read that the same thread asks for afterwards sees it. Does not
    /// block; allocates a work item.
    public func append(_ element: Element) {
        queue.async(flags: .barrier) { self.elements.append(element) }
    }
}

// @unchecked: `elements` is touched only in work items of `queue`, which runs one at a time.
/// An array over a serial queue. See `GuardedArray` for the calls; readers do not run beside each other.
public final class SerialQueueArray<Element: Sendable>: GuardedArray, @unchecked Sendable {
    private let queue = DispatchQueue(label: "PureSwift.SerialQueueArray")
    private var elements: [Element]

    /// An array that starts with `elements`.
    public init(_ elements: [Element]) {
        self.elements = elements
    }

    /// Runs `body` with the elements, alone. Blocks; the work runs on the calling thread.
    public func withReadLock<Result: Sendable, Failure: Error>(
        _ body: ([Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.sync { Swift.Result { () throws(Failure) in try body(elements) } }.get()
    }

    /// Runs `body` alone with the elements, in place. Blocks; the work runs on the calling thread.
    public func withWriteLock<Result: Sendable, Failure: Error>(
        _ body: (inout [Element]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try queue.sync { Swift.Result { () throws(Failure) in try body(&elements) } }.get()
    }

    /// Adds `element` at the end, later: every read that the same thread asks for afterwards sees it. Does not
    /// block; allocates a work item.
    public func append(_ element: Element) {
        queue.async { self.elements.append(element) }
    }
}
