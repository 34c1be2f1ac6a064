// SPDX-License-Identifier: Apache-2.0
//
// One waiting thread, and a first-come-first-served queue of them.
//
// A `Waiter` is made for one wait: pure Swift has neither thread-local storage nor a futex. The mutex of the queue
// guards the links. They belong to the thread that takes the waiter out, until it wakes the waiter.

import Dispatch
import Synchronization

// @unchecked: the mutex of the queue guards the links and the flag; the waiting thread makes the semaphore, and `state`
// hands it to the waking thread.
/// A thread that waits, or is about to. It sleeps here; the thread that takes the waiter out of the queue wakes it,
/// exactly once.
@usableFromInline
final class Waiter: @unchecked Sendable {
    private enum State {
        static let waiting: UInt8 = 0
        static let asleep: UInt8 = 1
        static let woken: UInt8 = 2
    }

    private let state = Atomic<UInt8>(State.waiting)
    private var semaphore: DispatchSemaphore?
    fileprivate var next: Waiter?
    fileprivate var previous: Waiter?

    /// Guarded by the queue's mutex. After a time-out, false says that the waiter has been served meanwhile.
    fileprivate(set) var isQueued = false

    /// Sleeps until woken, or until `deadline` has passed; nil waits for ever. True when woken.
    ///
    /// Spins first: otherwise each section of a handed-over lock would cost a sleep and a wake-up.
    ///
    /// On Linux libdispatch turns the time-out into one of the wall clock. A wait that ends early, because the clock
    /// was set forward, goes back to sleep. A wait sleeps at most `longestNap` at a time, the bound on how late it ends
    /// when the clock is set back.
    func sleep(until deadline: ContinuousClock.Instant?) -> Bool {
        // Acquire, pairs with wake: what the waking thread did is visible.
        for _ in 0..<Self.probesBeforeSleeping where state.load(ordering: .acquiring) == State.woken {
            return true
        }
        let semaphore = DispatchSemaphore(value: 0)
        self.semaphore = semaphore
        // Release part: the semaphore is there before the waking thread reads it.
        let fellAsleep = state.compareExchange(
            expected: State.waiting,
            desired: State.asleep,
            ordering: .acquiringAndReleasing
        ).exchanged
        guard fellAsleep else { return true }
        guard let deadline else {
            semaphore.wait()
            return true
        }
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            let nap = max(.zero, min(left, Self.longestNap))
            if semaphore.wait(timeout: .now() + .nanoseconds(nap.wholeNanoseconds)) == .success {
                return true
            }
            if left <= .zero { return false }
        }
    }

    /// Wakes the thread that sleeps here, or keeps it from sleeping.
    func wake() {
        // Acquire part: the semaphore; release part: see sleep.
        if state.exchange(State.woken, ordering: .acquiringAndReleasing) == State.asleep {
            semaphore?.signal()
        }
    }

    private static let probesBeforeSleeping = 2_000
    private static let longestNap = Duration.seconds(1)
}

/// A doubly linked queue of waiters: O(1) to join, to serve the first and to leave. Guarded by the owner's mutex.
@usableFromInline
struct WaiterQueue: Sendable {
    private var first: Waiter?
    private var last: Waiter?
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func join(_ waiter: Waiter) {
        waiter.isQueued = true
        waiter.previous = last
        if let last { last.next = waiter } else { first = waiter }
        last = waiter
        count += 1
    }

    /// Takes `waiter` out of the queue; false if it is not there any more.
    mutating func leave(_ waiter: Waiter) -> Bool {
        guard waiter.isQueued else { return false }
        if let previous = waiter.previous { previous.next = waiter.next } else { first = waiter.next }
        if let next = waiter.next { next.previous = waiter.previous } else { last = waiter.previous }
        waiter.next = nil
        waiter.previous = nil
        waiter.isQueued = false
        count -= 1
        return true
    }

    /// Takes out the first waiter. The caller must wake it.
    mutating func takeFirst() -> Waiter? {
        guard let waiter = first else { return nil }
        _ = leave(waiter)
        return waiter
    }

    /// Takes out up to `limit` waiters, in order. The caller must wake each.
    mutating func take(upTo limit: Int = .max) -> [Waiter] {
        var taken: [Waiter] = []
        taken.reserveCapacity(min(limit, count))
        while taken.count < limit, let waiter = takeFirst() { taken.append(waiter) }
        return taken
    }
}

extension Duration {
    /// In nanoseconds, cut off below; for some seconds only.
    var wholeNanoseconds: Int {
        Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000)
    }
}
