// SPDX-License-Identifier: Apache-2.0
//
// The pipeline with Interlock: each step of each photo is an operation that takes the typed output of the one
// before it. An error passes down the chain to its end, so that the code between says nothing of errors.
//
//     load ──▶ decode ──▶ tilt-shift ──▶ write ─┐
//     load ──▶ decode ──▶ tilt-shift ──▶ write ─┼─▶ contact sheet
//     ...                                       │
//
// Two limits hold, and both are semaphores served in order of arrival: how many files are read at once, and
// how many photos are between reading and writing, so that a folder of any size needs bounded memory.
//
// Depth first: the queue has a place for each processor, and a place that falls free goes to a photo that is
// begun before it goes to a new one, because later steps are more urgent than decoding. Breadth first, with all
// photos decoded before the first is edited, each step would find its picture gone from the caches, and all
// pictures would be in memory at once.

import Foundation
import Interlock
import Timeline

/// The photo pipeline over Interlock's operations, semaphores and arrays.
///
/// A run replaces the photos of its manager: one run at a time may use it.
package struct OperationPipeline: PhotoPipeline {
    package let name = "Interlock"

    private let manager: PhotoManager

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

        // Whoever waits for a permit to read keeps a thread: the readers have threads beyond the permits.
        let reading = OperationQueue()
        reading.maxConcurrentOperationCount = options.inFlight
        let working = OperationQueue()
        working.maxConcurrentOperationCount = ProcessInfo.processInfo.activeProcessorCount

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

        let writes = files.map { file in
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
            }
            for step in edited.dropFirst() { step.queuePriority = .high }
            write.queuePriority = .veryHigh
            reading.addOperation(load)
            working.addOperations(edited + [write], waitUntilFinished: false)
            return write
        }
        let sheet = AsyncOperation<Void>(name: "contact sheet") {
            try steps.writeContactSheet(manager.photos.sorted { $0.file.name < $1.file.name })
        }
        for write in writes { sheet.addDependency(write) }
        working.addOperation(sheet)
        if case .failure(let error) = sheet.wait() {
            throw error as? FileError ?? FileError(output.contactSheet, reason: "\(error)")
        }
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
