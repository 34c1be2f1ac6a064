// SPDX-License-Identifier: Apache-2.0
//
// What ChangeMailbox and ChangeFeed keep, and for how long; whom they wake; and what is announced where a closure
// throws.

import Dispatch
import Testing

import Interlock
// contract: ChangeSubscription, ChangesSequence
@Suite(.timeLimit(.minutes(10))) struct ChangeDeliveryTests {
    /// consumer    waits
    /// owner               releases the array: the last writer has gone, and only the end can wake
    @Test func aConsumerThatWaitsHearsThatItsArrayIsGone() async throws {
        let pool = try WorkerPool(threads: 1, maximumThreads: 1)
        var array: SafeArray<Int>? = []
        let changes = array!.changes()
        let (begun, ended) = (Handshake(), Handshake())
        let consumer = Task(executorPreference: pool) {
            begun.give()
            for await _ in changes {}
            ended.give()
        }
        await begun.taken()
        // The only thread runs this: the consumer waits. Several times, as it may come to its wait in several parts.
        for _ in 0..<20 { try await pool.run {} }
        array = nil
        await ended.taken()
        _ = array
        consumer.cancel()
    }

    @Test func aSequenceKeepsNothingOfWhatItHasDelivered() async {
        let counter = LifetimeCounter()
        let array = SafeArray<Counted>()
        let changes = array.changes()
        var iterator = changes.makeAsyncIterator()
        array.append(Counted(1, counter))
        array.removeAll()
        for _ in 0..<2 { #expect(await iterator.next() != nil) }
        #expect(counter.living == 0, "both changes have gone to the consumer, which has dropped them")
        withExtendedLifetime(array) {}
    }

    /// queue      at rest               handler(1) cancels; 2 is in the same batch
    /// writer     appends 1, appends 2
    @Test func aHandlerThatCancelsHearsNothingMore() async {
        let array = SafeArray<Int>()
        let heard = Counter()
        let queue = DispatchQueue(label: "at rest", attributes: .initiallyInactive)
        let subscriptions = SafeArray<ChangeSubscription>()
        subscriptions.append(
            array.changes(deliverOn: queue) { _ in
                heard.increment()
                subscriptions.first!.cancel()
            }
        )
        array.append(1)
        array.append(2)
        queue.activate()
        let delivered = Handshake()
        queue.async { delivered.give() }
        await delivered.taken()
        #expect(heard.value == 1)
    }

    private struct Refused: Error {}

    /// Changes, and throws.
    private func change(_ value: inout Int) throws {
        value += 10
        throw Refused()
    }

    /// What it changed stays changed, so observers have to hear of it.
    @Test func whatAClosureThatThrowsHasChangedIsAnnounced() async {
        let ofArray: ChangesSequence<SafeArray<Int>.Change>
        let ofDictionary: ChangesSequence<SafeDictionary<Int, Int>.Change>
        do {
            let array: SafeArray = [1, 2]
            let dictionary: SafeDictionary = [1: 1]
            ofArray = array.changes()
            ofDictionary = dictionary.changes()
            #expect(throws: Refused.self) { try array.update(at: 0) { try change(&$0) } }
            #expect(throws: Refused.self) {
                try array.updateFirst {
                    $0 == 2
                } _: {
                    try change(&$0)
                }
            }
            #expect(throws: Refused.self) { try dictionary.update(forKey: 1) { try change(&$0) } }
            #expect(throws: Refused.self) {
                try dictionary.update(forKey: 2, default: 2) { try change(&$0) }
            }
            #expect(array.snapshot == [11, 12] && dictionary.snapshot == [1: 11, 2: 12])
        }
        var changes: [SafeArray<Int>.Change] = []
        for await change in ofArray { changes.append(change) }
        #expect(
            changes == [
                .replacement(at: 0, old: [1], new: [11]), .replacement(at: 1, old: [2], new: [12]),
            ]
        )
        var entries: [SafeDictionary<Int, Int>.Change] = []
        for await change in ofDictionary { entries.append(change) }
        #expect(entries == [.replacement(key: 1, old: 1, new: 11), .insertion(key: 2, value: 12)])
    }
}
