// SPDX-License-Identifier: Apache-2.0
//
// A C thread and a task at the two ends of a ring: blocks stay whole and in order, every lost block is counted.

import CCapture
import Capture
import Testing

@Suite(.timeLimit(.minutes(2))) struct CaptureTests {
    /// The amplitude is 0.5 and halves each quarter; a lost block, a whole period, does not change it.
    private func expectTheTone(_ recording: Recording) {
        for (quarter, level) in recording.levels.enumerated() {
            guard let level else { continue }
            let expected = -9.0309 - 6.0206 * Double(quarter)
            #expect(abs(level - expected) < 0.001, "quarter \(quarter): \(level) instead of \(expected)")
        }
    }

    @Test func everyBlockArrivesInOrderOrIsCountedAsLost() async throws {
        for capacity in [1, 4, 1_000] {
            let recording = try await Recording.make(blocks: 20_000, capacity: capacity)
            #expect(recording.isComplete, "\(recording)")
            #expect(recording.made == 20_000 && recording.received > 0)
            expectTheTone(recording)
        }
    }

    @Test func withRoomForAllNothingIsLost() async throws {
        let recording = try await Recording.make(blocks: 2_000, capacity: 2_000)
        #expect(recording.isComplete && recording.received == 2_000 && recording.lost == 0)
        #expect(recording.levels.allSatisfy { $0 != nil })
        expectTheTone(recording)
    }

    @Test func aPacedThreadIsHeardToTheEnd() async throws {
        let recording = try await Recording.make(blocks: 100, period: .microseconds(200))
        #expect(recording.isComplete && recording.made == 100, "\(recording)")
        expectTheTone(recording)
    }

    @Test func theThreadEndsWithTheListener() async throws {
        // It would run for an hour.
        let task = Task { try await Recording.make(blocks: 3_600_000, period: .milliseconds(1)) }
        task.cancel()
        let recording = try await task.value
        #expect(recording.made < 3_600_000)
    }
}
