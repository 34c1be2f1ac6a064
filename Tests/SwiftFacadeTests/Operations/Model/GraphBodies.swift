// SPDX-License-Identifier: Apache-2.0
//
// The closures of a graph's nodes: each tells that it ran, checks that what it waits for has finished, is cancelled by
// another thread where the plan says so, and ends as the plan says.

import Foundation
import Testing

import Interlock

extension GraphRun {
    /// The closure of `number` begins: all that it waits for must have finished.
    private func begin(_ number: Int) {
        let node = plan.nodes[number]
        seen.withLock { $0[number].runs += 1 }
        if takesPlace(node) { crowds[node.queue].enter() }
        if holdsCategories(node) {
            categories.enter(node.categories)
            // Long enough for another thread to begin, where it may not.
            if !node.categories.isEmpty { sched_yield() }
        }
        expectUpstreamFinished(number, "began")
    }

    private func end(_ number: Int) {
        let node = plan.nodes[number]
        if holdsCategories(node) { categories.leave(node.categories) }
        if takesPlace(node) { crowds[node.queue].leave() }
    }

    func expectUpstreamFinished(_ number: Int, _ what: String) {
        let node = plan.nodes[number]
        for above in node.predecessors where !operations[above].isFinished {
            complain("\(number) \(what) before \(above) had finished")
        }
        if node.lateEdge == .kept, !late.isFinished {
            complain("\(number) \(what) before the late operation had finished")
        }
    }

    private func takesPlace(_ node: GraphNode) -> Bool {
        if case .flatMap = node.shape { return false }
        return holdsCategories(node)
    }

    /// A completion-handler operation that another thread cancels, a `flatMap` step too, ends while its closure still
    /// runs: it gives away its place in its queue and its categories.
    private func holdsCategories(_ node: GraphNode) -> Bool {
        if node.cancellation != .anyTime, node.cancellation != .whileExcluded { return true }
        if case .flatMap = node.shape { return false }
        return node.work == .block || node.work == .task
    }

    func foreignBody(_ number: Int) {
        begin(number)
        end(number)
    }

    func blockBody(_ number: Int, _ inputs: [Int]) throws -> Int {
        begin(number)
        defer { end(number) }
        cancelIfPlanned(number)
        return try ending(number, inputs).get()
    }

    func taskBody(_ number: Int, _ inputs: [Int]) async throws -> Int {
        begin(number)
        defer { end(number) }
        if number % 2 == 0 { await Task.yield() }
        switch plan.nodes[number].cancellation {
        case .whileRunning:
            await cancelAndSeeIt(number)
            throw CancellationError()
        case .answered: await cancelAndSeeIt(number)
        default: break
        }
        return try ending(number, inputs).get()
    }

    private func cancelAndSeeIt(_ number: Int) async {
        _ = TestThread { [self] in operations[number].cancel() }
        await untilCancelled()
    }

    func handlerBody(
        _ number: Int,
        _ inputs: [Int],
        _ finish: @escaping @Sendable (Result<Int, any Error>) -> Bool
    ) {
        begin(number)
        end(number)
        cancelIfPlanned(number)
        let node = plan.nodes[number]
        if node.ending == .dropped { return }
        let isOverdue = node.cancellation == .whileRunning || node.cancellation == .answered
        @Sendable func call() {
            let isFirst = finish(ending(number, inputs))
            if isOverdue, isFirst { complain("\(number): a call after the cancellation was accepted") }
            if node.ending == .twice, finish(.success(-1)) {
                complain("\(number): the second call was accepted")
            }
        }
        if number % 2 == 0 { DispatchQueue.global().async { call() } } else { call() }
    }

    private func ending(_ number: Int, _ inputs: [Int]) -> Result<Int, any Error> {
        plan.nodes[number].ending == .failure
            ? .failure(GraphFailure(node: number)) : .success(GraphModel.value(of: number, from: inputs))
    }

    private func cancelIfPlanned(_ number: Int) {
        switch plan.nodes[number].cancellation {
        case .whileRunning, .answered: TestThread { [self] in operations[number].cancel() }.join()
        default: break
        }
    }
}
