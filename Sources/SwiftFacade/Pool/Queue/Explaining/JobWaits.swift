// SPDX-License-Identifier: Apache-2.0
//
// What light jobs wait for. An edge between two jobs of a queue is kept by the upper one, so the lower one's are found
// by asking all of the queue. What a job waits for elsewhere it keeps itself. Both are complete when the job is made.

import InterlockSync

extension JobsAbove {
    /// Of one source without a copy.
    var allOperations: [WeakWork] {
        operations.isEmpty ? operationsOfJobs : operations + operationsOfJobs
    }
}

extension JobNode {
    /// Before the node is in its queue.
    package func wait(behind operation: any WaitingWork & Sendable) {
        withStripe { fields, _ in extras(fields).extras.above.operations.append(WeakWork(operation)) }
    }

    /// The same, of a job for which it waits; `operations`: those above that.
    func wait(behind job: JobNode, _ operations: [WeakWork]) {
        withStripe { fields, _ in
            let box = extras(fields)
            if job.core !== core { box.extras.above.jobs.append(job) }
            if box.extras.above.operationsOfJobs.isEmpty {
                box.extras.above.operationsOfJobs = operations
            } else {
                box.extras.above.operationsOfJobs += operations
            }
        }
    }

    var above: JobsAbove { withStripe { fields, _ in fields.pointee.box?.extras.above ?? JobsAbove() } }

    /// Those above it, also through jobs.
    package var operationsAbove: [WeakWork] {
        withStripe { fields, _ in fields.pointee.box?.extras.above.allOperations ?? [] }
    }

    /// Those that wait for this node; none where it has ended.
    fileprivate var successors: [JobNode] {
        withStripe { fields, _ in
            var found: [JobNode] = []
            if fields.pointee.state.hasEnded { return found }
            // Each lives while this one has not told it of its end.
            var link = fields.pointee.successor
            while let node = link?.takeUnretainedValue() {
                found.append(node)
                link = node.fields.pointee.sibling
            }
            return found + (fields.pointee.box?.extras.successors.map { $0.takeUnretainedValue() } ?? [])
        }
    }
}

extension QueueCore {
    /// What each job of the queue that waits for others of it waits for, by its address.
    ///
    /// - Complexity: O(*n* + *e*).
    func edges() -> [ObjectIdentifier: [JobNode]] {
        var above: [ObjectIdentifier: [JobNode]] = [:]
        for node in stripes.nodes {
            for successor in node.successors { above[ObjectIdentifier(successor), default: []].append(node) }
        }
        return above
    }
}
