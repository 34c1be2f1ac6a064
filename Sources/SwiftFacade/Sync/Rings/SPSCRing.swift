// SPDX-License-Identifier: Apache-2.0
//
// The ring between one producer and one consumer. The C ring trusts its callers to be one thread on each side; the type
// system enforces it:
//   - one call makes one Producer and one Consumer, both noncopyable;
//   - neither is Sendable, so each is on one thread at a time; each is `sending`, so it may go to another, whole;
//   - verbs that suspend are `mutating`: re-entering an actor while its property pushes or pops does not compile. Where
//     the compiler does not see it (an end in an object), the end is still used in its caller's isolation only.
// An end that goes closes the ring: no partner waits for it.

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
/// Elements, noncopyable ones too, are moved through memory allocated once, never copied; those left at the end are
/// released with the ring. While no waiter sleeps, a push is a move and a store, without a system call. The capacity is
/// exact, from 1 up.
///
/// The consumer of an element sees what the producer did before the push. Source: `ilk_spsc` in `<interlock/spsc.h>`.
@frozen
@safe
public struct SPSCRing<Element: ~Copyable>: ~Copyable {
    @usableFromInline
    let waiters: SPSCWaiters

    @usableFromInline
    let ring: UnsafeMutablePointer<ilk_spsc>

    /// An empty ring, not split yet. Allocates the memory for all elements.
    ///
    /// - Parameters:
    ///   - capacity: How many elements fit.
    ///   - resumingOnOwnThread: Whether a thread of the ring's own resumes a waiting task; otherwise the thread at the
    ///     other end does, which is faster. Set it where that must not run Swift (a C thread with real-time duties).
    ///     Where the system makes no thread, a task of the global executor resumes it, each millisecond, until a thread
    ///     can be made.
    ///   - name: For reports; kept up to 63 bytes of UTF-8.
    /// - Throws: ``RingError``.
    /// - Complexity: O(`capacity`). Calls `ilk_spsc_create`.
    public init(capacity: Int, resumingOnOwnThread: Bool = false, name: String? = nil) throws(RingError) {
        let storage = try RingStorage<SPSCPort, Element>(capacity: capacity)
        ring = storage.port.ring
        waiters = SPSCWaiters(storage.port, storage: storage, resumingOnOwnThread: resumingOnOwnThread)
        if let name { setName(name, of: ring) }
    }

    /// The name, or `nil`. Blocks briefly.
    public var name: String? { InterlockSync.name(of: ring) }

    /// Hands the ring's two ends to `body`, which may pass each on to another thread, or return one. Neither blocks nor
    /// allocates.
    ///
    /// - Throws: What `body` throws; the ends that it kept go on.
    @inlinable
    public consuming func split<Result: ~Copyable, Failure: Error>(
        _ body: (consuming sending Producer, consuming sending Consumer) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        // Each end is a region of its own: their one storage is safe for one thread at each end.
        nonisolated(unsafe) let producer = Producer(ring, waiters)
        nonisolated(unsafe) let consumer = Consumer(ring, waiters)
        return try body(producer, consumer)
    }

    /// Hands the ring's two ends to a `body` that suspends, which may pass each on to another task, or return one.
    ///
    /// - Throws: What `body` throws; the ends that it kept go on.
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

/// The ends of an ``SPSCRing``.
extension SPSCRing where Element: ~Copyable {
    /// The one producer of a ring. Closes the ring when it goes.
    ///
    /// On one thread at a time; it may move to another, whole. `try…` never blocks; `push` blocks the thread while the
    /// ring is full, or suspends the task. To suspend it must be a `var` of the task that uses it; in an actor's
    /// property that does not compile.
    @frozen
    @safe
    public struct Producer: ~Copyable {
        // The ring stands here as well as in its owner: a push does not go through the owner.
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

    /// The one consumer of a ring. Closes the ring when it goes.
    ///
    /// On one thread at a time; it may move to another, whole. `try…` never blocks; `pop` blocks the thread while the
    /// ring is empty, or suspends the task. To suspend it must be a `var` of the task that uses it; in an actor's
    /// property that does not compile. Tasks may use ``elements()``.
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

// One thread at a time, as the C ring demands.
@available(*, unavailable)
extension SPSCRing.Producer: Sendable where Element: ~Copyable {}
@available(*, unavailable)
extension SPSCRing.Consumer: Sendable where Element: ~Copyable {}
