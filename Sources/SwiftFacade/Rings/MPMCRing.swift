// SPDX-License-Identifier: Apache-2.0
//
// The shared ring: making it, single elements without waiting, and closing. Waiting has a file of its
// own, and batches have.

import CInterlock

/// A bounded queue for any number of producers and consumers.
///
/// ```swift
/// let jobs = try MPMCRing<Job>(capacity: 1024)
/// // any thread
/// if !jobs.tryPush(job) { refuse(job) }
/// // any other
/// while let job = try jobs.pop() { run(job) }
/// ```
///
/// Elements, noncopyable and non-Sendable ones too, are moved in and out of memory allocated once, never
/// copied: each has one owner at every moment (`sending`). What is left at the end is released. Any
/// capacity from 1 up is honoured exactly.
///
/// Order: first in, first out; each producer's elements keep their order. While another thread is in the
/// middle of a push or pop, a neighbour may be told empty or full (guarantee D of the C header); where no
/// call is in progress both are exact.
///
/// Closing: pushes fail from then on, pops drain what is there and then answer closed, or throw what the ring was
/// closed with (``close(throwing:)``); every waiter wakes. Nothing pushed with success is ever lost.
///
/// In `async` code, ``pop()`` and ``push(_:)`` suspend instead of blocking, tasks are served first come,
/// first served among themselves, and `for try await` takes elements until the ring is closed and drained:
///
/// ```swift
/// for try await job in jobs { await handle(job) }
/// ```
///
/// What a producer did before a push is visible to the consumer of that element. Source: `ilk_mpmc` in
/// `<interlock/mpmc.h>`.
@safe
public final class MPMCRing<Element: ~Copyable> {
    // Beside its owner, so that a push need not go through it.
    @usableFromInline
    let ring: UnsafeMutablePointer<ilk_mpmc>

    @usableFromInline
    let waiters: MPMCWaiters<Element>

    @inlinable
    var port: MPMCPort {
        @inline(__always) get { MPMCPort(ring) }
    }

    /// An empty ring for `capacity` elements. Allocates all the memory elements will ever use.
    ///
    /// - Parameters:
    ///   - capacity: How many elements fit.
    ///   - resumingOnOwnThread: Whether tasks that wait are resumed by a thread of the ring's own. Otherwise
    ///     the thread that pushes or pops resumes them, which is faster, but not for threads that must not run Swift:
    ///     ask for it where C threads with real-time duties push through ``unsafeHandle``. Where the system makes no
    ///     thread, a task of the global executor resumes them, each millisecond, until there is a thread to be had.
    /// - Throws: ``RingError`` if the capacity is below 1 or too large, or there is no memory.
    public init(capacity: Int, resumingOnOwnThread: Bool = false) throws(RingError) {
        let storage = try RingStorage<MPMCPort, Element>(capacity: capacity)
        ring = storage.port.ring
        waiters = MPMCWaiters(storage.port, storage: storage, resumingOnOwnThread: resumingOnOwnThread)
    }

    /// Moves `element` into the ring if there is room. Thread-safe; never blocks or allocates.
    ///
    /// - Returns: `.pushed`, or the element with `.full` or `.closed`.
    /// - Complexity: O(1). Calls `ilk_mpmc_try_push`.
    @inlinable
    public func offer(_ element: consuming sending Element) -> sending OfferResult<Element> {
        port.offer(element)
    }

    /// Moves the oldest element out, or answers `nil` if there is none. Thread-safe; never blocks or
    /// allocates.
    ///
    /// - Complexity: O(1). Calls `ilk_mpmc_try_pop`.
    @inlinable
    public func tryPop() -> sending Element? {
        port.tryPop(Element.self)
    }

