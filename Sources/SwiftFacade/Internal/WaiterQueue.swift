// SPDX-License-Identifier: Apache-2.0
//
// Threads and tasks in one line. The C primitives queue threads; a task must not hold one while it
// waits, and yet takes its place in the same order. So where tasks may wait, the facade keeps the line:
// each waiter is a node that knows how to be woken, a thread by a semaphore of its own, a task by its
// continuation.
//
// The queue has no lock. Its owner guards it and the waiters' fields with one; only `resume`, which runs
// the scheduler, belongs outside.
//
// Lifetime: the queue holds the waiters that stand in it, and whoever waits holds its waiter until it is
// through. A waiter that has been taken out by a granter is the granter's until it has been resumed:
// nobody else touches its links. Removal is O(1), for time-outs and cancellations.

import CInterlock

/// Why a wait ended.
enum WaitOutcome {
    /// What was waited for was handed over.
    case granted
    /// The limit passed first; nothing was handed over.
    case timedOut
    /// The task was cancelled first; nothing was handed over.
    case cancelled
}

/// One thread or task that waits.
// Touched under its owner's lock only, or by the one granter that took it out of the line.
class Waiter: @unchecked Sendable {
    fileprivate(set) var isQueued = false
    fileprivate var next: Waiter?
    // The queue holds its waiters by `next`, so the way back need not.
    fileprivate unowned(unsafe) var previous: Waiter?

    /// Lets the waiter go on: it has been granted what it waits for. Once, outside the owner's lock.
    func resume() {}
}

/// A thread in line: it sleeps on a semaphore of its own.
// Adds a C semaphore, made for any number of threads.
final class ThreadWaiter: Waiter, @unchecked Sendable {
    private let parker = CObject<ilk_semaphore> { ilk_semaphore_init($0, 0) }

    override func resume() {
        ilk_semaphore_signal(parker.pointer, 1)
    }

    /// Sleeps until resumed; false if `deadline` passed first.
    func park(until deadline: UInt64) -> Bool {
        ilk_semaphore_wait_until(parker.pointer, deadline) == ILK_OK
    }
}

/// A task in line: it is suspended.
// Adds fields under the rule of Waiter.
class TaskWaiter: Waiter, @unchecked Sendable {
    private var continuation: CheckedContinuation<WaitOutcome, Never>?
    /// The wait was given up before it began.
    private(set) var abandoned: WaitOutcome?

    /// Remembers how to wake the task. Under the owner's lock, with the waiter about to queue.
    func suspend(_ continuation: CheckedContinuation<WaitOutcome, Never>) {
        self.continuation = continuation
    }

    /// Notes that the wait is to end before it has begun. Under the owner's lock.
    func abandon(_ outcome: WaitOutcome) {
        if abandoned == nil {
            abandoned = outcome
        }
    }

    override func resume() {
        end(.granted)
    }

    /// Ends the wait. Once, outside the owner's lock, by whoever took the waiter out of the line.
    func end(_ outcome: WaitOutcome) {
        let continuation = continuation.take()
        continuation?.resume(returning: outcome)
    }
}

/// Waiters, first come first.
struct WaiterQueue {
    private var first: Waiter?
    private var last: Waiter?
    private(set) var count = 0

    mutating func append(_ waiter: Waiter) {
        waiter.isQueued = true
        link(waiter)
    }

    /// Takes out waiters from the front as long as `serve` answers that it has given one what it waits for, as a
    /// queue of the caller's own.
    mutating func takeFirst(while serve: (Waiter) -> Bool) -> WaiterQueue {
        var taken = WaiterQueue()
        while let waiter = first, serve(waiter) {
            remove(waiter)
            taken.link(waiter)
        }
        return taken
    }

    /// Takes out the first waiter: what it waits for is now its own.
    mutating func takeFirst() -> Waiter? {
        guard let waiter = first else { return nil }
        remove(waiter)
        return waiter
    }

    /// Takes out the first `limit` waiters, or all if there are fewer, as a queue of the caller's own.
    mutating func takeFirst(_ limit: Int) -> WaiterQueue {
        var taken = WaiterQueue()
        while taken.count < limit, let waiter = takeFirst() {
            taken.link(waiter)
        }
        return taken
    }

    /// Takes `waiter` out; false if it is no longer in line, because it has been granted.
    @discardableResult
    mutating func remove(_ waiter: Waiter) -> Bool {
        guard waiter.isQueued else { return false }
        waiter.isQueued = false
        unlink(waiter)
        return true
    }

    /// Resumes every waiter of a queue that `takeFirst` made. Outside the owner's lock.
    consuming func resumeAll() {
        while let waiter = first {
            // Unlinked before it is resumed: its thread may be gone right after.
            unlink(waiter)
            waiter.resume()
        }
    }

    private mutating func link(_ waiter: Waiter) {
        waiter.previous = last
        if let last {
            last.next = waiter
        } else {
            first = waiter
        }
        last = waiter
        count += 1
    }

    private mutating func unlink(_ waiter: Waiter) {
        let next = waiter.next
        if let previous = waiter.previous {
            previous.next = next
        } else {
            first = next
        }
        if let next {
            next.previous = waiter.previous
        } else {
            last = waiter.previous
        }
        waiter.next = nil
        waiter.previous = nil
        count -= 1
    }
}

// Touched under its owner's lock only, or by the one granter that made it.
extension WaiterQueue: @unchecked Sendable {}
