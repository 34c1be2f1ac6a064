// SPDX-License-Identifier: Apache-2.0
//
// Map and for-each over several threads at once, blocking form. The calling thread works beside helpers, jobs of
// WorkerPool.blocking: elements may block without starving libdispatch's pool. Workers take the next index from one
// counter; each hands its results over at its end.
//
//   caller                              helper
//     submits the helpers
//     works until no index is left        lock: is there a body? joins the group, works, leaves it
//     lock: takes the body away           lock: none? nothing
//     waits for the group
//
// So a call waits for the helpers that have begun, never for one behind other work of the pool.
//
// The blocking forms are disfavoured so that `await` before the call decides where a closure fits both forms.

import Dispatch
import Foundation
import InterlockPool
import InterlockSync

extension Sequence where Element: Sendable {
    /// The results of `transform` for each element, in the elements' order, computed several at a time.
    ///
    /// May be called from any thread, also inside another `concurrentMap`. Blocks the calling thread, which works too,
    /// until all workers are done. Elements are begun in order. After the first error (in time) none is begun; those in
    /// progress are waited for, then it is thrown.
    ///
    /// Where ``WorkerPool/blocking`` has too few free threads, those there are do the work, the calling one at least: an
    /// element that waits for another to be in progress may then wait for ever.
    ///
    /// - Parameters:
    ///   - maxConcurrency: how many elements are in progress at most; by default the number of processors. More are of
    ///     use where elements block. Below 1 is misuse.
    ///   - transform: called once for each element begun, on the calling thread or one of the pool.
    /// - Returns: one result for each element. Everything the transforms did is visible.
    /// - Complexity: O(*n*) calls; submits one job fewer than `maxConcurrency`, or than there are elements if those are
    ///   fewer.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentMap<Output: Sendable, Failure: Error>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output] {
        try mapped(maxConcurrency, until: nil, transform)!
    }

    /// As `concurrentMap(maxConcurrency:_:)`, with a limit: no element is begun after `deadline`; those in progress are
    /// waited for.
    ///
    /// - Returns: `nil` if an element was not begun in time.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentMap<Output: Sendable, Failure: Error>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        until deadline: ContinuousClock.Instant,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output]? {
        try mapped(maxConcurrency, until: deadline, transform)
    }

    /// As `concurrentMap(maxConcurrency:until:_:)`, for `timeout` at most.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentMap<Output: Sendable, Failure: Error>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        timeout: Duration,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output]? {
        try mapped(maxConcurrency, until: moment(in: timeout), transform)
    }

    private func mapped<Output: Sendable, Failure: Error>(
        _ maxConcurrency: Int,
        until deadline: ContinuousClock.Instant?,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output]? {
        requireRoom(for: maxConcurrency)
        let elements = Array(self)
        let work = SharedWork<Output, Failure>(count: elements.count, deadline: deadline)
        let workers = Swift.min(maxConcurrency, elements.count)
        withoutActuallyEscaping(transform) { transform in
            // The helpers' work is part of what this thread computes for a SingleFlightCache.
            let computation = FlightWaits.current
            work.begin { index throws(Failure) in try transform(elements[index]) }
            if workers > 1, let pool = WorkerPool.blockingIfAvailable {
                for _ in 1..<workers
                where !pool.submit({ FlightWaits.inside(computation) { work.help() } }) { break }
            }
            work.run()
            work.end()
        }
        return try work.results()
    }

    /// As `concurrentMap(maxConcurrency:_:)`, without results.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentForEach<Failure: Error>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        _ body: @Sendable (Element) throws(Failure) -> Void
    ) throws(Failure) {
        _ = try concurrentMap(maxConcurrency: maxConcurrency, body)
    }

    /// As `concurrentMap(maxConcurrency:until:_:)`, without results.
    ///
    /// - Returns: whether every element was begun in time.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentForEach<Failure: Error>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        until deadline: ContinuousClock.Instant,
        _ body: @Sendable (Element) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try concurrentMap(maxConcurrency: maxConcurrency, until: deadline, body) != nil
    }

    /// As `concurrentForEach(maxConcurrency:until:_:)`, for `timeout` at most.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message:
            "it would block a thread of the cooperative pool; put `try await` before the call, in a function"
    )
    public func concurrentForEach<Failure: Error>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        timeout: Duration,
        _ body: @Sendable (Element) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try concurrentMap(maxConcurrency: maxConcurrency, timeout: timeout, body) != nil
    }

    func requireRoom(for maxConcurrency: Int) {
        if maxConcurrency < 1 {
            misuse(
                "concurrentMap",
                "maxConcurrency: \(maxConcurrency)",
                "at least one element must be allowed at a time"
            )
        }
    }
}

/// The state of one `concurrentMap`.
private final class SharedWork<Output: Sendable, Failure: Error>: Sendable {
    typealias Body = @Sendable (Int) throws(Failure) -> Output

    private struct State {
        var body: Body?
        var next = 0
        var results: [Output?]
        var failure: Failure?
        /// An element was not begun in time.
        var isLate = false
    }

    private let count: Int
    private let deadline: ContinuousClock.Instant?
    private let state: VisibleMutex<State>
    /// The helpers that have begun; entered under the lock.
    private let helpers = DispatchGroup()

    init(count: Int, deadline: ContinuousClock.Instant?) {
        self.count = count
        self.deadline = deadline
        state = VisibleMutex(State(results: Array(repeating: nil, count: count)))
    }

    func begin(_ body: @escaping Body) { state.withLock { $0.body = body } }

    /// From here on no helper begins; waits for those that have.
    func end() {
        state.withLock { $0.body = nil }
        WorkerPool.withBlockingCall { helpers.wait() }
    }

    /// A helper's part: the caller's, unless the call has ended.
    func help() {
        let begins = state.withLock { state in
            if state.body != nil { helpers.enter() }
            return state.body != nil
        }
        if begins {
            run()
            helpers.leave()
        }
    }

    /// One worker: takes indices until none is left or one has failed. Not inlined: its reference to the closure must
    /// be gone when it returns.
    @inline(never)
    func run() {
        guard let body = state.withLock({ $0.body }) else { return }
        var mine: [(index: Int, output: Output)] = []
        while let index = takeIndex() {
            do throws(Failure) {
                mine.append((index, try body(index)))
            } catch {
                state.withLock { if $0.failure == nil { $0.failure = error } }
                return
            }
        }
        let done = mine
        state.withLock { for (index, output) in done { $0.results[index] = output } }
    }

    private func takeIndex() -> Int? {
        state.withLock { state in
            guard state.failure == nil, !state.isLate, state.next < count else { return nil }
            if let deadline, ContinuousClock.now >= deadline {
                state.isLate = true
                return nil
            }
            defer { state.next += 1 }
            return state.next
        }
    }

    /// Once, after ``end()``; nil where an element was not begun in time.
    func results() throws(Failure) -> [Output]? {
        // A helper that has not begun may hold `self` for long: nothing of the outcome is left here.
        let (failure, results, isLate) = state.withLock { state in
            defer { (state.failure, state.results) = (nil, []) }
            return (state.failure, state.results, state.isLate)
        }
        if let failure { throw failure }
        return isLate ? nil : results.map { $0! }
    }
}
