// SPDX-License-Identifier: Apache-2.0
//
// The waiters of one queue, threads and tasks alike, first come, first served. The C primitives queue threads, and a
// task must not hold one while it waits.
//
// Intrusive and doubly linked: a time-out or a cancellation removes its waiter in O(1) and nothing is allocated. Its
// owner guards it.

package struct WaiterList {
    private var first: Waiter?
    private var last: Waiter?
    package private(set) var count = 0

    package init() {}

    /// Appends a waiter whose race is open.
    package mutating func append(_ waiter: Waiter) {
        waiter.state = .queued
        link(waiter)
    }

    /// Takes waiters out from the front while `serve` returns that it has given one its event.
    package mutating func takeFirst(while serve: (Waiter) -> Bool) -> WaiterList {
        var taken = WaiterList()
        while let waiter = first, serve(waiter) {
            remove(waiter, .granted)
            taken.link(waiter)
        }
        return taken
    }

    /// Takes out the first waiter to which `serve` has given its event, if there is one.
    package mutating func take(firstWhere serve: (Waiter) -> Bool) -> WaiterList {
        var taken = WaiterList()
        var next = first
        while let waiter = next, taken.count == 0 {
            next = waiter.next
            guard serve(waiter) else { continue }
            remove(waiter, .granted)
            taken.link(waiter)
        }
        return taken
    }

    /// Takes out the first `limit` waiters, or all if there are fewer: they have their event.
    package mutating func takeFirst(_ limit: Int) -> WaiterList {
        var taken = WaiterList()
        while taken.count < limit, let waiter = first {
            remove(waiter, .granted)
            taken.link(waiter)
        }
        return taken
    }

    package mutating func takeAll() -> WaiterList {
        takeFirst(.max)
    }

    /// The waiters, the first one first.
    package var all: [Waiter] {
        var all: [Waiter] = []
        var next = first
        while let waiter = next {
            all.append(waiter)
            next = waiter.next
        }
        return all
    }

    /// Takes `waiter` out and decides its race; false if it is not in the list.
    @discardableResult
    package mutating func remove(_ waiter: Waiter, _ outcome: WaitOutcome) -> Bool {
        guard case .queued = waiter.state else { return false }
        waiter.state = .decided(outcome)
        unlink(waiter)
        return true
    }

    /// Resumes every waiter of a list that `takeFirst` made. Outside the owner's lock.
    package consuming func resumeAll() {
        while let waiter = first {
            // Unlinked first: its thread may be gone right after.
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

// Touched under its owner's lock only, or by the one thread that made it.
extension WaiterList: @unchecked Sendable {}
