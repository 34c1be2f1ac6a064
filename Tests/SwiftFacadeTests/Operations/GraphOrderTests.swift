// SPDX-License-Identifier: Apache-2.0
//
// The order of dependencies: exact against a whole search, also where edges and vertices go; cheap; and kept right by
// operations that finish, are dropped or lose an edge.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct GraphOrderTests {
    /// A graph with nothing but its edges, searched whole.
    private struct Searched {
        var edges: [Int32: [(target: Int32, edge: DependencyOrder.Edge)]] = [:]

        func leads(_ start: Int32, to goal: Int32) -> Bool {
            var (met, pending) = (Set([start]), [start])
            while let vertex = pending.popLast() {
                if vertex == goal { return true }
                for (target, _) in edges[vertex] ?? [] where met.insert(target).inserted {
                    pending.append(target)
                }
            }
            return false
        }

        mutating func remove(_ vertex: Int32) {
            edges[vertex] = nil
            for source in edges.keys { edges[source]!.removeAll { $0.target == vertex } }
        }
    }

    // Small limits force every kind of search.
    @Test(arguments: 1...60 as ClosedRange<UInt64>) func theOrderAgreesWithAWholeSearch(seed: UInt64) {
        var random = SplitMix(state: seed)
        var (order, searched) = (DependencyOrder(), Searched())
        order.limit = [1, 2, 3, 5, 32][Int(seed % 5)]
        var vertices = (0..<Int.random(in: 3...30, using: &random)).map { _ in order.addVertex() }
        for step in 0..<600 {
            let (one, other) = (
                vertices.randomElement(using: &random)!, vertices.randomElement(using: &random)!
            )
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                order.remove(vertex: one)
                searched.remove(one)
                vertices.removeAll { $0 == one }
                vertices.append(order.addVertex())
            case 1...6:
                guard let (_, edge) = searched.edges[one]?.popLast() else { continue }
                order.remove(edge)
                // Of an edge that is gone, nothing is left to remove.
                order.remove(edge)
            default:
                let edge = order.add(from: one, to: other)
                #expect((edge == nil) == searched.leads(other, to: one), "seed \(seed), step \(step)")
                if let edge { searched.edges[one, default: []].append((other, edge)) }
            }
        }
        #expect(order.vertexCount == vertices.count)
        #expect(order.edgeCount == searched.edges.values.reduce(0) { $0 + $1.count })
    }

    @Test(arguments: ["head", "tail"]) func aChainIsBuiltWithoutASearchFromEitherEnd(end: String) {
        var order = DependencyOrder()
        let chain = (0..<10_000).map { _ in order.addVertex() }
        for (one, next) in zip(chain, chain.dropFirst()) {
            #expect(order.add(from: end == "head" ? next : one, to: end == "head" ? one : next) != nil)
        }
        #expect(order.visited == 0)
        let (below, above) = end == "head" ? (9_999, 0) : (0, 9_999)
        #expect(order.add(from: chain[above], to: chain[below]) == nil)
    }

    @Test(arguments: [1_000, 10_000, 60_000]) func aRandomGraphIsBuiltCheaply(vertices count: Int) {
        var (random, order) = (SplitMix(state: 7), DependencyOrder())
        let vertices = (0..<count).map { _ in order.addVertex() }.shuffled(using: &random)
        var edges: [(Int32, Int32)] = []
        while edges.count < 100_000 {
            let (one, other) = (
                Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random)
            )
            if one < other { edges.append((vertices[one], vertices[other])) }
        }
        let time = ContinuousClock().measure {
            for (source, target) in edges { _ = order.add(from: source, to: target)! }
        }
        let read = Double(order.visited) / Double(edges.count)
        print(
            "order of \(count) vertices: \(Int(time / .nanoseconds(1)) / edges.count) ns an edge, \(read) edges read"
        )
        #expect(order.visited < 10 * edges.count)
    }

    // MARK: Operations

    @Test(.ownThreads) func aRandomGraphOfOperationsIsBuiltWithoutWalks() async {
        await #expect(processExitsWith: .success) {
            var random = SplitMix(state: 7)
            let count = 500
            let operations = (0..<count).map { number in AsyncOperation<Int> { number } }.shuffled(
                using: &random
            )
            var edges: [(Int, Int)] = []
            while edges.count < 10_000 {
                let (one, other) = (
                    Int.random(in: 0..<count, using: &random), Int.random(in: 0..<count, using: &random)
                )
                if one < other { edges.append((one, other)) }
            }
            let time = ContinuousClock().measure {
                for (below, above) in edges { operations[below].addDependency(operations[above]) }
            }
            print("\(count) operations: \(Int(time / .nanoseconds(1)) / edges.count) ns an edge")
            let visited = DependencyGraph.lock.withLock { $0.visited }
            exit(visited < 10 * edges.count ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func inTheOrder() -> (vertices: Int, edges: Int) {
        DependencyGraph.lock.withLock { graph in
            graph.forgetRetired()
            return (graph.order.vertexCount, graph.order.edgeCount)
        }
    }

    @Test(.ownThreads) func whatEndsLeavesTheOrder() async {
        await #expect(processExitsWith: .success) {
            func expect(_ vertices: Int, _ edges: Int, _ status: Int32) {
                let found = GraphOrderTests.inTheOrder()
                if found != (vertices, edges) {
                    print("case \(status): \(found)")
                    exit(status)
                }
            }
            let (one, two, three) = (
                AsyncOperation<Int> { 1 }, AsyncOperation<Int> { 2 }, AsyncOperation<Int> { 3 }
            )
            three.addDependency(two)
            two.addDependency(one)
            three.addDependency(one)
            expect(3, 3, 1)
            three.removeDependency(one)
            expect(3, 2, 2)
            one.start()
            expect(2, 1, 3)
            do {
                let dropped = AsyncOperation<Int> { 4 }
                dropped.addDependency(two)
                expect(3, 2, 4)
            }
            expect(2, 1, 5)
            three.cancel()
            three.start()
            expect(1, 0, 6)
            // No operation that has finished gets a vertex.
            AsyncOperation<Int> { 5 }.addDependency(one)
            expect(1, 0, 7)
            two.start()
            expect(0, 0, 8)
            exit(EXIT_SUCCESS)
        }
    }

    // below ──▶ middle ──▶ above; middle finishes, cancelled, while above has not.
    @Test func aPathThroughAnOperationThatHasFinishedClosesNoCycle() async throws {
        let above = AsyncOperation<Int>(name: "above") { 1 }
        let middle = AsyncOperation<Int>(name: "middle") { 2 }
        let below = AsyncOperation<Int>(name: "below") { 3 }
        below.addDependency(middle)
        middle.addDependency(above)
        middle.cancel()
        middle.start()
        above.addDependency(below)
        let queue = OperationQueue()
        queue.enqueue(above, below)
        #expect(try await above.value == 1)
    }

    @Test func anEdgeThatWasRemovedClosesNoCycleAndOneThatCameBackDoes() {
        let one = AsyncOperation<Int> { 1 }
        let other = AsyncOperation<Int> { 2 }
        for _ in 0..<100 {
            one.addDependency(other)
            #expect(other.pathClosed(by: one) != nil)
            one.removeDependency(other)
            #expect(other.pathClosed(by: one) == nil)
            other.addDependency(one)
            other.removeDependency(one)
        }
    }

    // The proxy that Foundation sees opens with the last gate and is made anew by the next edge.
    @Test func dependenciesMayComeAgainAfterTheLastHasGone() async throws {
        let (one, other) = (AsyncOperation<Int> { 1 }, AsyncOperation<Int> { 2 })
        let below = AsyncOperation<Int> { 3 }
        for _ in 0..<3 {
            below.addDependency(one)
            below.addDependency(other)
            #expect(!below.isReady && below.state == .waiting)
            below.removeDependency(one)
            #expect(!below.isReady)
            below.removeDependency(other)
            #expect(below.isReady && below.state == .ready)
        }
        below.addDependency(one)
        let queue = OperationQueue()
        queue.addOperation(below)
        #expect(below.state == .waiting)
        queue.addOperation(one)
        #expect(try await below.value == 3)
    }

    @Test func anOperationKnowsEachOfManyDependencies() {
        let many = (0..<40).map { number in AsyncOperation<Int> { number } }
        let below = AsyncOperation<Int> { 1 }
        for _ in 0..<2 {
            for operation in many { below.addDependency(operation) }
            #expect(below.dependencies == many)
        }
        below.removeDependency(many[3])
        #expect(below.dependencies.count == 39)
        below.addDependency(many[3])
        below.addDependency(many[3])
        #expect(below.dependencies.last === many[3] && below.dependencies.count == 40)
    }

    // Four threads build graphs and end their operations, some cancelled; what one ends, the next edge of any forgets.
    @Test(.ownThreads) func edgesAddedWhileOperationsEndAreNeverRefusedAndNothingStaysInTheOrder() async {
        await #expect(processExitsWith: .success) {
            await withTaskGroup(of: Void.self) { group in
                for seed in 0..<4 as Range<UInt64> {
                    group.addTask { await blocking { GraphOrderTests.buildAndEnd(rounds: 50, seed: seed) } }
                }
            }
            exit(GraphOrderTests.inTheOrder() == (0, 0) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func buildAndEnd(rounds: Int, seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<rounds {
            let layer = (0..<20).map { number in AsyncOperation<Int> { number } }
            for below in 1..<20 {
                for _ in 0..<3 {
                    layer[below].addDependency(layer[Int.random(in: 0..<below, using: &random)])
                }
                if below.isMultiple(of: 5) { layer[below - 1].cancel() }
            }
            for operation in layer { operation.start() }
        }
    }
}
