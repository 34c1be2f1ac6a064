// SPDX-License-Identifier: Apache-2.0
//
// The edges of an operation: the check before one is added, also as a question; and the gates of its dependents.

import Foundation
import InterlockSync

extension AsyncOperation {
    /// The cycle that depending on `dependency` would close, or nil where the edge may be added.
    ///
    /// Blocks only for the lock of one operation at a time. Another thread may add an edge before the answer is used.
    ///
    /// - Returns: the cycle, each operation waiting for the next, from this one to this one.
    /// - Complexity: O(*v* + *e*) in the unfinished operations upstream of `dependency` and their edges.
    public final func cycle(byDependingOn dependency: Operation) -> [Operation]? {
        var walk = DependencyGraph.Walk()
        return DependencyGraph.path(from: dependency, to: self, &walk).map { [self] + $0 }
    }

    /// Under the graph's lock: checks the edge and records it; nil where it is there already. `gated` is `dependency`
    /// where it is of this module. The proxy where Foundation has to see a new one.
    func addEdge(
        to dependency: Operation,
        as gated: (any GatedOperation)?,
        failure: (@Sendable () -> (any Error)?)?
    ) -> (DependencyGate, DependencyProxy?)? {
        var walk = DependencyGraph.Walk()
        let added: (DependencyGate, DependencyProxy?)? = DependencyGraph.lock.withLock { graph in
            graph.forgetRetired()
            let (reason, known, isDependedUpon) = record.withLock { record in
                (record.noLongerWaits, record.hasEdge(to: dependency), record.isDependedUpon)
            }
            var name: String { misuseName(dependency.name, of: dependency) }
            func refuse(_ reason: String?) {
                guard let reason else { return }
                let sentence =
                    "\(reason), too late to wait for \(name); add dependencies before the queue gets it"
                misuse("Operation.addDependency", displayName, sentence)
            }
            refuse(reason)
            if known { return nil }
            let upstream = gated?.vertexAsDependency(in: &graph.order)
            // What has finished needs none.
            let downstream = gated != nil && upstream == nil ? nil : vertex(in: &graph.order)
            var edge = DependencyGraph.NewEdge(
                dependent: self,
                dependency: dependency,
                isForeign: gated == nil,
                isDependedUpon: isDependedUpon,
                downstream: downstream,
                upstream: upstream
            )
            if let path = graph.path(closedBy: &edge, &walk) {
                let sentence =
                    "waiting for \(name) closes a cycle in which nothing could ever start: "
                    + DependencyGraph.describe([self] + path)
                misuse("Operation.addDependency", displayName, sentence)
            }
            let gate = DependencyGate(dependent: self, failure: failure)
            if gated == nil, let downstream {
                graph.foreign.add(dependency, waitedForBy: .gate(gate), at: downstream, &graph.order, &walk)
            }
            let order = graph.addChecked(edge, &walk)
            // It may have become ready meanwhile.
            let (reasonNow, proxy) = record.withLock {
                ($0.noLongerWaits, $0.shut(.init(source: dependency, gate: gate, order: order)))
            }
            refuse(reasonNow)
            return (gate, proxy)
        }
        // Not freed under the lock.
        withExtendedLifetime(walk) {}
        return added
    }

    /// The path that an edge to `dependency` would close to a cycle; for tests.
    func pathClosed(by dependency: Operation) -> [Operation]? {
        pathClosed(byAwaiting: dependency, isQuestion: true)
    }

    var unfinishedDependencyNames: String {
        let names = dependencies.filter { !$0.isFinished }.map { misuseName($0.name, of: $0) }
        return names.isEmpty ? "a dependency" : names.joined(separator: ", ")
    }
}

extension AsyncOperation: GatedOperation {
    func openWhenFinished(_ gate: DependencyGate) {
        // The gates of dependents that are gone, or have passed, are not kept. Their records are asked without this
        // one's lock: no two are held at a time.
        let full = record.withLock { record in
            let gates = record.held.gates
            return gates.count >= 16 && gates.count == gates.capacity ? gates : []
        }
        let passed = Set(full.lazy.filter { $0.waitingDependent == nil }.map(ObjectIdentifier.init))
        let (hasFinished, isWatched) = record.withLock { record in
            if record.hasEnded { return (true, false) }
            if !passed.isEmpty { record.held.gates.removeAll { passed.contains(ObjectIdentifier($0)) } }
            record.held.gates.append(gate)
            return (false, record.cancelsUnneeded)
        }
        if isWatched { gate.waitingDependent?.watchUpstream() }
        if hasFinished { gate.open(isNew: true) }
    }

    func open(_ gate: DependencyGate, isNew: Bool, error: (any Error)?) {
        switch record.withLock({ $0.open(gate, error, isNew: isNew) }) {
        case nil: return
        case .announce(let listeners):
            announce(.ready, to: listeners)
            record.withLock { $0.endAnnouncing() }?.open(for: self)
        case .notify(let proxy): proxy?.open(for: self)
        }
        tellQueueIfReady()
    }

    func waits(behind gate: DependencyGate) -> Bool { record.withLock { _ in !gate.isOpen } }

    func vertex(in order: inout DependencyOrder) -> DependencyOrder.Vertex? {
        record.withLock { $0.vertex(in: &order) }
    }

    func vertexAsDependency(in order: inout DependencyOrder) -> DependencyOrder.Vertex? {
        record.withLock { record in
            record.isDependedUpon = true
            return record.vertex(in: &order)
        }
    }
}

extension OperationRecord {
    /// Its vertex, made at the first question; nil once it has finished.
    mutating func vertex(in order: inout DependencyOrder) -> DependencyOrder.Vertex? {
        if hasEnded { return nil }
        if vertex == DependencyOrder.none { vertex = order.addVertex() }
        return vertex
    }
}
