// SPDX-License-Identifier: Apache-2.0
//
// A whole run over a bad network: what is recorded of each download, and that the run ends.

import Foundation
import Interlock
import Testing

@testable import Imaging
@testable import PhotoDownloads
@testable import PhotoPipeline
@testable import PhotoServer

@Suite(.serialized, .timeLimit(.minutes(5))) struct DownloadRunTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func pictures(_ names: [String]) -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: names.enumerated().map { index, name in
                (name, PNG.bytes(.gradient(width: 30 + index, height: 20)))
            }
        )
    }

    private func output() throws -> OutputFolder {
        try OutputFolder(
            path: "\(folder.path)/out",
            photos: try PhotoFolder(path: try folder.makePhotos())
        )
    }

    private func result(
        _ network: BadNetwork,
        change: (inout DownloadRun) -> Void = { _ in }
    ) async throws -> DownloadResult {
        var run = DownloadRun(network)
        run.attemptLimit = .seconds(3)
        run.interest = .zero
        change(&run)
        return try await run.result(into: try output()) { _ in }
    }

    /// The seventh picture meets no fault.
    @Test func eachDownloadIsRecordedWithItsAttemptsAndItsEnding() async throws {
        let names = (0..<7).map { "p\($0).png" }
        // Long, so that on a busy machine only the attempt without an answer passes it; the server gives that up after
        // 15 s.
        let limit = Duration.seconds(10)
        let network = BadNetwork(pictures(names), hopeless: .busy)
        let result = try await result(network) { $0.attemptLimit = limit }
        #expect(result.pipeline.photos.map(\.file.name) == names)
        let records = Dictionary(uniqueKeysWithValues: result.downloads.map { ($0.name, $0) })
        #expect(records.count == 10)
        #expect(names.allSatisfy { records[$0]?.ending == .delivered })
        #expect(names.map { records[$0]?.attempts } == [1, 2, 3, 2, 1, 2, 1])
        #expect(records["gone.jpg"]?.ending == .givenUp("the server answered 404"))
        #expect(records["gone.jpg"]?.attempts == 1)
        #expect(records["refused.jpg"]?.ending == .givenUp("the server answered 503"))
        #expect(records["refused.jpg"]?.attempts == 3)
        #expect(records["unwanted.jpg"]?.ending == .unwanted)
        #expect(records["unwanted.jpg"]?.attempts == 1)
        #expect(result.requests == 1 + 2 + 3 + 2 + 1 + 2 + 1 + 1 + 3 + 1)
        // What the faults take: a late answer; an attempt without one.
        #expect(records["p0.png"]!.delay >= .milliseconds(300))
        #expect(records["p3.png"]!.delay >= limit)
        #expect(result.delays >= limit + .milliseconds(300 + 600 + 300))
        #expect(result.downloading >= limit && result.downloading < result.delays)
        #expect(result.downloading <= result.pipeline.duration)
    }

    @Test func aRecordIsThereAtTheEndAndNotBefore() async throws {
        let log = DownloadLog()
        log.beginAttempt()
        let early = Task { try await log.record(of: "p") }
        early.cancel()
        await #expect(throws: CancellationError.self) { try await early.value }
        log.end(.unwanted)
        let record = try #require(try await log.record(of: "p"))
        #expect(record.attempts == 1 && record.ending == .unwanted && record.period != nil)
    }

    /// As beside a cancellation.
    @Test func anAttemptAfterTheEndDoesNotCount() async throws {
        let log = DownloadLog()
        log.end(.unwanted)
        log.beginAttempt()
        let record = try #require(try await log.record(of: "p"))
        #expect(record.attempts == 0 && record.period == nil)
    }

    /// One place: what comes after the silent picture is never asked for.
    @Test func theLimitOfAllDownloadsEndsTheRun() async throws {
        let network = BadNetwork(pictures(["p.png", "z.png"]), hopeless: .stalled)
        let result = try await result(network) { run in
            run.atOnce = 1
            run.attemptLimit = .seconds(3600)
            run.interest = .seconds(3600)
            run.limit = .seconds(2)
        }
        let records = Dictionary(uniqueKeysWithValues: result.downloads.map { ($0.name, $0) })
        let late = DownloadEnding.givenUp("not there when the 2.0 seconds for all downloads were over")
        #expect(records.count == network.names.count)
        #expect(records["silent.jpg"]?.ending == late)
        for name in ["unwanted.jpg", "z.png"] {
            #expect(records[name]?.ending == late && records[name]?.attempts == 0, "\(name)")
            #expect(records[name]?.period == nil && records[name]?.delay == .zero)
        }
        #expect(
            Set(result.pipeline.rejections.map(\.name)).isSuperset(of: [
                "silent.jpg", "unwanted.jpg", "z.png",
            ])
        )
    }

    @Test func whatCannotBeHadNeverHasThePicturesNames() async throws {
        let names = ["gone.jpg", "other-gone.jpg", "refused.jpg", "unwanted.jpg"]
        let network = BadNetwork(pictures(names), hopeless: .busy)
        #expect(network.names.count == 7)
        #expect(
            network.unobtainable == ["other-other-gone.jpg", "other-refused.jpg", "other-unwanted.jpg"]
        )
        let result = try await result(network)
        #expect(result.pipeline.photos.map(\.file.name) == names)
        #expect(Set(result.pipeline.rejections.map(\.name)) == network.unobtainable)
    }

    @Test func aNameMayHaveAnyCharacter() async throws {
        let names = [
            "%41.png", "100%.png", "a b.png", "a#b.png", "a+b.png", "a:b.png", "a;b=c.png", "a?b&c.png",
            "é猫.png",
        ]
        let server = PhotoServer(pictures(names))
        let output = try output()
        let result = try await server.serve { list in
            let downloads = PhotoDownloads(list, attempts: 3)
            return try await OperationPipeline(manager: PhotoManager(), source: downloads)
                .result(of: try await downloads.photos(), into: output, options: .init(photoCount: 9)) { _ in
                }
        }
        #expect(Set(result.photos.map(\.file.name)) == Set(names), "\(result.rejections)")
        #expect(server.requests == Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }))
    }

    /// In a process of its own, for its environment.
    @Test func aProxyOfTheEnvironmentIsNotAsked() async {
        await #expect(processExitsWith: .success) {
            setenv("http_proxy", "http://127.0.0.1:9", 1)
            PhotoDownloads.avoidProxies()
            let names = try await PhotoServer(["p.png": []]).serve { list in
                try await PhotoDownloads(list, attempts: 1).photos().map(\.name)
            }
            #expect(names == ["p.png"])
        }
    }

    @Test func theSmallestFilesAreTaken() throws {
        let sizes = [("a", 30), ("b", 10), ("c", 20), ("d", 10), ("e", 40)]
        for (name, size) in sizes { try folder.write([UInt8](repeating: 1, count: size), name) }
        let files = PhotoFile.numbered(sizes.map { ($0.0, FilePath("\(folder.path)/\($0.0)")) })
        let network = BadNetwork(smallest: 3, of: files, hopeless: .busy)
        #expect(Set(network.names).subtracting(network.unobtainable) == ["b", "c", "d"])
    }

    @Test func aFileThatCannotBeReadIsNamedAndTheRestCome() async throws {
        let pictures = pictures(["here.png"])
        try folder.write(pictures["here.png"]!, "here.png")
        let files = PhotoFile.numbered(
            ["away.png", "here.png"].map { ($0, FilePath("\(folder.path)/\($0)")) }
        )
        let network = BadNetwork(of: files, hopeless: .busy)
        #expect(network.faults(of: "away.png") == "not there")
        let result = try await result(network)
        #expect(result.pipeline.photos.map(\.file.name) == ["here.png"])
        let away = try #require(result.downloads.first { $0.name == "away.png" })
        #expect(away.ending == .givenUp("the server answered 404") && away.attempts == 1)
    }

    @Test func theFaultsOfEachPictureAreTold() {
        let network = BadNetwork(pictures((0..<7).map { "p\($0)" }), hopeless: .busy)
        let faults = Dictionary(uniqueKeysWithValues: network.names.map { ($0, network.faults(of: $0)) })
        #expect(
            faults == [
                "p0": "300 ms late", "p1": "cut off", "p2": "503, 503",
                "p3": "no answer", "p4": "600 ms late", "p5": "cut off, 300 ms late",
                "p6": "", "gone.jpg": "not there", "refused.jpg": "503 each time",
                "unwanted.jpg": "no answer each time",
            ]
        )
    }
}
