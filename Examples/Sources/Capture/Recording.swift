// SPDX-License-Identifier: Apache-2.0
//
// A C thread pushes blocks of samples through a ring; a task pops them with `for await` and measures their loudness.
// The ring resumes the task on a thread of its own (`resumingOnOwnThread`): the producer only copies a block and, if
// the task sleeps, signals one C semaphore.

import CCapture
import CInterlock
import Foundation
import Interlock

/// The result of listening to a C thread.
public struct Recording: Sendable {
    /// How many blocks arrived.
    public private(set) var received = 0
    /// How many were missing before, between and after those that arrived.
    public private(set) var missing = 0
    /// How many the thread reports as made.
    public private(set) var made = 0
    /// How many the thread reports as lost.
    public private(set) var lost = 0
    /// How loud each quarter was, in decibels of full scale; `nil` for a quarter without a block.
    public private(set) var levels: [Double?] = []
    /// Whether the blocks arrived in order.
    public private(set) var isInOrder = true

    /// Whether every block is accounted for, by both sides.
    public var isComplete: Bool {
        isInOrder && received + lost == made && missing == lost
    }

    /// The C thread could not be started.
    public struct NotStarted: Error {
        /// The system's error.
        public let errno: Int32
    }

    /// Has a C thread make so many blocks, one every `period` or as fast as it can, and listens until it ends. A
    /// cancelled task ends the thread early.
    ///
    /// - Parameter capacity: How many blocks the task may be late before one is lost.
    public static func make(blocks: Int, period: Duration = .zero, capacity: Int = 64) async throws
        -> Recording
    {
        let ring = try SPSCRing<capture_block>(capacity: capacity, resumingOnOwnThread: true)
        return try await ring.split { (producer, consumer) async throws(any Error) -> Recording in
            let source = try start(producer.unsafeHandle, blocks, period)
            var recording = Recording()
            var loudness = [Loudness](repeating: Loudness(), count: 4)
            var next = 0
            do {
                for try await block in consumer.elements() {
                    let number = Int(block.number)
                    recording.isInOrder = recording.isInOrder && number >= next
                    recording.received += 1
                    recording.missing += number - next
                    next = number + 1
                    loudness[number * 4 / blocks].add(block)
                }
            } catch {
                // A close by the thread has no error; with one, the thread must still end before the ring.
                _ = await finish(source)
                throw error
            }
            // The thread has closed the ring, or finds it closed by the loop.
            let report = await finish(source)
            recording.made = Int(report.made)
            recording.lost = Int(report.lost)
            recording.missing += recording.made - next
            recording.levels = loudness.map(\.decibels)
            // The thread uses the ring until here.
            withExtendedLifetime(producer.capacity) {}
            return recording
        }
    }

    /// A running C thread, by address.
    // Passed from the starting call to the ending call.
    private struct Source: @unchecked Sendable {
        let handle: OpaquePointer
    }

    private static func start(
        _ ring: UnsafeMutablePointer<ilk_spsc>,
        _ blocks: Int,
        _ period: Duration
    ) throws -> Source {
        var handle: OpaquePointer?
        let error = capture_start(
            &handle,
            ring,
            UInt64(blocks),
            UInt64(period / .nanoseconds(1))
        )
        guard error == 0, let handle else { throw NotStarted(errno: error) }
        return Source(handle: handle)
    }

    /// Joining blocks, which a task must not.
    private static func finish(_ source: Source) async -> capture_report {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: capture_finish(source.handle)) }
        }
    }
}

private struct Loudness {
    private var squares = 0.0
    private var samples = 0

    mutating func add(_ block: capture_block) {
        withUnsafeBytes(of: block.samples) { bytes in
            for sample in bytes.bindMemory(to: Float.self) { squares += Double(sample) * Double(sample) }
        }
        samples += Int(CAPTURE_SAMPLES)
    }

    var decibels: Double? {
        samples == 0 ? nil : 10 * log10(squares / Double(samples))
    }
}
