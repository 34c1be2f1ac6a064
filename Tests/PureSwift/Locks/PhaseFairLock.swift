// SPDX-License-Identifier: Apache-2.0
//
// A phase-fair reader–writer lock that parks its waiters, over one atomic word, a mutex and semaphores.
//
// The rule is Brandenburg and Anderson's ("Spin-based reader-writer synchronization for multiprocessor
// real-time systems", 2010): reading and writing take turns. A reader that waits is let in after at most
// one write, because a writer that leaves admits every reader waiting at that moment; a writer waits for
// the readers present when it queued, the writers queued before it, and one group of readers after each.
// Where theirs spins on tickets, this one parks and hands over, since a ticket cannot be withdrawn when a
// deadline passes.
//
// The word:
//
//     bit 0       writer    a writer holds the lock
//     bit 1       waiters   somebody queues: nobody may take the lock by the fast path, and whoever
//                           leaves last hands it over
//     bits 2...   readers   how many hold the lock for reading
//
// `writer` and a reader count exclude each other. `waiters` is set only while the lock is held, under the
// mutex of the queues, so that the holder's release must see it; it is cleared under that mutex too.
//
// What it cannot do that the C-backed `ReadWriteLock` can: upgrade and downgrade; wait without
// allocating; fit into 16 bytes; tell by name who holds it. It spins without a pause instruction (the
// standard library has none in its API), parks on semaphores whose time-outs Linux takes from the wall
// clock, and all readers meet on one word, so they do not scale with processors.
//
// Recursion: none. A thread that reads while it reads deadlocks with a writer that queued between.

import Synchronization

/// A phase-fair reader–writer lock around a value. All calls are thread-safe; a section must not take the
/// same lock again.
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

    /// Runs `body` with the value beside other readers, never beside a writer. Blocks while a writer holds
    /// the lock or one that came earlier waits; allocates when it has to wait.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if !tryReadLock() { readLockSlowly() }
        defer { readUnlock() }
        return try body(value.pointee)
    }

    /// Runs `body` alone with the value. Blocks while anybody holds the lock; allocates when it has to wait.
    @inlinable
    public func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if !tryWriteLock() { writeLockSlowly() }
        defer { writeUnlock() }
        return try body(&value.pointee)
    }

    /// As `withReadLock` if that needs no waiting; nil, and `body` not run, otherwise. Never blocks.
    @inlinable
    public func withReadLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard tryReadLock() else { return nil }
        defer { readUnlock() }
        return try body(value.pointee)
    }

    /// As `withWriteLock` if that needs no waiting; nil, and `body` not run, otherwise. Never blocks.
    @inlinable
    public func withWriteLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard tryWriteLock() else { return nil }
        defer { writeUnlock() }
        return try body(&value.pointee)
    }

    /// As `withReadLock`, waiting until `deadline` at most; nil when it passed first. A deadline that has
    /// passed still takes a lock that needs no waiting.
    @inlinable
    public func withReadLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant,
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard tryReadLock() || readLockSlowly(until: deadline) else { return nil }
        defer { readUnlock() }
        return try body(value.pointee)
    }

    /// As `withWriteLock`, waiting until `deadline` at most; nil when it passed first. A wait given up
    /// leaves nothing behind: readers it held back are let in at once.
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

// @unchecked: the word decides who touches the value. Readers run beside each other, so the value itself
// must be Sendable.
extension PhaseFairLock: @unchecked Sendable where Value: Sendable & ~Copyable {}

/// The bits of the word.
@usableFromInline
enum Bits {
    @usableFromInline static var writer: UInt { 1 }
    @usableFromInline static var waiters: UInt { 2 }
    @usableFromInline static var oneReader: UInt { 4 }
}

/// Who queues. Guarded by the mutex around it.
private struct Queues: Sendable {
    var readers = WaiterLine()
    var writers = WaiterLine()
    var isEmpty: Bool { readers.isEmpty && writers.isEmpty }
}

