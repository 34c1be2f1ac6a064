// SPDX-License-Identifier: Apache-2.0
//
// The queues that the random graphs and the races run on. A new kind of queue is one more conformance and one more
// element of `QueueKind.all`.

import Foundation

import Interlock

protocol QueueUnderTest: Sendable {
    func add(_ operation: Operation)
    func suspend()
    func resume()
    func cancelAll()
    /// The unfinished operations in it.
    var operations: [Operation] { get }
    var count: Int { get }
    /// Blocks until there is none.
    func waitUntilEmpty()
    /// A group whose children this queue runs.
    func group<Element: Sendable>(_ name: String?, of _: Element.Type) -> GroupOperation<Element>
    /// A `flatMap` step whose operation this queue runs.
    func flatMap(_ above: AsyncOperation<Int>, name: String?, _ make: @escaping StepBody) -> AsyncOperation<
        Int
    >
}

typealias StepBody = @Sendable (Int) throws -> AsyncOperation<Int>

extension QueueUnderTest {
    /// Adds the operations in their order.
    func enqueue(_ operations: Operation...) {
        for operation in operations { add(operation) }
    }
}

struct QueueKind: Sendable, CustomStringConvertible {
    let description: String
    /// - Parameter limit: how many operations may run at once; nil for no limit.
    let make: @Sendable (_ limit: Int?) -> any QueueUnderTest

    static let all = [
        QueueKind(description: "OperationQueue") { FoundationQueue(limit: $0) },
        QueueKind(description: "InterlockQueue") { OwnQueue(limit: $0) },
    ]

    /// Queues of both kinds beside each other, by their limits.
    static let mixed = QueueKind(description: "both kinds") { limit in
        all[limit == nil || limit == 2 ? 1 : 0].make(limit)
    }
}

struct FoundationQueue: QueueUnderTest {
    let queue = OperationQueue()

    init(limit: Int? = nil) {
        if let limit { queue.maxConcurrentOperationCount = limit }
    }

    var operations: [Operation] { queue.operations }
    var count: Int { queue.operationCount }
    func add(_ operation: Operation) { queue.addOperation(operation) }
    func suspend() { queue.isSuspended = true }
    func resume() { queue.isSuspended = false }
    func cancelAll() { queue.cancelAllOperations() }
    func waitUntilEmpty() { queue.waitUntilAllOperationsAreFinished() }
    func group<Element: Sendable>(_ name: String?, of _: Element.Type) -> GroupOperation<Element> {
        GroupOperation(name: name, on: queue)
    }
    func flatMap(_ above: AsyncOperation<Int>, name: String?, _ make: @escaping StepBody) -> AsyncOperation<
        Int
    > {
        above.flatMap(name: name, on: queue, make)
    }
}

struct OwnQueue: QueueUnderTest {
    let queue: InterlockQueue

    init(limit: Int? = nil) { queue = InterlockQueue(name: "own", limit: limit) }

    var operations: [Operation] { queue.operations }
    var count: Int { queue.count }
    func add(_ operation: Operation) { queue.enqueue(operation) }
    func suspend() { queue.suspend() }
    func resume() { queue.resume() }
    func cancelAll() { queue.cancelAll() }
    func waitUntilEmpty() { queue.wait() }
    func group<Element: Sendable>(_ name: String?, of _: Element.Type) -> GroupOperation<Element> {
        GroupOperation(name: name, on: queue)
    }
    func flatMap(_ above: AsyncOperation<Int>, name: String?, _ make: @escaping StepBody) -> AsyncOperation<
        Int
    > {
        above.flatMap(name: name, on: queue, make)
    }
}
