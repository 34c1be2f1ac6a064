// SPDX-License-Identifier: Apache-2.0
//
// A phase-fair reader–writer lock that parks its waiters, over one atomic word, a mutex and semaphores.
//
// The rule is Brandenburg and Anderson's ("Spin-based reader-writer synchronization for multiprocessor real-time
// systems", 2010): readers and writers alternate. A waiting reader waits for one write at most, because a writer that
// leaves admits every waiting reader. A writer waits for the readers present when it queued, the writers queued before
// it, and one group of readers after each. Unlike their ticket lock this one parks and hands over: a ticket cannot be
// withdrawn after a deadline.
//
// The word:
//
//     bit 0       writer    a writer holds the lock
//     bit 1       waiters   a thread queues: the fast paths fail, and the last thread that leaves hands
//                           the lock over
//     bits 2...   readers   how many threads hold the lock for reading
//
// `writer` and a reader count exclude each other. `waiters` is set only while the lock is held, so that the holder's
// release sees it, and changes only under the mutex of the queues.
//
// On Linux the semaphores take time-outs from the wall clock.

import Synchronization

/// A phase-fair reader–writer lock around a value. All calls are thread-safe; a section must not take the same lock
/// again: it deadlocks with a writer that queued in between.
public final class PhaseFairLock<Value: ~Copyable> {
    @usableFromInline let word = Atomic<UInt>(0)
    @usableFromInline let value: UnsafeMutablePointer<Value>
    private let queues = SanitizerVisibleMutex(Queues())

    /// A free lock around `value`. Allocates.
    public init(_ value: consuming sending Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// Runs `body` with the value beside other readers. Blocks while a writer holds the lock or an earlier writer
    /// waits; allocates then.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if !tryReadLock() { readLockSlowly() }
        defer { readUnlock() }
        return try body(value.pointee)
    }

    /// Runs `body` alone with the value. Blocks while another thread holds the lock; allocates then.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if !tryWriteLock() { writeLockSlowly() }
        defer { writeUnlock() }
        return try body(&value.pointee)
    }

    /// Runs `body` like `withReadLock`; where that would block, returns nil and does not run it.
    @inlinable
    public func withReadLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard tryReadLock() else { return nil }
        defer { readUnlock() }
        return try body(value.pointee)
    }

    /// Runs `body` like `withWriteLock`; where that would block, returns nil and does not run it.
    @inlinable
    public func withWriteLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard tryWriteLock() else { return nil }
        defer { writeUnlock() }
        return try body(&value.pointee)
    }

    /// Runs `body` like `withReadLock`; returns nil when `deadline` passed first. A free lock is taken after it, too.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard tryReadLock() || readLockSlowly(until: deadline) else { return nil }
        defer { readUnlock() }
        return try body(value.pointee)
    }

    /// Runs `body` like `withWriteLock`; returns nil when `deadline` passed first. The readers that it held back are
    /// then admitted at once.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard tryWriteLock() || writeLockSlowly(until: deadline) else { return nil }
        defer { writeUnlock() }
        return try body(&value.pointee)
    }
}

// @unchecked: the word decides which threads touch the value; readers do so beside each other, so it must be Sendable.
extension PhaseFairLock: @unchecked Sendable where Value: Sendable & ~Copyable {}

/// The bits of the word.
@usableFromInline
enum Bits {
    @usableFromInline static var writer: UInt { 1 }
    @usableFromInline static var waiters: UInt { 2 }
    @usableFromInline static var oneReader: UInt { 4 }
}

/// The waiting threads. Guarded by the mutex around it.
private struct Queues: Sendable {
    var readers = WaiterQueue()
    var writers = WaiterQueue()
    var isEmpty: Bool { readers.isEmpty && writers.isEmpty }
}

// MARK: - Fast paths

extension PhaseFairLock where Value: ~Copyable {
    @inlinable
    func tryReadLock() -> Bool {
        var seen = word.load(ordering: .relaxed)  // relaxed: a hint, checked by the exchange
        while seen & (Bits.writer | Bits.waiters) == 0 {
            // Acquire, pairs with the release of writeUnlock: the last write is visible.
            let (exchanged, original) = word.weakCompareExchange(
                expected: seen,
                desired: seen + Bits.oneReader,
                successOrdering: .acquiring,
                failureOrdering: .relaxed
            )
            if exchanged { return true }
            seen = original
        }
        return false
    }

