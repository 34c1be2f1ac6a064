// SPDX-License-Identifier: Apache-2.0
//
// Collects what work waits for: from that asked about upward, breadth first, each once. No lock is held while another
// is asked, so the answer is not of one moment.

import InterlockSync

/// A piece of work that waits for others: a light job, or an operation.
package protocol WaitingWork: AnyObject {
    /// Its name in explanations.
    var nameInExplanations: String { get }
    /// Whether it waits for nothing any more.
    var isFinished: Bool { get }
    /// What it waits for, perhaps also what has finished.
    func upstreamWork(_ walk: inout WaitWalk) -> [any WaitingWork]
    /// Why it has not ended; `upstream` has not finished. Nil where it has.
    func reasons(_ upstream: [any WaitingWork], _ walk: inout WaitWalk) -> [WaitReason]?
    /// Whether it is known to be in no queue, so that none will start it.
    func isInNoQueue(_ walk: WaitWalk) -> Bool
}

package struct WaitWalk {
    private var entries: [WaitExplanation.Entry] = []
    private var met: Set<ObjectIdentifier> = []
    /// All that is met is kept: an address stands for one operation or job.
    private var waiters: [any WaitingWork] = []
    /// The edges between the jobs of each queue of which one was met.
    private var jobEdges: [ObjectIdentifier: [ObjectIdentifier: [JobNode]]] = [:]
    /// What runs in queues of this module, by name.
    private var running: [ObjectIdentifier: [String]] = [:]
    /// The queue in which an operation is known to be.
    package var queueOf: [ObjectIdentifier: AnyObject] = [:]
    /// Why a queue of Foundation starts no operation, for each that was asked.
    package var busy: [ObjectIdentifier: WaitReason?] = [:]
    /// By child of a class that knows no groups: the suspended group.
    package var suspendedIn: [ObjectIdentifier: String] = [:]

    package init() {}

    /// Explains what `start` waits for.
    package mutating func explain(_ start: [any WaitingWork]) -> WaitExplanation {
        for waiter in start { meet(waiter) }
        var next = 0
        while next < waiters.count {
            let waiter = waiters[next]
            // What it still waits for may have finished since it was met.
            let upstream = waiter.upstreamWork(&self).filter { !$0.isFinished }
            for other in upstream { meet(other) }
            if let reasons = waiter.reasons(upstream, &self) {
                entries.append(WaitExplanation.Entry(operation: waiter.nameInExplanations, reasons: reasons))
            }
            next += 1
        }
        return WaitExplanation(entries: entries, cycle: cycle())
    }

    private mutating func meet(_ waiter: any WaitingWork) {
        if !waiter.isFinished, met.insert(ObjectIdentifier(waiter)).inserted { waiters.append(waiter) }
    }

    package func reason(toWaitFor waiter: any WaitingWork) -> WaitReason {
        let name = waiter.nameInExplanations
        return waiter.isInNoQueue(self) ? .dependencyInNoQueue(name) : .dependency(name)
    }

    /// Why the queue of `node` has not begun it. A full queue is asked once for the names of what it runs.
    package mutating func reasonNotBegun(_ node: JobNode) -> WaitReason? {
        node.core.reason(node, &running[ObjectIdentifier(node.core)])
    }

    /// The jobs of its own queue that `job` waits for.
    fileprivate mutating func upstreamJobs(of job: JobNode) -> [JobNode] {
        let queue = ObjectIdentifier(job.core)
        let edges = jobEdges[queue] ?? job.core.edges()
        jobEdges[queue] = edges
        return edges[ObjectIdentifier(job)] ?? []
    }

    /// The first cycle among what was met, found depth first.
    private mutating func cycle() -> [String]? {
        var isOnPath: [ObjectIdentifier: Bool] = [:]
        for start in waiters where isOnPath[ObjectIdentifier(start)] == nil {
            var path = [(waiter: start, upstream: start.upstreamWork(&self))]
            isOnPath[ObjectIdentifier(start)] = true
            while let last = path.indices.last {
                guard let next = path[last].upstream.popLast() else {
                    isOnPath[ObjectIdentifier(path.removeLast().waiter)] = false
                    continue
                }
                switch isOnPath[ObjectIdentifier(next)] {
                case false: continue
                case true:
                    let first = path.firstIndex { $0.waiter === next }!
                    return path[first...].map(\.waiter.nameInExplanations)
                case nil:
                    isOnPath[ObjectIdentifier(next)] = true
                    path.append((next, next.isFinished ? [] : next.upstreamWork(&self)))
                }
            }
        }
        return nil
    }
}

extension WaitWalk {
    /// What a queue holds, or some of it.
    static func explain(_ nodes: [JobNode]) -> WaitExplanation {
        var walk = WaitWalk()
        let start: [any WaitingWork] = nodes.compactMap { node in
            guard let place = node as? WorkNode else { return node }
            guard let work = place.work else { return nil }
            walk.queueOf[ObjectIdentifier(work.waiting)] = place
            return work.waiting
        }
        return walk.explain(start)
    }
}

extension JobNode: WaitingWork {
    package var nameInExplanations: String { bareName }

    package func upstreamWork(_ walk: inout WaitWalk) -> [any WaitingWork] {
        let elsewhere = keptUpstream
        return walk.upstreamJobs(of: self) + elsewhere.jobs + elsewhere.operations.compactMap(\.work)
    }

    package func reasons(_ upstream: [any WaitingWork], _ walk: inout WaitWalk) -> [WaitReason]? {
        switch phase {
        case .ended: nil
        case .running, .starting, .admitting: [.work]
        case .submitted: []
        case .waiting where !upstream.isEmpty: upstream.map { walk.reason(toWaitFor: $0) }
        case .waiting, .listed: walk.reasonNotBegun(self).map { [$0] } ?? []
        }
    }

    package func isInNoQueue(_ walk: WaitWalk) -> Bool { false }
}
