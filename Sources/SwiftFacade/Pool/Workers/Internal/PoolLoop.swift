// SPDX-License-Identifier: Apache-2.0
//
// Loops on the pool. The C core calls a part with a range of indices; what an element is, and what becomes of an error,
// is decided here.
//
// The first error is the first by index: after an error no greater index begins, and all lower ones still run. So a
// loop throws what a sequential one would throw. The threads read one latch an element, which is closed until there is
// an error or a cancellation; only then they take the lock.

import CInterlock
import InterlockSync

/// What has stopped a loop, and where.
// Any number of threads may call the latch; the rest is behind the lock.
@usableFromInline
final class LoopControl: @unchecked Sendable {
    private struct Stop {
        /// No index from here on begins.
        var limit = Int.max
        var failure: (any Error)?
        var isCancelled = false
        /// Whether an index did not begin because of the cancellation.
        var hasSkipped = false
    }

    private let isStopped = CObject<ilk_latch> { ilk_latch_init($0, 1) }
    private let stop = VisibleMutex(Stop())

    @usableFromInline
    init() {}

    /// Whether the element at `index` may begin.
    @usableFromInline
    func allows(_ index: Int) -> Bool {
        if !ilk_latch_try_wait(isStopped.pointer) { return true }
        return stop.withLock { stop in
            if stop.isCancelled { stop.hasSkipped = true }
            return !stop.isCancelled && index < stop.limit
        }
    }

    /// The element at `index` has thrown.
    @usableFromInline
    func fail(_ error: any Error, at index: Int) {
        let dropped: (any Error)? = stop.withLock { stop in
            open(&stop)
            guard index < stop.limit else { return error }
            defer { (stop.limit, stop.failure) = (index, error) }
            return stop.failure
        }
        withExtendedLifetime(dropped) {}
    }

    /// A thread's part of the loop: `body` with each element and its position, until one may not begin or throws.
    @inlinable @inline(__always)
    func runPart<Elements: RandomAccessCollection, Failure: Error>(
        of elements: Elements,
        _ first: Int,
        _ end: Int,
        _ body: (Elements.Element, Int) throws(Failure) -> Void
    ) {
        var index = elements.index(elements.startIndex, offsetBy: first)
        for position in first..<end {
            // What cannot fail is not stopped: the probe would cost more than a light body.
            if Failure.self != Never.self, !allows(position) { return }
            do throws(Failure) {
                try body(elements[index], position)
            } catch {
                fail(error, at: position)
                return
            }
            elements.formIndex(after: &index)
        }
    }

    func cancel() {
        stop.withLock { stop in
            open(&stop)
            stop.isCancelled = true
        }
    }

    private func open(_ stop: inout Stop) {
        if stop.limit == .max, !stop.isCancelled { ilk_latch_count_down(isStopped.pointer) }
    }

    /// What the loop ends with, when it has ended.
    @usableFromInline
    var failure: (any Error)? {
        stop.withLock { $0.hasSkipped ? CancellationError() : $0.failure }
    }
}

/// The results of a loop, each written by the thread that computes it.
// Each place is written once, by one thread, and read after the loop.
@usableFromInline
final class LoopResults<Output>: @unchecked Sendable {
    @usableFromInline let outputs: UnsafeMutablePointer<Output>
    /// Whether the output at an index is there.
    @usableFromInline let isThere: UnsafeMutablePointer<Bool>
    @usableFromInline let count: Int
    @usableFromInline var isTaken = false

    @inlinable
    init(count: Int) {
        self.count = count
        outputs = .allocate(capacity: count)
        isThere = .allocate(capacity: count)
        isThere.initialize(repeating: false, count: count)
    }

    @inlinable
    deinit {
        if !isTaken {
            for index in 0..<count where isThere[index] { (outputs + index).deinitialize(count: 1) }
        }
        outputs.deallocate()
        isThere.deallocate()
    }

    @inlinable @inline(__always)
    func put(_ output: consuming Output, at index: Int) {
        (outputs + index).initialize(to: output)
        isThere[index] = true
    }

    /// All outputs, of a loop that has ended without an error. Once.
    @inlinable
    func take() -> [Output] {
        isTaken = true
        // The empty array is one object of the process, which the initialiser writes to.
        if count == 0 { return [] }
        return Array(unsafeUninitializedCapacity: count) { memory, initialized in
            memory.baseAddress?.moveInitialize(from: outputs, count: count)
            initialized = count
        }
    }
}

/// The part of a loop that runs on one thread.
@usableFromInline
typealias LoopPart = (_ first: Int, _ end: Int) -> Void

private struct LoopBody {
    let part: LoopPart
}

extension PoolCore {
    /// Calls `part` for parts of 0 to `count` - 1, and waits for them. False: the pool is closed, and nothing was
    /// called.
    func loop(_ count: Int, _ grain: Int, _ part: LoopPart) -> Bool {
        withoutActuallyEscaping(part) { part in
            withUnsafePointer(to: LoopBody(part: part)) { body in
                ilk_pool_for(
                    pool,
                    0,
                    count,
                    grain,
                    { context, first, end in
                        let body = context!.assumingMemoryBound(to: LoopBody.self)
                        PoolThread.runsJob { body.pointee.part(first, end) }
                    },
                    UnsafeMutableRawPointer(mutating: body)
                )
            }
        }
    }
}

/// A loop for which a task waits: a job of the pool makes it.
final class SuspendingLoop: PoolObject {
    private let part: PendingWork<@Sendable (Int, Int) -> Void>
    private let count: Int
    private let grain: Int
    private let core: PoolCore
    private let control: LoopControl
    let result = Promise<(any Error)?>()
    private let computation = FlightWaits.current

    init(
        _ core: PoolCore,
        _ count: Int,
        _ grain: Int,
        _ control: LoopControl,
        _ part: @escaping @Sendable (Int, Int) -> Void
    ) {
        (self.core, self.count, self.grain, self.control) = (core, count, grain, control)
        self.part = PendingWork(part)
    }

    package func run() {
        guard let part = part.claim() else { return }
        let computation = computation
        // A worker's own loop is not refused.
        _ = core.loop(count, grain) { first, end in
            FlightWaits.inside(computation) { part(first, end) }
        }
        result.fulfil(control.failure)
    }

    package func handBack(to core: PoolCore) {
        guard part.claim() != nil else { return }
        result.fulfil(WorkerPoolError.closed(pool: core.name))
    }

    /// Submits the loop and waits for its end.
    func wait(_ priority: ilk_priority) async throws {
        try Task.checkCancellation()
        guard core.submit(.object(self), priority) else { throw WorkerPoolError.closed(pool: core.name) }
        if await result.wait() == .cancelled {
            if part.claim() != nil { throw CancellationError() }
            control.cancel()
        }
        if let error = await result.take() { throw error }
    }
}
