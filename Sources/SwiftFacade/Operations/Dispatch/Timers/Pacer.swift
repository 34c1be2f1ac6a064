// SPDX-License-Identifier: Apache-2.0
//
// The machine of debounce and throttle, for operations and values alike: which of the items that come in quick
// succession go on, and when. It decides under its lock and puts what goes on into `ready`, in order. `wake` is called
// once for each of them, outside the lock, and takes the first. So the order of the decisions is kept however threads
// overtake each other, and what is dropped in time is taken by nothing.
//
// A round is the wait that one alarm ends. An alarm that has begun when its round is over finds another number, and
// does nothing.

import InterlockSync

/// Which of the values of a quick succession are delivered.
public enum DeliveryEdges: Sendable, Hashable {
    /// The first, at once.
    case leading
    /// The last, at the end.
    case trailing
    /// The first, and the last if it is another.
    case both
}

/// Items in order. Taking the first of many does not move the others.
private struct ReadyItems<Item> {
    private var items: [Item?] = []
    private var taken = 0

    mutating func append(_ item: Item) { items.append(item) }

    mutating func takeFirst() -> Item? {
        guard taken < items.count else { return nil }
        defer {
            taken += 1
            // At least as many have been taken as are moved.
            if taken * 2 >= items.count {
                items.removeFirst(taken)
                taken = 0
            }
        }
        return items[taken].take()
    }

    mutating func takeAll() -> [Item] {
        defer { self = ReadyItems() }
        return items[taken...].compactMap { $0 }
    }
}

final class Pacer<Item: Sendable>: Sendable {
    enum Rule {
        /// Each item begins the wait anew; the items of a series wait no longer than the limit.
        case debounce(limit: Duration?)
        /// The first item begins an interval, of fixed length.
        case throttle
    }

    private struct State {
        var isUnderWay = false
        var held: Item?
        var ready = ReadyItems<Item>()
        /// The wait that the alarm ends, and the series of waits that the limit ends.
        var round = 0
        var series = 0
        var alarm: ClockAlarm?
        var limit: ClockAlarm?
    }

    /// What is to be done outside the lock.
    private struct Step {
        var superseded: Item?
        var delivers = false
        var begins: ClockAlarm?
        var limits: ClockAlarm?
        var over: [ClockAlarm?] = []
    }

    private let interval: Duration
    private let rule: Rule
    private let edges: DeliveryEdges
    private let clock: any Clock<Duration>
    private let wake: @Sendable (Pacer) -> Void
    private let state = VisibleMutex(State())

    init(
        for interval: Duration,
        _ rule: Rule,
        _ edges: DeliveryEdges,
        on clock: any Clock<Duration>,
        wake: @escaping @Sendable (Pacer) -> Void
    ) {
        (self.interval, self.rule, self.edges, self.clock, self.wake) = (interval, rule, edges, clock, wake)
    }

    /// Whether no wait is under way.
    var isIdle: Bool { state.withLock { !$0.isUnderWay } }

    /// Takes an item; gives back the one that will not go on because of it, which may be itself.
    func submit(_ item: Item) -> Item? {
        let step = state.withLock { state in
            guard interval > .zero else {
                state.ready.append(item)
                return Step(delivers: true)
            }
            return accept(item, &state)
        }
        carryOut(step)
        return step.superseded
    }

    /// The first item that goes on, for `wake`; nil where it was dropped.
    func takeReady() -> Item? { state.withLock { $0.ready.takeFirst() } }

    /// Takes out the item that is held back, if it is the one.
    func take(where isTheOne: (Item) -> Bool) -> Item? {
        state.withLock { state in
            guard let held = state.held, isTheOne(held) else { return nil }
            state.held = nil
            return held
        }
    }

    /// Ends the wait of the item that is held back; false if there is none. A series ends in any case, a throttled
    /// interval with an item only.
    func flush() -> Bool {
        let step = state.withLock { state -> Step? in
            if case .throttle = rule, state.held == nil { return nil }
            return end(&state)
        }
        guard let step else { return false }
        carryOut(step)
        return step.delivers
    }

    /// Drops what is held back and what goes on but was not taken; answers whether there was such. A throttled interval
    /// goes on.
    func drop() -> Bool {
        let (items, over): ([Item], [ClockAlarm?]) = state.withLock { state in
            let items = state.ready.takeAll() + (state.held.take().map { [$0] } ?? [])
            guard case .debounce = rule else { return (items, []) }
            return (items, endRound(&state))
        }
        for alarm in over { alarm?.cancel() }
        return !items.isEmpty
    }

    // MARK: Under the lock

    private func accept(_ item: Item, _ state: inout State) -> Step {
        let isFirst = !state.isUnderWay
        var step = Step()
        state.isUnderWay = true
        if isFirst { state.series += 1 }
        if isFirst, edges != .trailing {
            state.ready.append(item)
            step.delivers = true
        } else if edges == .leading {
            step.superseded = item
        } else {
            step.superseded = state.held
            state.held = item
        }
        if case .debounce(let limit) = rule {
            beginRound(&state, &step)
            if isFirst, limit != nil {
                step.over.append(state.limit)
                state.limit = ClockAlarm { [self, series = state.series] in limitPassed(series) }
                step.limits = state.limit
            }
        } else if isFirst {
            beginRound(&state, &step)
        }
        return step
    }

    /// The wait begins anew. Its alarm keeps the pacer.
    private func beginRound(_ state: inout State, _ step: inout Step) {
        state.round += 1
        step.over.append(state.alarm)
        state.alarm = ClockAlarm { [self, round = state.round] in intervalPassed(round) }
        step.begins = state.alarm
    }

    private func endRound(_ state: inout State) -> [ClockAlarm?] {
        state.isUnderWay = false
        state.round += 1
        return [state.alarm.take(), state.limit.take()]
    }

    /// The item that is held back goes on. In a throttle with both edges it begins the next interval.
    private func end(_ state: inout State) -> Step {
        var step = Step()
        step.over = endRound(&state)
        if let item = state.held.take() {
            state.ready.append(item)
            step.delivers = true
            if case .throttle = rule, edges == .both {
                state.isUnderWay = true
                beginRound(&state, &step)
            }
        }
        return step
    }

    // MARK: Outside

    // An alarm may come when its wait has ended, and another one has begun.

    func intervalPassed(_ round: Int) { ring { $0.round == round } }

    func limitPassed(_ series: Int) { ring { $0.series == series && $0.isUnderWay } }

    /// For tests.
    var counts: (round: Int, series: Int) { state.withLock { ($0.round, $0.series) } }

    private func ring(_ isMine: (borrowing State) -> Bool) {
        let step = state.withLock { isMine($0) ? end(&$0) : nil }
        if let step { carryOut(step) }
    }

    private func carryOut(_ step: Step) {
        for alarm in step.over { alarm?.cancel() }
        step.begins?.arm(after: interval, on: clock)
        if case .debounce(let limit?) = rule { step.limits?.arm(after: limit, on: clock) }
        if step.delivers { wake(self) }
    }
}
