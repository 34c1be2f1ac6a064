// SPDX-License-Identifier: Apache-2.0
//
// Values that count births and deaths. A balance of zero means neither leaked nor freed twice; a leak detector misses
// some leaks, and crashes on a double free.

import Synchronization

/// Counts the living.
final class LifetimeCounter: Sendable {
    private let born = Atomic<Int>(0)
    private let died = Atomic<Int>(0)

    var living: Int { born.load(ordering: .acquiring) - died.load(ordering: .acquiring) }
    var total: Int { born.load(ordering: .acquiring) }

    fileprivate func birth() { born.add(1, ordering: .acquiringAndReleasing) }
    fileprivate func death() { died.add(1, ordering: .acquiringAndReleasing) }
}

/// A counted reference: copies share one life.
final class Counted: Sendable {
    let id: Int
    private let counter: LifetimeCounter

    init(_ id: Int, _ counter: LifetimeCounter) {
        self.id = id
        self.counter = counter
        counter.birth()
    }

    deinit {
        counter.death()
    }
}

/// Runs code of a user when it is released.
final class AtRelease: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    deinit { body() }
}

/// Noncopyable, and too wide for a register.
struct CountedUnique: ~Copyable, Sendable {
    let id: Int
    private let check: Int
    private let counter: LifetimeCounter

    init(_ id: Int, _ counter: LifetimeCounter) {
        self.id = id
        check = ~id
        self.counter = counter
        counter.birth()
    }

    /// Whether both ends of it arrived.
    var isWhole: Bool { check == ~id }

    deinit {
        counter.death()
    }
}

/// The id of a whole value; -1 for a torn one. A function: a macro cannot look into a noncopyable value.
func id(_ value: borrowing CountedUnique?) -> Int? {
    switch value {
    case .some(let value): value.isWhole ? value.id : -1
    case .none: nil
    }
}
