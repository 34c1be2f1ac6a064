// SPDX-License-Identifier: Apache-2.0
//
// The side of an operation that others wait on: it keeps their gates and opens them when it has
// finished. And the question whether an edge may be added, for those who would rather ask than abort.

import Foundation

extension AsyncOperation {
    /// The cycle that depending on `dependency` would close, or nil where the edge may be added.
    ///
    /// May be called from any thread; never blocks for long. Another thread may add an edge between the
    /// answer and its use.
    ///
    /// - Returns: the operations of the cycle, each waiting for the next; first and last are this one.
    /// - Complexity: O(*v* + *e*) in the unfinished operations above `dependency` and their edges.
    public final func cycle(byDependingOn dependency: Operation) -> [Operation]? {
        var walk = DependencyGraph.Walk()
        return DependencyGraph.path(from: dependency, to: self, &walk).map { [self] + $0 }
    }

    var unfinishedDependencyNames: String {
        let names = dependencies.filter { !$0.isFinished }.map { misuseName($0.name, of: $0) }
        return names.isEmpty ? "a dependency" : names.joined(separator: ", ")
    }
}

extension AsyncOperation: GatedOperation {
    func openWhenFinished(_ gate: DependencyGate) {
        var waiting: [any GatedOperation] = []
        let hasFinished = record.withLock { record in
            if record.phase == .finished { return true }
            // Dependents come and go while a long operation runs: do not keep the gates of the gone.
            if record.gates.count == record.gates.capacity {
                record.gates.removeAll { gate in
                    guard let dependent = gate.waitingDependent else { return true }
                    waiting.append(dependent)
                    return false
                }
            }
            record.gates.append(gate)
            return false
        }
        // Not freed under the lock.
        withExtendedLifetime(waiting) {}
        if hasFinished { gate.open(isNew: true) }
    }

    func gateOpened(isNew: Bool) {
        let isReady = record.withLock { $0.gateOpened() }
        if isReady, !isNew { announce(.ready) }
    }

    func markDependedUpon() {
        record.withLock { $0.isDependedUpon = true }
    }
}
