// SPDX-License-Identifier: Apache-2.0
//
// A group that is suspended: what begins, what goes on, what ends; in queues of both kinds, its own and given ones.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

/// Where the children of a group run, one at a time.
enum ChildHome: CaseIterable {
    case ownBesideOperationQueue, ownBesideInterlockQueue
    case placeInOperationQueue, placeInInterlockQueue
    case givenOperationQueue, givenInterlockQueue

    struct Stage: Sendable {
        let group: GroupOperation<Int>
        /// Its children run where those of `group` do.
        let outer: GroupOperation<[Int]>
        let add: @Sendable (Operation) -> Void
    }

    /// Two groups, in no queue yet.
    func stage(_ policy: FailurePolicy = .cancelOthers) -> Stage {
        let (foundation, own) = (OperationQueue(), InterlockQueue(name: "own", limit: 1))
        let (otherFoundation, other) = (OperationQueue(), InterlockQueue(name: "given", limit: 1))
        foundation.maxConcurrentOperationCount = 1
        otherFoundation.maxConcurrentOperationCount = 1
        func make<Element>(_: Element.Type, _ name: String) -> GroupOperation<Element> {
            switch self {
            case .ownBesideOperationQueue, .ownBesideInterlockQueue:
                GroupOperation(name: name, limit: 1, onFailure: policy)
            case .placeInOperationQueue: GroupOperation(name: name, on: foundation, onFailure: policy)
            case .placeInInterlockQueue: GroupOperation(name: name, on: own, onFailure: policy)
            case .givenOperationQueue: GroupOperation(name: name, on: otherFoundation, onFailure: policy)
            case .givenInterlockQueue: GroupOperation(name: name, on: other, onFailure: policy)
            }
        }
        let (group, outer) = (make(Int.self, "group"), make([Int].self, "outer"))
        return switch self {
        case .ownBesideOperationQueue, .placeInOperationQueue, .givenOperationQueue:
            Stage(group: group, outer: outer) { foundation.addOperation($0) }
        case .ownBesideInterlockQueue, .placeInInterlockQueue, .givenInterlockQueue:
            Stage(group: group, outer: outer) { own.enqueue($0) }
        }
    }
}

