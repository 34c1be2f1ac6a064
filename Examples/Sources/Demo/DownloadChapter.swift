// SPDX-License-Identifier: Apache-2.0
//
// The demo's third part: a few of the photos once more, downloaded from a server on the loopback address with the
// faults of a network. A fault of this part leaves the others as they are.

import Foundation
import PhotoDownloads
import PhotoPipeline
import PhotoServer
import Report
import Timeline

struct DownloadChapter {
    /// The most photos that are downloaded; those that never come are not among them.
    private static let count = 6

    private let network: BadNetwork
    private let result: Result<DownloadResult, any Error>
    /// The pictures that differ from those of the files.
    private let differences: [String]

    /// At least one picture came, and those that came are those of the files.
    var isSound: Bool {
        guard case .success(let result) = result else { return false }
        return !result.pipeline.photos.isEmpty && differences.isEmpty
    }

    /// - Parameter photos: those that were made from the files, into `output`.
    @MainActor
    static func run(_ photos: [Photo], of folder: PhotoFolder, into output: OutputFolder) async
        -> DownloadChapter
    {
        let network = BadNetwork(smallest: count, of: photos.map(\.file), hopeless: .busy)
        var run = DownloadRun(network)
        run.attemptLimit = .seconds(1)
        run.limit = .seconds(20)
        run.previewSize = 480
        Console.line(
            "A server on 127.0.0.1 plays the faults of a network. At most \(run.atOnce) requests are under way at once."
        )
        Console.line(
            "What fails is asked for up to \(run.attempts) times; an attempt without an answer ends after "
                + "\(run.attemptLimit.text)."
        )
        Console.line()
        let progress = Progress(of: network.names.count, title: "downloads", listsPhotos: false)
        let chapter: DownloadChapter
        do {
            let place = try OutputFolder(path: "\(output.path)/downloads", photos: folder)
            let result = try await run.result(into: place) { progress.advance($0) }
            let differences = differences(of: result.pipeline.photos, in: place, from: photos, in: output)
            chapter = DownloadChapter(network: network, result: .success(result), differences: differences)
            progress.end()
            chapter.print(result, place)
        } catch {
            chapter = DownloadChapter(network: network, result: .failure(error), differences: [])
            progress.end()
            Console.error("nothing was downloaded: \(error)")
        }
        return chapter
    }

    private static func differences(
        of downloaded: [Photo],
        in place: OutputFolder,
        from photos: [Photo],
        in output: OutputFolder
    ) -> [String] {
        let made = Dictionary(uniqueKeysWithValues: photos.map { ($0.file.name, $0.file.outputName) })
        return downloaded.map(\.file).filter { file in
            guard let name = made[file.name] else { return true }
            return !FileManager.default.contentsEqual(
                atPath: "\(place.pictures)/\(file.outputName)",
                andPath: "\(output.pictures)/\(name)"
            )
        }.map(\.name)
    }

    private func print(_ result: DownloadResult, _ place: OutputFolder) {
        Console.table(
            columns: ["photo", "faults", "attempts", "delay", "ending"],
            rows: result.downloads.map { download in
                [
                    download.name, network.faults(of: download.name), "\(download.attempts)",
                    download.delay.text,
                    ending(of: download, result),
                ]
            },
            text: [0, 1, 4]
        )
        Console.line()
        Console.line(summary(of: result))
        if result.pipeline.photos.isEmpty {
            Console.error("no download gave a picture")
        } else if differences.isEmpty {
            Console.line("The pictures are those of the files, byte for byte.")
        } else {
            let names = differences.joined(separator: ", ")
            Console.error("downloaded pictures differ from those of the files: \(names)")
        }
        if !result.pipeline.photos.isEmpty { Console.line("    \(place.pictures)") }
    }

    /// What came may still be no picture.
    private func ending(of download: DownloadRecord, _ result: DownloadResult) -> String {
        let fault = result.pipeline.rejections.first { $0.name == download.name }
        guard download.ending == .delivered, let fault else { return "\(download.ending)" }
        return "delivered, but gave no picture: \(fault.reason)"
    }

    private func summary(of result: DownloadResult) -> String {
        "\(result.pipeline.photos.count) of \(result.downloads.count) pictures came. The downloads took "
            + "\(result.downloading.text) together; their delays add up to \(result.delays.text). With all steps it took "
            + "\(result.pipeline.duration.text)."
    }

    func add(to page: inout Page) {
        switch result {
        case .failure(let error):
            page.downloads = Page.Downloads(note: "Nothing was downloaded: \(error)")
        case .success(let result):
            let pictures = Dictionary(
                result.pipeline.photos.map { ($0.file.name, $0.preview?.after) },
                uniquingKeysWith: { first, _ in first }
            )
            page.downloads = Page.Downloads(
                note: "\(summary(of: result)) The server is on the loopback address and plays the faults.",
                times: [
                    ("the downloads", result.downloading), ("sum of their delays", result.delays),
                    ("with all steps", result.pipeline.duration),
                ],
                items: result.downloads.map { download in
                    Page.Download(
                        name: download.name,
                        faults: network.faults(of: download.name),
                        attempts: download.attempts,
                        delay: download.delay,
                        ending: ending(of: download, result),
                        picture: pictures[download.name] ?? nil
                    )
                }
            )
        }
    }
}
