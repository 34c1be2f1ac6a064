// SPDX-License-Identifier: Apache-2.0
//
// The listeners of one operation, and the order in which they are called. Several threads change an operation at once;
// a listener that each of them called would hear of the end before the cancellation, or twice at a time. So an event is
// posted to a list, and a thread that finds no other delivering delivers until the list is empty:
//
//   thread that cancels                      thread that finishes
//   posts .cancelled, delivers it
//                                            posts .finished, and goes on
//   delivers .finished
//
// Nothing blocks, and no lock is held while a listener runs. A listener may change the operation.

import Foundation
import InterlockSync

final class Observation: Sendable {
    enum Event: Sendable {
        case enqueued, ready, starting, executing, started, cancelled
        case produced(Operation)
        case finished((any Error)?)
    }

    typealias Listener = @Sendable (Operation, Event) -> Void

    fileprivate struct Entry { var id: UInt64, listener: Listener }

    fileprivate struct State {
        var entries: [Entry] = []
        var lastEntry: UInt64 = 0
        var pending: [(event: Event, entries: [Entry])] = []
        /// A bit for each event that was posted of those that come once.
        var posted: UInt8 = 0
        var isDelivering = false
        /// The end was posted, after which nothing is.
        var isOver = false
    }

    private let state = VisibleMutex(State())

    /// Adds a listener for later events; nil after the end.
    func add(_ listener: @escaping Listener) -> UInt64? {
        state.withLock { state in
            if state.isOver { return nil }
            state.lastEntry += 1
            state.entries.append(Entry(id: state.lastEntry, listener: listener))
            return state.lastEntry
        }
    }

    func remove(_ id: UInt64) {
        let removed = state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.id == id }) else { return Entry?.none }
            return state.entries.remove(at: index)
        }
        // Not freed under the lock.
        withExtendedLifetime(removed) {}
    }

    /// The listeners; for tests.
    var count: Int { state.withLock { $0.entries.count } }

    func post(_ event: Event, of operation: Operation) {
        let delivers = state.withLock { state in
            guard state.accepts(event) else { return false }
            state.pending.append((event, state.entries))
            if case .finished = event { (state.isOver, state.entries) = (true, []) }
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        if delivers { deliver(of: operation) }
    }

    private func deliver(of operation: Operation) {
        while let next = state.withLock({ $0.next() }) {
            for entry in next.entries { entry.listener(operation, next.event) }
        }
    }
}

extension Observation.State {
    /// Whether the event is to be delivered; marks those that come once.
    mutating func accepts(_ event: Observation.Event) -> Bool {
        if isOver { return false }
        let mark: UInt8 =
            switch event {
            case .enqueued: 1
            case .starting: 2
            case .started: 4
            case .cancelled: 8
            case .ready, .executing, .produced, .finished: 0
            }
        defer { posted |= mark }
        return posted & mark == 0
    }

    mutating func next() -> (event: Observation.Event, entries: [Observation.Entry])? {
        if pending.isEmpty {
            isDelivering = false
            return nil
        }
        return pending.removeFirst()
    }
}

extension Observation.Event {
    /// A change on the way. The end is posted by `announceEnd`, with its error.
    init(_ event: OperationEvent) {
        switch event {
        case .ready: self = .ready
        case .executing: self = .executing
        case .cancelled: self = .cancelled
        case .finished: self = .finished(nil)
        }
    }
}
