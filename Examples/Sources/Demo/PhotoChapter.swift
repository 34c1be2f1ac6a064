// SPDX-License-Identifier: Apache-2.0
//
// The demo's second part: the photos through both pipelines, their times, and whether they agree.

import Foundation
import PhotoPipeline
import Report
import Timeline

struct PhotoChapter {
    /// Interlock's run of median time, and the other's.
    private let results: [(pipeline: any PhotoPipeline, result: PipelineResult)]
    private let others: [Rejection]
    private let rounds: Int
    private let differences: [String]

    private var result: PipelineResult { results[0].result }
    var photos: [Photo] { result.photos }
    private var rejections: [Rejection] { (others + result.rejections).sorted { $0.name < $1.name } }

    /// Both pipelines made the same, and at least one picture.
    var isSound: Bool { !result.photos.isEmpty && differences.isEmpty }

    var summary: String {
        let made = result.photos.count
        let pictures = made == 1 ? "1 picture was" : "\(made) pictures were"
        return "\(pictures) loaded, decoded, tilt-shifted and written in \(result.duration.text)"
    }

    @MainActor
    static func run(
        _ folder: PhotoFolder,
        into output: OutputFolder,
        options: PipelineOptions
    ) async throws -> PhotoChapter {
        let files = folder.photos
        let comparison = try output.comparison()
        let contenders: [(pipeline: any PhotoPipeline, output: OutputFolder)] = [
            (OperationPipeline(), output), (DispatchPipeline(), comparison),
        ]
        var results: [[PipelineResult]] = [[], []]
        var rounds = 1
        var round = 0
        while round < rounds {
            // The pipelines take turns at being first, when caches and disk are colder.
            for index in round.isMultiple(of: 2) ? [0, 1] : [1, 0] {
                let contender = contenders[index]
                let progress = Progress(
                    of: files.count,
                    title: "\(contender.pipeline.name)\(round > 0 ? ", again" : "")",
                    listsPhotos: index == 0 && round == 0
                )
                results[index].append(
                    try await contender.pipeline.result(of: files, into: contender.output, options: options) {
                        progress.advance($0)
                    }
                )
                progress.end()
            }
            // Short runs are taken again, each contender first as often as the other. The first round pays for waking
            // threads and disk, and does not count.
            if round == 0 {
                let first = results[0][0].duration
                rounds = first < .seconds(1) ? 11 : first < .seconds(5) ? 3 : 1
            }
            round += 1
        }
        let timed = rounds == 1 ? 1 : rounds - 1
        let last = zip(contenders, results).map { contender, results in
            (pipeline: contender.pipeline, result: median(of: results.suffix(timed)))
        }
        let agreeOnRejections = last[0].result.rejections == last[1].result.rejections
        let photos = last[0].result.photos
        let differences =
            (photos.isEmpty ? [] : try output.differences(from: comparison, of: photos))
            + (agreeOnRejections ? [] : ["the files that were refused"])
        if differences.isEmpty { try comparison.remove(resultsOf: photos) }

        let chapter = PhotoChapter(
            results: last,
            others: folder.others,
            rounds: timed,
            differences: differences
        )
        chapter.print(output, comparison, loads: options.loads)
        return chapter
    }

    func add(to page: inout Page, from output: OutputFolder) throws {
        page.pictures = result.photos.compactMap { photo in
            photo.preview.map { preview in
                Page.Picture(
                    name: photo.file.name,
                    detail: (["\(photo.width) × \(photo.height)"] + photo.remarks).joined(separator: "; "),
                    before: preview.before,
                    after: preview.after
                )
            }
        }
        page.furtherPictures = result.photos.count - page.pictures.count
        page.picturesNote = Edit.whyNoFaces ?? ""
        page.rejections = rejections.map { ($0.name, $0.reason) }
        page.contactSheet = result.photos.isEmpty ? [] : try output.contactSheetBytes()
        page.runs = results.map {
            Page.Run(name: $0.pipeline.name, detail: $0.result.duration.text, timeline: $0.result.timeline)
        }
        page.runsNote =
            "The same steps on the same pictures: with Interlock, each step a job of an InterlockQueue that takes "
            + "the output of the one before it; and with libdispatch alone. Both charts have the same scale. "
            + "Nearly all of the time goes into pixels, so the two should take about as long: \(times)."
    }

    /// A run that was made, so that its chart has the time that is told: of an even number the slower of the middle
    /// two.
    private static func median(of results: some Collection<PipelineResult>) -> PipelineResult {
        results.sorted { $0.duration < $1.duration }[results.count / 2]
    }

    private var times: String {
        let each = results.map { "\($0.pipeline.name) \($0.result.duration.text)" }.joined(separator: ", ")
        return rounds == 1 ? each : "\(each), in the median of \(rounds) runs that took turns"
    }

    private func print(_ output: OutputFolder, _ comparison: OutputFolder, loads: Int) {
        if !rejections.isEmpty {
            Console.line()
            Console.line("Files that gave no picture:")
            for rejection in rejections { Console.line("    \(rejection)") }
        }
        let remarked = result.photos.filter { !$0.remarks.isEmpty }
        if !remarked.isEmpty {
            Console.line()
            Console.line("Pictures that were not made as usual:")
            for photo in remarked {
                Console.line("    \(photo.file.name): \(photo.remarks.joined(separator: "; "))")
            }
        }
        Console.line()
        Console.table(
            columns: ["", "time", "most loads at once", "threads"],
            rows: results.map { pipeline, result in
                [
                    pipeline.name, result.duration.text, "\(result.timeline.peak(of: "load")) of \(loads)",
                    "\(result.timeline.threadCount)",
                ]
            }
        )
        Console.line()
        if rounds > 1 { Console.line("Times are the median of \(rounds) runs each, taken in turns.") }
        if differences.isEmpty {
            Console.line(
                "Both made the same \(result.photos.count) pictures and contact sheet, byte for byte."
            )
        } else {
            Console.error("the two pipelines differ on: \(differences.joined(separator: ", "))")
            Console.error("the other pipeline's results are in \(comparison.path)")
        }
        if result.photos.isEmpty {
            Console.error("no file gave a picture")
        } else {
            if let why = Edit.whyNoFaces { Console.line(why) }
            Console.line("    \(output.pictures)")
            Console.line("    \(output.contactSheet)")
        }
    }
}
