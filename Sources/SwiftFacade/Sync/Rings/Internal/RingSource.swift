// SPDX-License-Identifier: Apache-2.0
//
// The jobs of a queue that serve a ring, one at a time, each while there is something to serve; WaitSet.swift says how
// none is missed. The queue is a closure that accepts a job.
//
//   phase     moved by                                                          to
//   idle      the listener: it has the queue accept a job                       working
//   working   the job: the ring is empty, and the set armed                     idle
//   working   the job: 64 elements were served; the queue accepts the next      working
//   idle      cancel: it ends the source itself                                 over
//   working   the job: cancelled, or the ring has ended                         over
//   working   the queue: it ends the job without running it                     over
//
// The thread that moves the source to `working` or `over` has the set, the ring's end and the closure.
//
// Must not happen:
//   - Two jobs. Only one that finds the source idle has a job accepted, or the job itself.
//   - An element is pushed, and no job is to come. A listener that finds the source working leaves a mark, and the job
//     leaves the source idle only where there is none.
//   - The set is destroyed by its listener, for which it waits: the source keeps itself until it is over.

import CInterlock

/// Has a queue accept a job. `dropped` is called instead where the queue ends it without running it, perhaps at once.
package typealias AcceptJob =
    @Sendable (_ job: @escaping @Sendable () -> Void, _ dropped: @escaping @Sendable () -> Void) -> Void

// `work` and `set` are used by one thread at a time, as above.
package final class RingSource: WaitSetListener, @unchecked Sendable {
    private enum Phase { case idle, working, over }

    private struct State {
        var phase = Phase.working
        /// The listener was notified while the source was working.
        var isMarked = false
        var isCancelled = false
        var closingError: (any Error)?
    }

    /// What the end releases.
    private struct Work {
        let set: WaitSet
        let takeTurn: () throws -> SelectTurn
    }

    /// Elements that a job serves before other work of the queue gets its turn.
    private static let turn = 64

    private let state = VisibleMutex(State())
    private let ended = Promise<Void>()
    private let accept: AcceptJob
    private var work: Work?
    private var itself: RingSource?

    /// - Parameters:
    ///   - accept: The queue.
    ///   - add: Adds the ring's end to a set.
    init(
        _ accept: @escaping AcceptJob,
        in add: (WaitSet, UnsafeRawPointer) -> Void,
        _ takeTurn: @escaping () throws -> SelectTurn
    ) {
        self.accept = accept
        let set = WaitSet(self)
        work = Work(set: set, takeTurn: takeTurn)
        itself = self
        add(set, UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()))
    }

    /// Has the first job accepted. Once.
    func begin() { acceptJob() }

    var closingError: (any Error)? { state.withLock { $0.closingError } }

    func finished(until deadline: ContinuousClock.Instant?) async throws(CancellationError) -> Bool {
        try await ended.value(until: deadline) != nil
    }

    @discardableResult
    func cancel() -> Bool {
        let (isFirst, ends) = state.withLock { state in
            if state.isCancelled || state.phase == .over { return (false, false) }
            state.isCancelled = true
            if state.phase == .working { return (true, false) }
            state.phase = .over
            return (true, true)
        }
        if ends { end() }
        return isFirst
    }

    // MARK: Jobs

    func tell() {
        let begins = state.withLock { state in
            guard state.phase == .idle else {
                state.isMarked = true
                return false
            }
            state.phase = .working
            return true
        }
        if begins { acceptJob() }
    }

    private func acceptJob() {
        accept({ self.run() }, { self.drop() })
    }

    private func run() {
        // The closure is not kept beyond its call: the end releases it.
        for _ in 0..<RingSource.turn {
            guard prepare() else { return finish() }
            // The closure does not throw.
            switch try! work!.takeTurn() {
            case .ran: continue
            case .nothing: break
            case .ended(let error):
                state.withLock { $0.closingError = error }
                return finish()
            }
            switch work!.set.wait(until: 0) {
            case .ready, .woken: continue
            case .nothing: if rest() { return }
            }
        }
        acceptJob()
    }

    /// Before a probe of the ring. False: cancelled.
    private func prepare() -> Bool {
        state.withLock { state in
            state.isMarked = false
            return !state.isCancelled
        }
    }

    /// Nothing is there, and the set is armed. False: something has come, or the source was cancelled.
    private func rest() -> Bool {
        state.withLock { state in
            if state.isMarked || state.isCancelled { return false }
            state.phase = .idle
            return true
        }
    }

    /// The queue does not run the job. Perhaps on the thread of the listener.
    private func drop() {
        Task.detached { self.finish() }
    }

    private func finish() {
        state.withLock { $0.phase = .over }
        end()
    }

    /// By the thread that has moved the source to `over`.
    private func end() {
        let work = work.take()
        work?.set.destroy()
        itself = nil
        // Released before the end is reported.
        _ = consume work
        ended.fulfil(())
    }
}

extension RingSource {
    /// Serves the elements of `ring`.
    package convenience init<Element: ~Copyable>(
        _ ring: MPMCRing<Element>,
        by accept: @escaping AcceptJob,
        _ body: @escaping @Sendable (consuming sending Element) -> Void
    ) {
        let port = ring.port
        self.init(accept, in: { $0.add(port, ILK_READABLE, $1) }) {
            try Select.takeTurn(port, ring.waiters, body)
        }
    }

    /// Serves the elements of `consumer`'s ring, and keeps the consumer.
    package convenience init<Element: ~Copyable>(
        _ consumer: consuming sending SPSCRing<Element>.Consumer,
        by accept: @escaping AcceptJob,
        _ body: @escaping @Sendable (consuming sending Element) -> Void
    ) {
        let port = consumer.port
        let consumer = consumer
        self.init(accept, in: { $0.add(port, ILK_READABLE, $1) }) {
            try Select.takeTurn(consumer.port, consumer.waiters, body)
        }
    }
}
