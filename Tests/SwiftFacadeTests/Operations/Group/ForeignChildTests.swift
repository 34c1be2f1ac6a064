// SPDX-License-Identifier: Apache-2.0
//
// Children of Foundation's own classes in the check for cycles: their edges are added without our knowledge, and the
// edge that closes the cycle is seen all the same. Nothing is run, so nothing waits.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

// contract: GroupOperation
@Suite(.timeLimit(.minutes(10))) struct ForeignChildTests {
    private func block(_ name: String) -> BlockOperation {
        let block = BlockOperation {}
        block.name = name
        return block
    }

    // behind ──▶ group ──▶ child ──▶ behind
    @Test(arguments: [0, 1, 20]) func anEdgeThatAChildGotLaterIsSeen(further: Int) throws {
        let group = GroupOperation<Int>(name: "group")
        let behind = AsyncOperation<Int>(name: "behind") { 1 }
        let child = block("child")
        try group.add(other: child)
        // The way from the child leads through others of its kind.
        let chain = (0..<further).map { block("link \($0)") }
        for (one, next) in zip([child] + chain, chain + [behind] as [Operation]) { one.addDependency(next) }
        let path = behind.pathClosed(by: group)
        #expect(path?.map { $0.name ?? "?" } == ["group", "child"] + chain.map { $0.name! } + ["behind"])
        #expect(behind.cycle(byDependingOn: group)?.count == further + 4)
        let elsewhere = AsyncOperation<Int> { 1 }
        #expect(elsewhere.pathClosed(by: group) == nil)
        child.removeDependency((chain + [behind] as [Operation])[0])
        #expect(behind.pathClosed(by: group) == nil, "the edge is gone")
    }

    @Test func groupsInGroupsAndSeveralChildrenAreSeen() throws {
        let (outer, inner) = (GroupOperation<Int>(name: "outer"), GroupOperation<Int>(name: "inner"))
        let behind = AsyncOperation<Int>(name: "behind") { 1 }
        let children = (0..<40).map { block("child \($0)") }
        try outer.add(other: inner)
        for child in children { try inner.add(other: child) }
        #expect(behind.pathClosed(by: outer) == nil)
        for child in [children[0], children[39]] {
            child.addDependency(behind)
            #expect(behind.pathClosed(by: outer) != nil)
            child.removeDependency(behind)
        }
    }

    // What has ended, or is gone, is not waited for.
    @Test(.ownThreads) func endedChildrenAndGroupsAreForgotten() async throws {
        await #expect(processExitsWith: .success) {
            let behind = AsyncOperation<Int>(name: "behind") { 1 }
            let group = GroupOperation<Int>(name: "group")
            let (done, cancelled) = (BlockOperation {}, BlockOperation {})
            try group.add(other: done)
            try group.add(other: cancelled)
            done.addDependency(behind)
            if behind.pathClosed(by: group) == nil { exit(1) }
            group.finish(.success([]))
            group.start()
            if behind.pathClosed(by: group) != nil { exit(2) }
            var most = 0
            for _ in 0..<200 {
                let dropped = GroupOperation<Int>()
                try dropped.add(other: BlockOperation {})
                most = max(most, DependencyGraph.lock.withLock { $0.foreign.count })
            }
            exit(most < 50 ? EXIT_SUCCESS : 3)
        }
    }

    // In a process of its own: the count is of all graphs.
    @Test(.ownThreads) func foreignChildrenOfOtherGroupsCostAnEdgeNothing() async {
        await #expect(processExitsWith: .success) {
            var kept: [Operation] = []
            for _ in 0..<500 {
                let group = GroupOperation<Int>()
                try group.add(other: BlockOperation {})
                kept += [group, group.then { $0 }]
            }
            let before = DependencyGraph.lock.withLock { $0.visited }
            var chain = [AsyncOperation<Int> { 0 }]
            for _ in 0..<500 { chain.append(chain[chain.count - 1].then { $0 + 1 }) }
            let visited = DependencyGraph.lock.withLock { $0.visited }
            exit(before < 3 * 500 && visited == before ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    // Random graphs of the three kinds: the check against a search of the whole.
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func theCheckAgreesWithAWholeSearch(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let operations: [Operation] = (0..<12).map { number in
            switch number % 3 {
            case 0: AsyncOperation<Int>(name: "\(number)") { 0 }
            case 1: block("\(number)")
            default: GroupOperation<Int>(name: "\(number)")
            }
        }
        var refused = 0
        for step in 0..<120 {
            let (one, other) = (
                operations.randomElement(using: &random)!, operations.randomElement(using: &random)!
            )
            var walk = DependencyGraph.Walk()
            let closes = DependencyGraph.path(from: other, to: one, &walk) != nil
            if closes { refused += 1 }
            if let group = one as? GroupOperation<Int>, step % 2 == 0 {
                do {
                    try group.add(other: other)
                    #expect(!closes, "seed \(seed), step \(step): child \(other.name!) of \(one.name!)")
                } catch let refusal {
                    #expect(closes || refusal.reason == .isChild, "seed \(seed), step \(step): \(refusal)")
                }
            } else if let own = one as? AsyncOperation<Int> {
                #expect((own.pathClosed(by: other) != nil) == closes, "seed \(seed), step \(step)")
                if !closes { own.addDependency(other) }
            } else if let group = one as? GroupOperation<Int> {
                #expect((group.pathClosed(by: other) != nil) == closes, "seed \(seed), step \(step)")
                if !closes { group.addDependency(other) }
            } else if !closes {
                one.addDependency(other)
            }
        }
        #expect(refused > 0)
    }
}
