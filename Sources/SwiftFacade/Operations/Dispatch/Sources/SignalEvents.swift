// SPDX-License-Identifier: Apache-2.0
//
// The signals of a process as a sequence, and its end.

import InterlockSync

/// The signals that the process receives, for `for await`; made by `GCD.signals(_:)`.
///
/// ```swift
/// for await event in try GCD.signals(.sigterm, .sigint) {
///     print("ending:", event.signal)
///     break
/// }
/// ```
///
/// From its creation on, the sequence receives its signals, and they do nothing else: their default action and a
/// handler that the program had installed are set aside. When the last sequence for a signal ends, what was there
/// before is put back, unless the program has installed a handler since. Several sequences for one signal each get
/// every event. Events that are not taken are merged: one for each signal waits, with its count. A signal that every
/// thread blocks is not received.
///
/// The sequence ends when its task is cancelled, its last iterator is dropped, the sequence is dropped before it has
/// one, or with ``cancel()``. When it has ended, its signals act as before. It may be used from any thread; with
/// several iterators each event goes to one of them.
public final class SignalEvents: AsyncSequence, Sendable {
    fileprivate let core: SignalCore

    init(_ core: SignalCore) { self.core = core }

    deinit { core.end() }

    /// Ends the sequence. Does not wait: ``finished()`` does. Events that were not taken are dropped.
    ///
    /// Apart from ``finished()``, so that a loop over the sequence may call it: one that waited would wait for itself.
    ///
    /// - Returns: whether this call ended it, as of each `cancel` here: of several callers one has.
    @discardableResult
    public func cancel() -> Bool {
        core.mailbox.close()
        return core.end()
    }

    /// The signals of the events that wait; for tests.
    var waitingCount: Int { core.mailbox.waiting.reduce(0) { $0 + $1.count } }

    /// Suspends the task until the sequence has ended and its signals act as before.
    ///
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the sequence is not touched.
    public func finished() async throws(CancellationError) { _ = try await core.mailbox.finished(until: nil) }

    /// Suspends the task until the sequence has ended and its signals act as before, for `timeout` at most.
    ///
    /// - Returns: whether the sequence had ended.
    /// - Throws: `CancellationError` at once if the awaiting task is cancelled; the sequence is not touched.
    public func finished(timeout: Duration) async throws(CancellationError) -> Bool {
        try await core.mailbox.finished(until: moment(in: timeout))
    }

    /// An iterator. None that is made after the end gives an event.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Takes events out. When the last iterator of a sequence is dropped, the sequence ends.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let events: SignalEvents
        private let use: SourceUse

        fileprivate init(_ events: SignalEvents) {
            self.events = events
            use = SourceUse(of: events.core.uses) { [core = events.core] in core.end() }
        }

        /// The next event; nil once the sequence has ended, or the task is cancelled, which ends it. Suspends the task.
        public func next() async -> SignalEvent? { await next(isolation: nil) }

        /// The next event; nil once the sequence has ended, or the task is cancelled, which ends it. Suspends the task.
        /// Runs in the isolation of the caller.
        public func next(isolation actor: isolated (any Actor)?) async -> SignalEvent? {
            let core = events.core
            return await core.mailbox.next(arm: {}, stop: { core.end() })
        }
    }
}

final class SignalCore: Sendable {
    let mailbox = EventMailbox<SignalEvent>()
    let uses = UseCount()
    private let signals: VisibleMutex<[UnixSignal]>

    init(_ signals: [UnixSignal]) throws(SignalsUnavailable) {
        self.signals = VisibleMutex([])
        for signal in signals {
            do throws(SignalsUnavailable) {
                try SignalRelay.add(mailbox, to: signal)
            } catch {
                end()
                throw error
            }
            self.signals.withLock { $0.append(signal) }
        }
    }

    @discardableResult
    func end() -> Bool {
        let signals = signals.withLock { signals in
            defer { signals = [] }
            return signals
        }
        if signals.isEmpty { return false }
        let left = UseCount(signals.count)
        for signal in signals {
            SignalRelay.remove(mailbox, from: signal) { [mailbox] in
                if left.remove() { mailbox.end() }
            }
        }
        return true
    }
}

extension GCD {
    /// The signals that the process receives from now on, as a sequence; see ``SignalEvents``.
    ///
    /// Signals that no program can handle, those by which the system tells a thread of its own fault (SIGSEGV and the
    /// like), unknown numbers, and an empty list, are misuse.
    ///
    /// - Throws: ``SignalsUnavailable`` where the system has no descriptor left for a pipe. No signal is received then.
    public static func signals(_ signals: UnixSignal...) throws(SignalsUnavailable) -> SignalEvents {
        try GCD.signals(signals)
    }

    /// The signals of a list that the process receives from now on, as a sequence; see ``SignalEvents``.
    ///
    /// Signals that no program can handle, unknown numbers, and an empty list, are misuse.
    ///
    /// - Throws: ``SignalsUnavailable`` where the system has no descriptor left for a pipe. No signal is received then.
    public static func signals(_ signals: [UnixSignal]) throws(SignalsUnavailable) -> SignalEvents {
        if signals.isEmpty { misuse("GCD.signals", "", "a sequence for no signal would wait for ever") }
        for signal in signals {
            if let refusal = signal.refusal { misuse("GCD.signals", "\(signal)", refusal) }
        }
        var distinct: [UnixSignal] = []
        for signal in signals where !distinct.contains(signal) { distinct.append(signal) }
        return SignalEvents(try SignalCore(distinct))
    }
}
