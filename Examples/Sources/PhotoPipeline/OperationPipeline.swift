// SPDX-License-Identifier: Apache-2.0
//
// The pipeline with Interlock: each step of each photo is an operation that takes the typed output of the step before.
// An error passes down the chain to its end, so that the code in between does not handle errors.
//
//     load ──▶ decode ──▶ tilt-shift ──▶ write ─┐
//     load ──▶ decode ──▶ tilt-shift ──▶ write ─┼─▶ contact sheet
//     ...                                       │
//
// Two limits hold, and both are semaphores served in order of arrival: how many files are read at once, and
// how many photos are between reading and writing, so that a folder of any size needs bounded memory.
//
// Depth first: a place in the queue takes a photo from decoding to writing. It starts the photo's operations by hand,
// each when the one before it has finished. Breadth first, with all photos decoded before the first is edited, each
// step would find its picture gone from the caches, and all pictures would be in memory at once. Depth first by
// priorities, each step with a place of its own, costs a hand-over in the queue for each step: 50 µs with cold caches.
//
// There is a place for each processor and one more. Writing waits for the disk, and libdispatch adds a thread where
// its threads wait; without a place for it, a processor would be idle then, and on a busy machine the run took up to
// 23 % longer than one without the limit.
//
// The contact sheet is drawn by the calling thread, which has waited for the photos. On a thread of the queue it took
// 1.5 ms of 20 longer: that thread's allocator has given the pictures' memory back, and each page is made anew.

import Foundation
import Interlock
import Timeline

/// The photo pipeline over Interlock's operations, semaphores and arrays.
///
/// A run replaces the photos of its manager: one run at a time may use it.
package struct OperationPipeline: PhotoPipeline {
    package let name = "Interlock"

    private let manager: PhotoManager
    /// How many photos are between decoding and writing at once, at most. Asked once: the answer is read from a file
    /// of the system's.
    static let places = ProcessInfo.processInfo.activeProcessorCount + 1

    package init(manager: PhotoManager = .shared) {
        self.manager = manager
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
        let loads = FIFOSemaphore(permits: options.loads)
        let inFlight = FIFOSemaphore(permits: options.inFlight)

        // An operation that waits for a permit keeps its thread: there are threads beyond the permits.
        let reading = OperationQueue()
        reading.maxConcurrentOperationCount = options.inFlight
        let working = OperationQueue()
        working.maxConcurrentOperationCount = Self.places

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

        let written = Latch(count: files.count)
        for file in files {
            inFlight.wait()
            let load = AsyncOperation<LoadedPhoto>(name: "load \(file.name)") {
                try loads.withPermit { () throws(Rejection) in try steps.load(file) }
            }
            let decode = load.then(name: "decode \(file.name)") { try steps.decode($0) }
            let edited = Edit.all.reduce(into: [decode]) { chain, edit in
                chain.append(
                    chain[chain.count - 1].then(name: "\(edit.name) \(file.name)") {
                        try steps.edit($0, edit)
                    }
                )
            }
            let write = edited[edited.count - 1].then(name: "write \(file.name)") { photo in
                manager.add(try steps.write(photo))
            }
            write.onFinish { outcome in
                if case .failure(let error) = outcome {
                    rejections.append(error as? Rejection ?? Rejection(name: file.name, reason: "\(error)"))
                }
                inFlight.signal()
                written.countDown()
            }
            let chain: [Operation] = edited + [write]
            load.onFinish { _ in
                working.addOperation { for step in chain { step.start() } }
            }
            reading.addOperation(load)
        }
        written.wait()
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
