// SPDX-License-Identifier: Apache-2.0
//
// The demo's fourth part: a C thread pushes samples through a ring, a task listens.

import Capture
import Foundation
import Report
import Timeline

struct CaptureChapter {
    let isSound: Bool
    private let table: Page.Table
    private let note: String

    /// A second of sound, and the same as fast as the thread can push.
    static func run() async throws -> CaptureChapter {
        Console.line(
            "A POSIX thread makes samples and pushes them through a ring; it never blocks, allocates or runs Swift."
        )
        Console.line("A task takes them out with `for await`.")
        Console.line()
        let begin = ContinuousClock.now
        let live = try await Recording.make(blocks: 750, period: .nanoseconds(1_333_333))
        let duration = ContinuousClock.now - begin
        let rushed = try await Recording.make(blocks: 100_000, capacity: 256)
        let levels = live.levels.map { $0.map { String(format: "%.1f", $0) } ?? "–" }
        let chapter = CaptureChapter(
            isSound: live.isComplete && rushed.isComplete,
            table: Page.Table(
                columns: ["blocks", "made", "received", "lost", "order"],
                rows: [
                    row("a block of 64 samples every 1.3 ms", live),
                    row("as fast as it can, room for 256", rushed),
                ]
            ),
            note: "Heard in \(duration.text), fading by half each quarter: "
                + "\(levels.joined(separator: ", ")) dB of full scale."
        )
        Console.table(columns: chapter.table.columns, rows: chapter.table.rows)
        Console.line()
        Console.line(chapter.note)
        if !chapter.isSound { Console.error("blocks are unaccounted for") }
        return chapter
    }

    func add(to page: inout Page) {
        page.capture = table
        page.captureNote = note
    }

    private static func row(_ name: String, _ recording: Recording) -> [String] {
        [
            name, "\(recording.made)", "\(recording.received)", "\(recording.lost)",
            recording.isInOrder ? "kept" : "BROKEN",
        ]
    }
}
