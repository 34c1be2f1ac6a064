// SPDX-License-Identifier: Apache-2.0
//
// Several closures in one operation: they run at once, and it ends once, after the last.

import Foundation
import Testing

import Interlock
// contract: ConcurrentBlockOperation, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct ConcurrentBlockOperationTests {
    let queue = OperationQueue()

    // Each of five closures waits until all five have arrived.
    @Test func closuresRunAtTheSameTimeEachWhereItMayBlock() async throws {
        let arrivals = Counter()
        let allArrived = Handshake()
        let operation = ConcurrentBlockOperation<Int>(name: "meeting")
        for number in 0..<5 {
            operation.addBlock {
                if arrivals.increment() == 5 { allArrived.give(5) }
                allArrived.take()
                return number
            }
        }
        queue.addOperation(operation)
        #expect(try await operation.value == [0, 1, 2, 3, 4])
    }

    @Test func theCompletionFiresOnceAfterTheLast() async throws {
        let goOn = Handshake()
        let ended = Counter()
        let endedAtCompletion = Trace<Int>()
        let done = Handshake()
        let operation = ConcurrentBlockOperation<Void>()
        for _ in 0..<4 {
            operation.addBlock {
                goOn.take()
                ended.increment()
            }
        }
        operation.completionBlock = {
            endedAtCompletion.add(ended.value)
            done.give()
        }
        queue.addOperation(operation)
        goOn.give(3)
        await eventually("three of four end") { ended.value == 3 }
        #expect(!operation.isFinished)
        goOn.give()
        await done.taken()
        #expect(endedAtCompletion.events == [4])
    }

    @Test func theFirstErrorInOrderIsTheResultAndTheOthersRun() async throws {
        let ran = Counter()
        let operation = ConcurrentBlockOperation<Int>(
            maxConcurrency: 2,
            (0..<6).map { number in
                {
                    ran.increment()
                    if number == 2 || number == 4 { throw JobFailure(why: "\(number)") }
                    return number
                }
            }
        )
        queue.addOperation(operation)
        await #expect(throws: JobFailure(why: "2")) { try await operation.value }
        #expect(ran.value == 6)
    }

    @Test func cancellingStartsNoFurtherClosureAndWaitsForThoseThatRun() async throws {
        let begun = Handshake()
        let goOn = Handshake()
        let ran = Counter()
        let operation = ConcurrentBlockOperation<Void>(name: "stopped", maxConcurrency: 1)
        for _ in 0..<3 {
            operation.addBlock {
                ran.increment()
                begun.give()
                goOn.take()
            }
        }
        queue.addOperation(operation)
        await begun.taken()
        operation.cancel()
        #expect(!operation.isFinished)
        goOn.give()
        await #expect(throws: OperationCancelled(operation: "stopped")) { try await operation.value }
        #expect(ran.value == 1)
    }

    @Test func noClosuresIsAnEmptyResult() async throws {
        let operation = ConcurrentBlockOperation<Int>()
        queue.addOperation(operation)
        #expect(try await operation.value == [])
    }

    @Test func closuresAreFreedAtTheEnd() async throws {
        let freed = Counter()
        let operation = ConcurrentBlockOperation<Int>()
        do {
            let captured = Tracked(freed: freed)
            operation.addBlock {
                captured.touch()
                return 1
            }
        }
        queue.addOperation(operation)
        _ = try await operation.value
        await eventually("closures are freed while the operation is kept") { freed.value == 1 }
        #expect(operation.isFinished)
    }
}
