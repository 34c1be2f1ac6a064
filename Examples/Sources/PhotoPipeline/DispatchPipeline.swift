// SPDX-License-Identifier: Apache-2.0
//
// The pipeline with dispatch queues, groups and semaphores, and arrays behind concurrent queues with barriers, to
// compare with OperationPipeline.

import Dispatch
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
        let photos = BarrierStore<Photo>(announced) { announce(.finished($0)) }
        let rejections = BarrierStore<Rejection>(announced) { announce(.rejected($0)) }

        let inFlight = DispatchSemaphore(value: options.inFlight)
        let loads = DispatchSemaphore(value: options.loads)
        let memory = DispatchSemaphore(value: options.memoryPermits)
        let admitting = DispatchQueue(label: "photos.admitting")
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
                // One picture at a time collects its permits: two would wait for each other's.
                let permits = (try? loaded.get()).map { steps.permits(for: $0.bytes) } ?? 0
                admitting.sync { for _ in 0..<permits { memory.wait() } }
                working.async {
                    defer {
                        for _ in 0..<permits { memory.signal() }
                        inFlight.signal()
                        group.leave()
                    }
                    do throws(Rejection) {
                        var photo = try steps.decode(try loaded.get())
                        for edit in Edit.all { photo = try steps.edit(photo, edit) }
                        photos.add(try steps.write(photo))
                    } catch {
                        rejections.add(error)
                    }
                }
            }
        }
        group.wait()
        // Reading waits for the additions before it.
        let (finished, rejected) = (photos.elements, rejections.elements)
        try steps.writeContactSheet(finished.sorted { $0.file.name < $1.file.name })
        let duration = start.duration(to: .now)
        announced.wait()
        return PipelineResult(
            photos: finished,
            rejections: rejected,
            duration: duration,
            timeline: recorder.timeline()
        )
    }
}

/// An array behind a concurrent queue: reads share it, a write is a barrier. Additions are announced on the main queue,
/// in order.
// What is stored is touched on the queue only.
private final class BarrierStore<Element: Sendable>: @unchecked Sendable {
    // Unchecked: `storage` is touched only on `queue`, and changed only in a barrier.
    private var storage: [Element] = []
    private let queue = DispatchQueue(label: "photos.store", attributes: .concurrent)
    private let announced: DispatchGroup
    private let announce: @MainActor (Element) -> Void

    /// `announced` is entered while an announcement is due.
    init(_ announced: DispatchGroup, announce: @escaping @MainActor (Element) -> Void) {
        self.announced = announced
        self.announce = announce
    }

    var elements: [Element] {
        queue.sync { storage }
    }

    func add(_ element: Element) {
        queue.async(flags: .barrier) {
            self.storage.append(element)
            DispatchQueue.main.async(group: self.announced) { self.announce(element) }
        }
    }
}
