// SPDX-License-Identifier: Apache-2.0
//
// Announcements (scenario 4): on the given queue, in order, after they are visible, until the subscription ends.

import Dispatch
import Foundation
import Synchronization
import Testing

import Interlock
@testable import InterlockSync

/// The scenario: made once however many are first, adding is a write, reading is a copy.
private final class PhotoManager: Sendable {
    static let made = Atomic<Int>(0)
    static let shared = PhotoManager()
    private let storage = SafeArray<String>()

    private init() { Self.made.add(1, ordering: .relaxed) }

    var photos: [String] { storage.snapshot }
    func add(_ photo: String) { storage.append(photo) }
    func onAddition(_ handler: @escaping @Sendable (String) -> Void) -> ChangeSubscription {
        storage.changes { change in
            if case .insertion(_, let photos) = change { photos.forEach(handler) }
        }
    }
}
// contract: ChangeSubscription, ChangesSequence, SafeArray
@Suite struct SafeArrayChangesTests {
    @Test func aSharedManagerIsMadeOnceAndAnnouncesOnTheMainQueueInOrder() async {
        onThreads(4) { _ in _ = PhotoManager.shared.photos }
        #expect(PhotoManager.made.load(ordering: .relaxed) == 1)

        let announced = SafeArray<String>()
        let misplaced = Atomic<Int>(0)
        let subscription = PhotoManager.shared.onAddition { photo in
            dispatchPrecondition(condition: .onQueue(.main))
            // The addition is visible by now.
            if !PhotoManager.shared.photos.contains(photo) { misplaced.add(1, ordering: .relaxed) }
            announced.append(photo)
        }
        let copy = PhotoManager.shared.photos
        onThreads(4) { thread in
            for number in 0..<50 { PhotoManager.shared.add("\(thread)/\(number)") }
        }
        #expect(await eventuallySuspending { announced.count == 200 })
        #expect(misplaced.load(ordering: .relaxed) == 0)
        #expect(announced.snapshot == PhotoManager.shared.photos, "announced in the order of the additions")
        #expect(copy.isEmpty, "a copy is not changed by later writes")
        subscription.cancel()
    }

    @Test func handlersOfOneSubscriptionRunOneAtATimeOnAConcurrentQueue() async {
        let array = SafeArray<Int>()
        let inside = Atomic<Int>(0)
        let overlaps = Atomic<Int>(0)
        let heard = SafeArray<Int>()
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let subscription = array.changes(deliverOn: queue) { change in
            if inside.add(1, ordering: .relaxed).newValue > 1 { overlaps.add(1, ordering: .relaxed) }
            if case .insertion(_, let elements) = change { heard.append(contentsOf: elements) }
            inside.subtract(1, ordering: .relaxed)
        }
        onThreads(4) { thread in
            for step in 0..<250 { array.append(thread * 1_000 + step) }
        }
        #expect(await eventuallySuspending { heard.count == 1_000 })
        #expect(overlaps.load(ordering: .relaxed) == 0)
        #expect(heard.snapshot == array.snapshot)
        subscription.cancel()
    }

    @Test func aHandlerMayChangeTheArray() async {
        let array = SafeArray<Int>()
        let subscription = array.changes(deliverOn: DispatchQueue(label: "echo")) { [weak array] change in
            if case .insertion(_, let elements) = change, elements[0] < 10 {
                array?.append(elements[0] + 1)
            }
        }
        array.append(0)
        #expect(await eventuallySuspending { array.count == 11 })
        #expect(array.snapshot == Array(0...10))
        subscription.cancel()
    }

    @Test func nothingIsAnnouncedAfterTheSubscriptionHasEnded() async {
        let array = SafeArray<Int>()
        let queue = DispatchQueue(label: "silence")
        let cancelled = SafeArray<Int>()
        let dropped = SafeArray<Int>()
        let kept = SafeArray<Int>()
        let one = array.changes(deliverOn: queue) { _ in cancelled.append(1) }
        var other: ChangeSubscription? = array.changes(deliverOn: queue) { _ in dropped.append(1) }
        let third = array.changes(deliverOn: queue) { _ in kept.append(1) }
        array.append(1)
        #expect(await eventuallySuspending { cancelled.count == 1 && dropped.count == 1 && kept.count == 1 })
        one.cancel()
        one.cancel()
        other = nil
        array.append(2)
        #expect(await eventuallySuspending { kept.count == 2 })
        #expect(cancelled.count == 1 && dropped.count == 1)
        _ = other
        withExtendedLifetime(third) {}
    }

