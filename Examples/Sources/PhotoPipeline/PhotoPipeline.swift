// SPDX-License-Identifier: Apache-2.0
//
// The input and output of a photo pipeline, however it is scheduled.

import Foundation
import Timeline

/// The limits of a pipeline.
package struct PipelineOptions: Sendable {
    /// The most files being read at once.
    package var loads = 4
    /// The most pictures in memory, between being read and being written.
    package var inFlight = 8
    /// The most pixels that a picture may have.
    package var pixelLimit = 100_000_000
    /// The most pixels that are worked on: of larger pictures a smaller scale is decoded.
    package var scaledLimit = 8_000_000
    /// The bytes of all pictures between being read and being written, at most, beside those of their files. A picture
    /// that needs more is worked on alone.
    package var memoryBudget = 512_000_000

    /// Memory is given out in pieces of so many bytes.
    static let memoryPermit = 16_000_000
    var memoryPermits: Int { max(1, memoryBudget / Self.memoryPermit) }
    /// Tilt-shift has the original, its light twice in 16 bits a channel, and makes the result; the results of steps
    /// stay a little longer than the steps.
    static let bytesPerPixel = 32
    /// The most bytes that a file may have.
    package var byteLimit = 512_000_000
    /// The longer side of the report's small pictures, and how many photos get one.
    package var previewSize = 720
    package var previewLimit = 60
    /// The height of the contact sheet's frames, and how many photos are on it.
    package var frameHeight = 300
    package var frameLimit = 2000
    /// A file's bytes: all, or the first so many. Called by at most `loads` threads at once.
    package var read: @Sendable (PhotoFile, _ limit: Int) throws(FileError) -> [UInt8] = {
        file,
        limit throws(FileError) in
        try Files.contents(of: file.path, limit: limit)
    }

    /// The options for so many photos: the more, the less is kept of each.
    package init(photoCount: Int) {
        frameHeight = photoCount <= 60 ? 300 : photoCount <= 400 ? 150 : 96
    }
}

package enum PhotoOutcome: Sendable {
    case finished(Photo)
    case rejected(Rejection)
}

/// The result of a run.
package struct PipelineResult: Sendable {
    /// The finished pictures and the files that gave none, each in the given order.
    package let photos: [Photo]
    package let rejections: [Rejection]
    package let duration: Duration
    package let timeline: Timeline

    init(photos: [Photo], rejections: [Rejection], duration: Duration, timeline: Timeline) {
        self.photos = photos.sorted { $0.file.name < $1.file.name }
        self.rejections = rejections.sorted { $0.name < $1.name }
        self.duration = duration
        self.timeline = timeline
    }
}

/// A method of processing all pictures of a folder.
package protocol PhotoPipeline: Sendable {
    /// Its name in the report.
    var name: String { get }

    /// Loads, decodes, edits and writes every file, and lays out the contact sheet. Blocks until all files are done; a
    /// file that gives no picture does not stop the others.
    ///
    /// - Parameter announce: Called on the main queue, once for each file, after its outcome has become visible; all
    ///   calls have been made when this returns. The main queue must be draining: not for the main thread.
    /// - Throws: When the contact sheet cannot be written.
    func run(
        _ files: [PhotoFile],
        into output: OutputFolder,
        options: PipelineOptions,
        announce: @escaping @MainActor (PhotoOutcome) -> Void
    ) throws(FileError) -> PipelineResult
}

extension PhotoPipeline {
    /// The same, suspending. The run mostly waits, on a thread of its own: a waiting worker thread of the system would
    /// be missing from the work.
    package func result(
        of files: [PhotoFile],
        into output: OutputFolder,
        options: PipelineOptions,
        announce: @escaping @MainActor (PhotoOutcome) -> Void
    ) async throws -> PipelineResult {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    with: Result { try run(files, into: output, options: options, announce: announce) }
                )
            }
            thread.name = "photo pipeline"
            thread.start()
        }
    }
}
