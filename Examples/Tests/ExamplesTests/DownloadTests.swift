// SPDX-License-Identifier: Apache-2.0
//
// Pictures over HTTP: limits, retries, time-outs and cancellations, against a real server on the loopback address.

import Foundation
import Interlock
import PhotoDownloads
import PhotoServer
import Testing

@testable import Imaging
@testable import PhotoPipeline

@Suite(.serialized, .timeLimit(.minutes(5))) struct DownloadTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func pictures(_ count: Int) -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: (0..<count).map { index in
                ("p\(index).png", PNG.bytes(.gradient(width: 30 + index, height: 20)))
            }
        )
    }

    private func run(
        _ server: PhotoServer,
        limit: Duration = .seconds(60),
        loads: Int = 4,
        attempts: Int = 3,
        during body: @escaping @Sendable (PhotoDownloads) async -> Void = { _ in }
    ) async throws -> PipelineResult {
        let output = try OutputFolder(
            path: "\(folder.path)/out",
            photos: try PhotoFolder(path: try folder.makePhotos())
        )
        return try await server.serve { list in
            let downloads = PhotoDownloads(list, attempts: attempts, attemptLimit: limit, pause: .zero)
            let files = try await downloads.photos()
            var options = PipelineOptions(photoCount: files.count)
            options.loads = loads
            async let meanwhile: Void = body(downloads)
            let result = try await OperationPipeline(manager: PhotoManager(), source: downloads)
                .result(of: files, into: output, options: options) { _ in }
            await meanwhile
            return result
        }
    }

    @Test func whatIsDownloadedGivesTheSamePicturesAsFiles() async throws {
        let pictures = pictures(5)
        let path = try folder.makeFolder("same")
        for (name, bytes) in pictures { try folder.write(bytes, "same/\(name)") }
        let photos = try PhotoFolder(path: path)
        let fromFiles = try OutputFolder(path: "\(folder.path)/files", photos: photos)
        _ = try await OperationPipeline(manager: PhotoManager())
            .result(of: photos.photos, into: fromFiles, options: PipelineOptions(photoCount: 5)) { _ in }
        let result = try await run(PhotoServer(pictures))
        #expect(result.photos.map(\.file.name) == pictures.keys.sorted() && result.rejections.isEmpty)
        for photo in result.photos {
            #expect(
                try folder.bytes("out/pictures/\(photo.file.outputName)")
                    == folder.bytes("files/pictures/\(photo.file.outputName)")
            )
        }
    }

    /// The first four requests are answered when all four are there.
    @Test func asManyAsTheLimitAreDownloadedAtOnce() async throws {
        let arrivals = Latch(count: 4)
        let server = PhotoServer(pictures(12)) { _ in
            if !arrivals.isOpen { arrivals.countDown() }
            try? await arrivals.wait()
        }
        let result = try await run(server)
        #expect(result.photos.count == 12)
        #expect(server.peak == 4)
    }

    @Test func whatFailsIsAskedForAgain() async throws {
        let server = PhotoServer(
            pictures(4),
            faults: ["p0.png": [.cutOff], "p1.png": [.busy, .busy], "p2.png": [.slow(.milliseconds(5))]]
        )
        let result = try await run(server)
        #expect(result.photos.count == 4 && result.rejections.isEmpty)
        #expect(server.requests == ["p0.png": 2, "p1.png": 3, "p2.png": 1, "p3.png": 1])
    }

    @Test func anAttemptWithoutAnAnswerIsGivenUp() async throws {
        let server = PhotoServer(pictures(2), faults: ["p0.png": [.stalled]])
        let result = try await run(server, limit: .seconds(3))
        #expect(result.photos.count == 2 && result.rejections.isEmpty)
        #expect(server.requests["p0.png"] == 2)
    }

    @Test func whatCannotBeHadIsNamedAndTheRestFinish() async throws {
        let server = PhotoServer(
            pictures(5),
            faults: ["gone.png": []],
            always: ["p0.png": .cutOff, "p1.png": .busy, "p2.png": .stalled]
        )
        let result = try await run(server, limit: .seconds(2), attempts: 2)
        #expect(result.photos.map(\.file.name) == ["p3.png", "p4.png"])
        let reasons = Dictionary(uniqueKeysWithValues: result.rejections.map { ($0.name, $0.reason) })
        #expect(reasons.count == 4)
        #expect(reasons["gone.png"] == "the server answered 404")
        #expect(reasons["p0.png"]?.contains("bytes remaining") == true, "\(reasons["p0.png"] ?? "")")
        #expect(reasons["p1.png"] == "the server answered 503")
        #expect(reasons["p2.png"]?.contains("2.0 seconds") == true, "\(reasons["p2.png"] ?? "")")
        // A 404 is not asked for again.
        #expect(server.requests["gone.png"] == 1 && server.requests["p1.png"] == 2)
    }

    @Test func aServerThatIsNotThereIsNamed() async throws {
        let list = try await PhotoServer([:]).serve { $0 }
        let downloads = PhotoDownloads(list, attempts: 2, pause: .zero)
        await #expect(throws: DownloadError.refused("127.0.0.1:\(list.port ?? 0)")) {
            try await downloads.photos()
        }
    }

    /// One is under way, and one has not begun, when they are given up.
    @Test func whatIsNoLongerWantedIsStopped() async throws {
        let asked = Latch(count: 1)
        let server = PhotoServer(pictures(3), always: ["p0.png": .stalled]) { name in
            if name == "p0.png" { asked.countDown() }
        }
        let result = try await run(server, loads: 1) { downloads in
            try? await asked.wait()
            downloads.cancel("p2.png")
            downloads.cancel("p0.png")
        }
        #expect(result.photos.map(\.file.name) == ["p1.png"])
        #expect(result.rejections.map(\.name) == ["p0.png", "p2.png"])
        #expect(result.rejections.allSatisfy { $0.reason.contains("cancelled") }, "\(result.rejections)")
        #expect(server.requests["p0.png"] == 1 && server.requests["p2.png"] == nil)
    }
}

extension TemporaryFolder {
    /// A folder with a picture, for an output folder beside it.
    func makePhotos() throws -> String {
        let path = try makeFolder("photos")
        try write(PNG.bytes(.gradient(width: 2, height: 2)), "photos/one.png")
        return path
    }
}
