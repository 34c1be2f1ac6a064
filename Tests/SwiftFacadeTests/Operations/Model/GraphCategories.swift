// SPDX-License-Identifier: Apache-2.0
//
// The categories of a run. Each node tells when it works in one. The first category is held by the late operation: what
// wants it waits until it is cancelled, or until the late operation has ended.

import Foundation

import Interlock
@testable import InterlockOperations

/// The categories of one run, with names of their own: two runs do not exclude each other.
final class GraphCategories: Sendable {
    private static let runs = Counter()

    let all: [ExclusionCategory]
    private let crowds: [Crowd]

    init(limits: [Int]) {
        let run = Self.runs.increment()
        all = limits.enumerated().map { ExclusionCategory("graph \(run), category \($0)", limit: $1) }
        crowds = limits.map { _ in Crowd() }
    }

    func enter(_ numbers: [Int]) { for number in numbers { crowds[number].enter() } }
    func leave(_ numbers: [Int]) { for number in numbers { crowds[number].leave() } }

    /// Whether more hold a category than may; at any moment of the run.
    func complaints() -> [String] {
        all.compactMap { category in
            let holders = category.holders
            return holders.count > category.limit ? "category \(category) is held by \(holders)" : nil
        }
    }

    /// What is wrong with them after the run.
    func complaintsAtTheEnd() -> [String] {
        var complaints: [String] = []
        for (category, crowd) in zip(all, crowds) {
            if crowd.most > category.limit {
                complaints.append("\(crowd.most) at once in \(category), of limit \(category.limit)")
            }
            let holders = category.holders + category.waiters
            if !holders.isEmpty { complaints.append("category \(category) is left to \(holders)") }
            if ExclusionRegistry.state.withLock({ $0.entries[category.name] != nil }) {
                complaints.append("category \(category) is still registered")
            }
        }
        return complaints
    }
}

extension GraphRun {
    /// Cancels the nodes that now wait for a category and are to be cancelled while they do.
    func cancelExcluded() {
        for (number, node) in plan.nodes.enumerated() where node.cancellation == .whileExcluded {
            guard let operation = operations[number] as? AsyncOperation<Int>, !operation.isCancelled else {
                continue
            }
            if case .exclusion = operation.record.withLock({ $0.admission }) { operation.cancel() }
        }
    }
}
