// SPDX-License-Identifier: Apache-2.0
//
// The ends of operations under races, 10,000 of each: one end, one call that learns so, dependents released, hooks and
// completion block once.

import Foundation
import Testing

import Interlock
@testable import InterlockOperations

// contract: AsyncOperation
@Suite(.timeLimit(.minutes(10)), .serialized) struct OperationRaceTests {
    enum Kind: CaseIterable { case block, task, handler, subclass }

    private static let dependents: OperationQueue = {
        let queue = OperationQueue()
        queue.name = "dependents"
        return queue
    }()

    /// Its closure gives 1; that of a completion-handler operation keeps its completion until the end of the operation.
    static func make(_ kind: Kind, ran: Counter = Counter()) -> AsyncOperation<Int> {
        switch kind {
        case .block: return AsyncOperation { ran.increment() }
        case .task:
            return AsyncOperation {
                await Task.yield()
                return ran.increment()
            }
        case .handler:
            let kept = VisibleBox<Completion<Int>>()
            let operation = AsyncOperation<Int> { completion in
                ran.increment()
                kept.value.withLock { $0 = completion }
            }
            operation.onFinish { _ in kept.value.withLock { $0 = nil } }
            return operation
        case .subclass: return GraphSubclass("raced") { _ in ran.increment() }
        }
    }

    @Sendable private static func complaints(of raced: Raced) -> [String] {
        raced.complaints { result in
            raced.accepted.value == 1 ? result.isValue(2) : result.isCancelled || result.isValue(1)
        }
    }

    // Without a queue: start() itself is one of the racers.
    @Test(arguments: Kind.allCases) func startCancelAndFinishEndItOnce(kind: Kind) async {
        await Race.run(
            Raced.self,
            make: { _ in Raced(Self.make(kind)) { Self.dependents.addOperation($0) } },
            racers: { raced in raced.operation.start() },
            { $0.operation.cancel() },
            { if $0.operation.finish(.success(2)) { $0.accepted.increment() } },
            judge: Self.complaints(of:)
        )
    }

    // The queue starts it while two threads end it, and a third adds one more dependent.
    @Test(arguments: QueueKind.all, Kind.allCases) func addingCancelAndFinishEndItOnce(
        queue: QueueKind,
        kind: Kind
    ) async {
        let tested = queue.make(nil)
        await Race.run(
            Raced.self,
            make: { _ in Raced(Self.make(kind)) { tested.add($0) } },
            racers: { tested.add($0.operation) },
            { $0.operation.cancel() },
            { if $0.operation.finish(.success(2)) { $0.accepted.increment() } },
            { raced in raced.addLate { tested.add($0) } },
            judge: Self.complaints(of:)
        )
        await blocking { tested.waitUntilEmpty() }
        #expect(tested.count == 0)
    }

    // MARK: Completions

    /// How the last holder of a completion lets it go.
    enum Letting: CaseIterable { case calledTwice, droppedAfterOneCall, dropped, neverCalled }

    /// Holds the completion for the racers; each takes its own copy.
    private final class Holder: Sendable {
        let raced: Raced
        private let copies: VisibleMutex<[Completion<Int>]>

        init() {
            let box = VisibleBox<Completion<Int>>()
            let operation = AsyncOperation<Int> { completion in box.value.withLock { $0 = completion } }
            raced = Raced(operation) { OperationRaceTests.dependents.addOperation($0) }
            raced.operation.start()
            let completion = box.value.withLock { $0.take()! }
            copies = VisibleMutex([completion, completion])
        }

        func take() -> Completion<Int>? { copies.withLock { $0.popLast() } }
    }

    // contract: Completion
    @Test(arguments: Letting.allCases) func aCompletionEndsItsOperationOnce(letting: Letting) async {
        let call: @Sendable (Holder) -> Void = { holder in
            if holder.take()!.succeed(1) { holder.raced.accepted.increment() }
        }
        let drop: @Sendable (Holder) -> Void = { holder in _ = holder.take() }
        let cancel: @Sendable (Holder) -> Void = { $0.raced.operation.cancel() }
        let racers: [@Sendable (Holder) -> Void] =
            switch letting {
            case .calledTwice: [call, call]
            case .droppedAfterOneCall: [call, drop]
            case .dropped: [drop, drop, cancel]
            // The copies are there until after the race.
            case .neverCalled: [cancel, { _ in }]
            }
        await Race.run(
            Holder.self,
            make: { _ in Holder() },
            racers: racers,
            judge: { holder in
                holder.raced.complaints { result in
                    switch letting {
                    case .calledTwice, .droppedAfterOneCall:
                        holder.raced.accepted.value == 1 && result.isValue(1)
                    case .dropped: result.isCancelled || result.isAbandoned
                    case .neverCalled: result.isCancelled
                    }
                }
            }
        )
    }

    // A call, a cancellation, the last copy's end and one more dependent at once.
    @Test func aCallRacesWithACancellationAndADrop() async {
        await Race.run(
            Holder.self,
            make: { _ in Holder() },
            racers: { if $0.take()!.succeed(1) { $0.raced.accepted.increment() } },
            { $0.raced.operation.cancel() },
            { _ = $0.take() },
            { holder in holder.raced.addLate { Self.dependents.addOperation($0) } },
            judge: { holder in
                holder.raced.complaints { result in
                    holder.raced.accepted.value == 1 ? result.isValue(1) : result.isCancelled
                }
            }
        )
    }

    // MARK: Waits

    // A wait that gives up as the operation ends has the result or nil, and leaves no hook behind.
    @Test func aWaitThatGivesUpRacesWithTheEnd() async {
        await Race.run(
            Raced.self,
            make: { _ in
                let raced = Raced(Self.make(.subclass)) { Self.dependents.addOperation($0) }
                raced.operation.start()
                return raced
            },
            racers: { if $0.operation.finish(.success(2)) { $0.accepted.increment() } },
            { raced in
                let result = raced.operation.wait(timeout: .microseconds(5))
                if let result, !result.isValue(2) { raced.ran.increment() }
                // The one of the judge.
                let hooks = raced.operation.record.withLock { $0.hookCount }
                if hooks > 1 { raced.ran.increment() }
            },
            judge: { raced in
                (raced.ran.value == 0 ? [] : ["the wait had another result, or left its hook"])
                    + raced.complaints { $0.isValue(2) }
            }
        )
    }
}

extension Result where Success == Int, Failure == any Error {
    fileprivate var isAbandoned: Bool {
        if case .failure(let error) = self { error is OperationAbandoned } else { false }
    }
}
