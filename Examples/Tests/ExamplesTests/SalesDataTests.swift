// SPDX-License-Identifier: Apache-2.0
//
// Averages: right, off the caller's thread, computed once for all callers.

import Dispatch
import Foundation
import Interlock
import Testing

@testable import SalesData

@Suite struct SalesDataTests {
    @Test func theAverageIsTheMeanAndNothingHasNone() throws {
        #expect(try SalesData(revenue: [1, 2, 6]).average == 3)
        #expect(throws: SalesError.noRevenue) { try SalesData(revenue: []).average }
    }

    @Test func anEmptyRevenueIsAnErrorThatEveryoneIsTold() async {
        let averages = SalesAverages()
        for _ in 0..<2 {
            await #expect(throws: SalesError.noRevenue) {
                try await averages.calculateAverage(of: SalesData(revenue: []))
            }
        }
    }

    /// The computation is held until all hundred have asked.
    ///
    ///     computation │ begin ············ held ············ end
    ///     callers     │        ask × 100, all counted ──┘      all answered
    @Test func oneComputationServesAllCallersAtOnce() async throws {
        let runs = SafeArray<SalesData>()
        let asked = Latch(count: 100)
        let answered = Latch(count: 100)
        let answers = SafeArray<Double>()
        let averages = SalesAverages { data in
            runs.append(data)
            asked.wait()
            return try data.average
        }
        let data = SalesData(revenue: [4, 8])
        DispatchQueue.concurrentPerform(iterations: 100) { _ in
            averages.calculateAverage(of: data, deliverOn: .global()) { result in
                if case .success(let average) = result { answers.append(average) }
                answered.countDown()
            }
            asked.countDown()
        }
        try await answered.wait()
        #expect(answers.snapshot == Array(repeating: 6, count: 100))
        #expect(try await averages.calculateAverage(of: data) == 6)
        #expect(runs.count == 1)
        #expect(try await averages.calculateAverage(of: SalesData(revenue: [4])) == 4)
        #expect(runs.count == 2)
    }

    /// Two threads ask for the same new data at once, again and again. The data is large, so that the lookup takes
    /// longer than a thread needs to wake up.
    ///
    ///     thread 1 │ meet ── lookup: not there ── make it
    ///     thread 2 │ meet ──── lookup: not there ── find it made
    @Test func twoFirstCallersAtTheSameMomentShareOneComputation() async throws {
        let rounds = 40
        let bulk = [Double](repeating: 1, count: 50_000)
        let runs = SafeArray<SalesData>()
        let averages = SalesAverages { data in
            runs.append(data)
            return try data.average
        }
        let start = Barrier(parties: 2)
        let ended = Latch(count: 2)
        for _ in 0..<2 {
            Thread.detachNewThread {
                for round in 0..<rounds {
                    let data = SalesData(revenue: bulk + [Double(round)])
                    start.wait()
                    averages.calculateAverage(of: data, deliverOn: .global()) { _ in }
                }
                ended.countDown()
            }
        }
        try await ended.wait()
        for round in 0..<rounds {
            _ = try await averages.calculateAverage(of: SalesData(revenue: bulk + [Double(round)]))
        }
        #expect(runs.count == rounds)
    }

    @Test func theComputationIsNotOnTheMainThreadAndTheAnswerIsOnTheMainQueue() async throws {
        let onMain = SafeArray<Bool>()
        let averages = SalesAverages { data in
            onMain.append(Thread.isMainThread)
            return try data.average
        }
        await withCheckedContinuation { continuation in
            averages.calculateAverage(of: SalesData(revenue: [1])) { _ in
                dispatchPrecondition(condition: .onQueue(.main))
                continuation.resume()
            }
        }
        #expect(onMain.snapshot == [false])
    }

    @Test func changingTheCallersCopyDuringAComputationChangesNothing() async throws {
        let begun = Latch(count: 1)
        let changed = Latch(count: 1)
        let averages = SalesAverages { data in
            begun.countDown()
            changed.wait()
            return try data.average
        }
        var revenue = [1.0, 2, 3]
        let data = SalesData(revenue: revenue)
        async let average = averages.calculateAverage(of: data)
        try await begun.wait()
        revenue[0] = 100
        changed.countDown()
        #expect(try await average == 2)
    }
}
