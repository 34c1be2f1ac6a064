// SPDX-License-Identifier: Apache-2.0
//
// The command: its arguments and its chapters. Exit status 0: done; 1: a result was wrong; 2: the folder of photos or
// the output folder cannot be used; 64: invalid arguments.

import ArgumentParser
import Foundation
import ImageCodecs
import Interlock
import PhotoDownloads
import PhotoPipeline
import Report
import SafeAgainstUnsafe
import Timeline

@main
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows Interlock at work: arrays with and without a guard, photos, downloads, a C thread.",
        discussion: """
            The JPEG and PNG files directly in FOLDER are loaded, decoded, given a tilt-shift effect and written to the \
            output folder, with a contact sheet and a page that shows what happened; `scripts/demo --faces`, which \
            installs OpenCV, also draws googly eyes on faces. All of it is done twice, with \
            Interlock and with libdispatch alone. A file that is not a picture is named with the reason. A few of \
            them are downloaded once more, from a server on the loopback address with the faults of a network. Before \
            and after that: a thousand appends to one array, and a C thread whose samples a task takes with `for await`.
            """
    )

    @Argument(help: "The folder with the photos. (default: the sample photos)", completion: .directory)
    var folder: String?

    @Option(name: [.short, .long], help: "The folder for the results.", completion: .directory)
    var output = "demo-output"

    @Option(help: "How many photos are loaded at once, at most.")
    var loads = 4

    @Option(help: "Refuse pictures of more megapixels than this, which would need the memory.")
    var maxMegapixels = 100

    @Flag(help: .private)
    var unprotectedChild = false

    func validate() throws {
        guard (1...64).contains(loads) else { throw ValidationError("--loads takes a number from 1 to 64.") }
        guard (1...2000).contains(maxMegapixels) else {
            throw ValidationError("--max-megapixels takes a number from 1 to 2000.")
        }
        guard !output.isEmpty else { throw ValidationError("--output takes the name of a folder.") }
    }

    func run() async throws {
        if unprotectedChild { return UnsafeTrials.runInThisProcess() }
        PhotoDownloads.avoidProxies()
        Codecs.giveFreedMemoryBack()
        do {
            let photos = try PhotoFolder(path: folder ?? Self.samplePhotos)
            let output = try OutputFolder(path: output, photos: photos)
            try await show(photos, output)
        } catch let error as PhotoFolder.Unusable {
            Console.error("\(error)")
            throw ExitCode(2)
        } catch let error as FileError {
            Console.error("\(error)")
            throw ExitCode(2)
        }
    }

    /// Of this process, in bytes.
    private var peakMemory: Int {
        var usage = rusage()
        #if canImport(Darwin)
        getrusage(RUSAGE_SELF, &usage)
        return usage.ru_maxrss
        #else
        getrusage(.init(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss * 1024
        #endif
    }

    /// Beside this package's sources, whatever the working directory.
    private static let samplePhotos = URL(filePath: #filePath)
        .deletingLastPathComponent().appending(path: "../../Photos").standardizedFileURL.path()

    private func show(_ photos: PhotoFolder, _ output: OutputFolder) async throws {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        Console.line("Interlock's demo: \(photos.photos.count) pictures in \(photos.path), \(cores) cores")

        Console.heading("1. Safe against unsafe")
        let arrays = try await ArrayChapter.run()

        Console.heading("2. The photo pipeline")
        var options = PipelineOptions(photoCount: photos.photos.count)
        options.loads = loads
        options.inFlight = max(8, 2 * loads)
        options.pixelLimit = maxMegapixels * 1_000_000
        let chapter = try await PhotoChapter.run(photos, into: output, options: options)

        Console.heading("3. Photos over a bad network")
        let downloads = await DownloadChapter.run(chapter.photos, of: photos, into: output)

        Console.heading("4. Samples from a C thread")
        let capture = try await CaptureChapter.run()

        Console.heading("5. The page")
        var page = Page(summary: "\(chapter.summary) on \(cores) cores, from \(photos.path).")
        arrays.add(to: &page)
        try chapter.add(to: &page, from: output)
        downloads.add(to: &page)
        capture.add(to: &page)
        try output.write(page: page.html)
        Console.line("The pictures, before and after, and which thread did what when:")
        Console.line("    \(output.page)")
        Console.line("Peak memory: \(peakMemory / 1_000_000) MB")
        guard chapter.isSound, downloads.isSound, capture.isSound else { throw ExitCode(1) }
    }
}
