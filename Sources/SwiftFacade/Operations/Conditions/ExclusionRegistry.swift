// SPDX-License-Identifier: Apache-2.0
//
// The categories of mutual exclusion of the process. An operation comes with a ticket for all its categories. Under one
// lock it takes a place in each category that has one left, and joins the queue of each other one; a place that is
// given back goes to the first of the queue. A ticket with a place in every category is taken.
//
// A ticket may have a place in one category while it waits in another. That cannot close a cycle: a ticket joins all
// its queues in one section, so of two tickets the same one is first in every category that both want. The first ticket
// of all waits for tickets that are taken only. For the same reason nothing is overtaken, and nothing starves.
//
//     ticket:  made ──enter──▶ waiting ──last place──▶ taken ──giveBack──▶ over
//                └──────────────── giveBack, when cancelled ────────────────▲
//
// Under the lock no lock is taken, and nothing is freed: what is granted is called, and what was asked for is released,
// after it. Lock order: graph, record, registry.

import Foundation
import InterlockPool
import InterlockSync

enum ExclusionRegistry {
    /// A category in use.
    struct Entry {
        let limit: Int
        /// The places that no operation has.
        var free: Int
        /// The tickets with a place, by the order in which they got it.
        var owners: [ExclusionTicket] = []
        var waiting = WaiterList()
    }

    struct State { var entries: [String: Entry] = [:] }

    static let state = VisibleMutex(State())

    /// The names of the operations that have all their categories, or of those that have not.
    static func names(in category: String, holding: Bool) -> [String] {
        let tickets: [ExclusionTicket] = state.withLock { state in
            guard let entry = state.entries[category] else { return [] }
            if holding { return entry.owners.filter { $0.missing == 0 } }
            return entry.owners.filter { $0.missing > 0 }
                + entry.waiting.all.map { ($0 as! WorkWaiter<ExclusionPlace>).work.ticket }
        }
        return tickets.map(\.name)
    }
}

/// The wait of a ticket in one category.
// Touched under the registry's lock only.
final class ExclusionPlace: @unchecked Sendable {
    let category: ExclusionCategory
    /// The ticket owns its places, and is owned by its operation until it has given them back.
    unowned let ticket: ExclusionTicket
    /// Whether the ticket has the place, and does not wait for it.
    var isTaken = false
    private(set) lazy var waiter = WorkWaiter(self)

    init(_ category: ExclusionCategory, of ticket: ExclusionTicket) {
        self.category = category
        self.ticket = ticket
    }
}

/// The claim of one operation on all its categories.
// Touched under the registry's lock, except for what is constant.
final class ExclusionTicket: @unchecked Sendable {
    enum Entered { case taken, waits, withdrawn }
    private enum Phase { case made, entered, over }

    let name: String
    /// Loading a weak reference is atomic. A caller that holds a lock keeps the answer until after it.
    private(set) weak var operation: Operation?
    private let categories: [ExclusionCategory]
    private var places: [ExclusionPlace] = []
    private var phase = Phase.made
    /// Places still waited for.
    fileprivate(set) var missing = 0
    /// Keeps the operation while it waits.
    private var granted: (@Sendable () -> Void)?

    init(
        of operation: Operation,
        named name: String,
        in categories: [ExclusionCategory],
        _ granted: @escaping @Sendable () -> Void
    ) {
        self.operation = operation
        (self.name, self.categories, self.granted) = (name, categories, granted)
    }

    /// Takes all the categories, or waits for those that have no place left. Once.
    func enter() -> Entered {
        let (entered, conflict): (Entered, (ExclusionCategory, Int)?) = ExclusionRegistry.state.withLock {
            state in
            guard phase == .made else { return (.withdrawn, nil) }
            for category in categories {
                if let used = state.entries[category.name]?.limit, used != category.limit {
                    return (.withdrawn, (category, used))
                }
            }
            phase = .entered
            places = categories.map { ExclusionPlace($0, of: self) }
            for place in places { join(place, &state) }
            return (missing == 0 ? .taken : .waits, nil)
        }
        if let (category, used) = conflict {
            let sentence =
                "the category \"\(category)\" is in use with limit \(used), and this operation gives it "
                + "\(category.limit); make the category in one place"
            misuse("AsyncOperation.excludes", "\"\(name)\"", sentence)
        }
        if entered == .taken { takeGranted() }
        return entered
    }

    /// Gives back the places and the waits for places, once; later calls do nothing. Waiters that got their last place
    /// go on, not on this thread's stack.
    func giveBack() {
        let (next, unused) = ExclusionRegistry.state.withLock { state in
            let (wasEntered, unused) = (phase == .entered, granted)
            phase = .over
            granted = nil
            var next: [@Sendable () -> Void] = []
            guard wasEntered else { return (next, unused) }
            for place in places {
                if let ticket = leave(place, &state), let granted = ticket.granted.take() {
                    next.append(granted)
                }
            }
            return (next, unused)
        }
        withExtendedLifetime(unused) {}
        for goOn in next { goOn() }
    }

    /// What a waiting ticket waits for: the first category without a place, and what has one there.
    var reason: WaitReason? {
        ExclusionRegistry.state.withLock { state in
            guard phase == .entered, missing > 0, let place = places.first(where: { !$0.isTaken }) else {
                return nil
            }
            let holder = state.entries[place.category.name]?.owners.first?.name ?? ""
            return .exclusion(category: place.category.name, holder: holder)
        }
    }

    /// The categories it still waits for, each with the tickets that have its places.
    var obstacles: [(category: String, owners: [ExclusionTicket])] {
        ExclusionRegistry.state.withLock { state in
            guard phase == .entered, missing > 0 else { return [] }
            return places.filter { !$0.isTaken }
                .map { ($0.category.name, state.entries[$0.category.name]?.owners ?? []) }
        }
    }

    private func takeGranted() {
        let unused = ExclusionRegistry.state.withLock { _ in granted.take() }
        withExtendedLifetime(unused) {}
    }

    // MARK: Under the lock

    private func join(_ place: ExclusionPlace, _ state: inout ExclusionRegistry.State) {
        let limit = place.category.limit
        var entry =
            state.entries.removeValue(forKey: place.category.name)
            ?? ExclusionRegistry.Entry(limit: limit, free: limit)
        if entry.free > 0 {
            entry.free -= 1
            place.isTaken = true
            entry.owners.append(self)
        } else {
            missing += 1
            entry.waiting.append(place.waiter)
        }
        state.entries[place.category.name] = entry
    }

    /// The ticket that thereby got its last place.
    private func leave(_ place: ExclusionPlace, _ state: inout ExclusionRegistry.State) -> ExclusionTicket? {
        guard var entry = state.entries.removeValue(forKey: place.category.name) else { return nil }
        var served: ExclusionTicket?
        if place.isTaken {
            entry.owners.removeAll { $0 === self }
            served = entry.waiting.takeFirstPlace()?.ticket
            if let served { entry.owners.append(served) } else { entry.free += 1 }
        } else {
            entry.waiting.remove(place.waiter, .cancelled)
        }
        if !entry.owners.isEmpty { state.entries[place.category.name] = entry }
        guard let served else { return nil }
        served.missing -= 1
        return served.missing == 0 ? served : nil
    }
}

extension WaiterList {
    /// Hands a place to the first that waits for it.
    fileprivate mutating func takeFirstPlace() -> ExclusionPlace? {
        var first: ExclusionPlace?
        _ = takeFirst { waiter in
            guard first == nil else { return false }
            first = (waiter as! WorkWaiter<ExclusionPlace>).work
            return true
        }
        first?.isTaken = true
        return first
    }
}
