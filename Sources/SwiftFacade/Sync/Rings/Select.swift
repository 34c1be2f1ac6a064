// SPDX-License-Identifier: Apache-2.0
//
// One waiter for several rings, and for what stands beside them. Select+Members.swift has what it waits for,
// Internal/SelectMembers.swift the part of it that any thread may touch, Internal/WaitSet.swift how a task waits.
//
// One closure a call, and one key of the C set for it: no permit and no turn waits in a list of the select's own while
// a closure throws, or the select is dropped.

import CInterlock

/// One thread or task serves several rings, semaphores and latches, each by a closure of its own.
///
/// ```swift
/// let quotes = try MPMCRing<Int>(capacity: 64), names = try MPMCRing<String>(capacity: 8)
/// let reload = FIFOSemaphore(permits: 0)
/// let select = Select()
/// select.add(quotes) { quote in print(quote) }
/// select.add(names) { name in print(name) }
/// select.add(reload) { print("reloading") }
///
/// var tick = ContinuousClock.now + .seconds(1)
/// while try await select.next(until: tick) != .ended {
///     guard tick <= .now else { continue }
///     print("a second has gone by")
///     tick += .seconds(1)
/// }
/// ```
///
/// A call of `next` runs one closure at most, on the thread or in the task that calls it. Members that stay ready have
/// their turns one after the other: of *n* such members each has its closure called by one of the next *n* calls that
/// run one.
///
/// An element is taken out of its ring for the closure alone: what no closure was given is in the ring, also when a
/// closure throws, the limit passes or the task is cancelled. What was done before the push, the signal or the last
/// ``Latch/countDown()`` is visible to the closure.
///
/// The select has ended when every ring that was added is closed and drained, or has been removed; semaphores, latches
/// and room do not keep it. Another ring may be added then, and it goes on, without the errors of those before. One
/// without a ring does not end.
///
/// It is for one thread or task at a time. Its closures may share state that is not `Sendable`, add members and remove
/// them; the select keeps them, so they hold it `unowned`. A second `next` while one is under way, also from a closure,
/// is reported and ends the process. Any thread may ``Member/remove()`` a member, and wake the select by its ``waker``.
///
/// The rings' other threads and tasks, and other selects, go on beside it: all of them are woken, and one of them gets
/// the element. A thread that pushes or signals while a task waits in a select runs Swift to resume it, also where the
/// ring was made with `resumingOnOwnThread`.
///
/// Source: `ilk_wait_set` in `<interlock/wait_set.h>`, after Go's `select`.
public final class Select {
    /// What a call of `next` came to.
    public enum Outcome: Hashable, Sendable {
        /// A closure ran.
        case served
        /// Nothing was ready, and ``Waker/wake()`` had been called.
        case woken
        /// Nothing was ready until the limit.
        case timedOut
        /// Every ring is closed and drained, or has been removed.
        case ended
    }

    /// Ends waits of a ``Select``. May be used from any thread.
    public struct Waker: Sendable {
        fileprivate let core: SelectCore

        /// Ends the call of `next` that is under way, or else the next one that finds nothing ready. Any number of
        /// calls until then are one. Blocks briefly.
        public func wake() { core.wake() }
    }

    /// A member; its address is the key in the C set.
    private final class Entry {
        let place: SelectPlace
        let takeTurn: () throws -> SelectTurn

        init(_ place: SelectPlace, _ takeTurn: @escaping () throws -> SelectTurn) {
            self.place = place
            self.takeTurn = takeTurn
        }
    }

    let core = SelectCore()
    private var entries: [UnsafeRawPointer: Entry] = [:]
    /// Semaphores' places that are to join their queues.
    private var asking: [SelectPlace] = []
    private var isInCall = false
    private var closingError: (any Error)?
    private var hasEnded = false

    /// A select without members. Allocates.
    public init() {}

    deinit {
        for entry in entries.values { core.remove(entry.place) }
    }

