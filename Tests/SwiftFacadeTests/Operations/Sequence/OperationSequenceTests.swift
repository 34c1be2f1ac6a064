// SPDX-License-Identifier: Apache-2.0
//
// The sequence of states and signals of an AsyncOperation is that of Foundation's own operations on this platform: the
// same scene is played with a `BlockOperation`, a plain subclass of `Operation`, and each kind of AsyncOperation.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations
// contract: OperationEvent, AsyncOperation
@Suite(.timeLimit(.minutes(10))) struct OperationSequenceTests {
    /// What a scene must look like with each of `kinds`, and with Foundation's two.
    private func expect(
        _ expected: [String],
        of kinds: [StoryKind] = StoryKind.own,
        _ location: SourceLocation = #_sourceLocation,
        scene: @escaping @Sendable (StoryKind) -> [String]
    ) async {
        for kind in [.block, .subclass] + kinds {
            let story = await blocking { scene(kind) }
            #expect(story == expected.sorted(), "\(kind)", sourceLocation: location)
        }
    }

    /// What each reports at its end, with its states then.
    private static func ending(_ states: String, runs: Int) -> [String] {
        [
            "its dependent begins: \(states)", "its completion block: \(states)",
            "after waitUntilFinished: \(states)", "at the end: \(states); 0 in the queue",
            "\(runs) runs, 1 completion blocks",
        ]
    }

    @Test func anOperationThatRuns() async {
        let expected =
            [
                "in no queue: ready", "in a suspended queue: ready; 2 in the queue",
                "in its work: ready, executing; 2 in the queue",
            ] + Self.ending("ready, finished", runs: 1)
        await expect(expected) { kind in
            let story = OperationStory(kind)
            story.tell("in no queue")
            story.queue.isSuspended = true
            story.queue.enqueue(story.dependent, story.operation)
            story.tell("in a suspended queue", count: true)
            story.queue.isSuspended = false
            return story.ending()
        }
    }

    @Test func anOperationThatWaits() async {
        let expected =
            ["waiting: ", "in its work: ready, executing; 2 in the queue"]
            + Self.ending("ready, finished", runs: 1)
        await expect(expected) { kind in
            let story = OperationStory(kind)
            let above = BlockOperation {}
            story.operation.addDependency(above)
            story.queue.enqueue(story.dependent, story.operation)
            story.tell("waiting")
            above.start()
            return story.ending()
        }
    }

    @Test func anOperationCancelledBeforeItIsAdded() async {
        let expected = ["cancelled: ready, cancelled"] + Self.ending("ready, finished, cancelled", runs: 0)
        await expect(expected) { kind in
            let story = OperationStory(kind)
            story.operation.cancel()
            story.tell("cancelled")
            story.queue.enqueue(story.dependent, story.operation)
            return story.ending()
        }
    }

    @Test func anOperationCancelledInASuspendedQueue() async {
        let expected =
            ["cancelled: ready, cancelled; 2 in the queue"]
            + Self.ending("ready, finished, cancelled", runs: 0)
        await expect(expected) { kind in
            let story = OperationStory(kind)
            story.queue.isSuspended = true
            story.queue.enqueue(story.dependent, story.operation)
            story.operation.cancel()
            story.operation.cancel()
            story.tell("cancelled", count: true)
            story.queue.isSuspended = false
            return story.ending()
        }
    }

    // The operation above ends only when the story has.
    @Test func anOperationCancelledWhileItWaits() async {
        let expected = Self.ending("ready, finished, cancelled", runs: 0)
        await expect(expected) { kind in
            let story = OperationStory(kind)
            let above = BlockOperation {}
            story.operation.addDependency(above)
            story.queue.enqueue(story.dependent, story.operation)
            story.operation.cancel()
            defer { above.start() }
            return story.ending()
        }
    }

    @Test func anOperationCancelledInItsWork() async {
        let expected =
            ["in its work: ready, executing, cancelled; 2 in the queue"]
            + Self.ending("ready, finished, cancelled", runs: 1)
        await expect(expected, of: StoryKind.ownHoldingAThread + [.asyncTask]) { kind in
            let story = OperationStory(kind) { $0.cancel() }
            story.queue.enqueue(story.dependent, story.operation)
            return story.ending()
        }
    }

    // Foundation's operations return from start() when their work has.
    @Test func anOperationStartedByHand() async {
        let expected =
            [
                "in no queue: ready", "in its work: ready, executing; 1 in the queue",
                "started: ready, finished", "cancelled too late: ready, finished",
            ] + Self.ending("ready, finished", runs: 1)
        await expect(expected, of: StoryKind.ownHoldingAThread + [.asyncSubclass]) { kind in
            let story = OperationStory(kind)
            story.tell("in no queue")
            story.queue.addOperation(story.dependent)
            story.operation.start()
            story.tell("started")
            story.operation.start()
            story.operation.cancel()
            story.tell("cancelled too late")
            return story.ending()
        }
    }

    // MARK: What Foundation does not announce

    // cancelling thread                                        a queue's thread
    // cancels: the operation is ready
    //                                                          starts it: it ends, the handlers are freed
    // announces .cancelled: to no listener
    @Test func aCancellationThatLetsItEndIsAnnounced() {
        // Operation is; the subclass adds only what it guards.
        final class StartedOnceReady: AsyncOperation<Int>, @unchecked Sendable {
            let isArmed = VisibleMutex(false)
            override func willAnswer(isReady: Bool, isPosted: Bool) {
                super.willAnswer(isReady: isReady, isPosted: isPosted)
                let isArmed = isArmed.withLock { armed in
                    defer { armed = false }
                    return armed
                }
                if isArmed { start() }
            }
        }
        let operation = StartedOnceReady()
        let events = Trace<OperationEvent>()
        operation.onChange { events.add($0) }
        operation.isArmed.withLock { $0 = true }
        operation.cancel()
        #expect(operation.isCancelled && operation.isFinished)
        #expect(events.events.count { $0 == .finished } == 1)
        #expect(events.events.count { $0 == .cancelled } == 1)
    }
}
