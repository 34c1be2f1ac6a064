// SPDX-License-Identifier: Apache-2.0
//
// The photo pipeline over a bad network: see the README beside this file. Exit status 0: every picture that could be had
// was made; 1: a result was wrong; 2: a folder cannot be used; 64: invalid arguments.

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
        let bytes = try Dictionary(
            uniqueKeysWithValues: photos.photos.map {
                ($0.name, Array(try Data(contentsOf: URL(filePath: $0.path))))
            }
        )
        let faults = Self.faults(of: photos.photos.map(\.name))
        for (name, list) in faults.sorted(by: { $0.key < $1.key }) {
            print("    \(name): \(list.map { "\($0)" }.joined(separator: ", then ")), then the picture")
        }
        print("    \(Self.gone): 404; \(Self.silent) and \(Self.unwanted): no answer, ever")
        let server = PhotoServer(
            bytes,
            faults: faults.merging([Self.gone: []]) { first, _ in first },
            always: [Self.silent: .stalled, Self.unwanted: .stalled]
        )
        return try await server.serve { list in
            try await tellOfNoServer()
            return try await download(from: list, server, made: bytes.count, into: output)
        }
    }

    private static let gone = "gone.jpg"
    private static let silent = "silent.jpg"
    private static let unwanted = "unwanted.jpg"

    private static func faults(of names: [String]) -> [String: [NetworkFault]] {
        let lists: [[NetworkFault]] = [[.slow(.milliseconds(300))], [.cutOff], [.busy, .busy], [.stalled]]
        return Dictionary(uniqueKeysWithValues: zip(names, lists))
    }

    private func tellOfNoServer() async throws {
        let nowhere = PhotoDownloads(URL(string: "http://127.0.0.1:9/photos")!, attempts: 2)
        do {
            _ = try await nowhere.photos()
        } catch {
            print("\nWhere no server is: \(error)")
        }
    }

    private func download(
        from list: URL,
        _ server: PhotoServer,
        made count: Int,
        into output: OutputFolder
    ) async throws -> Bool {
        let downloads = PhotoDownloads(list, attempts: 3, attemptLimit: .seconds(2))
        let files = try await downloads.photos()
        var options = PipelineOptions(photoCount: files.count)
        options.loads = atOnce
        options.inFlight = max(8, 2 * atOnce)
        let progress = Progress(of: files.count)
        let result = try await OperationPipeline(manager: PhotoManager(), source: downloads)
            .result(of: files, into: output, options: options) { outcome in
                progress.advance(outcome)
                // The last two never come. One of them is given up, as a program does whose user has gone on.
                if progress.left == 2 { downloads.cancel(Self.unwanted) }
            }
        let requests = server.requests.values.reduce(0, +)
        print(
            "\n\(result.photos.count) pictures in \(result.duration.text), by \(requests) requests, at most "
                + "\(server.peak) at once\n    \(output.pictures)\n    \(output.contactSheet)"
        )
        let named = Set(result.rejections.map(\.name))
        return result.photos.count == count && server.peak <= atOnce
            && named == [Self.gone, Self.silent, Self.unwanted]
    }
}

/// A line for each picture.
@MainActor
private final class Progress {
    private let total: Int
    private var done = 0

    nonisolated init(of total: Int) { self.total = total }

    var left: Int { total - done }

    func advance(_ outcome: PhotoOutcome) {
        done += 1
        switch outcome {
        case .finished(let photo):
            print("    \(done) of \(total)  \(photo.file.name): \(photo.width) x \(photo.height)")
        case .rejected(let rejection): print("    \(done) of \(total)  \(rejection)")
        }
    }
}
