// SPDX-License-Identifier: Apache-2.0
//
// The place in which an operation goes on that waited without a thread. Foundation's queue started it on a thread of
// its own, and the operation gave that thread back while it waited. It still has its place in the queue, so its work
// runs in that place: as an operation of a queue made for it alone, on the same threads (`StepPlace.swift`). There a
// step of the work finds the queue it runs in, as it would have without the wait.

import Foundation
import InterlockPool

/// A queue of this module that can run a part of an operation it has started.
protocol ResumingQueue: ExplainingQueue {
    /// Runs `body`, later, in the place that `operation` has.
    func resume(_ operation: Operation, _ body: @escaping @Sendable () -> Void)
}

struct ResumePlace: Sendable {
    private let outerQueue: OperationQueue?
    private let queue: (any ResumingQueue)?

    /// To be made on the thread that starts `operation`, which `queue` started.
    init(of operation: Operation, startedIn queue: (any ExplainingQueue)?) {
        self.queue = queue as? any ResumingQueue
        outerQueue = self.queue == nil ? StepPlace.outerQueue(of: operation) : nil
    }

    /// The queue in which `operation` has its place.
    func queue(of operation: Operation) -> (any GroupQueue)? {
        QueueCore.outerQueue(of: operation) ?? outerQueue
    }

    /// Runs `other` in the place that `operation` has.
    func add(_ other: Operation, for operation: Operation) {
        (other as? any ObservedOperation)?.announceEnqueued()
        if let core = QueueCore.outerQueue(of: operation) { return core.placeForChildren().addChild(other) }
        (outerQueue.map { StepPlace(in: $0) } ?? OperationQueue()).addOperation(other)
    }

    /// Runs `body`, later and not on this thread's stack. A started operation in no queue goes on on a thread of
    /// libdispatch.
    func run(for operation: Operation, _ body: @escaping @Sendable () -> Void) {
        if let queue { return queue.resume(operation, body) }
        if let outerQueue, outerQueue !== OperationQueue.main {
            let part = BlockOperation(block: body)
            part.qualityOfService = operation.qualityOfService
            part.queuePriority = operation.queuePriority
            return StepPlace(in: outerQueue).addOperation(part)
        }
        let target: DispatchQueue =
            outerQueue == nil ? .global(qos: .init(operation.qualityOfService)) : .main
        target.async(execute: body)
    }
}

extension DispatchQoS.QoSClass {
    init(_ quality: QualityOfService) {
        switch quality {
        case .userInteractive: self = .userInteractive
        case .userInitiated: self = .userInitiated
        case .utility: self = .utility
        case .background: self = .background
        default: self = .default
        }
    }
}
