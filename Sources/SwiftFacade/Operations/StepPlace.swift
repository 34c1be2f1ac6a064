// SPDX-License-Identifier: Apache-2.0
//
// Where the operation made by a `flatMap` step runs. The step itself keeps its place in its queue until that
// operation has finished: to Foundation it is executing. In the same queue the operation
// would need a second place. A serial queue, or one full of such steps, has none: all of them would wait
// for ever. So there it runs in the step's own place: in a queue made for it alone, on the same threads, while
// the step does nothing but wait.
//
// One circle remains: what the closure made waits for an operation behind the step in the same serial queue,
// or for the step. The search for it comes before the wait, and a find fails the step.

import Foundation

/// A queue for one operation, which takes the place of a step in another queue.
///
/// `@unchecked Sendable` because its superclass is; its own state is constant.
final class StepPlace: OperationQueue, @unchecked Sendable {
    private let lender: OperationQueue

    private init(in lender: OperationQueue) {
        self.lender = lender
        super.init()
        name = lender.name
        underlyingQueue = lender.underlyingQueue
        if lender.qualityOfService != .default { qualityOfService = lender.qualityOfService }
    }

    /// The queue a place of which this thread is working in.
    private static var currentLender: OperationQueue? {
        let current = OperationQueue.current
        return (current as? StepPlace)?.lender ?? current
    }

    /// Runs `inner` for `step`, which is executing on this thread: on `queue`, or in the step's place there.
    static func run(
        _ inner: Operation,
        for step: Operation,
        on queue: OperationQueue
    ) throws(OperationDeadlocked) {
        let isOwn = currentLender === queue
        if !inner.isReady, let awaited = circle(from: inner, to: step, holding: isOwn ? queue : nil) {
            throw OperationDeadlocked(
                operation: bareMisuseName(step.name, of: step),
                awaited: bareMisuseName(awaited.name, of: awaited)
            )
        }
        (isOwn ? StepPlace(in: queue) : queue).addOperation(inner)
    }

    /// An operation above `inner` that waits for `step` or for the only place of `queue`, which the step holds.
    private static func circle(
        from inner: Operation,
        to step: Operation,
        holding queue: OperationQueue?
    ) -> Operation? {
        let above = DependencyGraph.unfinished(above: inner)
        if above.contains(where: { $0 === step }) { return step }
        guard let queue, queue.maxConcurrentOperationCount == 1 else { return nil }
        let queued = Set(queue.operations.map(ObjectIdentifier.init))
        return above.first { queued.contains(ObjectIdentifier($0)) && !$0.isExecuting && !$0.isFinished }
    }
}
