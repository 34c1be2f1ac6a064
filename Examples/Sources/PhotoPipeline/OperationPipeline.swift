// SPDX-License-Identifier: Apache-2.0
//
// The pipeline with Interlock, on two queues. Reading a file is an operation. Each step after it is a job, a light
// operation that takes the typed output of the step before. An error passes down the chain to its end, so that the code
// in between does not handle errors.
//
//     reading │ working
//     load ───┼─▶ decode ──▶ tilt-shift ──▶ write ─┐
//     load ───┼─▶ decode ──▶ tilt-shift ──▶ write ─┼─▶ contact sheet
//     ...     │                                    │
//
// Coming from `OperationQueue`: `addOperation` is `add`, or `job` for a closure; `addDependency` is `job(after:)` or
// `then`; `maxConcurrentOperationCount` is `limit`; `waitUntilAllOperationsAreFinished` is `wait`. The jobs of a queue
// that `isBlocking` have threads of their own, so that the processors decode while they wait for the disk.
//
// A job begins when it can, an operation when it is added. So the operation is added when its chain of jobs is there.
//
// Three limits hold: how many files are read at once, by the limit of the reading queue; how many photos are between
// reading and writing, by a semaphore; and how much memory these need, by another (MemoryBudget), which the threads
// that read wait for: those of the pool give it back. So a folder of any size needs bounded memory.
//
// Depth first: the working queue has no limit but its pool's, a thread for each processor. A thread that has ended a
// step goes on with the step that it made ready, so a picture is edited while it is in the caches. Breadth first, with
// all photos decoded before the first is edited, all pictures would be in memory at once.
//
// Decoding has a high priority: high jobs begin in the order in which they became ready, within what readers that end
// together hand over. An idle thread may take normal ones out of that order. The last photo to begin has one processor
// to itself, and with a large one there a run of 130 ms took 160.
//
// The contact sheet is drawn by the calling thread, which has waited for the photos. On a thread of the queue it took
// 1.5 ms of 20 longer: that thread's allocator has given the pictures' memory back, and each page is made anew.

import Foundation
import Interlock
import Timeline

/// Where the pictures' bytes come from, if not from files.
package protocol PhotoSource: Sendable {
    /// An operation that gives a picture's bytes, at most `limit`. The pipeline starts it when there is a place, and
    /// names the picture with its error.
    func load(_ file: PhotoFile, limit: Int) -> AsyncOperation<[UInt8]>
}

/// The photo pipeline over Interlock's queues, operations, jobs and arrays.
///
/// A run replaces the photos of its manager: one run at a time may use it.
package struct OperationPipeline: PhotoPipeline {
    package let name = "Interlock"

    private let manager: PhotoManager
    private let source: (any PhotoSource)?
    /// How many photos are between decoding and writing at once, at most: the threads of the pool.
    static let places = ProcessInfo.processInfo.activeProcessorCount

    /// - Parameter source: where the pictures come from; nil: from their files.
    package init(manager: PhotoManager = .shared, source: (any PhotoSource)? = nil) {
        self.manager = manager
        self.source = source
    }

    package func run(
        _ files: [PhotoFile],
        into output: OutputFolder,
        options: PipelineOptions,
        announce: @escaping @MainActor (PhotoOutcome) -> Void
    ) throws(FileError) -> PipelineResult {
        let start = ContinuousClock.now
        let recorder = TimelineRecorder()
        let steps = PhotoSteps(output: output, options: options, recorder: recorder)
        let rejections = SafeArray<Rejection>()
        let inFlight = FIFOSemaphore(permits: options.inFlight)
        let reading = InterlockQueue(name: "reading", limit: options.loads, isBlocking: true)
        let working = InterlockQueue(name: "working")
        let admitting = InterlockQueue(name: "admitting", limit: 1, isBlocking: true)
        let memory = MemoryBudget(permits: options.memoryPermits)

        manager.removeAll()
        let announced = Latch(count: files.count)
        let subscriptions = [
            manager.additions { photo in
                announce(.finished(photo))
                announced.countDown()
            },
            rejections.additions { rejection in
                announce(.rejected(rejection))
                announced.countDown()
            },
        ]

        for file in files {
            inFlight.wait()
            let held = ReadWriteLock(0)
            @Sendable func admit(_ bytes: [UInt8]) -> [UInt8] {
                let count = steps.permits(for: bytes)
                memory.enter(count)
                held.withWriteLock { $0 = count }
                return bytes
            }
            let download = source?.load(file, limit: options.byteLimit)
            let load = download ?? AsyncOperation(name: file.name) { admit(try steps.load(file).bytes) }
            @Sendable func decode(_ bytes: [UInt8]) throws -> EditedPhoto {
                try steps.decode(LoadedPhoto(file: file, bytes: bytes))
            }
            var photo =
                download == nil
                ? working.job(priority: .high, after: load.asJob(in: admitting)) { try decode($0) }
                : working.job(priority: .high, after: load.asJob(in: admitting).then { admit($0) }) {
                    try decode($0)
                }
            for edit in Edit.all {
                photo = photo.then { try steps.edit($0, edit) }
            }
            let written = photo.then { [manager] in manager.add(try steps.write($0)) }
            let ended = written.recover { error in
                rejections.append(error as? Rejection ?? Rejection(name: file.name, reason: "\(error)"))
            }
            ended.onFinish { _ in
                memory.leave(held.withReadLock { $0 })
                inFlight.signal()
            }
            reading.enqueue(load)
        }
        working.wait()
        try steps.writeContactSheet(manager.photos.sorted { $0.file.name < $1.file.name })
        let duration = start.duration(to: .now)

        announced.wait()
        withExtendedLifetime(subscriptions) {}
        return PipelineResult(
            photos: manager.photos,
            rejections: rejections.snapshot,
            duration: duration,
            timeline: recorder.timeline()
        )
    }
}
