// SPDX-License-Identifier: Apache-2.0
//
// The pipeline as one would write it with what the system has: dispatch queues, groups and semaphores, an
// array behind a concurrent queue with barriers, another behind a Mutex. It is what OperationPipeline is
// compared with, so it is written as well as that allows.

import Dispatch
import Synchronization
import Timeline

/// The photo pipeline over plain libdispatch.
package struct DispatchPipeline: PhotoPipeline {
    package let name = "GCD alone"

    package init() {}

    package func run(
        _ files: [PhotoFile],
        into output: OutputFolder,
        options: PipelineOptions,
        announce: @escaping @MainActor (PhotoOutcome) -> Void
    ) throws(FileError) -> PipelineResult {
        let start = ContinuousClock.now
        let recorder = TimelineRecorder()
        let steps = PhotoSteps(output: output, options: options, recorder: recorder)
        let announced = DispatchGroup()
        let photos = BarrierPhotoStore { photo in
            announced.enter()
            DispatchQueue.main.async {
                announce(.finished(photo))
                announced.leave()
            }
        }
        let rejections = Mutex<[Rejection]>([])

        let inFlight = DispatchSemaphore(value: options.inFlight)
        let loads = DispatchSemaphore(value: options.loads)
        let reading = DispatchQueue(label: "photos.reading", attributes: .concurrent)
        let working = DispatchQueue(label: "photos.working", attributes: .concurrent)
        let group = DispatchGroup()

        for file in files {
            inFlight.wait()
            group.enter()
            reading.async {
                let loaded = Result { () throws(Rejection) in
                    loads.wait()
                    defer { loads.signal() }
                    return try steps.load(file)
                }
                working.async {
                    defer {
                        inFlight.signal()
                        group.leave()
                    }
                    do throws(Rejection) {
                        var photo = try steps.decode(try loaded.get())
                        for edit in Edit.all { photo = try steps.edit(photo, edit) }
                        photos.add(try steps.write(photo))
                    } catch {
                        rejections.withLock { rejections in
                            rejections.append(error)
                            announced.enter()
                            DispatchQueue.main.async {
                                announce(.rejected(error))
                                announced.leave()
                            }
                        }
                    }
                }
            }
        }
        group.wait()
        let result = (photos.photos, rejections.withLock { $0 })
        try steps.writeContactSheet(result.0.sorted { $0.file.name < $1.file.name })
        let duration = start.duration(to: .now)
        announced.wait()
        return PipelineResult(
            photos: result.0,
            rejections: result.1,
            duration: duration,
            timeline: recorder.timeline()
        )
    }
}

/// The photos behind a concurrent queue: reads share it, a write is a barrier.
// The photos are touched on the queue only.
private final class BarrierPhotoStore: @unchecked Sendable {
    // Unchecked: `storage` is touched only on `queue`, and changed only in a barrier.
    private var storage: [Photo] = []
    private let queue = DispatchQueue(label: "photos.store", attributes: .concurrent)
    private let announce: @Sendable (Photo) -> Void

    /// `announce` is called in the order of the additions, before anyone can see the next one.
    init(announce: @escaping @Sendable (Photo) -> Void) {
        self.announce = announce
    }

    var photos: [Photo] {
        queue.sync { storage }
    }

    func add(_ photo: Photo) {
        queue.async(flags: .barrier) {
            self.storage.append(photo)
            self.announce(photo)
        }
    }
}