// MARK: - Fast paths

extension PhaseFairLock where Value: ~Copyable {
    @inlinable
    func tryReadLock() -> Bool {
        var seen = word.load(ordering: .relaxed)  // relaxed: a guess, checked by the exchange
        while seen & (Bits.writer | Bits.waiters) == 0 {
            // Acquire, pairs with the release of writeUnlock: the last write is visible to this reader.
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
        // Release, pairs with the acquire of the next writer or of handOver: this thread has finished
        // reading before anybody writes.
        let left = word.wrappingSubtract(Bits.oneReader, ordering: .releasing).newValue
        if left == Bits.waiters { lastReaderLeft() }
    }

    @inlinable
    func writeUnlock() {
        // Release, pairs with the acquire of whoever takes the lock next: the write is visible to it.
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
    /// How often a thread looks before it queues. A section shorter than a sleep and a wake-up (some ten
    /// thousand cycles) is cheaper to wait out; a longer one costs at most this much for nothing.
    private static var looksBeforeQueueing: Int { 200 }

    @usableFromInline
    @inline(never)
    @discardableResult
    func readLockSlowly(until deadline: ContinuousClock.Instant? = nil) -> Bool {
        for _ in 0..<Self.looksBeforeQueueing where tryReadLock() { return true }
        let waiter: Waiter? = queues.withLock { queues in
            while true {
                let seen = word.load(ordering: .relaxed)
                if seen & Bits.writer == 0 && queues.writers.isEmpty {
                    // `waiters` may still be set for an instant, by readers only; the count stays right.
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
        for _ in 0..<Self.looksBeforeQueueing where tryWriteLock() { return true }
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

    /// Acquire and release: taking the lock follows the last holder's release, and a thread that
    /// hands the lock on passes along what it has seen.
    private func exchange(_ seen: UInt, for new: UInt) -> Bool {
        word.compareExchange(expected: seen, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    /// What a thread whose time has run out finds: true, it holds the lock after all; false, it has left the
    /// queue, and those it held back have been let in.
    private func wasServed(_ waiter: Waiter, in line: WritableKeyPath<Queues, WaiterLine>) -> Bool {
        let (served, admitted): (Bool, [Waiter]) = queues.withLock { queues in
            guard queues[keyPath: line].leave(waiter) else { return (true, []) }
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
            // Nobody else changes the word now: the writer excludes readers, `waiters` the fast paths, and
            // the mutex the slow ones. So stores will do. Release: the write is visible to those admitted.
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

    /// Gives a lock that no writer holds to whoever is next, and answers whom to wake. Called under the
    /// mutex, after the last reader left or somebody left the queue; does nothing if the lock has
    /// been given to somebody else in between, so that it may be called once too often.
    private func handOver(_ queues: inout Queues) -> [Waiter] {
        if queues.isEmpty {
            word.bitwiseAnd(~Bits.waiters, ordering: .relaxed)  // relaxed: carries no data
            return []
        }
        // Acquire, pairs with the release of readUnlock: the readers have finished; the store below passes
        // that on to the writer.
        let seen = word.load(ordering: .acquiring)
        if seen & Bits.writer != 0 { return [] }
        if !queues.writers.isEmpty {
            // A writer waits for the readers present; the last of them comes here again.
            if seen >= Bits.oneReader { return [] }
            guard let writer = queues.writers.takeFirst() else { return [] }
            word.store(Bits.writer | (queues.isEmpty ? 0 : Bits.waiters), ordering: .releasing)
            return [writer]
        }
        // Only readers queue, behind a writer that has given up. Present readers may leave meanwhile, so
        // this is an addition and not a store.
        let readers = queues.readers.take()
        word.add(UInt(readers.count) * Bits.oneReader, ordering: .acquiringAndReleasing)
        word.bitwiseAnd(~Bits.waiters, ordering: .releasing)
        return readers
    }
}