    static let misuses = [
        Misuse(
            "SafeArray<Int>.Change.apply(to:)(): of 1 elements, those at 1..<2 are not there to be changed\n"
        ) {
            var elements = [1]
            SafeArray<Int>.Change.removal(at: 1, elements: [2]).apply(to: &elements)
        },
        Misuse(
            "of 1 elements, those at 9223372036854775807..<9223372036854775807 are not there to be changed\n"
        ) {
            var elements = [1]
            SafeArray<Int>.Change.removal(at: .max, elements: [2]).apply(to: &elements)
        },
        Misuse("those at -9223372036854775808..<-9223372036854775808 are not") {
            var elements = [1]
            SafeArray<Int>.Change.insertion(at: .min, elements: [2]).apply(to: &elements)
        },
    ]

    @Test(.serialized, .ownThreads, arguments: misuses.indices)
    func aChangeOfAnotherArrayOrAtNoIndexIsReported(index: Int) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [index] in
            try await SafeArrayChangesTests.misuses[index].program()
        }
        Self.misuses[index].expectReport(result)
    }

    @Test func whatLeavesEverythingEqualIsNotAnnounced() async {
        let array: SafeArray = [1, 2, 3]
        let heard = SafeArray<SafeArray<Int>.Change>()
        let subscription = array.changes(deliverOn: DispatchQueue(label: "equal")) { heard.append($0) }
        array.sort()
        array.withWriteLock { _ in }
        array[1] = 2
        array.append(contentsOf: [])
        array.insert(contentsOf: [], at: 1)
        array.replaceSubrange(1..<1, with: [])
        array.removeFirst(0)
        array.removeLast(0)
        array.withWriteLock { $0[1] = 5 }
        array.withWriteLock { _ = $0.remove(at: 0) }
        array.withWriteLock { $0.insert(9, at: 1) }
        array.removeAll()
        array.removeAll()
        array.removeAll(keepingCapacity: true)
        array.append(7)
        #expect(await eventuallySuspending { heard.last == .insertion(at: 0, elements: [7]) })
        #expect(
            heard.snapshot == [
                .replacement(at: 1, old: [2], new: [5]),
                .removal(at: 0, elements: [1]),
                .insertion(at: 1, elements: [9]),
                .removal(at: 0, elements: [5, 9, 3]),
                .insertion(at: 0, elements: [7]),
            ]
        )
        subscription.cancel()
    }

    @Test func elementsThatCannotBeComparedAreAnnouncedWhole() async {
        struct Opaque: Sendable { let value: Int }
        let array = SafeArray([Opaque(value: 1), Opaque(value: 2)])
        let heard = SafeArray<[Int]>()
        let subscription = array.changes(deliverOn: DispatchQueue(label: "opaque")) { change in
            if case .replacement(0, let old, let new) = change {
                heard.append(old.map(\.value) + new.map(\.value))
            }
        }
        array.withWriteLock { $0[0] = Opaque(value: 3) }
        #expect(await eventuallySuspending { heard.count == 1 })
        #expect(heard.snapshot == [[1, 2, 3, 2]])
        subscription.cancel()
    }

    @Test func theSequenceHearsTheSameAndEndsWithItsTask() async {
        let array = SafeArray<Int>()
        let changes = array.changes()
        let listener = Task {
            var heard: [Int] = []
            for await change in changes {
                if case .insertion(_, let elements) = change { heard += elements }
                if heard.count == 400 { break }
            }
            return heard
        }
        onThreads(4) { thread in
            for step in 0..<100 { array.append(thread * 100 + step) }
        }
        #expect(await listener.value == array.snapshot)

        let idle = Task { for await _ in array.changes() {} }
        idle.cancel()
        await idle.value
    }

    /// Comparing, the first step of a delivery, happens where the consumer is.
    @Test func writersDeliverNothingForASequence() async {
        let array = SafeArray([Compared(0)])
        let changes = array.changes()
        let listener = Task {
            var heard: [Int] = []
            for await case .replacement(_, _, let new) in changes {
                heard.append(new[0].value)
                if heard.count == 600 { break }
            }
            return heard
        }
        let order = SafeArray<Int>()
        onThreads(3) { thread in
            Compared.isWriter = true
            for step in 1...200 {
                array.withWriteLock { elements in
                    elements[0] = Compared(thread * 1_000 + step)
                    order.append(elements[0].value)
                }
            }
        }
        #expect(await listener.value == order.snapshot)
        #expect(Compared.byWriters.load(ordering: .relaxed) == 0)
    }

    /// Counts comparisons that a writer makes.
    private struct Compared: Equatable, Sendable {
        static let byWriters = Atomic<Int>(0)
        static var isWriter: Bool {
            get { Thread.current.threadDictionary["writer"] != nil }
            set { Thread.current.threadDictionary["writer"] = newValue ? true : nil }
        }
        let value: Int

        init(_ value: Int) { self.value = value }

        static func == (left: Self, right: Self) -> Bool {
            if isWriter { byWriters.add(1, ordering: .relaxed) }
            return left.value == right.value
        }
    }

    @Test func eachChangeGoesToOneOfSeveralConsumersOfASequence() async {
        let array = SafeArray<Int>()
        let changes = array.changes()
        let heard = SafeArray<Int>()
        let listeners = (0..<3).map { _ in
            Task {
                for await case .insertion(_, let elements) in changes { heard.append(contentsOf: elements) }
            }
        }
        onThreads(2) { thread in
            for step in 0..<300 { array.append(thread * 300 + step) }
        }
        #expect(await eventuallySuspending { heard.count == 600 })
        #expect(Set(heard.snapshot) == Set(0..<600))
        for listener in listeners { listener.cancel() }
        for listener in listeners { await listener.value }
    }

    /// cancelled   waits or not yet: ends
    /// other                               hears all; ends with the array
    @Test(.timeLimit(.minutes(10))) func aCancelledConsumerLeavesTheSequenceToTheOthers() async {
        var array: SafeArray<Int>? = []
        let changes = array!.changes()
        let other = Task { await changes.reduce(0) { heard, _ in heard + 1 } }
        let cancelled = Task { await changes.reduce(0) { heard, _ in heard + 1 } }
        cancelled.cancel()
        #expect(await cancelled.value == 0)
        for step in 0..<3 { array!.append(step) }
        array = nil
        #expect(await other.value == 3)
    }

    /// What a cancelled task does not take is there for the next consumer; its own iterator stays ended.
    @Test func aCancelledConsumerTakesNothing() async {
        // One task at a time.
        final class Consumer: @unchecked Sendable {
            var iterator: ChangesSequence<SafeArray<Int>.Change>.AsyncIterator
            init(_ changes: ChangesSequence<SafeArray<Int>.Change>) {
                iterator = changes.makeAsyncIterator()
            }
            func next() async -> SafeArray<Int>.Change? { await iterator.next() }
        }
        var array: SafeArray<Int>? = []
        let changes = array!.changes()
        let consumer = Consumer(changes)
        array!.append(1)
        array = nil
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await consumer.next()
        }
        #expect(await cancelled.value == nil)
        #expect(await consumer.next() == nil, "an iterator that has ended stays ended")
        var other = changes.makeAsyncIterator()
        #expect(await other.next() == .insertion(at: 0, elements: [1]))
    }

    @Test(.timeLimit(.minutes(10))) func aSequenceEndsWhenItsArrayIsGone() async {
        var array: SafeArray<Int>? = []
        let changes = array!.changes()
        array!.append(1)
        array!.append(2)
        array = nil
        var heard = 0
        for await _ in changes { heard += 1 }
        #expect(heard == 2)
    }

    @Test(.timeLimit(.minutes(10))) func anIteratorKeepsItsSequence() async {
        let array = SafeArray<Int>()
        var iterator = array.changes().makeAsyncIterator()
        array.append(1)
        #expect(await iterator.next() == .insertion(at: 0, elements: [1]))
    }

    // MARK: Ending a subscription

    /// In closures of the observed array, whose lock the thread holds.
    @Test(.ownThreads, .timeLimit(.minutes(10))) func aSubscriptionMayEndInsideAClosureOfItsArray() async {
        await #expect(processExitsWith: .success) {
            let array = SafeArray([1])
            let heard = SafeArray<Int>()
            let cancelled = array.changes(deliverOn: .global()) { _ in heard.append(1) }
            var dropped: ChangeSubscription? = array.changes(deliverOn: .global()) { _ in heard.append(1) }
            var sequence: ChangesSequence? = array.changes()
            let changes = array.changes()
            let listener = Task { for await _ in changes { heard.append(1) } }
            let kept = SafeArray<Int>()
            let witness = array.changes(deliverOn: .global()) { _ in kept.append(1) }
            array.withWriteLock { _ in cancelled.cancel() }
            array.withReadLock { _ in dropped = nil }
            array.update(at: 0) { _ in sequence = nil }
            array.removeAll { _ in
                listener.cancel()
                return false
            }
            await listener.value
            array.append(2)
            while kept.isEmpty { await Task.yield() }
            _ = (dropped, sequence, witness)
            if !heard.isEmpty { exit(1) }
        }
    }

    @Test func theArrayForgetsASubscriptionThatHasEnded() {
        let array = SafeArray([1, 2, 3])
        let subscription = array.changes(deliverOn: .global()) { _ in }
        subscription.cancel()
        #expect(array.storage.state.observers != nil)
        array.append(4)
        #expect(array.storage.state.observers == nil)
        for _ in 0..<100 { array.changes(deliverOn: .global()) { _ in }.cancel() }
        let last = array.changes(deliverOn: .global()) { _ in }
        #expect(array.storage.state.observers?.count == 1)
        withExtendedLifetime(last) {}
    }

    @Test func endingLetsGoOfTheHandlerAtOnce() {
        let counter = LifetimeCounter()
        let array = SafeArray([1])
        let subscription = array.changes(deliverOn: .global()) { [captured = Counted(1, counter)] _ in
            _ = captured
        }
        #expect(counter.living == 1)
        subscription.cancel()
        #expect(counter.living == 0)
    }

    /// What a subscriber has not heard is released outside every lock when it leaves.
    @Test(.ownThreads, .timeLimit(.minutes(10))) func elementsThatNoObserverHeardOfMayCallTheArray() async {
        await #expect(processExitsWith: .success) {
            final class Caller: Sendable {
                let array: SafeArray<Caller?>
                init(_ array: SafeArray<Caller?>) { self.array = array }
                deinit { array.append(nil) }
            }
            let queue = DispatchQueue(label: "at rest", attributes: .initiallyInactive)
            let delivered = SafeArray<Caller?>()
            let onQueue = delivered.changes(deliverOn: queue) { _ in }
            delivered.append(Caller(delivered))
            _ = delivered.popLast()
            if delivered.count != 0 { exit(1) }
            onQueue.cancel()
            if delivered.count != 1 { exit(2) }
            queue.activate()

            let asked = SafeArray<Caller?>()
            var sequence: ChangesSequence? = asked.changes()
            asked.append(Caller(asked))
            _ = asked.popLast()
            if asked.count != 0 { exit(3) }
            sequence = nil
            if asked.count != 1 { exit(4) }
            _ = sequence
        }
    }

    @Test func observersDoNotKeepTheArrayOrItsElements() {
        let counter = LifetimeCounter()
        var subscription: ChangeSubscription?
        do {
            let array = SafeArray([Counted(1, counter)])
            subscription = array.changes(deliverOn: DispatchQueue(label: "lifetime")) { _ in }
            array.append(Counted(2, counter))
        }
        #expect(eventually { counter.living == 0 }, "the last delivery lets go of the array")
        subscription?.cancel()
    }
}
