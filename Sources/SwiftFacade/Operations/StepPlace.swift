// SPDX-License-Identifier: Apache-2.0
//
// The place in which the operation made by a `flatMap` step runs. The step keeps its place in its queue until that
// operation has finished. In a serial queue, or one full of such steps, the operation would wait for a second place for
// ever. So in the step's own queue it runs in the step's place: in a queue made for it alone, on the same threads.
//
// One cycle remains: what the closure made waits for the step, or for an operation behind it in the same serial queue.
// It is searched for before the wait, and fails the step.

import Foundation
import InterlockSync

/// A queue for one operation, in the place of a step in another queue.
///
/// `@unchecked Sendable` because its superclass is; its own state is constant.
final class StepPlace: OperationQueue, @unchecked Sendable {
    private let outerQueue: OperationQueue

    init(in outerQueue: OperationQueue) {
        self.outerQueue = outerQueue
        super.init()
        name = outerQueue.name
        underlyingQueue = outerQueue.underlyingQueue
        if outerQueue.qualityOfService != .default { qualityOfService = outerQueue.qualityOfService }
    }

    /// The queue a place of which this thread works in.
    static var currentOuterQueue: OperationQueue? {
        let current = OperationQueue.current
        return (current as? StepPlace)?.outerQueue ?? current
    }

    /// The queue in which `operation`, which starts on this thread, has its place; nil where it was started by hand on
    /// the main thread: Foundation calls the main queue current there whatever runs, and nothing may drain it.
    static func outerQueue(of operation: Operation) -> OperationQueue? {
        let current = currentOuterQueue
        if OperationQueue.current !== OperationQueue.main { return current }
        return OperationQueue.main.operations.contains { $0 === operation } ? current : nil
    }

    /// Runs `inner` for `step`, which executes on this thread: on `queue`, or in the step's place there.
    static func run(
        _ inner: Operation,
        for step: Operation,
        on queue: any GroupQueue
    ) throws(OperationDeadlocked) {
        let isOwn = queue.hasPlace(for: step)
        if let awaited = cycle(from: inner, to: step, holding: isOwn ? queue : nil) {
            throw OperationDeadlocked(operation: step.nameInExplanations, awaited: awaited.nameInExplanations)
        }
        try checkCategories(step, awaiting: inner)
        (isOwn ? queue.placeForChildren() : queue).addChild(inner)
    }

    /// An operation upstream of `inner` that waits for `step` or for the only place of `queue`, which the step holds.
    private static func cycle(
        from inner: Operation,
        to step: Operation,
        holding queue: (any GroupQueue)?
    ) -> Operation? {
        let upstream = DependencyGraph.unfinished(upstreamOf: inner)
        if upstream.contains(where: { $0 === step }) { return step }
        guard let behind = queue?.queuedBehindOnlyPlace else { return nil }
        let queued = Set(behind.map(ObjectIdentifier.init))
        return upstream.first { queued.contains(ObjectIdentifier($0)) && !$0.isExecuting && !$0.isFinished }
    }
}