    /// Moves `element` into the ring, in place of the oldest if there is no room. Thread-safe; waits for
    /// other threads only while they are in the middle of the slot it needs.
    ///
    /// - Returns: The element that had to go, or `nil`. On a closed ring that is `element` itself: nothing
    ///   is ever dropped.
    /// - Complexity: O(1). Calls `ilk_mpmc_push_overwriting`.
    @inlinable
    public func pushOverwriting(_ element: consuming sending Element) -> sending Element? {
        var evicted = Popped<Element>.nothing(.timedOut)
        // The ring takes every element, and gives this one back by itself.
        handOver(element) { bytes in
            evicted = takeOver(Element.self) { memory in
                ilk_mpmc_push_overwriting(ring, bytes, ringElementSize(Element.self), memory)
                    ? ILK_OK : ILK_TIMEDOUT
            }
            return ILK_OK
        } answer: { _, _ in
            ()
        }
        // The compiler counts it to the region of the closure, which has ended.
        nonisolated(unsafe) let result = evicted.element()
        return result
    }

    /// Moves as many elements out as fit what is left of `span`, oldest first, claimed by one operation. Thread-safe;
    /// never blocks or allocates.
    ///
    /// - Returns: The number moved; 0 if the ring is empty or the span full.
    @inlinable
    @discardableResult
    public func tryPop(into span: inout OutputSpan<Element>) -> Int {
        port.tryPop(into: &span)
    }

    /// Closes the ring. Thread-safe; on a closed ring, nothing.
    public func close() {
        waiters.close()
    }

    /// Closes the ring and leaves `error` for the consumers: what is in the ring is popped first; then the pops that
    /// wait, and the loops over the ring, throw it, each of them. Thread-safe; on a closed ring, nothing.
    public func close(throwing error: any Error) {
        waiters.close(throwing: error)
    }

    /// What the ring was closed with, if with an error. Elements may still be in it. Thread-safe.
    public var closingError: (any Error)? {
        waiters.closingError
    }

    /// Whether the ring is closed: no push that starts now can succeed. Elements may still be in it.
    @inlinable
    public var isClosed: Bool {
        ilk_mpmc_is_closed(ring)
    }

    /// The number of elements in the ring, those being pushed included. It may have changed by the time it
    /// is used.
    @inlinable
    public var count: Int {
        ilk_mpmc_count(ring)
    }

    /// How many elements fit.
    @inlinable
    public var capacity: Int {
        ilk_mpmc_capacity(ring)
    }

    @inlinable
    var isFull: Bool {
        ilk_mpmc_count(ring) == ilk_mpmc_capacity(ring)
    }

    /// The C ring, for producers and consumers written in C: they push and pop bytes of `Element`, each of
    /// its stride, and own what they pop. Valid as long as this object exists.
    @unsafe
    public var unsafeHandle: UnsafeMutablePointer<ilk_mpmc> {
        ring
    }
}

// The C ring is made for any number of threads; elements are moved through it, each with one owner.
extension MPMCRing: @unchecked Sendable where Element: ~Copyable {}

extension MPMCRing {
    /// Puts `element` into the ring if there is room. Thread-safe; never blocks or allocates.
    ///
    /// The caller keeps its copy of a refused element. Elements that are not `Sendable` come back from ``offer(_:)``.
    ///
    /// - Returns: Whether it is in the ring; `false` when full or closed.
    @inlinable
    public func tryPush(_ element: Element) -> Bool where Element: Sendable {
        offer(element).isPushed
    }

    /// Puts as many of the elements as fit into the ring, next to each other, claimed by one operation (two
    /// where they run across the end of the ring). Thread-safe; never blocks or allocates.
    ///
    /// - Returns: The number pushed, from the front.
    @inlinable
    public func tryPush(contentsOf elements: Span<Element>) -> Int where Element: Sendable {
        port.tryPush(contentsOf: elements)
    }

    /// Puts as many of the elements as fit into the ring, as ``tryPush(contentsOf:)-(Span<Element>)``.
    @inlinable
    public func tryPush(contentsOf elements: [Element]) -> Int where Element: Sendable {
        tryPush(contentsOf: elements.span)
    }

    /// Moves up to `count` elements out, oldest first, claimed by one operation. Thread-safe; never blocks;
    /// allocates the array.
    ///
    /// - Returns: The elements; empty if there are none.
    @inlinable
    public func tryPop(atMost count: Int) -> sending [Element] {
        port.tryPop(Element.self, atMost: count)
    }
}