/// Lets the threads of both kinds of queues run some work, one after the other: what may begin has begun then.
func letOthersRun() async {
    let (foundation, own) = (OperationQueue(), InterlockQueue())
    for _ in 0..<50 {
        let (one, other) = (AsyncOperation<Int> { 1 }, AsyncOperation<Int> { 2 })
        foundation.addOperation(one)
        own.enqueue(other)
        _ = await (one.outcome, other.outcome)
    }
}
// contract: WaitReason, GroupOperation
@Suite(.timeLimit(.minutes(10))) struct GroupSuspensionTests {
    /// A child that has begun, and is to be let go.
    private final class Held: Sendable {
        let (begun, goOn) = (Handshake(), Handshake())
        let operation: AsyncOperation<Int>

        init(_ value: Int = 1, failing: Bool = false) {
            let (begun, goOn) = (begun, goOn)
            operation = AsyncOperation(name: "held") {
                begun.give()
                goOn.takeOnWorker()
                if failing { throw JobFailure() }
                return value
            }
        }
    }

    @Test(arguments: ChildHome.allCases) func whatRunsGoesOnAndNothingElseBegins(home: ChildHome) async throws
    {
        let (stage, first, ran) = (home.stage(), Held(), Counter())
        let group = stage.group
        let second = AsyncOperation<Int>(name: "second") { ran.increment() + 1 }
        let third = second.then(name: "third") { $0 + 1 }
        try group.add(first.operation)
        try group.add(second)
        try group.add(third)
        stage.add(group)
        await first.begun.taken()
        #expect(!group.isSuspended)
        group.suspend()
        group.suspend()
        #expect(group.isSuspended)
        first.goOn.give()
        await eventually("the first has ended") { group.unfinishedChildren.count == 2 }
        await letOthersRun()
        #expect(ran.value == 0 && group.isExecuting)
        #expect(second.explainWaiting()["second"]?.reasons == [.groupSuspended("group")])
        #expect(
            third.explainWaiting()["third"]?.reasons == [.dependency("second"), .groupSuspended("group")]
        )
        #expect(WaitReason.groupSuspended("a").description == "waits in group a, which is suspended")
        group.resume()
        #expect(!group.isSuspended)
        #expect(try await group.value == [1, 2, 3])
    }

    @Test(arguments: ChildHome.allCases) func suspendedBeforeItStartsItBeginsNoChildOfAnyClass(
        home: ChildHome
    ) async throws {
        let (stage, ran) = (home.stage(), Counter())
        let group = stage.group
        group.suspend()
        let block = BlockOperation { ran.increment() }
        block.name = "block"
        try group.add(other: block)
        try group.add(AsyncOperation { ran.increment() })
        stage.add(group)
        await eventually("it runs") { group.isExecuting }
        try group.add(AsyncOperation(name: "late") { ran.increment() })
        await letOthersRun()
        #expect(ran.value == 0 && group.unfinishedChildren.count == 3)
        let explanation = group.explainWaiting()
        #expect(explanation["block"]?.reasons == [.groupSuspended("group")])
        #expect(explanation["late"]?.reasons == [.groupSuspended("group")])
        group.resume()
        _ = try await group.value
        #expect(ran.value == 3)
    }

    @Test func suspendedAndResumedBeforeItStartsItRuns() async throws {
        let group = GroupOperation<Int>()
        try group.add(AsyncOperation { 1 })
        group.suspend()
        group.resume()
        group.start()
        #expect(try await group.value == [1])
    }

    @Test(arguments: ChildHome.allCases) func suspendedWithoutChildrenItEnds(home: ChildHome) async throws {
        let stage = home.stage()
        stage.group.suspend()
        stage.add(stage.group)
        #expect(try await stage.group.value == [])
        #expect(!stage.group.isSuspended, "it has ended")
        stage.group.suspend()
        #expect(!stage.group.isSuspended, "it has ended")
    }

    @Test(arguments: ChildHome.allCases, [true, false]) func aSuspendedGroupThatIsCancelledEnds(
        home: ChildHome,
        whileItRuns: Bool
    ) async throws {
        let (stage, first, ran) = (home.stage(), Held(), Counter())
        let group = stage.group
        let inner = GroupOperation<Int>(name: "inner")
        try inner.add(AsyncOperation { ran.increment() })
        try group.add(first.operation)
        try group.add(AsyncOperation { ran.increment() })
        try group.add(other: BlockOperation { ran.increment() })
        try group.add(other: inner)
        group.suspend()
        if whileItRuns {
            group.resume()
            stage.add(group)
            await first.begun.taken()
            group.suspend()
        }
        let children = group.unfinishedChildren
        group.cancel()
        if !whileItRuns { stage.add(group) }
        first.goOn.give()
        await #expect(throws: OperationCancelled(operation: "group")) { try await group.value }
        await eventually("all have ended") {
            children.allSatisfy(\.isFinished) && inner.unfinishedChildren.isEmpty
        }
        #expect(ran.value == 0 && !group.isSuspended && !inner.isSuspended)
    }

    /// A group that is suspended while its first child fails; another child, which counts, has not begun.
    private func suspended(_ stage: ChildHome.Stage, behind first: Held, _ ran: Counter) async throws
        -> GroupOperation<Int>
    {
        try stage.group.add(first.operation)
        try stage.group.add(AsyncOperation { ran.increment() })
        stage.add(stage.group)
        await first.begun.taken()
        stage.group.suspend()
        first.goOn.give()
        return stage.group
    }

    @Test(arguments: ChildHome.allCases) func aSuspendedGroupThatFailsEnds(home: ChildHome) async throws {
        let (stage, first, ran) = (home.stage(), Held(failing: true), Counter())
        let group = try await suspended(stage, behind: first, ran)
        await #expect(throws: JobFailure()) { try await group.value }
        #expect(ran.value == 0)
    }

    // Where all run, the others are still to come.
    @Test(arguments: ChildHome.allCases) func whereAllRunAFailureDoesNotResume(home: ChildHome) async throws {
        let (stage, first, ran) = (home.stage(.runAll), Held(failing: true), Counter())
        let group = try await suspended(stage, behind: first, ran)
        await eventually("the first has ended") { group.unfinishedChildren.count == 1 }
        await letOthersRun()
        #expect(ran.value == 0 && group.isSuspended)
        group.resume()
        await #expect(throws: JobFailure()) { try await group.value }
        #expect(ran.value == 1)
    }

    @Test(arguments: ChildHome.allCases) func endedFromOutsideASuspendedGroupFreesItsChildren(
        home: ChildHome
    ) async throws {
        let (stage, freed) = (home.stage(), Counter())
        try {
            let captured = Tracked(freed: freed)
            try stage.group.add(
                AsyncOperation {
                    captured.touch()
                    return 1
                }
            )
        }()
        stage.group.suspend()
        stage.add(stage.group)
        await eventually("it runs") { stage.group.isExecuting }
        stage.group.finish(.success([7]))
        #expect(try await stage.group.value == [7])
        await eventually("the child is freed") { freed.value == 1 }
    }

    @Test func aSuspendedGroupThatNeverRunsIsFreedWithItsChildren() throws {
        let freed = Counter()
        do {
            let (captured, group) = (Tracked(freed: freed), GroupOperation<Int>())
            let inner = GroupOperation<Int>()
            try inner.add(
                AsyncOperation {
                    captured.touch()
                    return 1
                }
            )
            try group.add(other: inner)
            group.suspend()
        }
        #expect(freed.value == 1)
    }

    // MARK: Groups within

    @Test(arguments: ChildHome.allCases) func aSuspensionReachesTheGroupsWithin(home: ChildHome) async throws
    {
        let (stage, ran, first) = (home.stage(), Counter(), Held())
        let (inner, outer) = (stage.group, stage.outer)
        let second = AsyncOperation<Int>(name: "second") { ran.increment() }
        try inner.add(first.operation)
        try inner.add(second)
        try outer.add(inner)
        stage.add(outer)
        await first.begun.taken()
        outer.suspend()
        #expect(inner.isSuspended)
        inner.resume()
        #expect(inner.isSuspended, "the outer one is")
        first.goOn.give()
        await eventually("the first has ended") { inner.unfinishedChildren == [second] }
        await letOthersRun()
        #expect(ran.value == 0)
        #expect(second.explainWaiting()["second"]?.reasons == [.groupSuspended("outer")])
        inner.suspend()
        outer.resume()
        await letOthersRun()
        #expect(ran.value == 0 && inner.isSuspended && !outer.isSuspended)
        #expect(second.explainWaiting()["second"]?.reasons == [.groupSuspended("group")])
        inner.resume()
        #expect(try await outer.value == [[1, 1]])
    }

    @Test func aGroupThatIsAddedToASuspendedOneIsSuspended() async throws {
        let (outer, middle, inner) = (
            GroupOperation<[[Int]]>(), GroupOperation<[Int]>(), GroupOperation<Int>()
        )
        try inner.add(AsyncOperation { 1 })
        try middle.add(inner)
        outer.suspend()
        #expect(!inner.isSuspended)
        try outer.add(middle)
        #expect(middle.isSuspended && inner.isSuspended)
        // Those that are gone are forgotten.
        for _ in 0..<100 {
            let short = GroupOperation<[Int]>()
            short.cancel()
            try outer.add(other: short)
        }
        #expect(!middle.isFinished)
        outer.start()
        outer.resume()
        #expect(!inner.isSuspended)
        await #expect(throws: OperationCancelled.self) { try await outer.value }
    }

    // MARK: In a queue of others

    // home: busy … | child started, held by its group, keeps the only place | behind
    @Test(arguments: [true, false]) func whatAGivenQueueStartsMeanwhileKeepsItsPlace(isResumed: Bool)
        async throws
    {
        let home = OperationQueue()
        home.maxConcurrentOperationCount = 1
        let (busy, ran, behindRan) = (Held(), Counter(), Counter())
        let group = GroupOperation<Int>(name: "group", on: home, onFailure: .runAll)
        let child = AsyncOperation<Int>(name: "child") { ran.increment() }
        try group.add(child)
        home.addOperation(busy.operation)
        await busy.begun.taken()
        group.start()
        #expect(home.operationCount == 2)
        group.suspend()
        let behind = AsyncOperation<Int> { behindRan.increment() }
        home.addOperation(behind)
        busy.goOn.give()
        await eventually("the child was started") { child.isExecuting }
        await eventually("it is held") {
            child.explainWaiting()["child"]?.reasons == [.groupSuspended("group")]
        }
        await letOthersRun()
        #expect(ran.value == 0 && behindRan.value == 0)
        if isResumed {
            group.resume()
            #expect(try await group.value == [1])
        } else {
            child.cancel()
            #expect(child.isFinished, "at once")
            await #expect(throws: OperationCancelled(operation: "child")) { try await group.value }
            #expect(ran.value == 0)
        }
        #expect(try await behind.value == 1)
    }

    /// What is held is let go one after the other; the first suspends the group again.
    @Test func whatAResumptionLetsGoIsHeldAnewBehindTheNextSuspension() {
        let (suspension, trace) = (GroupSuspension(), Trace<Int>())
        suspension.suspend("group")
        suspension.pass {
            trace.add(1)
            suspension.suspend("group")
        }
        suspension.pass { trace.add(2) }
        suspension.resume()
        #expect(trace.events == [1])
        suspension.resume()
        #expect(trace.events == [1, 2])
    }

    @Test func whatAGivenQueueHasOfAnotherClassBegins() async throws {
        let home = OperationQueue()
        home.maxConcurrentOperationCount = 1
        let (busy, ran) = (Held(), Counter())
        let group = GroupOperation<Int>(name: "group", on: home)
        try group.add(other: BlockOperation { ran.increment() })
        home.addOperation(busy.operation)
        await busy.begun.taken()
        group.start()
        #expect(home.operationCount == 2)
        group.suspend()
        busy.goOn.give()
        #expect(try await group.value == [])
        #expect(ran.value == 1)
    }

    @Test(arguments: ChildHome.allCases) func aChildThatIsCancelledAloneEndsWithTheResumptionAtTheLatest(
        home: ChildHome
    ) async throws {
        let (stage, ran) = (home.stage(.runAll), Counter())
        let child = AsyncOperation<Int>(name: "child") { ran.increment() }
        try stage.group.add(child)
        try stage.group.add(AsyncOperation { 2 })
        stage.group.suspend()
        stage.add(stage.group)
        await eventually("it runs") { stage.group.isExecuting }
        child.cancel()
        stage.group.resume()
        await #expect(throws: OperationCancelled(operation: "child")) { try await stage.group.value }
        #expect(ran.value == 0 && child.isFinished)
        #expect(try stage.group.results[1].get() == 2)
    }
}
