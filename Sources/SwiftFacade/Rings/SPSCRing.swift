// SPDX-License-Identifier: Apache-2.0
//
// The ring between one producer and one consumer. The C ring trusts its callers to be one thread on each side; here the
// type system enforces it:
//   - one call makes one Producer and one Consumer, both noncopyable: there is no second one of either;
//   - neither is Sendable, so each is on one thread at a time. Each comes as `sending`, so it may go to another thread,
//     whole. Using it before and after that on both threads does not compile;
//   - verbs that suspend are `mutating`, so nothing else uses the end in between: an actor that is re-entered while one
//     of its properties pushes or pops does not compile. Where the compiler does not see the re-entry (an end in an
//     object), the end is still used in the isolation of its caller only.
// An end that goes out of existence closes the ring: no partner waits for an end that is gone.

import CInterlock

/// A bounded ring between one producer and one consumer, to be split into the two.
///
/// ```swift
/// let ring = try SPSCRing<Frame>(capacity: 64)
/// ring.split { producer, consumer in
///     let handoff = Handoff(consumer)
///     Thread.detachNewThread {
///         let consumer = handoff.take()
///         while let frame = try? consumer.pop() { show(frame) }
///     }
///     while let frame = capture(), producer.push(frame).isPushed {}
/// }   // the producer goes, which closes the ring, and the thread ends
/// ```
///
/// Elements, noncopyable ones too, are moved in and out of memory allocated once, never copied. The elements left at
/// the end are released with the ring. While no waiter sleeps, a push is a move and a store: no allocation, no system
/// call. The capacity is exact, from 1 up.
///
/// What the producer did before a push is visible to the consumer of that element. Source: `ilk_spsc` in
/// `<interlock/spsc.h>`.
@frozen
@safe
public struct SPSCRing<Element: ~Copyable>: ~Copyable {
    @usableFromInline
    let waiters: SPSCWaiters

    @usableFromInline
    let ring: UnsafeMutablePointer<ilk_spsc>

    /// An empty ring for `capacity` elements. Allocates the memory for all elements.
    ///
    /// - Parameters:
    ///   - capacity: How many elements fit.
    ///   - resumingOnOwnThread: Whether a thread of the ring's own resumes a waiting task, for C threads at the other
    ///     end that must not run Swift; see ``MPMCRing/init(capacity:resumingOnOwnThread:)``.
    /// - Throws: ``RingError`` if the capacity is below 1 or too large, or there is no memory.
    /// - Complexity: O(`capacity`). Calls `ilk_spsc_create`.
    public init(capacity: Int, resumingOnOwnThread: Bool = false) throws(RingError) {
        let storage = try RingStorage<SPSCPort, Element>(capacity: capacity)
        ring = storage.port.ring
        waiters = SPSCWaiters(storage.port, storage: storage, resumingOnOwnThread: resumingOnOwnThread)
    }

    /// Takes the ring apart into its two ends and hands them to `body`, which may pass each on to another thread, or
    /// return one. Neither blocks nor allocates.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; the ends that `body` kept go on.
    @inlinable
    public consuming func split<Result: ~Copyable, Failure: Error>(
        _ body: (consuming sending Producer, consuming sending Consumer) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        // Each end is a region of its own, though both refer to one storage: the storage is safe for one thread at each
        // end.
        nonisolated(unsafe) let producer = Producer(ring, waiters)
        nonisolated(unsafe) let consumer = Consumer(ring, waiters)
        return try body(producer, consumer)
    }

    /// Takes the ring apart as ``split(_:)-(_)`` does, for a `body` that suspends.
    @inlinable
    public consuming func split<Result: ~Copyable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (consuming sending Producer, consuming sending Consumer) async throws(Failure) ->
            sending Result
    ) async throws(Failure) -> sending Result {
        nonisolated(unsafe) let producer = Producer(ring, waiters)
        nonisolated(unsafe) let consumer = Consumer(ring, waiters)
        return try await body(producer, consumer)
    }
}

// Before it is split, a ring has one operation: its owner splits it, once.
extension SPSCRing: @unchecked Sendable where Element: ~Copyable {}

/// The end of an ``SPSCRing`` that pushes.
extension SPSCRing where Element: ~Copyable {
    /// The one producer of a ring. Closes the ring when it goes out of existence.
    ///
    /// On one thread at a time; it may move to another as a whole. Methods named `try…` and `offer` never block; `push`
    /// blocks the thread while the ring is full, or suspends the task. The verbs that suspend want a producer in a
    /// `var` of the task that uses it; a producer in an actor's property does not compile.
    @frozen
    @safe
    public struct Producer: ~Copyable {
        // Kept here as well as in the owner, so that a push does not go through the owner.
        @usableFromInline let ring: UnsafeMutablePointer<ilk_spsc>
        @usableFromInline let waiters: SPSCWaiters

        @usableFromInline
        init(_ ring: UnsafeMutablePointer<ilk_spsc>, _ waiters: SPSCWaiters) {
            self.ring = ring
            self.waiters = waiters
        }

        @inlinable
        var port: SPSCPort {
            @inline(__always) get { SPSCPort(ring) }
        }

        deinit {
            waiters.close()
        }
    }

    /// The one consumer of a ring. Closes the ring when it goes out of existence.
    ///
    /// On one thread at a time; it may move to another as a whole. Methods named `try…` never block; `pop` blocks the
    /// thread while the ring is empty, or suspends the task. The verbs that suspend want a consumer in a `var` of the
    /// task that uses it, or ``elements()``; a consumer in an actor's property does not compile.
    @frozen
    @safe
    public struct Consumer: ~Copyable {
        @usableFromInline let ring: UnsafeMutablePointer<ilk_spsc>
        @usableFromInline let waiters: SPSCWaiters

        @usableFromInline
        init(_ ring: UnsafeMutablePointer<ilk_spsc>, _ waiters: SPSCWaiters) {
            self.ring = ring
            self.waiters = waiters
        }

        @inlinable
        var port: SPSCPort {
            @inline(__always) get { SPSCPort(ring) }
        }

        deinit {
            waiters.close()
        }
    }
}

// One thread at a time: what the C ring demands of its producer and its consumer.
@available(*, unavailable)
extension SPSCRing.Producer: Sendable where Element: ~Copyable {}
@available(*, unavailable)
extension SPSCRing.Consumer: Sendable where Element: ~Copyable {}
