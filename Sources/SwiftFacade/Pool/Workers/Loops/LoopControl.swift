// SPDX-License-Identifier: Apache-2.0
//
// What the workers of one loop share: which elements are handed out, and what has stopped the loop. The workers are
// the calling thread and helpers, jobs of a pool; or child tasks. Each takes a run of elements, the next ones in
// order, until none is left.
//
//   caller                              helper
//     submits the helpers
//                                         yields
//     works until no element is left      lock: is there a body? registers, works, unregisters
//     lock: takes the body away           lock: none? nothing
//     waits for the registered helpers
//
// So a call waits for the helpers that have begun, never for one behind other work of the pool.
//
// The length of a run is adaptive: as many elements as took about 2 µs for each worker at the last, one at first and at
// most twice as many as before. So elements that block are handed out one by one, and light ones by the thousand. It is
// at most an eighth of a worker's even share of what is left (guided self-scheduling, Polychronopoulos and Kuck,
// 1987). Rejected, with figures in docs/pool.md: a fixed division, lazy binary splitting.
//
// Because runs are handed out in order, all elements before one that has thrown are with a worker, which still runs
// them; so the error of the loop is the first by position, as in a sequential loop.

import CInterlock
import InterlockSync

/// Calls the body for the elements at these positions.
@usableFromInline
typealias LoopPart = @Sendable (Range<Int>) -> Void

@usableFromInline
final class LoopControl: PoolObject {
    private struct State {
        var part: LoopPart?
        /// The first position that is with no worker.
        var next = 0
        /// What was handed out and not run.
        var abandoned: [Range<Int>] = []
        /// None from here on begins: the position of the first failure, or 0 once the loop is cancelled.
        var limit = Int.max
        var failure: (any Error)?
        var isCancelled = false
        /// The helpers that have begun.
        var helpers = 0
    }

    @usableFromInline let count: Int
    /// How many elements are in progress at most.
    @usableFromInline let workers: Int
    private let pool: WorkerPool?
    private let priority: WorkerPool.Priority
    /// The helpers' work is a part of what the caller computes for a SingleFlightCache.
    private let computation = FlightWaits.current
    private let state = VisibleMutex(State())
    /// Open once there is a limit: read for each element, without the lock.
    private let isStopped = CObject<ilk_latch> { ilk_latch_init($0, 1) }
    /// Given by the last helper.
    private let ended = CObject<ilk_semaphore> { ilk_semaphore_init($0, 0) }

    /// A loop of `count` elements. `call`, with a `maxConcurrency` below 1, is reported.
    @usableFromInline
    init(
        _ call: StaticString,
        _ count: Int,
        _ maxConcurrency: Int?,
        on pool: WorkerPool? = nil,
        _ priority: WorkerPool.Priority = .normal
    ) {
        if let maxConcurrency, maxConcurrency < 1 {
            let sentence = "at least one element must be allowed at a time"
            misuse("\(call)", "maxConcurrency: \(maxConcurrency)", sentence)
        }
        self.count = count
        let width = maxConcurrency ?? min(Self.processors, pool?.core.threads ?? .max)
        workers = min(width, count)
        self.pool = pool
        self.priority = priority
    }

    private static let processors = Int(ilk__thread_processors())

    // MARK: Threads

    /// Makes the loop, on this thread and helpers.
    // Inlinable, and `part` is called here too: so the compiler sees the body, and a light one becomes vector code on
    // the calling thread. A helper calls a closure, which costs a call an element: no pass of the compiler (6.3) brings
    // one closure into another that is stored.
    @inlinable @inline(__always)
    func run(_ part: LoopPart) {
        withoutActuallyEscaping(part) { stored in
            begin(stored)
            var pace = LoopPace()
            while let run = take(&pace) { part(run) }
            end()
        }
    }

    @usableFromInline
    func begin(_ part: @escaping LoopPart) {
        state.withLock { $0.part = part }
        guard workers > 1, let core = (pool ?? .blockingIfAvailable)?.core else { return }
        for _ in 1..<workers where !core.submit(.object(self), priority.inC) { break }
    }

    /// A helper.
    package func run() {
        ilk__thread_yield()  // it may have been woken where the caller runs, in front of it
        let begins = state.withLock { state in
            if state.part != nil { state.helpers += 1 }
            return state.part != nil
        }
        guard begins else { return }
        FlightWaits.inside(computation, work)
        let isLast = state.withLock { state in
            state.helpers -= 1
            return state.helpers == 0 && state.part == nil
        }
        if isLast { ilk_semaphore_signal(ended.pointer, 1) }
    }

    package func handBack(to _: PoolCore) {}

    // Not inlined: its reference to the closure must be gone when it returns.
    @inline(never)
    private func work() {
        guard let part = state.withLock({ $0.part }) else { return }
        var pace = LoopPace()
        while let run = take(&pace) { part(run) }
    }

    /// From here on no helper begins; waits for those that have.
    @usableFromInline
    func end() {
        let isAlone = state.withLock { state in
            state.part = nil
            return state.helpers == 0
        }
        if !isAlone {
            WorkerPool.withBlockingCall { _ = ilk_semaphore_wait_until(ended.pointer, forever) }
        }
    }

    /// Makes the loop in a job of the pool, by `make`. Suspends the task, whose cancellation ends the loop.
    @usableFromInline
    func suspended<Outcome: Sendable>(_ make: @escaping @Sendable () throws -> Outcome) async throws
        -> Outcome
    {
        try await withTaskCancellationHandler {
            try await (pool ?? .blocking).run(priority: priority, make)
        } onCancel: {
            cancel()
        }
    }

