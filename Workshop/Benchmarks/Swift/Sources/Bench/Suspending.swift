// SPDX-License-Identifier: Apache-2.0
//
// From one task to another. The cooperative pool's threads cannot be pinned, so a slice has a number of elements, not a
// time.

import AsyncAlgorithms
import Foundation
import Interlock

enum SuspendingWork {
    static func cell(elements: Int) -> Cell {
        Cell(
            title: "one task to another",
            contenders: [
                Contender("MPMCRing of 1,024") { _ in await ring(1_024, elements) },
                Contender("MPMCRing of 64") { _ in await ring(64, elements) },
                Contender("AsyncStream") { _ in await stream(elements) },
                // A meeting for each element.
                Contender("AsyncChannel") { _ in await channel(elements / 10) },
            ]
        )
    }

    private static func ring(_ capacity: Int, _ elements: Int) async -> Double {
        let ring = try! MPMCRing<Int>(capacity: capacity)
        return await timed(elements) {
            for number in 0..<elements where await !ring.push(number).isPushed { fatalError("refused") }
            ring.close()
        } consume: {
            var sum = 0
            for try await number in ring { sum += number }
            return sum
        }
    }

    private static func stream(_ elements: Int) async -> Double {
        let (stream, continuation) = AsyncStream<Int>.makeStream()
        return await timed(elements) {
            for number in 0..<elements { continuation.yield(number) }
            continuation.finish()
        } consume: {
            var sum = 0
            for await number in stream { sum += number }
            return sum
        }
    }

    private static func channel(_ elements: Int) async -> Double {
        let channel = AsyncChannel<Int>()
        return await timed(elements) {
            for number in 0..<elements { await channel.send(number) }
            channel.finish()
        } consume: {
            var sum = 0
            for await number in channel { sum += number }
            return sum
        }
    }

    private static func timed(
        _ elements: Int,
        produce: @escaping @Sendable () async -> Void,
        consume: @escaping @Sendable () async throws -> Int
    ) async -> Double {
        let begin = ContinuousClock.now
        async let sum = consume()
        async let produced: Void = produce()
        await produced
        guard (try? await sum) == elements * (elements - 1) / 2 else { fatalError("lost elements") }
        return begin.duration(to: .now) / .nanoseconds(1) / Double(elements)
    }
}
