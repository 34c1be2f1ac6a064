// SPDX-License-Identifier: Apache-2.0
//
// The photo pipeline over a bad network: see the README beside this file. Exit status 0: every picture that could be
// had was made; 1: a result was wrong; 2: a folder cannot be used; 64: invalid arguments.

import ArgumentParser
import Foundation
import Interlock
import PhotoDownloads
import PhotoPipeline
import PhotoServer
import Timeline

@main
struct Downloads: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downloads",
        abstract:
            "Downloads photos from a server on the loopback address and runs them through the photo pipeline.",
        discussion: """
            The server serves the pictures of FOLDER and plays the faults of a network: slow, cut off, busy, silent, \
            gone. At most so many requests are under way at once; what fails is asked for again; what is no longer \
            wanted is cancelled.
            """
    )

    @Argument(help: "The folder with the photos. (default: the sample photos)", completion: .directory)
    var folder: String?

    @Option(name: [.short, .long], help: "The folder for the results.", completion: .directory)
    var output = "downloads-output"

    @Option(help: "How many requests are under way at once, at most.")
    var atOnce = 4

    func validate() throws {
        guard (1...64).contains(atOnce) else {
            throw ValidationError("--at-once takes a number from 1 to 64.")
        }
        guard !output.isEmpty else { throw ValidationError("--output takes the name of a folder.") }
    }

    func run() async throws {
        PhotoDownloads.avoidProxies()
        do {
            let photos = try PhotoFolder(path: folder ?? Self.samplePhotos)
            let output = try OutputFolder(path: output, photos: photos)
            guard try await show(photos, output) else { throw ExitCode(1) }
        } catch let error as PhotoFolder.Unusable {
            FileHandle.standardError.write(Data("error: \(error)\n".utf8))
            throw ExitCode(2)
        } catch let error as FileError {
            FileHandle.standardError.write(Data("error: \(error)\n".utf8))
            throw ExitCode(2)
        }
    }

    private static let samplePhotos = URL(filePath: #filePath)
        .deletingLastPathComponent().appending(path: "../../Photos").standardizedFileURL.path()

    /// Whether each picture was made, or named with its fault.
    private func show(_ photos: PhotoFolder, _ output: OutputFolder) async throws -> Bool {
        try await tellOfNoServer()
        let network = BadNetwork(of: photos.photos, hopeless: .stalled)
        for name in network.names {
            let faults = network.faults(of: name)
            if !faults.isEmpty { print("    \(name): \(faults)") }
        }
        var run = DownloadRun(network)
        run.atOnce = atOnce
        let progress = Progress(of: network.names.count)
        let result = try await run.result(into: output) { progress.advance($0) }
        print(
            "\n\(result.pipeline.photos.count) pictures in \(result.pipeline.duration.text), by \(result.requests) "
                + "requests, at most \(result.peak) at once\n    \(output.pictures)\n    \(output.contactSheet)"
        )
        let named = Set(result.pipeline.rejections.map(\.name))
        return result.peak <= atOnce && named == network.unobtainable
            && result.pipeline.photos.count == network.names.count - named.count
    }

    private func tellOfNoServer() async throws {
        let nowhere = PhotoDownloads(URL(string: "http://127.0.0.1:9/photos")!, attempts: 2)
        do {
            _ = try await nowhere.photos()
        } catch {
            print("Where no server is: \(error)")
        }
    }
}

/// A line for each picture.
@MainActor
private final class Progress {
    private let total: Int
    private var done = 0

    nonisolated init(of total: Int) { self.total = total }

    func advance(_ outcome: PhotoOutcome) {
        done += 1
        switch outcome {
        case .finished(let photo):
            print("    \(done) of \(total)  \(photo.file.name.printable): \(photo.width) x \(photo.height)")
        case .rejected(let rejection): print("    \(done) of \(total)  \(rejection)")
        }
    }
}
