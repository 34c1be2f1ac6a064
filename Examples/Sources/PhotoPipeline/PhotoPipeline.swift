// SPDX-License-Identifier: Apache-2.0
//
// The input and output of a photo pipeline, however it is scheduled.

import Foundation
import Timeline

/// The limits of a pipeline.
package struct PipelineOptions: Sendable {
    /// The most files being read at once.
    package var loads = 4
    /// The most pictures between being read and being written, and so in memory, at once.
    package var inFlight = 8
    /// The most pixels that a picture may have.
    package var pixelLimit = 100_000_000
    /// The most bytes that a file may have.
    package var byteLimit = 512_000_000
    /// The longer side of the small pictures for the report, and the number of photos that get one. Of a written photo
    /// only these and its frame on the contact sheet are kept.
    package var previewSize = 720
    package var previewLimit = 60
    /// The height of the frames on the contact sheet, and how many photos are on it.
    package var frameHeight = 300
    package var frameLimit = 2000
    /// Gets a file's bytes: all of them, or the first so many if it has more. Called by several threads at
    /// once, by at most `loads`.
    package var read: @Sendable (PhotoFile, _ limit: Int) throws(FileError) -> [UInt8] = {
        file,
        limit throws(FileError) in
        try Files.contents(of: file.path, limit: limit)
    }

    /// The options for so many photos: the more there are, the smaller is what is kept of each.
    package init(photoCount: Int) {
        frameHeight = photoCount <= 60 ? 300 : photoCount <= 400 ? 150 : 96
    }
}

/// What happened to one of the files given to a pipeline.
package enum PhotoOutcome: Sendable {
    case finished(Photo)
    case rejected(Rejection)
}

/// The result of a run.
package struct PipelineResult: Sendable {
    /// The finished pictures and the files that gave none, each in the order in which they were given.
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
    /// - Parameter announce: Called on the main queue, once for each file, after its outcome has become
    ///   visible; all calls have been made when this returns. The main queue must be draining meanwhile, so
    ///   this is not for the main thread.
    /// - Throws: When the contact sheet cannot be written.
    func run(
        _ files: [PhotoFile],
        into output: OutputFolder,
        options: PipelineOptions,
        announce: @escaping @MainActor (PhotoOutcome) -> Void
    ) throws(FileError) -> PipelineResult
}

extension PhotoPipeline {
    /// The same, suspending instead of blocking.
    ///
    /// The run has a thread of its own. It mostly waits. A worker thread of the system that waited would be missing
    /// from the work that it waits for: there are only as many as cores.
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
