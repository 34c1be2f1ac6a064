// SPDX-License-Identifier: Apache-2.0
//
// Map and for-each over several threads at once, blocking form. The calling thread works beside
// threads made for the call, so elements may block without starving libdispatch's pool. Workers take the next index
// from one counter; each hands its results over once, at its end. So the lock is taken once an element and not
// held while one is in progress.
//
// The blocking forms are disfavoured so that `await` before the call decides: for a closure that fits both forms the
// compiler otherwise finds them equally good.

import Dispatch
import Foundation

extension Sequence where Element: Sendable {
    /// The results of `transform` for each element, in the elements' order, computed several at a time.
    ///
    /// May be called from any thread, also inside another `concurrentMap`. Blocks the calling thread, which works
    /// too, until all workers are done. Elements are begun in order. After the first error (in time) no further element
    /// is begun; those in progress are waited for, then the error is thrown.
    ///
    /// Where the system makes fewer threads than are asked for, those there are do the work, the calling one at
    /// least: an element that waits for another to be in progress may then wait for ever.
    ///
    /// - Parameters:
    ///   - maxConcurrency: how many elements are in progress at most; by default the number of processors. More are of
    ///     use where elements block. A limit below 1 is misuse, reported before the program aborts.
    ///   - transform: called once for each element begun, on the calling thread or on a thread made for the call.
    /// - Returns: one result for each element. Everything the transforms did is visible.
    /// - Complexity: O(*n*) calls; creates `maxConcurrency` - 1 threads, or one fewer than there are elements if
    ///   those are fewer.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; put `try await` before the call"
    )
    public func concurrentMap<Output: Sendable, Failure: Error>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        _ transform: @Sendable (Element) throws(Failure) -> Output
    ) throws(Failure) -> [Output] {
        let elements = Array(self)
        let work = SharedWork<Output, Failure>(count: elements.count)
        let workers = Swift.min(validated(maxConcurrency, "concurrentMap"), elements.count)
        withoutActuallyEscaping(transform) { transform in
            let helpers = DispatchGroup()
            // The helpers' work is a part of what this thread computes for a SingleFlightCache.
            let computation = FlightWaits.current
            work.begin { index throws(Failure) in try transform(elements[index]) }
            for number in 1..<Swift.max(workers, 1) {
                helpers.enter()
                do throws(ThreadUnavailable) {
                    try OwnThread.start(named: "concurrentMap.\(number)") {
                        FlightWaits.inside(computation) { work.run() }
                        helpers.leave()
                    }
                } catch {
                    // The threads that were made do the work, with this one.
                    helpers.leave()
                    break
                }
            }
            work.run()
            helpers.wait()
            // A helper's thread may still be ending. It holds `work`, not the closure:
            // with this the caller's reference to the closure is the last again.
            work.end()
        }
        return try work.results()
    }

    /// Calls `body` for each element, several at a time; otherwise as
    /// `concurrentMap(maxConcurrency:_:)`.
    @_disfavoredOverload
    @available(
        *,
        noasync,
        message: "it would block a thread of the cooperative pool; put `try await` before the call"
    )
    public func concurrentForEach<Failure: Error>(
        maxConcurrency: Int = ProcessInfo.processInfo.activeProcessorCount,
        _ body: @Sendable (Element) throws(Failure) -> Void
    ) throws(Failure) {
        _ = try concurrentMap(maxConcurrency: maxConcurrency, body)
    }

    func validated(_ maxConcurrency: Int, _ call: String) -> Int {
        if maxConcurrency < 1 {
            misuse(
                call,
                "maxConcurrency: \(maxConcurrency)",
                "at least one element must be allowed at a time"
            )
        }
        return maxConcurrency
    }
}

/// The closure, the counter, the results and the first error of one `concurrentMap`.
private final class SharedWork<Output: Sendable, Failure: Error>: Sendable {
    typealias Body = @Sendable (Int) throws(Failure) -> Output

    private struct State {
        var body: Body?
        var next = 0
        var results: [Output?]
        var failure: Failure?
    }

    private let count: Int
    private let state: VisibleMutex<State>

    init(count: Int) {
        self.count = count
        state = VisibleMutex(State(results: Array(repeating: nil, count: count)))
    }

    func begin(_ body: @escaping Body) { state.withLock { $0.body = body } }

    func end() { state.withLock { $0.body = nil } }

    /// One worker: takes indices until none is left or one has failed. Not inlined: its reference
    /// to the closure must be gone when it returns.
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
            guard state.failure == nil, state.next < count else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }

    func results() throws(Failure) -> [Output] {
        let (failure, results) = state.withLock { ($0.failure, $0.results) }
        if let failure { throw failure }
        return results.map { $0! }
    }
}
