// SPDX-License-Identifier: Apache-2.0
//
// The facade's goals, whether a run reached them, and the machine's state in which that was measured.

import Foundation

struct Goal {
    let claim: String
    let cell: String
    /// The contender whose time is divided, and the divisor.
    let of: String
    let by: String
    let limit: Limit

    enum Limit {
        case atLeast(Double)
        case atMost(Double)
    }

    func row(_ outcomes: [Outcome], _ states: States) -> String? {
        guard
            let outcome = outcomes.first(where: { $0.title == cell }),
            let ratio = outcome.ratio(of, by)
        else { return nil }
        return Goal.row(claim, ratio, limit, states[cell])
    }

    static func row(_ claim: String, _ ratio: Double, _ limit: Limit, _ state: String) -> String {
        let (wanted, reached) =
            switch limit {
            case .atLeast(let limit): ("≥ \(figure(limit))", ratio >= limit)
            case .atMost(let limit): ("≤ \(figure(limit))", ratio <= limit)
            }
        return
            "| \(claim) | \(wanted) | \(figure(ratio)) | \(reached ? "reached" : "**missed**") | \(state) |"
    }

    static let heading = "| goal | wanted | seen | | state |\n|---|---:|---:|---|---|"

    static let all: [Goal] = {
        let readAlone = ArrayWork.read(threads: 1).title
        let readTogether = ArrayWork.read(threads: 2).title
        let append = ArrayWork.append.title
        let loop = ArrayWork.lastAndAppend.title
        let mixed = ArrayWork.mixed(threads: 2, writeEvery: 1_000).title
        func rings(_ kind: String, _ how: String) -> Goal {
            let title = "\(kind) ring, \(how)"
            return Goal(claim: title, cell: title, of: "through Swift", by: "from C", limit: .atMost(1.1))
        }
        func pool(_ cell: Cell, _ of: String, _ by: String, _ limit: Limit) -> Goal {
            Goal(claim: cell.title, cell: cell.title, of: of, by: by, limit: limit)
        }
        return [
            Goal(
                claim: readAlone,
                cell: readAlone,
                of: "barrier queue",
                by: "SafeArray",
                limit: .atLeast(100)
            ),
            Goal(claim: readAlone, cell: readAlone, of: "Mutex", by: "SafeArray", limit: .atLeast(3)),
            Goal(
                claim: readTogether,
                cell: readTogether,
                of: "barrier queue",
                by: "SafeArray",
                limit: .atLeast(100)
            ),
            Goal(claim: readTogether, cell: readTogether, of: "Mutex", by: "SafeArray", limit: .atLeast(20)),
            Goal(claim: append, cell: append, of: "SafeArray", by: "Mutex", limit: .atMost(1.5)),
            Goal(
                claim: "scenario 2's loop",
                cell: loop,
                of: "barrier queue",
                by: "SafeArray",
                limit: .atLeast(30)
            ),
            Goal(claim: "scenario 2's loop", cell: loop, of: "SafeArray", by: "NSLock", limit: .atMost(1)),
            Goal(claim: mixed, cell: mixed, of: "Mutex", by: "SafeArray", limit: .atLeast(5)),
            rings("SPSC", "push and pop, 1 thread"), rings("MPMC", "push and pop, 1 thread"),
            rings("SPSC", "one thread to another"), rings("MPMC", "one thread to another"),
            Goal(
                claim: "MPMC ring, one thread to another",
                cell: "MPMC ring, one thread to another",
                of: "through Swift",
                by: "pure Swift",
                limit: .atMost(1)
            ),
            Goal(
                claim: "one task to another",
                cell: "one task to another",
                of: "AsyncStream",
                by: "MPMCRing of 1,024",
                limit: .atLeast(5)
            ),
            pool(PoolWork.taskCell, "WorkerPool", "default executor", .atMost(1)),
            pool(PoolWork.evenCell, "concurrentForEach", "concurrentPerform, 64 strides", .atMost(1)),
            pool(PoolWork.unevenCell, "concurrentForEach", "concurrentPerform", .atMost(1)),
            pool(PoolWork.closureCell, "DispatchQueue.async", "WorkerPool.submit", .atLeast(1)),
            pool(PoolWork.closureCell, "OperationQueue", "WorkerPool.submit", .atLeast(5)),
            pool(CacheWork.hit(threads: 1).cell, "cachedValue", "SafeDictionary", .atMost(3)),
            pool(CacheWork.hit(threads: 2).cell, "cachedValue", "SafeDictionary", .atMost(3)),
        ].map { goal in
            Goal(
                claim: "\(goal.claim): \(goal.of) / \(goal.by)",
                cell: goal.cell,
                of: goal.of,
                by: goal.by,
                limit: goal.limit
            )
        }
    }()
}