    /// What other threads end a wait with.
    public var waker: Waker { Waker(core: core) }

    // MARK: Blocking

    /// Runs the closure of a member that is ready; blocks the thread until one is.
    ///
    /// - Returns: `.served`, `.woken` or `.ended`.
    /// - Throws: What the closure throws; the select goes on. Instead of `.ended`, the error of the first ring that has
    ///   ended with one.
    /// - Complexity: O(members that may be ready). Calls `ilk_wait_set_wait_until`.
    @available(*, noasync, message: "it blocks the thread; use `try await next`")
    public func next() throws -> Outcome {
        try block(until: forever)
    }

    /// Runs the closure of a member that is ready; blocks the thread while none is, until `deadline` at most. After the
    /// deadline it still runs one that is ready: ask the clock where members may stay ready.
    ///
    /// - Returns: `.served`, `.woken`, `.timedOut` or `.ended`.
    /// - Throws: What the closure throws; the select goes on. Instead of `.ended`, the error of the first ring that has
    ///   ended with one.
    @available(*, noasync, message: "it blocks the thread; use `try await next`")
    public func next(until deadline: ContinuousClock.Instant) throws -> Outcome {
        try block(until: InterlockSync.deadline(at: deadline))
    }

    /// Runs the closure of a member that is ready; blocks the thread while none is, for `timeout` at most.
    ///
    /// - Returns: `.served`, `.woken`, `.timedOut` or `.ended`.
    /// - Throws: What the closure throws; the select goes on. Instead of `.ended`, the error of the first ring that has
    ///   ended with one.
    @available(*, noasync, message: "it blocks the thread; use `try await next`")
    public func next(timeout: Duration) throws -> Outcome {
        try block(until: InterlockSync.deadline(in: timeout))
    }

    private func block(until deadline: UInt64) throws -> Outcome {
        beginCall()
        defer { isInCall = false }
        if let outcome = try probe() { return outcome }
        return try probe(until: deadline) ?? .timedOut
    }

    // MARK: Suspending

    /// Runs the closure of a member that is ready, in the isolation of the caller; suspends the task until one is.
    ///
    /// - Returns: `.served`, `.woken` or `.ended`.
    /// - Throws: `CancellationError` if the task is cancelled: nothing has been taken then, and no closure has run.
    ///   What the closure throws; the select goes on. Instead of `.ended`, the error of the first ring that has ended
    ///   with one.
    public func next(isolation: isolated (any Actor)? = #isolation) async throws -> Outcome {
        try await suspendOrThrow(isolation: isolation, until: nil)
    }

    /// Runs the closure of a member that is ready; suspends the task while none is, until `deadline` at most. After the
    /// deadline it still runs one that is ready: ask the clock where members may stay ready.
    ///
    /// - Returns: `.served`, `.woken`, `.timedOut` or `.ended`.
    /// - Throws: `CancellationError` if the task is cancelled: nothing has been taken then, and no closure has run.
    ///   What the closure throws; the select goes on. Instead of `.ended`, the error of the first ring that has ended
    ///   with one.
    public func next(
        isolation: isolated (any Actor)? = #isolation,
        until deadline: ContinuousClock.Instant
    ) async throws -> Outcome {
        try await suspendOrThrow(isolation: isolation, until: deadline)
    }

    /// Runs the closure of a member that is ready; suspends the task while none is, for `timeout` at most.
    ///
    /// - Returns: `.served`, `.woken`, `.timedOut` or `.ended`.
    /// - Throws: `CancellationError` if the task is cancelled: nothing has been taken then, and no closure has run.
    ///   What the closure throws; the select goes on. Instead of `.ended`, the error of the first ring that has ended
    ///   with one.
    public func next(
        isolation: isolated (any Actor)? = #isolation,
        timeout: Duration
    ) async throws -> Outcome {
        try await suspendOrThrow(isolation: isolation, until: moment(in: timeout))
    }

