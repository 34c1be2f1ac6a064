// SPDX-License-Identifier: Apache-2.0
//
// Groups whose children could wait for ever, in queues of both kinds: in the group's own queue, for the group, for what
// is behind it. And races. What only an `InterlockQueue` has is in InterlockQueuePlaceTests.swift.

import Foundation
import Testing

import Interlock
// contract: ChildRefused, InterlockQueue, GroupOperation
@Suite(.timeLimit(.minutes(10))) struct GroupPlaceTests {
    @Test(arguments: QueueKind.all) func aGroupAndItsChildrenInOneSerialQueueEnd(kind: QueueKind) async throws
    {
        let (queue, crowd) = (kind.make(1), Crowd())
        let group = queue.group(nil, of: Int.self)
        for number in 0..<20 {
            try group.add(
                AsyncOperation {
                    crowd.enter()
                    defer { crowd.leave() }
                    return number
                }
            )
        }
        let after = AsyncOperation<Int> { 7 }
        queue.enqueue(group, after)
        #expect(try await group.value == Array(0..<20))
        #expect(try await after.value == 7)
        #expect(crowd.most == 1)
    }

    @Test(arguments: QueueKind.all) func groupsInGroupsAndStepsInOneSerialQueueEnd(kind: QueueKind)
        async throws
    {
        let queue = kind.make(1)
        let outer = queue.group(nil, of: [Int].self)
        for row in 0..<3 {
            let inner = queue.group(nil, of: Int.self)
            try inner.add(AsyncOperation { row })
            let source = AsyncOperation<Int> { row + 10 }
            let below = queue.flatMap(source, name: nil) { number in AsyncOperation { number + 10 } }
            try inner.add(source)
            try inner.add(below)
            try outer.add(inner)
        }
        queue.enqueue(outer)
        #expect(try await outer.value == (0..<3).map { [$0, $0 + 10, $0 + 20] })
    }

    /// The outer group runs its children in a queue of its own; what they begin is for the serial queue that it is in.
    @Test(arguments: QueueKind.all) func whatChildrenOfAnOwnQueueBeginInTheQueueAroundItEnds(kind: QueueKind)
        async throws
    {
        let queue = kind.make(1)
        let outer = GroupOperation<[Int]>(name: "outer")
        let inner = queue.group(nil, of: Int.self)
        let source = AsyncOperation<Int> { 1 }
        let below = queue.flatMap(source, name: nil) { number in AsyncOperation { number + 1 } }
        try inner.add(source)
        try inner.add(below)
        try outer.add(inner)
        let after = AsyncOperation<Int> { 7 }
        queue.enqueue(outer, after)
        #expect(try await outer.value == [[1, 2]])
        #expect(try await after.value == 7)
    }

    /// The queue around the group runs on a serial one of libdispatch.
    @Test func childrenOfAnOwnQueueDoNotRunOnTheDispatchQueueAroundTheGroup() async throws {
        let (queue, underlying) = (OperationQueue(), GCD.serialQueue(label: "underlying"))
        let key = DispatchSpecificKey<Bool>()
        underlying.setSpecific(key: key, value: true)
        queue.underlyingQueue = underlying
        let group = GroupOperation<Bool>()
        try group.add(AsyncOperation { DispatchQueue.getSpecific(key: key) ?? false })
        queue.addOperation(group)
        #expect(try await group.value == [false])
    }

    @Test(arguments: QueueKind.all) func aQueueFullOfGroupsEnds(kind: QueueKind) async throws {
        let queue = kind.make(2)
        let groups = try (0..<6).map { number in
            let group = queue.group(nil, of: Int.self)
            try group.add(AsyncOperation { number })
            return group
        }
        for group in groups { queue.enqueue(group) }
        for (number, group) in groups.enumerated() { #expect(try await group.value == [number]) }
    }

    @Test(arguments: QueueKind.all) func childrenRunInTheQueueThatIsGiven(kind: QueueKind) async throws {
        let (queue, home) = (kind.make(nil), kind.make(nil))
        home.suspend()
        let group = home.group(nil, of: Int.self)
        let child = AsyncOperation<Int> { 1 }
        try group.add(child)
        queue.enqueue(group)
        await eventually("the child is in its queue") { home.count == 1 }
        #expect(home.operations.first === child && queue.count == 1)
        home.resume()
        #expect(try await group.value == [1])
    }

    // MARK: Cycles

    @Test func aChildThatWaitsForItsGroupIsRefused() throws {
        let group = GroupOperation<Int>(name: "group")
        let step = group.then(name: "step") { $0.count }
        let child = step.then(name: "child") { $0 }
        let refusal = ChildRefused(group: "group", child: "child", reason: .waitsForGroup)
        #expect(throws: refusal) { try group.add(child) }
        #expect(
            refusal.description
                == "group does not take operation child: it waits for group, and neither could ever end"
        )
        #expect(group.unfinishedChildren.isEmpty)
    }

    @Test func aGroupIsNotItsOwnChildHoweverDeep() throws {
        let (outer, middle, inner) = (
            GroupOperation<Int>(name: "outer"), GroupOperation<Int>(name: "middle"),
            GroupOperation<Int>(name: "inner")
        )
        try outer.add(other: middle)
        try middle.add(other: inner)
        #expect(throws: ChildRefused(group: "inner", child: "outer", reason: .waitsForGroup)) {
            try inner.add(other: outer)
        }
        #expect(throws: ChildRefused(group: "inner", child: "inner", reason: .waitsForGroup)) {
            try inner.add(other: inner)
        }
    }

    @Test(arguments: QueueKind.all) func aGroupWhoseChildWaitsForWhatIsBehindItSaysSo(kind: QueueKind)
        async throws
    {
        let queue = kind.make(1)
        queue.suspend()
        let behind = AsyncOperation<Int>(name: "behind") { 1 }
        let group = GroupOperation<Int>(name: "group")
        let child = AsyncOperation<Int>(name: "child") { 2 }
        child.addDependency(behind)
        try group.add(AsyncOperation { 1 })
        try group.add(child)
        queue.enqueue(group, behind)
        queue.resume()
        let refusal = ChildRefused(group: "group", child: "child", reason: .waitsForPlace("behind"))
        await #expect(throws: refusal) { try await group.value }
        #expect(try await behind.value == 1)
        _ = await child.outcome
        #expect(child.isCancelled)
    }

    @Test(arguments: QueueKind.all) func aLateChildThatWaitsForWhatIsBehindTheGroupIsRefused(kind: QueueKind)
        async throws
    {
        let queue = kind.make(1)
        let (begun, added) = (Handshake(), Handshake())
        let behind = AsyncOperation<Int>(name: "behind") { 1 }
        let group = GroupOperation<Int>(name: "group")
        try group.add(
            AsyncOperation {
                begun.give()
                added.takeOnWorker()
                return 1
            }
        )
        queue.enqueue(group, behind)
        await begun.taken()
        let late = AsyncOperation<Int>(name: "late") { 2 }
        late.addDependency(behind)
        #expect(throws: ChildRefused(group: "group", child: "late", reason: .waitsForPlace("behind"))) {
            try group.add(late)
        }
        added.give()
        #expect(try await group.value == [1])
    }

    // Each link is walked once: the walk stops at what is known.
    @Test(arguments: QueueKind.all) func aLongChainIsAddedLinkByLink(kind: QueueKind) async throws {
        let queue = kind.make(nil)
        let group = GroupOperation<Int>(limit: 1)
        var last = AsyncOperation<Int> { 0 }
        try group.add(last)
        for _ in 0..<2_000 {
            last = last.then { $0 + 1 }
            try group.add(last)
        }
        queue.enqueue(group)
        #expect(try await group.value == Array(0...2_000))
    }

    // MARK: Races and lifetimes

    // 10,000 groups: one thread adds, one cancels, one ends the first child.
    @Test func racingAdditionsCancellationsAndEndsLeaveNoChildBehind() async throws {
        let (alive, freed) = (Counter(), Counter())
        for _ in 0..<10 {
            let groups = (0..<1_000).map { _ in GroupOperation<Int>(limit: 4) }
            let first = try groups.map { group in
                let child = AsyncOperation<Int> { (_: Completion<Int>) in }
                try group.add(child)
                return child
            }
            let added = SafeArray<AsyncOperation<Int>>()
            for group in groups { group.start() }
            await blocking {
                onThreads(3) { thread in
                    for (group, child) in zip(groups, first) {
                        switch thread {
                        case 0:
                            let captured = Tracked(alive: alive, freed: freed)
                            let late = AsyncOperation<Int> {
                                captured.touch()
                                return 1
                            }
                            do {
                                try group.add(late)
                                added.append(late)
                            } catch let error as ChildRefused {
                                #expect(error.reason == .isEnding && late.state == .ready)
                            } catch {
                                Issue.record(error)
                            }
                        case 1: group.cancel()
                        default: child.finish(.success(1))
                        }
                    }
                }
            }
            for group in groups {
                _ = await group.outcome
                #expect(group.unfinishedChildren.isEmpty)
            }
            #expect(added.snapshot.filter { !$0.isFinished }.isEmpty)
        }
        #expect(alive.value == 10_000)
        await eventually("all is freed") { freed.value == 10_000 }
    }

    @Test(arguments: QueueKind.all) func aGroupThatEndsOrNeverRunsIsFreedWithItsChildren(kind: QueueKind)
        async throws
    {
        let queue = kind.make(nil)
        let freed = Counter()
        func group() throws -> GroupOperation<Int> {
            let captured = Tracked(freed: freed)
            let group = GroupOperation<Int>()
            let inner = GroupOperation<Int>()
            try inner.add(
                AsyncOperation {
                    captured.touch()
                    return 1
                }
            )
            try group.add(other: inner)
            group.addChildObserver(OperationObserver(didFinish: { _, _ in captured.touch() }))
            return group
        }
        do { _ = try group() }
        #expect(freed.value == 1)
        let cancelled = try group()
        cancelled.cancel()
        await eventually("freed with the cancellation") { freed.value == 2 }
        let ran = try group()
        queue.enqueue(ran)
        _ = try await ran.value
        await eventually("freed with the end, while the group is kept") { freed.value == 3 }
        #expect(ran.isFinished && !cancelled.isFinished)
    }
}
