// SPDX-License-Identifier: Apache-2.0
//
// Several closures in one operation, all running at once, each on a thread of its own: closures that sleep sleep
// together. Foundation's `BlockOperation` runs its blocks one after the other on Linux.
//
//   execute                                  each thread
//   makes the threads, all of them      ──▶  waits for the start
//   one is refused: calls it off             ends
//   all are there: opens the start      ──▶  takes closures until there are no more; the last one finishes

import Foundation
import InterlockSync

/// An operation that runs several closures at once, each where it may block, and ends after the last.
///
/// The result is the closures' values in the order they were added, or the first error in that order; an error does not
/// stop the others. A cancellation starts no further closure and waits for those that run, which may read
/// `isCancelled`; the operation then ends with ``OperationCancelled``. All of it may be used from any thread.
///
/// The threads are made before the first closure begins: each closure may wait for another in progress. If the system
/// makes too few, no closure runs and the operation fails with ``ThreadUnavailable``.
///
/// Unchecked `Sendable` because its superclass is; its own state is behind a mutex or constant.
public final class ConcurrentBlockOperation<Value: Sendable>: AsyncOperation<[Value]>, @unchecked Sendable {
    private struct Blocks {
        var waiting: [@Sendable () throws -> Value] = []
        var results: [Result<Value, any Error>?] = []
        var next = 0
        var workers = 0
        var hasBegun = false
        var isCalledOff = false
    }

    private let blocks = VisibleMutex(Blocks())
    private let maxConcurrency: Int

    /// Makes an operation without closures.
    ///
    /// - Parameters:
    ///   - name: names the operation and its threads, in errors, reports and debuggers.
    ///   - maxConcurrency: how many closures run at once at most; by default all. Below 1 is misuse.
    public init(name: String? = nil, maxConcurrency: Int = .max) {
        if maxConcurrency < 1 {
            let sentence = "at least one closure must be allowed at a time"
            misuse("ConcurrentBlockOperation", "maxConcurrency: \(maxConcurrency)", sentence)
        }
        self.maxConcurrency = maxConcurrency
        super.init()
        self.name = name
    }

    /// Makes an operation of these closures.
    public convenience init(
        name: String? = nil,
        maxConcurrency: Int = .max,
        _ blocks: [@Sendable () throws -> Value]
    ) {
        self.init(name: name, maxConcurrency: maxConcurrency)
        for block in blocks { addBlock(block) }
    }

    /// Adds a closure, before the operation has begun; later is misuse.
    public func addBlock(_ block: @escaping @Sendable () throws -> Value) {
        let isTooLate = blocks.withLock { state in
            if !state.hasBegun { state.waiting.append(block) }
            return state.hasBegun
        }
        if isTooLate {
            misuse("ConcurrentBlockOperation.addBlock", displayName, "it has begun; add closures before that")
        }
    }

    /// Makes the threads and starts them together.
    public override func execute() {
        let workers = blocks.withLock { state in
            state.hasBegun = true
            state.results = Array(repeating: nil, count: state.waiting.count)
            state.workers = min(maxConcurrency, state.waiting.count)
            return state.workers
        }
        guard workers > 0 else {
            finish(value: [])
            return
        }
        let start = Latch(count: 1)
        do throws(ThreadUnavailable) {
            for number in 0..<workers {
                let (title, quality) = (name ?? "blocks", UInt32(exactly: qualityOfService.rawValue))
                try OwnThread.start(named: "\(title).\(number)", quality: quality) { [self] in
                    start.wait()
                    work()
                }
            }
            start.countDown()
        } catch {
            let unused = blocks.withLock { state in
                defer { (state.waiting, state.results, state.isCalledOff) = ([], [], true) }
                return state.waiting
            }
            withExtendedLifetime(unused) {}
            start.countDown()
            finish(error: error)
        }
    }

    /// Starts no further closure; the running ones end the operation.
    public override func executionCancelled() {}

    /// One thread: runs closures until there are no more; the last ends the operation.
    private func work() {
        while let (index, block) = takeBlock() {
            let result = Result(catching: block)
            blocks.withLock { $0.results[index] = result }
        }
        let last = blocks.withLock { state -> Blocks? in
            state.workers -= 1
            guard state.workers == 0, !state.isCalledOff else { return nil }
            defer { (state.waiting, state.results) = ([], []) }
            return state
        }
        guard let results = last?.results else { return }
        if isCancelled {
            finish(error: cancellationError)
        } else {
            finish(Result { try results.map { try $0!.get() } })
        }
    }

    private func takeBlock() -> (Int, @Sendable () throws -> Value)? {
        if isCancelled { return nil }
        return blocks.withLock { state in
            guard state.next < state.waiting.count else { return nil }
            defer { state.next += 1 }
            return (state.next, state.waiting[state.next])
        }
    }
}
