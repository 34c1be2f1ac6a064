// SPDX-License-Identifier: Apache-2.0
//
// Cancellation up the graph: what opted in is cancelled with its last dependent, and only then.

import Foundation
import Testing

import Interlock

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct UnneededUpstreamTests {
    private func optedIn(_ name: String) -> AsyncOperation<Int> {
        let operation = AsyncOperation<Int>(name: name) { 1 }
        operation.cancelsUnneeded = true
        return operation
    }

    @Test func theLastDependentThatIsCancelledCancelsWhatIsAbove() {
        let top = optedIn("top")
        let above = top.then { $0 }
        above.cancelsUnneeded = true
        let (one, other) = (above.then { $0 }, above.then { $0 })
        one.cancel()
        #expect(!above.isCancelled && !top.isCancelled, "another waits for it")
        other.cancel()
        #expect(above.isCancelled && top.isCancelled)
    }

    @Test func whatHasNotOptedInGoesOn() {
        let top = optedIn("top")
        let above = top.then { $0 }
        above.then { $0 }.cancel()
        #expect(!above.isCancelled && !top.isCancelled)
        #expect(top.cancelsUnneeded && !above.cancelsUnneeded)
    }

    @Test func optingInLateCountsAndOptingOutToo() {
        let above = AsyncOperation<Int> { 1 }
        let below = above.then { $0 }
        above.cancelsUnneeded = true
        let kept = optedIn("kept")
        let second = kept.then { $0 }
        kept.cancelsUnneeded = false
        below.cancel()
        second.cancel()
        #expect(above.isCancelled && !kept.isCancelled)
    }

    @Test(arguments: ["gone", "removed", "finished before its start"])
    func aDependentThatLeavesOtherwiseCounts(how: String) {
        let above = optedIn("above")
        var below: AsyncOperation<Int>? = AsyncOperation<Int> { 2 }
        below!.addDependency(above)
        switch how {
        case "gone": below = nil
        case "removed": below!.removeDependency(above)
        default: below!.finish(.success(1))
        }
        #expect(above.isCancelled)
        withExtendedLifetime(below) {}
    }

    @Test func oneThatSomebodyWaitsForGoesOn() {
        let above = optedIn("above")
        above.onFinish { _ in }
        above.then { $0 }.cancel()
        #expect(!above.isCancelled)
    }

    @Test func oneThatHasFinishedOrWasNeverWaitedForIsLeftAlone() async throws {
        let (finished, alone) = (optedIn("finished"), optedIn("alone"))
        let below = finished.then { $0 }
        finished.start()
        below.cancel()
        #expect(!finished.isCancelled && !alone.isCancelled)
        #expect(try await finished.value == 1)
    }

    // As a queue does that is quicker than the rest of the call.
    @Test func aDependentThatIsStartedWhileItIsCancelledLeavesNonetheless() {
        let above = optedIn("above")
        let below = above.then { $0 }
        below.onChange { [weak below] in if $0 == .cancelled { below?.start() } }
        below.cancel()
        #expect(above.isCancelled)
    }

    @Test func itsRunningWorkIsCancelled() async throws {
        let begun = Handshake()
        let above = awaitingCancellation("above", begun: begun)
        above.cancelsUnneeded = true
        let below = above.then { $0 }
        let queue = OperationQueue()
        queue.enqueue(above, below)
        await begun.taken()
        below.cancel()
        await #expect(throws: OperationCancelled(operation: "above")) { try await above.value }
    }

    // Cancelled in nested calls, the chain would need a stack as long as itself.
    @Test(.ownThreads) func aLongChainIsCancelledOnASmallStack() async {
        await #expect(processExitsWith: .success) {
            let first = AsyncOperation<Int> { 1 }
            first.cancelsUnneeded = true
            var last = first
            for _ in 0..<20_000 {
                last = last.then { $0 }
                last.cancelsUnneeded = true
            }
            last.cancel()
            exit(first.isCancelled ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }
}