    @inlinable
    func tryWriteLock() -> Bool {
        // Acquire, pairs with the releases of both unlocks: earlier writes are visible, earlier reads over.
        word.compareExchange(
            expected: 0,
            desired: Bits.writer,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    @inlinable
    func readUnlock() {
        // Release, pairs with the acquire of the next writer or of handOver: this read ends before the next write.
        let left = word.wrappingSubtract(Bits.oneReader, ordering: .releasing).newValue
        if left == Bits.waiters { lastReaderLeft() }
    }

    @inlinable
    func writeUnlock() {
        // Release, pairs with the acquire of the next owner: the write is visible to it.
        let freed = word.compareExchange(
            expected: Bits.writer,
            desired: 0,
            successOrdering: .releasing,
            failureOrdering: .relaxed
        ).exchanged
        if !freed { writeUnlockSlowly() }
    }
}

// MARK: - Waiting and handing over

extension PhaseFairLock where Value: ~Copyable {
    /// Probes before queueing: at most the price of a sleep and a wake-up (some ten thousand cycles), and cheaper than
    /// both where a section is shorter.
    private static var probesBeforeQueueing: Int { 200 }

    @usableFromInline
    @inline(never)
    @discardableResult
    func readLockSlowly(until deadline: ContinuousClock.Instant? = nil) -> Bool {
        for _ in 0..<Self.probesBeforeQueueing where tryReadLock() { return true }
        let waiter: Waiter? = queues.withLock { queues in
            while true {
                let seen = word.load(ordering: .relaxed)
                if seen & Bits.writer == 0 && queues.writers.isEmpty {
                    // Readers may still find `waiters` set for an instant; the count is right.
                    if exchange(seen, for: seen + Bits.oneReader) { return nil }
                } else if seen & Bits.waiters != 0 || exchange(seen, for: seen | Bits.waiters) {
                    let waiter = Waiter()
                    queues.readers.join(waiter)
                    return waiter
                }
            }
        }
        guard let waiter else { return true }
        return waiter.sleep(until: deadline) || wasServed(waiter, in: \.readers)
    }

    @usableFromInline
    @inline(never)
    @discardableResult
    func writeLockSlowly(until deadline: ContinuousClock.Instant? = nil) -> Bool {
        for _ in 0..<Self.probesBeforeQueueing where tryWriteLock() { return true }
        let waiter: Waiter? = queues.withLock { queues in
            while true {
                let seen = word.load(ordering: .relaxed)
                if seen == 0 {
                    if exchange(0, for: Bits.writer) { return nil }
                } else if seen & Bits.waiters != 0 || exchange(seen, for: seen | Bits.waiters) {
                    let waiter = Waiter()
                    queues.writers.join(waiter)
                    return waiter
                }
            }
        }
        guard let waiter else { return true }
        return waiter.sleep(until: deadline) || wasServed(waiter, in: \.writers)
    }

    /// Acquire: the last owner's release is before this. Release: a hand-over passes on what this thread has seen.
    private func exchange(_ seen: UInt, for new: UInt) -> Bool {
        word.compareExchange(expected: seen, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    /// After a time-out. True: the thread holds the lock after all. False: it has left the queue, and the waiters that
    /// it held back are admitted.
    private func wasServed(_ waiter: Waiter, in queue: WritableKeyPath<Queues, WaiterQueue>) -> Bool {
        let (served, admitted): (Bool, [Waiter]) = queues.withLock { queues in
            guard queues[keyPath: queue].leave(waiter) else { return (true, []) }
            return (false, handOver(&queues))
        }
        for waiter in admitted { waiter.wake() }
        return served
    }

    @usableFromInline
    @inline(never)
    func lastReaderLeft() {
        let admitted = queues.withLock { handOver(&$0) }
        for waiter in admitted { waiter.wake() }
    }

    @usableFromInline
    @inline(never)
    func writeUnlockSlowly() {
        let admitted: [Waiter] = queues.withLock { queues in
            let seen = word.load(ordering: .relaxed)
            precondition(
                seen & Bits.writer != 0,
                "PhaseFairLock.writeUnlock: no writer holds the lock (word \(String(seen, radix: 16)))"
            )
            // Plain stores suffice: the writer excludes readers, `waiters` the fast paths, the mutex the slow ones.
            // Release: the write is visible to the admitted readers.
            let readers = queues.readers.take()
            let others = queues.writers.isEmpty ? 0 : Bits.waiters
            if !readers.isEmpty {
                word.store(UInt(readers.count) * Bits.oneReader | others, ordering: .releasing)
                return readers
            }
            guard let writer = queues.writers.takeFirst() else {
                word.store(0, ordering: .releasing)
                return []
            }
            word.store(Bits.writer | (queues.isEmpty ? 0 : Bits.waiters), ordering: .releasing)
            return [writer]
        }
        for waiter in admitted { waiter.wake() }
    }

    /// Hands a lock that no writer holds to the next waiters; returns those to wake. Called under the mutex, after the
    /// last reader or a waiter has left; a second call does nothing.
    private func handOver(_ queues: inout Queues) -> [Waiter] {
        if queues.isEmpty {
            word.bitwiseAnd(~Bits.waiters, ordering: .relaxed)  // relaxed: carries no data
            return []
        }
        // Acquire, pairs with the release of readUnlock: the readers have finished; the store below passes that on.
        let seen = word.load(ordering: .acquiring)
        if seen & Bits.writer != 0 { return [] }
        if !queues.writers.isEmpty {
            // A writer waits for the present readers; the last one calls this again.
            if seen >= Bits.oneReader { return [] }
            guard let writer = queues.writers.takeFirst() else { return [] }
            word.store(Bits.writer | (queues.isEmpty ? 0 : Bits.waiters), ordering: .releasing)
            return [writer]
        }
        // Only readers queue, behind a timed-out writer. Present readers may leave meanwhile: an addition, not a store.
        let readers = queues.readers.take()
        word.add(UInt(readers.count) * Bits.oneReader, ordering: .acquiringAndReleasing)
        word.bitwiseAnd(~Bits.waiters, ordering: .releasing)
        return readers
    }
}