    // MARK: Handing out

    /// The next elements, for a worker; nil where the loop has none left, or has stopped.
    @usableFromInline
    func take(_ pace: inout LoopPace, at now: UInt64 = ilk_now_ns()) -> Range<Int>? {
        pace.adapt(to: workers, at: now)
        return state.withLock { state in
            guard state.next < min(count, state.limit) else { return nil }
            pace.length = min(pace.length, max(1, (count - state.next) / 8 / workers))
            defer { state.next += pace.length }
            return state.next..<state.next + pace.length
        }
    }

    /// Whether the element at `position` may begin.
    @usableFromInline
    func allows(_ position: Int) -> Bool {
        !ilk_latch_try_wait(isStopped.pointer) || state.withLock { position < $0.limit }
    }

    /// The element at `position` has thrown.
    @usableFromInline
    func fail(_ error: any Error, at position: Int) {
        let dropped: (any Error)? = state.withLock { state in
            guard position < state.limit else { return error }
            stop(&state, at: position)
            defer { state.failure = error }
            return state.failure
        }
        withExtendedLifetime(dropped) {}
    }

    /// These elements, of a run that was handed out, will not run.
    @usableFromInline
    func abandon(_ run: Range<Int>) { state.withLock { $0.abandoned.append(run) } }

    /// No further element begins.
    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            stop(&state, at: 0)
        }
    }

    private func stop(_ state: inout State, at position: Int) {
        if state.limit == .max { ilk_latch_count_down(isStopped.pointer) }
        state.limit = min(state.limit, position)
    }

    // MARK: The outcome, after the loop

    /// Throws the first error by position; or that of a cancellation, where it kept an element from beginning.
    @usableFromInline
    func throwFailure<Failure: Error>(_: Failure.Type) throws(Failure) {
        // A helper that has not begun may hold `self` for long: nothing of the outcome is left here.
        let failure = state.withLock { state in
            state.failure.take() ?? (state.isCancelled && !isComplete(state) ? CancellationError() : nil)
        }
        if let failure { throw failure as! Failure }
    }

    /// Whether every element has run.
    @usableFromInline
    var isComplete: Bool { state.withLock { isComplete($0) } }

    private func isComplete(_ state: State) -> Bool { state.next == count && state.abandoned.isEmpty }

    /// Releases the outputs of a loop that is not complete.
    @usableFromInline
    func release<Output>(_ outputs: LoopOutputs<Output>) {
        let (next, abandoned) = state.withLock { ($0.next, $0.abandoned) }
        var position = 0
        for gap in abandoned.sorted(by: { $0.lowerBound < $1.lowerBound }) + [next..<next] {
            (outputs.memory + position).deinitialize(count: gap.lowerBound - position)
            position = gap.upperBound
        }
    }
}

/// How long the runs of one worker are.
@usableFromInline
struct LoopPace {
    @usableFromInline var length = 0
    @usableFromInline var began: UInt64 = 0

    @inlinable
    init() {}

    /// The last run has ended.
    fileprivate mutating func adapt(to workers: Int, at now: UInt64) {
        let target = 2_000 * Double(workers)
        let ratio = target / Double(max(now - began, 1))
        // A body that the compiler removes takes no time, for any number of elements: only the doubling limits it.
        length = max(1, ratio < 2 ? Int(Double(length) * ratio) : 2 * length)
        began = now
    }
}

/// Memory for the outputs of a loop; the worker that has an element initialises its place.
// Each place is written once, by one worker, and read after the loop.
@usableFromInline
struct LoopOutputs<Output>: @unchecked Sendable {
    @usableFromInline let memory: UnsafeMutablePointer<Output>

    @inlinable
    init(_ memory: UnsafeMutablePointer<Output>) { self.memory = memory }

    @inlinable @inline(__always)
    func put(_ output: consuming Output, at position: Int) { (memory + position).initialize(to: output) }
}

// MARK: One run

extension LoopControl {
    /// Calls `body` with each element of a run and its position, until one may not begin or throws.
    @inlinable @inline(__always)
    func forEach<Elements: RandomAccessCollection, Failure: Error>(
        in run: Range<Int>,
        of elements: Elements,
        _ body: (Elements.Element, Int) throws(Failure) -> Void
    ) {
        let chunk = elements.chunk(run)
        let isDone: Void? = chunk.withContiguousStorageIfAvailable { runThrough($0, at: run, body) }
        if isDone == nil { runThrough(chunk, at: run, body) }
    }

    @inlinable @inline(__always)
    func runThrough<Chunk: Sequence, Failure: Error>(
        _ chunk: Chunk,
        at run: Range<Int>,
        _ body: (Chunk.Element, Int) throws(Failure) -> Void
    ) {
        var position = run.lowerBound
        for element in chunk {
            // What cannot fail is not stopped: the probe would cost more than a light body.
            if Failure.self != Never.self, !allows(position) { return abandon(position..<run.upperBound) }
            do throws(Failure) {
                try body(element, position)
            } catch {
                fail(error, at: position)
                return abandon(position..<run.upperBound)
            }
            position &+= 1
        }
    }
}

extension RandomAccessCollection {
    /// The elements at these positions.
    @inlinable @inline(__always)
    func chunk(_ run: Range<Int>) -> SubSequence {
        let first = index(startIndex, offsetBy: run.lowerBound)
        return self[first..<index(first, offsetBy: run.count)]
    }
}
