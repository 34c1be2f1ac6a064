// SPDX-License-Identifier: Apache-2.0
//
// Calls of operations, their queues and policies that end the process, each in a child: a second start, a cycle, an
// operation that is in a queue already, a limit that lets nothing run.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
@testable import InterlockPool
@testable import InterlockSync
// contract: AsyncOperation, ConcurrentBlockOperation, ExclusionCategory, GroupOperation, InterlockQueue, RetryPolicy
@Suite(.timeLimit(.minutes(10))) struct OperationMisuseTests {
    private static let misuses = starts + cycles + queues + limits

    @Test(.serialized, .ownThreads, arguments: misuses.map(\.name))
    func aMisuseIsReported(name: String) async {
        let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
            [name] in
            try await OperationMisuseTests.misuses[name].happen()
        }
        Self.misuses[name].expectReport(result)
    }

    // MARK: Starts, and what comes too late

    private static let starts: [Misuse] = [
        .named("running twice", #"interlock: Operation.start("once"): it is executing already"#) {
            let held = Held("once")
            held.operation.start()
            held.operation.start()
        },
        .named("before a dependency", #"interlock: Operation.start("below"): it still waits for "above""#) {
            let above = AsyncOperation<Int>(name: "above") { 1 }
            let operation = above.then(name: "below") { $0 + 1 }
            operation.start()
        },
        .named("without work", "there is no work: override execute() or give a closure") {
            AsyncOperation<Int>().start()
        },
        .named(
            "a late dependency",
            #"Operation.addDependency("below"): it has started, too late to wait for "above""#
        ) {
            let above = AsyncOperation<Int>(name: "above") { 1 }
            let below = AsyncOperation<Int>(name: "below") { 1 }
            below.start()
            below.addDependency(above)
        },
        // It may begin at any moment, and waits in no place that it could leave.
        .named(
            "a dependency once it is ready in a queue",
            #"Operation.addDependency("below"): it is ready in the queue full, too late to wait for "above""#
        ) {
            let below = AsyncOperation<Int>(name: "below") { 1 }
            let full = InterlockQueue(name: "full", isSuspended: true)
            full.enqueue(below)
            below.addDependency(AsyncOperation<Int>(name: "above") { 1 })
            full.resume()
        },
        .named("a late delay", #"AsyncOperation.delay("late"): it has started"#) {
            let operation = AsyncOperation<Int>(name: "late") { 1 }
            operation.start()
            operation.delay(by: .seconds(1))
        },
        .named("a late closure", #"ConcurrentBlockOperation.addBlock("late"): it has begun"#) {
            let operation = ConcurrentBlockOperation<Int>(name: "late")
            operation.start()
            operation.addBlock { 1 }
        },
    ]

    // MARK: Cycles

    private static let cycles: [Misuse] = [
        .named("of one", #""self" → "self""#) {
            let operation = AsyncOperation<Int>(name: "self") { 1 }
            operation.addDependency(operation)
        },
        .named("through another kind of operation", #""first" → "block" → "first""#) {
            let first = AsyncOperation<Int>(name: "first") { 1 }
            let block = BlockOperation {}
            block.name = "block"
            block.addDependency(first)
            first.addDependency(block)
        },
        // Only the blocks lead to "1", two steps above the new dependency.
        .named("through another kind further up", #""1" → "3" → "2" → "below" → "above" → "1""#) {
            let operation = OperationDependencyTests.numbered([1, 2, 3])
            let (above, below) = (BlockOperation {}, BlockOperation {})
            (above.name, below.name) = ("above", "below")
            operation[2]!.addDependency(below)
            below.addDependency(above)
            above.addDependency(operation[1]!)
            operation[3]!.addDependency(operation[2]!)
            operation[1]!.addDependency(operation[3]!)
        },
        .named("through a child of another kind", #""behind" → "above" → "group" → "child" → "behind""#) {
            let group = GroupOperation<Int>(name: "group")
            let above = group.then(name: "above") { $0 }
            let behind = AsyncOperation<Int>(name: "behind") { 1 }
            let child = BlockOperation {}
            child.name = "child"
            try group.add(other: child)
            child.addDependency(behind)
            behind.addDependency(above)
        },
        .named("of a child and its group", "closes a cycle") {
            let group = GroupOperation<Int>(name: "group")
            let child = AsyncOperation(name: "child") { 1 }
            try group.add(child)
            child.addDependency(group)
        },
        // In another queue, and two jobs further.
        .named("through jobs", #""top" → "face" → "top""#) {
            let queue = InterlockQueue(name: "told")
            let top = AsyncOperation(name: "top") { 1 }
            let job = top.asJob(in: queue)
            let last = InterlockQueue(name: "far").job(after: job.then { $0 }) { $0 }
            top.addDependency(last.asOperation(name: "face"))
        },
        // While the operation waits for "log in", an edge may not have that wait for the operation.
        .named("through what a condition waits for", #""above" → "work" → "log in" → "above""#) {
            let above = AsyncOperation<Int>(name: "above") { 1 }
            let first = above.then(name: "log in") { $0 }
            let work = AsyncOperation<Int>(name: "work") { 1 }
            work.addCondition(OperationCondition.that("asked") { true }.preceded { _ in first })
            work.start()
            await eventually("it waits") { work.explainWaiting()["log in"] != nil }
            above.addDependency(work)
        },
    ]

    // MARK: Queues

    private static let queues: [Misuse] = [
        .named(
            "queued twice",
            #"interlock: InterlockQueue.enqueue("twice"): it is in the queue held already"#
        ) {
            let operation = AsyncOperation<Void>(name: "twice") {}
            InterlockQueue(name: "first", isSuspended: true).enqueue(operation)
            let first = InterlockQueue(name: "held", isSuspended: true)
            let held = AsyncOperation<Void>(name: "twice") {}
            first.enqueue(held)
            first.enqueue(held)
        },
        .named(
            "another kind, queued twice",
            #"interlock: InterlockQueue.enqueue("block"): it is in the queue held already"#
        ) {
            let first = InterlockQueue(name: "held", isSuspended: true)
            let operation = BlockOperation {}
            operation.name = "block"
            first.enqueue(operation)
            InterlockQueue().enqueue(operation)
        },
        .named("queued after its end", #"InterlockQueue.enqueue("done"): it has finished already"#) {
            let operation = AsyncOperation<Void>(name: "done") {}
            operation.start()
            InterlockQueue().enqueue(operation)
        },
        .named(
            "throttled twice",
            #"OperationThrottler.submit("page"): it was submitted already; an operation is submitted once"#
        ) {
            let throttler = OperationThrottler(for: .seconds(600), on: OperationQueue())
            let operation = AsyncOperation<Int>(name: "page") { 1 }
            throttler.submit(operation)
            throttler.submit(operation)
        },
    ]

    // MARK: Limits and policies

    private static let limits: [Misuse] = [
        .named("a queue without a place", #"interlock: InterlockQueue.init("none"): a limit of 0"#) {
            _ = InterlockQueue(name: "none", limit: 0)
        },
        .named("a group without a place", "interlock: GroupOperation(limit: 0): at least one child") {
            _ = GroupOperation<Int>(limit: 0)
        },
        .named("no closure at once", "ConcurrentBlockOperation(maxConcurrency: 0): at least one closure") {
            _ = ConcurrentBlockOperation<Void>(maxConcurrency: 0)
        },
        .named(
            "a category without a place",
            #"ExclusionCategory.init("none"): a limit of 0: at least one operation must be allowed"#
        ) {
            _ = ExclusionCategory("none", limit: 0)
        },
        .named(
            "another limit of a category in use",
            #"AsyncOperation.excludes("other"): the category "net" is in use with limit 2"#
        ) {
            let holder = AsyncOperation<Int>(name: "holder") { (_: Completion<Int>) in _ = sleep(60) }
            holder.excludes(ExclusionCategory("net", limit: 2))
            Thread { holder.start() }.start()
            while ExclusionCategory("net").holders.isEmpty { sched_yield() }
            AsyncOperation<Int>(name: "other") { 1 }.excludes(ExclusionCategory("net")).start()
        },
        .named("two limits of a category", #"the category "disk" is given a limit of 1, and another one"#) {
            let one = ExclusionCategory("disk", limit: 1)
            AsyncOperation<Int>(name: "both") { 1 }.excludes(one, ExclusionCategory("disk", limit: 2))
        },
        .named("no attempt", "there must be at least one attempt") { _ = RetryPolicy(attempts: 0) },
        .named("a negative pause", "a pause cannot be negative") {
            _ = RetryPolicy(attempts: 1, backoff: .constant(.seconds(-1)))
        },
        .named("a pause that becomes negative", "a pause cannot be negative") {
            let down = RetryPolicy.Backoff.linear(initial: .seconds(9), step: .seconds(-1), cap: .seconds(9))
            _ = RetryPolicy(attempts: 2, backoff: down)
        },
        .named("no factor", "a factor below 1 does not back off") {
            _ = RetryPolicy(attempts: 1, backoff: .exponential(initial: .zero, factor: .nan, cap: .zero))
        },
        .named("no repetition", "RepeatPolicy.times(0)") { _ = RepeatPolicy<Int>.times(0) },
        .named(
            "no time",
            "interlock: RetryPolicy(attemptLimit: 0.0 seconds): no attempt could end in time"
        ) {
            _ = RetryPolicy(attempts: 1, attemptLimit: .zero)
        },
    ]
}
