// SPDX-License-Identifier: Apache-2.0
//
// The recorder that measures the pipelines, and times as text.

import Dispatch
import Synchronization
import Testing

@testable import Timeline

@Suite struct TimelineTests {
    private func span(_ begin: Int, _ end: Int, thread: Int = 0) -> Timeline.Span {
        .init(step: "s", item: "i", thread: thread, begin: .milliseconds(begin), end: .milliseconds(end))
    }

    @Test func thePeakCountsWhatOverlaps() {
        #expect(Timeline(spans: [span(0, 10), span(5, 15), span(9, 12), span(12, 20)]).peak(of: "s") == 3)
        #expect(Timeline(spans: [span(0, 10), span(10, 20), span(20, 30)]).peak(of: "s") == 1)
        #expect(Timeline(spans: [span(20, 30), span(10, 20), span(0, 10)]).peak(of: "s") == 1)
        #expect(Timeline(spans: [span(0, 10)]).peak(of: "other") == 0)
        #expect(Timeline(spans: []).threadCount == 0)
    }

    @Test func everyStepOfEveryThreadIsRecorded() {
        struct Failed: Error {}
        let recorder = TimelineRecorder()
        DispatchQueue.concurrentPerform(iterations: 500) { index in
            try? recorder.measure("work", of: "\(index)") { () throws(Failed) in
                if index.isMultiple(of: 5) { throw Failed() }
            }
        }
        let timeline = recorder.timeline()
        #expect(Set(timeline.spans.map(\.item)).count == 500)
        #expect(timeline.spans.allSatisfy { $0.begin <= $0.end && $0.thread < timeline.threadCount })
        #expect((1...64).contains(timeline.threadCount))
    }

    @Test(arguments: [
        (1.236, "1.24 s"), (61, "61.0 s"), (0.9999, "1000 ms"), (0.0375, "37.5 ms"), (0.000_999, "999 µs"),
        (0.000_005_6, "5.60 µs"), (0.000_000_263, "263 ns"), (0, "0 ns"),
    ])
    func timesReadWithThreeDigits(_ seconds: Double, _ text: String) {
        #expect(Duration.seconds(seconds).text == text)
    }

    @Test func numbersAreRoundedAndPadded() {
        #expect(3.14159.text(decimals: 2) == "3.14")
        #expect(0.005.text(decimals: 2) == "0.01")
        #expect((-0.001).text(decimals: 2) == "0.00")
        #expect((-12.5).text(decimals: 1) == "-12.5")
        #expect(7.0.text(decimals: 0) == "7")
    }
}
