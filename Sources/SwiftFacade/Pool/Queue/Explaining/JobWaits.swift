// SPDX-License-Identifier: Apache-2.0
//
// What light jobs wait for. An edge between two jobs of a queue is kept by the upper one, so the lower one's are found
// by asking all of the queue. What a job waits for elsewhere it keeps itself. Both are complete when the job is made.

extension UpstreamWork {
    /// Both lists as one; where one is empty, the other without a copy.
    var allOperations: [WeakWork] { operations.isEmpty ? operationsOfJobs : operations + operationsOfJobs }
}

extension JobNode {
    /// Keeps `operation`, for which this job waits. Before the node is in its queue.
    package func wait(behind operation: any WaitingWork & Sendable) {
        withStripe { fields, _ in extras(fields).extras.upstream.operations.append(WeakWork(operation)) }
    }

    /// Keeps `job`, for which this one waits, and `operations`, for which that one waits. Before the node is in its
    /// queue.
    func wait(behind job: JobNode, _ operations: [WeakWork]) {
        withStripe { fields, _ in
            let box = extras(fields)
            if job.core !== core { box.extras.upstream.jobs.append(job) }
            if box.extras.upstream.operationsOfJobs.isEmpty {
                box.extras.upstream.operationsOfJobs = operations
            } else {
                box.extras.upstream.operationsOfJobs += operations
            }
        }
    }

    var keptUpstream: UpstreamWork {
        withStripe { fields, _ in fields.pointee.box?.extras.upstream ?? UpstreamWork() }
    }

    /// The operations that it waits for, also through jobs.
    package var upstreamOperations: [WeakWork] {
        withStripe { fields, _ in fields.pointee.box?.extras.upstream.allOperations ?? [] }
    }

    /// The nodes that wait for this one; none where it has ended.
    fileprivate var successors: [JobNode] {
        withStripe { fields, _ in
            var found: [JobNode] = []
            if fields.pointee.state.hasEnded { return found }
            // Each lives until it has learned of this one's end.
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
        var upstream: [ObjectIdentifier: [JobNode]] = [:]
        for node in stripes.nodes {
            for successor in node.successors {
                upstream[ObjectIdentifier(successor), default: []].append(node)
            }
        }
        return upstream
    }
}
