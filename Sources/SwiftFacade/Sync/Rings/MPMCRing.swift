// SPDX-License-Identifier: Apache-2.0
//
// The shared ring without waiting. +Waiting has the forms that block, +Suspending those that suspend.

import CInterlock

/// A bounded queue for any number of producers and consumers.
///
/// ```swift
/// let jobs = try MPMCRing<Job>(capacity: 1024)
/// // any thread
/// if let job = jobs.tryPush(job).refused() { refuse(job) }
/// // any other
/// while let job = try jobs.pop() { run(job) }
/// ```
///
/// Every method is thread-safe. Elements, noncopyable and non-Sendable ones too, are moved through memory allocated
/// once, never copied: each has one owner at every moment (`sending`). Those left at the end are released with the
/// ring. The capacity is exact, from 1 up.
///
/// Order: first in, first out; each producer's elements keep their order. Beside a push or pop in progress empty or
/// full may be answered (guarantee D of `<interlock/mpmc.h>`); otherwise both are exact.
///
/// Closing: later pushes fail. Pops drain the ring, then answer closed or throw ``closingError``. Every waiter wakes.
/// No element pushed with success is lost.
///
/// In `async` code `pop()` and `push(_:)` suspend. Suspended tasks are served in the order in which they came. One that
/// comes later may go before them, 1,024 times at most before the first of them: then tasks queue, also where there is
/// an element, until it has been served. (Not counted: calls that began before it was suspended.) Then the next is the
/// first, so the third to be suspended may be passed 3,072 times. Threads, and calls that do not wait, never queue, and
/// have no such bound: a task or thread that waits beside them may wait long. `for try await` takes elements until the
/// ring is closed and drained:
///
/// ```swift
/// for try await job in jobs { await handle(job) }
/// ```
///
/// The consumer of an element sees what its producer did before the push. Source: `ilk_mpmc`.
@safe
public final class MPMCRing<Element: ~Copyable> {
    // The ring stands here as well as in its owner: a push does not go through the owner.
    @usableFromInline
    let ring: UnsafeMutablePointer<ilk_mpmc>

    @usableFromInline
    let waiters: MPMCWaiters<Element>

    @inlinable
    var port: MPMCPort {
        @inline(__always) get { MPMCPort(ring) }
    }

    /// An empty ring. Allocates the memory for all elements.
    ///
    /// - Parameters:
    ///   - capacity: How many elements fit.
    ///   - resumingOnOwnThread: Whether a thread of the ring's own resumes waiting tasks; otherwise the thread that
    ///     pushes or pops does, which is faster. Set it where threads that must not run Swift (C threads with real-time
    ///     duties) push through ``unsafeHandle``. Where the system makes no thread, a task of the global executor
    ///     resumes them, each millisecond, until a thread can be made.
    ///   - name: For reports; kept up to 63 bytes of UTF-8.
    /// - Throws: ``RingError``.
    /// - Complexity: O(`capacity`). Calls `ilk_mpmc_create`.
    public init(capacity: Int, resumingOnOwnThread: Bool = false, name: String? = nil) throws(RingError) {
        let storage = try RingStorage<MPMCPort, Element>(capacity: capacity)
        ring = storage.port.ring
        waiters = MPMCWaiters(storage.port, storage: storage, resumingOnOwnThread: resumingOnOwnThread)
        if let name { setName(name, of: ring) }
    }

    /// The name, or `nil`. Blocks briefly.
    public var name: String? { InterlockSync.name(of: ring) }

    /// Moves `element` into the ring if there is room. Never blocks or allocates.
    ///
    /// - Returns: `.pushed`, or the element with `.full` or `.closed`.
    /// - Complexity: O(1). Calls `ilk_mpmc_try_push`.
    @inlinable
    public func tryPush(_ element: consuming sending Element) -> sending PushResult<Element> {
        port.tryPush(element)
    }

    /// Moves the oldest element out, or answers `nil`. Never blocks or allocates.
    ///
    /// - Complexity: O(1). Calls `ilk_mpmc_try_pop`.
    @inlinable
    public func tryPop() -> sending Element? {
        port.tryPop(Element.self)
    }

