// SPDX-License-Identifier: Apache-2.0
//
// What can be seen of an operation of any class, as sentences: its getters, and the queue's count, at the moments
// at which Foundation or its work calls. Linux has no key-value observing.

import Foundation
import Testing

import Interlock

/// The classes of operations that are compared. The first two are Foundation's.
enum StoryKind: CaseIterable {
    case block, subclass, asyncBlock, asyncTask, asyncHandler, asyncSubclass, step

    static let own: [StoryKind] = [.asyncBlock, .asyncTask, .asyncHandler, .asyncSubclass, .step]
    /// Those whose closure holds the queue's thread.
    static let ownHoldingAThread: [StoryKind] = [.asyncBlock, .step]

    func make(_ body: @escaping @Sendable () -> Void) -> Operation {
        switch self {
        case .block: return BlockOperation(block: body)
        case .subclass: return GraphForeign("plain", body)
        case .asyncBlock: return AsyncOperation<Void> { body() }
        case .asyncTask:
            return AsyncOperation<Void> {
                await Task.yield()
                body()
            }
        case .asyncHandler:
            return AsyncOperation<Void> { completion in
                DispatchQueue.global().async {
                    body()
                    completion.succeed()
                }
            }
        case .asyncSubclass:
            return GraphSubclass("subclass") { finish in
                body()
                _ = finish(.success(1))
            }
        case .step:
            let above = AsyncOperation<Int> { 1 }
            above.start()
            return above.then { _ in body() }
        }
    }
}

/// One operation, and one of Foundation's below it, in a queue of their own.
///
/// Unchecked because its operations are Foundation's; its own state is constant after `init` or behind a mutex.
final class OperationStory: @unchecked Sendable {
    let queue = OperationQueue()
    let operation: Operation
    let dependent: Operation
    private let lines = Trace<String>()
    private let (runs, completions) = (Counter(), Counter())
    private let (completed, released) = (Handshake(), Handshake())
    private let box = VisibleBox<OperationStory>()

    /// - Parameter duringWork: called in the operation's work.
    init(_ kind: StoryKind, duringWork: @escaping @Sendable (Operation) -> Void = { _ in }) {
        let box = box
        operation = kind.make { box.value.withLock { $0 }?.work(duringWork) }
        let released = released
        dependent = BlockOperation {
            box.value.withLock { $0 }?.tell("its dependent begins")
            released.give()
        }
        dependent.addDependency(operation)
        box.value.withLock { $0 = self }
        operation.completionBlock = { [self] in
            if completions.increment() == 1 { tell("its completion block") }
            completed.give()
        }
    }

    private func work(_ duringWork: (Operation) -> Void) {
        runs.increment()
        duringWork(operation)
        tell("in its work", count: true)
    }

    /// One line: the getters that are true.
    func tell(_ moment: String, count: Bool = false) {
        let states = [
            (operation.isReady, "ready"), (operation.isExecuting, "executing"),
            (operation.isFinished, "finished"), (operation.isCancelled, "cancelled"),
        ].filter(\.0).map(\.1).joined(separator: ", ")
        lines.add("\(moment): \(states)" + (count ? "; \(queue.operationCount) in the queue" : ""))
    }

    /// Waits for all that the operation sets off. The story, sorted: its lines tell of several threads.
    func ending() -> [String] {
        operation.waitUntilFinished()
        tell("after waitUntilFinished")
        released.take()
        completed.take()
        queue.waitUntilAllOperationsAreFinished()
        tell("at the end", count: true)
        // A second completion block would be queued before this one.
        let (last, done) = (BlockOperation {}, Handshake())
        last.completionBlock = { done.give() }
        queue.addOperation(last)
        done.take()
        lines.add("\(runs.value) runs, \(completions.value) completion blocks")
        box.value.withLock { $0 = nil }
        (operation.completionBlock, last.completionBlock) = (nil, nil)
        return lines.events.sorted()
    }
}
