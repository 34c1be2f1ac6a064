// SPDX-License-Identifier: Apache-2.0
//
// The states of an operation as a stream. Its listener is registered before the present state is read: what changes
// between the two comes twice or out of order, and the later state wins.

import Foundation
import InterlockSync

extension AsyncOperation {
    /// The states from now on: first the present one, last `.finished`, after which the stream ends.
    ///
    /// `for await state in operation.states { … }`. Each access makes a stream of its own, for one task. States come in
    /// their order, each once; one that lasts only a moment may be left out, the end never. The stream ends early when
    /// the task that reads it is cancelled, or when the operation is freed unfinished, which it does not prevent.
    public final var states: AsyncStream<OperationState> {
        let (stream, continuation) = AsyncStream.makeStream(of: OperationState.self)
        let feed = StateFeed(continuation)
        let id = listen { operation, event in
            switch event {
            case .ready: feed.enter(.ready)
            case .executing: feed.enter(.executing)
            // It waits for its dependencies no longer.
            case .cancelled: feed.enter(Self.own(operation).state)
            case .finished: feed.enter(.finished)
            case .enqueued, .starting, .started, .produced: break
            }
        }
        if let id { continuation.onTermination = { [weak self] _ in self?.unlisten(id) } }
        feed.enter(id == nil ? .finished : state)
        return stream
    }
}

/// Passes on what is later than all before. Ends the stream with the last state, or when nothing can come any more.
private final class StateFeed: Sendable {
    private let continuation: AsyncStream<OperationState>.Continuation
    private let last = VisibleMutex<OperationState?>(nil)

    init(_ continuation: AsyncStream<OperationState>.Continuation) { self.continuation = continuation }

    deinit { continuation.finish() }

    func enter(_ state: OperationState) {
        last.withLock { last in
            if let last, last.rank >= state.rank { return }
            last = state
            // In the lock: a later state must not overtake. It runs nothing of the stream's user.
            continuation.yield(state)
        }
        // Outside: it runs the handler of the termination.
        if state == .finished { continuation.finish() }
    }
}

extension OperationState {
    fileprivate var rank: Int {
        switch self {
        case .waiting: 0
        case .ready: 1
        case .executing: 2
        case .finished: 3
        }
    }
}