    /// Moves `element` into the ring, in place of the oldest if it is full. Waits only for a thread in the middle of
    /// the slot that it needs.
    ///
    /// - Returns: The evicted element, or `nil`; on a closed ring `element` itself, so that none is dropped.
    /// - Complexity: O(1). Calls `ilk_mpmc_push_overwriting`.
    @inlinable
    public func pushOverwriting(_ element: consuming sending Element) -> sending Element? {
        var evicted = Popped<Element>.nothing(.timedOut)
        // A closed ring gives this element back.
        handOver(element) { bytes in
            evicted = takeOver(Element.self) { memory in
                ilk_mpmc_push_overwriting(ring, bytes, ringElementSize(Element.self), memory)
                    ? ILK_OK : ILK_TIMEDOUT
            }
            return ILK_OK
        } answer: { _, _ in
            ()
        }
        // The compiler assigns the result to the region of the closure, which has ended.
        nonisolated(unsafe) let result = evicted.element()
        return result
    }

    /// Moves elements out into the free places of `span`, oldest first, claimed by one operation. Never blocks or
    /// allocates.
    ///
    /// - Returns: The number moved; 0 if the ring is empty or the span full.
    /// - Complexity: O(number moved). Calls `ilk_mpmc_try_pop_many`.
    @inlinable
    @discardableResult
    public func tryPop(into span: inout OutputSpan<Element>) -> Int {
        port.tryPop(into: &span)
    }

    /// Closes the ring: later pushes fail, pops drain it, every waiter wakes. A second close does nothing. Calls
    /// `ilk_mpmc_close`.
    public func close() {
        waiters.close()
    }

    /// Closes the ring, and leaves `error` to be thrown by each waiting pop and each loop after the last element. Of
    /// two closes the first one's error counts.
    public func close(throwing error: any Error) {
        waiters.close(throwing: error)
    }

    /// The error that the ring was closed with, or `nil`. Blocks briefly.
    public var closingError: (any Error)? {
        waiters.closingError
    }

    /// Whether the ring is closed: no push that starts now can succeed. Elements may still be in it. Never blocks.
    @inlinable
    public var isClosed: Bool {
        ilk_mpmc_is_closed(ring)
    }

    /// The number of elements at this moment, those being pushed included. Never blocks.
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

    /// The C ring, for producers and consumers written in C. They push and pop bytes of `Element`, each of its stride,
    /// and own what they pop. Valid as long as this object.
    @unsafe
    public var unsafeHandle: UnsafeMutablePointer<ilk_mpmc> {
        ring
    }
}

// Any number of threads may call the C ring; each element has one owner.
extension MPMCRing: @unchecked Sendable where Element: ~Copyable {}

extension MPMCRing {
    /// Puts as many of the elements as fit into the ring, in order. Never blocks or allocates.
    ///
    /// One operation claims each run of free slots. Other producers' elements may stand between two runs: where the
    /// batch crosses the end of the ring, or the ring was nearly full.
    ///
    /// - Returns: The number pushed, from the front.
    /// - Complexity: O(number pushed). Calls `ilk_mpmc_reserve` and `ilk_mpmc_commit`.
    @inlinable
    public func tryPush(contentsOf elements: Span<Element>) -> Int where Element: Sendable {
        port.tryPush(contentsOf: elements)
    }

    /// Puts as many of the elements as fit into the ring, in order, as those of a `Span`. Never blocks or allocates.
    ///
    /// - Returns: The number pushed, from the front.
    @inlinable
    public func tryPush(contentsOf elements: [Element]) -> Int where Element: Sendable {
        tryPush(contentsOf: elements.span)
    }

    /// Moves up to `count` elements out, oldest first, claimed by one operation. Never blocks; allocates the array.
    ///
    /// - Complexity: O(number moved). Calls `ilk_mpmc_try_pop_many`.
    @inlinable
    public func tryPop(atMost count: Int) -> sending [Element] {
        port.tryPop(Element.self, atMost: count)
    }
}
