// SPDX-License-Identifier: Apache-2.0
//
// An end of a split ring on an actor that is re-entered while a verb of the end is suspended. The compiler refuses an
// end that is a property of the actor (Support/WrongProgramTests), but not one reached through an object. The ring
// stays right because only the actor uses the end.

import Foundation
import Interlock
import Testing
// contract: SPSCRing
@Suite(.timeLimit(.minutes(10))) struct ReentrantEndTests {
    static let each = 4_000
    static let tasks = 4

    private final class Box<End: ~Copyable> {
        var end: End

        init(_ end: consuming End) { self.end = end }
    }

    private actor Sender {
        private let box: Box<SPSCRing<Counted>.Producer>
        private let counter: LifetimeCounter

        init(_ producer: consuming sending SPSCRing<Counted>.Producer, _ counter: LifetimeCounter) {
            box = Box(producer)
            self.counter = counter
        }

        /// Some senders suspend; the others try, and yield the actor in between.
        func send(from sender: Int) async {
            let box = box
            for value in 0..<each where !box.end.isClosed {
                let element = Counted(sender * each + value, counter)
                if sender % 2 == 0 {
                    if await !box.end.push(element).isPushed { return }
                } else {
                    while !box.end.tryPush(element).isPushed, !box.end.isClosed { await Task.yield() }
                }
            }
        }

        func close() { box.end.close() }
    }

    private actor Receiver {
        private let box: Box<SPSCRing<Counted>.Consumer>

        init(_ consumer: consuming sending SPSCRing<Counted>.Consumer) { box = Box(consumer) }

        func receive(by receiver: Int) async -> [Int] {
            let box = box
            var mine: [Int] = []
            if receiver % 2 == 0 {
                while let element = try? await box.end.pop() { mine.append(element.id) }
            } else {
                while !(box.end.isClosed && box.end.count == 0) {
                    if let element = box.end.tryPop() { mine.append(element.id) } else { await Task.yield() }
                }
            }
            return mine
        }
    }

    /// ```
    /// task 1 on the actor     task 2 on the actor     the other end, a thread
    /// push: full, suspends
    ///                         tryPush ...             pops, which ends the suspension
    /// pushes
    /// ```
    @Test func aProducersEndIsUsedByItsActorOnly() async throws {
        let counter = LifetimeCounter()
        let received = SafeArray<Int>()
        try await SPSCRing<Counted>(capacity: 2).split { producer, consumer in
            let handoff = Handoff(consumer)
            let thread = TestThread {
                let consumer = handoff.take()
                var mine: [Int] = []
                while mine.count < Self.each * Self.tasks,
                    let element = try? consumer.pop(timeout: hangLimit).element()
                { mine.append(element.id) }
                consumer.close()
                received.append(contentsOf: mine)
            }
            let sender = Sender(producer, counter)
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<Self.tasks { group.addTask { await sender.send(from: task) } }
            }
            await sender.close()
            thread.join()
        }
        #expect(received.sorted() == Array(0..<Self.each * Self.tasks))
        for sender in 0..<Self.tasks {
            let theirs = received.filter { $0 / Self.each == sender }
            #expect(theirs == theirs.sorted())
        }
        #expect(counter.living == 0)
    }

    /// The same at the other end.
    @Test func aConsumersEndIsUsedByItsActorOnly() async throws {
        let counter = LifetimeCounter()
        let received = try await SPSCRing<Counted>(capacity: 2).split { producer, consumer in
            let handoff = Handoff(producer)
            let thread = TestThread {
                let producer = handoff.take()
                for value in 0..<Self.each * Self.tasks {
                    let element = Counted(value, counter)
                    guard producer.push(element, timeout: hangLimit).isPushed else { return }
                }
                producer.close()
            }
            let receiver = Receiver(consumer)
            let received = await withTaskGroup(of: [Int].self) { group in
                for task in 0..<Self.tasks { group.addTask { await receiver.receive(by: task) } }
                var all: [[Int]] = []
                for await mine in group { all.append(mine) }
                return all
            }
            thread.join()
            return received
        }
        #expect(received.flatMap { $0 }.sorted() == Array(0..<Self.each * Self.tasks))
        for mine in received { #expect(mine == mine.sorted()) }
        #expect(counter.living == 0)
    }
}

private let each = ReentrantEndTests.each