    private func suspendOrThrow(
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?
    ) async throws -> Outcome {
        let outcome = try await suspend(isolation: isolation, until: deadline)
        guard let outcome else { throw CancellationError() }
        return outcome
    }

    /// `nil`: the task is cancelled.
    func suspend(
        isolation: isolated (any Actor)?,
        until deadline: ContinuousClock.Instant?
    ) async throws -> Outcome? {
        beginCall()
        defer { isInCall = false }
        while !Task.isCancelled {
            // Before the probe: what was ready by then is run, and nothing later is waited for.
            let isLate = hasPassed(deadline)
            core.expectNothing()
            if let outcome = try probe() { return outcome }
            if isLate { return .timedOut }
            _ = await core.suspend(isolation: isolation, until: deadline)
        }
        return nil
    }

    // MARK: A turn

    private func beginCall() {
        if isInCall {
            misuse("Select.next", "", "another call is under way: one thread or task at a time")
        }
        isInCall = true
    }

    /// Runs a closure if a member is ready until `deadline`; nil if none is. Without a deadline it does not wait, and
    /// the listener is notified of what comes after `nil`.
    private func probe(until deadline: UInt64? = nil) throws -> Outcome? {
        while true {
            let news = core.takeNews()
            drop(news.removed)
            if news.isOver { return try end() }
            for place in asking { core.ask(place) }
            asking.removeAll(keepingCapacity: true)
            switch wait(until: news.isWoken ? nil : deadline) {
            case .ready(let key): if try runTurn(of: key) { return .served }
            case .woken: if core.takeWake() { return .woken }
            case .nothing: return core.takeWake() ? .woken : nil
            }
        }
    }

    private func wait(until deadline: UInt64?) -> WaitSet.Answer {
        guard let deadline else { return core.set.wait(until: 0) }
        // What is waited for may need the worker that this blocks.
        ilk_pool_will_block()
        defer { ilk_pool_did_block() }
        return core.set.wait(until: deadline)
    }

    /// Whether a closure ran.
    private func runTurn(of key: UnsafeRawPointer) throws -> Bool {
        // Kept until it is dropped, between two waits.
        let entry = Unmanaged<Entry>.fromOpaque(key).takeUnretainedValue()
        if case .semaphore(_, let bell) = entry.place.kind {
            guard bell.take() else { return false }
            asking.append(entry.place)
        }
        guard core.claimTurn(entry.place) else { return false }
        if case .latch = entry.place.kind { core.remove(entry.place) }
        switch try entry.takeTurn() {
        case .ran: return true
        case .nothing: return false
        case .ended(let error):
            if case .ring = entry.place.kind, closingError == nil { closingError = error }
            core.remove(entry.place)
            return false
        }
    }

    private func end() throws -> Outcome {
        hasEnded = true
        if let closingError { throw closingError }
        return .ended
    }

    // MARK: Members

    func enter(
        _ place: SelectPlace,
        in add: (WaitSet, UnsafeRawPointer) -> Void,
        _ takeTurn: @escaping () throws -> SelectTurn
    ) -> Member {
        let entry = Entry(place, takeTurn)
        let key = UnsafeRawPointer(Unmanaged.passUnretained(entry).toOpaque())
        entries[key] = entry
        place.key = key
        core.add(place)
        add(core.set, key)
        switch place.kind {
        case .semaphore: asking.append(place)
        case .ring where hasEnded: (hasEnded, closingError) = (false, nil)
        default: break
        }
        return Member(place, of: core)
    }

    /// Between two waits: a key that one answers finds its entry.
    private func drop(_ removed: [SelectPlace]) {
        for place in removed {
            if let key = place.key { entries[key] = nil }
        }
    }
}

// One thread or task at a time, as its closures.
@available(*, unavailable)
extension Select: Sendable {}

/// What a member's turn came to.
@usableFromInline
enum SelectTurn {
    case ran
    /// Another thread was faster.
    case nothing
    /// The ring is closed, with this error, and nothing is left to be done.
    case ended((any Error)?)
}
