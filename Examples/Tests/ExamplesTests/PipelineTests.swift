// SPDX-License-Identifier: Apache-2.0
//
// What both pipelines must do; and that their results are the same.

import Foundation
import Interlock
import Testing

@testable import GooglyEyes
@testable import ImageCodecs
@testable import Imaging
@testable import PhotoPipeline
@testable import Timeline

/// Two runs at a time would share the photos: each has its own.
enum PipelineKind: CaseIterable, Sendable {
    case interlock
    case dispatch

    func make() -> any PhotoPipeline {
        switch self {
        case .interlock: OperationPipeline(manager: PhotoManager())
        case .dispatch: DispatchPipeline()
        }
    }
}

// Each uses all of the machine's few worker threads.
@Suite(.serialized) struct PipelineTests {
    private let folder: TemporaryFolder
    private let photosPath: String

    init() throws {
        folder = try TemporaryFolder()
        photosPath = try folder.makeFolder("photos")
    }

    private func add(_ count: Int) throws {
        for index in 0..<count {
            try folder.write(PNG.bytes(.gradient(width: 30 + index, height: 20)), "photos/p\(index).png")
        }
    }

    /// Off the main thread, which announcements need.
    private func run(
        _ kind: PipelineKind,
        into name: String = "out",
        options: PipelineOptions = PipelineOptions(photoCount: 10),
        announce: @escaping @MainActor (PhotoOutcome) -> Void = { _ in }
    ) async throws -> PipelineResult {
        let photos = try PhotoFolder(path: photosPath)
        let output = try OutputFolder(path: "\(folder.path)/\(name)", photos: photos)
        return try await kind.make().result(
            of: photos.photos,
            into: output,
            options: options,
            announce: announce
        )
    }

    @Test(arguments: PipelineKind.allCases) func brokenFilesAreNamedAndTheRestFinish(_ kind: PipelineKind)
        async throws
    {
        try add(3)
        let whole = PNG.bytes(.gradient(width: 30, height: 30))
        try folder.write(Array(whole.dropLast(50)), "photos/cut.png")
        try folder.write(PNG.bytes(.gradient(width: 3, height: 3), size: (60_000, 60_000)), "photos/bomb.png")
        let result = try await run(kind)
        #expect(result.photos.map(\.file.name) == ["p0.png", "p1.png", "p2.png"])
        #expect(result.rejections.map(\.name) == ["bomb.png", "cut.png"])
        #expect(result.rejections.map(\.reason).allSatisfy { $0.contains("PNG") }, "\(result.rejections)")
        for name in ["out/pictures/p0.jpg", "out/pictures/p2.jpg", "out/contact-sheet.jpg"] {
            #expect(throws: Never.self) { try Codecs.decode(try folder.bytes(name)) }
        }
    }

    @Test(arguments: PipelineKind.allCases) func aFolderOfBrokenFilesEndsToo(_ kind: PipelineKind)
        async throws
    {
        for index in 0..<20 { try folder.write([0xFF, 0xD8, 0xFF, 0xE0, 0], "photos/\(index).jpg") }
        let result = try await run(kind)
        #expect(result.photos.isEmpty && result.rejections.count == 20)
    }

    @Test func bothPipelinesMakeTheSameBytes() async throws {
        try add(12)
        try folder.write([0xFF, 0xD8, 0xFF, 0xE0, 0], "photos/broken.jpg")
        let results = [
            try await run(.interlock, into: "one"), try await run(.dispatch, into: "other"),
        ]
        #expect(results[0].photos == results[1].photos)
        #expect(results[0].rejections == results[1].rejections)
        for name in results[0].photos.map({ "pictures/\($0.file.outputName)" }) + ["contact-sheet.jpg"] {
            #expect(try folder.bytes("one/\(name)") == folder.bytes("other/\(name)"), "\(name)")
        }
    }

    /// Budgets of one permit, which every picture needs at least: without admission two threads would have two at once.
    @Test(arguments: PipelineKind.allCases) func picturesWaitForMemoryAndOneThatNeedsMoreIsAlone(
        _ kind: PipelineKind
    ) async throws {
        for index in 0..<11 {
            try folder.write(PNG.bytes(.gradient(width: 300, height: 200)), "photos/p\(index).png")
        }
        try folder.write(try Codecs.encodeJPEG(.gradient(width: 1200, height: 900)), "photos/large.jpg")
        try folder.write([0xFF, 0xD8, 0xFF, 0xE0, 0], "photos/broken.jpg")
        var options = PipelineOptions(photoCount: 13)
        options.memoryBudget = PipelineOptions.memoryPermit
        #expect(PipelineOptions.bytesPerPixel * 1200 * 900 > options.memoryBudget)
        let result = try await run(kind, options: options)
        #expect(result.photos.count == 12 && result.rejections.map(\.name) == ["broken.jpg"])
        let decoded = result.photos.map { photo in
            let own = result.timeline.spans.filter { $0.item == photo.file.name && $0.step != "load" }
            return Timeline.Span(
                step: "decoded",
                item: "",
                thread: 0,
                begin: own.map(\.begin).min()!,
                end: own.map(\.end).max()!
            )
        }
        #expect(Timeline(spans: decoded).peak(of: "decoded") == 1)
    }

    @Test(arguments: PipelineKind.allCases) func aPictureOfMorePixelsThanAreWorkedOnIsMadeSmaller(
        _ kind: PipelineKind
    ) async throws {
        try folder.write(try Codecs.encodeJPEG(.gradient(width: 800, height: 600)), "photos/a.jpg")
        try folder.write(PNG.bytes(.gradient(width: 80, height: 60)), "photos/b.png")
        var options = PipelineOptions(photoCount: 2)
        options.scaledLimit = 30_000
        let photos = try await run(kind, options: options).photos
        #expect(photos.map { "\($0.width) x \($0.height)" } == ["200 x 150", "80 x 60"])
        #expect(photos.map(\.remarks) == [["smaller than the file's 800 x 600, to save memory"], []])
    }

    @Test(arguments: PipelineKind.allCases) func aFileOfMoreBytesThanAllowedIsRefusedAndNotCut(
        _ kind: PipelineKind
    ) async throws {
        let bytes = PNG.bytes(.gradient(width: 30, height: 20))
        try folder.write(bytes, "photos/a.png")
        try folder.write(bytes + [0], "photos/b.png")
        var options = PipelineOptions(photoCount: 2)
        options.byteLimit = bytes.count
        let result = try await run(kind, options: options)
        #expect(result.photos.map(\.file.name) == ["a.png"])
        #expect(result.rejections == [Rejection(name: "b.png", reason: "larger than 0 MB")])
    }

    @Test(arguments: PipelineKind.allCases) func asManyPhotosHavePreviewsAndFramesAsAllowed(
        _ kind: PipelineKind
    ) async throws {
        try add(5)
        var options = PipelineOptions(photoCount: 5)
        options.previewLimit = 2
        options.frameLimit = 3
        let photos = try await run(kind, options: options).photos
        #expect(photos.map { $0.preview != nil } == [true, true, false, false, false])
        #expect(photos.map { $0.frame != nil } == [true, true, true, false, false])
    }

    @Test(arguments: PipelineKind.allCases) func picturesOfOneRowOrColumnAreMade(_ kind: PipelineKind)
        async throws
    {
        try folder.write(PNG.bytes(.gradient(width: 1, height: 30_000)), "photos/column.png")
        try folder.write(try Codecs.encodeJPEG(.gradient(width: 30_000, height: 1)), "photos/row.jpg")
        let result = try await run(kind)
        #expect(result.rejections == [])
        #expect(result.photos.map(\.height) == [30_000, 1])
        #expect(result.photos.map(\.remarks) == [[], []])
    }

    @Test func aPictureWhoseFacesCannotBeSearchedIsMadeAndTheStepNamed() throws {
        try add(1)
        let photos = try PhotoFolder(path: photosPath)
        let output = try OutputFolder(path: "\(folder.path)/out", photos: photos)
        let steps = PhotoSteps(output: output, options: .init(photoCount: 1), recorder: TimelineRecorder())
        let failing = Edit.faces { _ throws(FacesUnavailable) in
            throw FacesUnavailable(reason: "the library failed")
        }
        let loaded = try steps.load(photos.photos[0])
        let photo = try steps.write(try steps.edit(try steps.decode(loaded), failing))
        #expect(photo.remarks == ["step faces failed: the library failed"])
        #expect(throws: Never.self) { try Codecs.decode(try folder.bytes("out/pictures/p0.jpg")) }
    }

    @Test func aDifferenceBetweenTwoFoldersIsFoundAndNamed() async throws {
        try add(2)
        let photos = try PhotoFolder(path: photosPath)
        let output = try OutputFolder(path: "\(folder.path)/out", photos: photos)
        let comparison = try output.comparison()
        for place in [output, comparison] {
            _ = try await DispatchPipeline().result(
                of: photos.photos,
                into: place,
                options: .init(photoCount: 2)
            ) { _ in }
        }
        let results = try await run(.dispatch).photos
        #expect(try output.differences(from: comparison, of: results) == [])
        try folder.write([1], "out/comparison/pictures/p1.jpg")
        #expect(try output.differences(from: comparison, of: results) == ["p1.jpg"])
        try comparison.remove(resultsOf: results)
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/out/comparison"))
    }

    // Read at once, decoded slowly: breadth first would begin all eight before one is finished.
    @Test func aBegunPhotoIsFinishedBeforeANewOneIsBegun() async throws {
        let bytes = PNG.bytes(.gradient(width: 400, height: 300))
        for index in 0..<16 { try folder.write(bytes, "photos/p\(index).png") }
        let result = try await run(.interlock)
        #expect(result.photos.count == 16)
        let spans = result.timeline.spans
        let inProgress = result.photos.map { photo in
            let own = spans.filter { $0.item == photo.file.name && $0.step != "load" }
            return Timeline.Span(
                step: "photo",
                item: photo.file.name,
                thread: 0,
                begin: own.map(\.begin).min()!,
                end: own.map(\.end).max()!
            )
        }
        let most = Timeline(spans: inProgress).peak(of: "photo")
        #expect((1...OperationPipeline.places).contains(most))
    }

    /// The first four readers wait inside until there are four, and then as long as a fifth would need that had a
    /// permit. The system adds a thread a second where all it has are blocked.
    ///
    ///     readers 1-4 │ enter ── four there ── a fifth? (2.5 s) ── leave
    ///     reader 5    │                  (no permit)                     enter ...
    @Test(arguments: PipelineKind.allCases) func atMostFourLoadsRunAtOnceAndFourDo(
        _ kind: PipelineKind
    ) async throws {
        try add(12)
        let inside = Guarded((now: 0, most: 0, all: 0))
        let four = Latch(count: 4)
        let fifth = Latch(count: 1)
        var options = PipelineOptions(photoCount: 12)
        options.inFlight = 12
        options.read = { file, limit throws(FileError) in
            let number = inside.withLock { inside in
                inside.all += 1
                inside.now += 1
                inside.most = max(inside.most, inside.now)
                return inside.all
            }
            if number <= 4 {
                four.countDown()
                if four.wait(timeout: .seconds(60)) { _ = fifth.wait(timeout: .milliseconds(2500)) }
            } else if number == 5 {
                fifth.countDown()
            }
            defer { inside.withLock { $0.now -= 1 } }
            return try Files.contents(of: file.path, limit: limit)
        }
        let result = try await run(kind, options: options)
        #expect(result.photos.count == 12)
        #expect(inside.withLock { $0.most } == 4)
    }

    @Test(arguments: PipelineKind.allCases) func noMorePhotosAreUnderWayThanAllowed(_ kind: PipelineKind)
        async throws
    {
        try add(30)
        var options = PipelineOptions(photoCount: 30)
        options.inFlight = 3
        options.loads = 2
        let result = try await run(kind, options: options)
        // A photo is under way from its first step to its last.
        let lives = Dictionary(grouping: result.timeline.spans, by: \.item).values.map { spans in
            Timeline.Span(
                step: "life",
                item: "",
                thread: 0,
                begin: spans.map(\.begin).min()!,
                end: spans.map(\.end).max()!
            )
        }
        #expect(Timeline(spans: lives).peak(of: "life") <= 3)
    }

    @Test(arguments: PipelineKind.allCases) func everyOutcomeIsAnnouncedOnceOnTheMainQueue(
        _ kind: PipelineKind
    ) async throws {
        try add(10)
        try folder.write([0xFF, 0xD8, 0xFF, 0xE0, 0], "photos/broken.jpg")
        let names = Guarded<[String]>([])
        let result = try await run(kind) { outcome in
            dispatchPrecondition(condition: .onQueue(.main))
            switch outcome {
            case .finished(let photo): names.withLock { $0.append(photo.file.name) }
            case .rejected(let rejection): names.withLock { $0.append(rejection.name) }
            }
        }
        let expected = result.photos.map(\.file.name) + result.rejections.map(\.name)
        #expect(names.withLock { $0.sorted() } == expected.sorted())
    }

    @Test(arguments: PipelineKind.allCases) func nothingOutsideTheOutputFolderIsTouched(_ kind: PipelineKind)
        async throws
    {
        try add(3)
        try folder.write(Array("precious".utf8), "victim.jpg")
        _ = try folder.makeFolder("out/pictures")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/out/pictures/p0.jpg",
            withDestinationPath: "\(folder.path)/victim.jpg"
        )
        // Where the next results are written first, also if other tests write at the same time.
        let written = Files.writes.load(ordering: .relaxed)
        let planted = (written + 1...written + 1000).map { "pictures/.\(getpid()).\($0).part" }
        for name in planted {
            #expect(symlink("\(folder.path)/victim.jpg", "\(folder.path)/out/\(name)") == 0)
        }
        let before = try folder.contents(except: "out")
        _ = try await run(kind)
        #expect(try folder.contents(except: "out") == before)
        #expect(try Codecs.decode(folder.bytes("out/pictures/p0.jpg")).width == 30)
        #expect(try Codecs.decode(folder.bytes("out/pictures/p1.jpg")).width == 31)
        let left = try FileManager.default.subpathsOfDirectory(atPath: "\(folder.path)/out")
        let parts = left.filter { $0.hasSuffix(".part") }
        #expect(parts.count < planted.count, "none was met")
        #expect(Set(parts).isSubset(of: planted))
    }

    @Test(arguments: PipelineKind.allCases) func aFolderThatCannotBeWrittenIsAReasonAndNotAHang(
        _ kind: PipelineKind
    ) async throws {
        try add(2)
        let photos = try PhotoFolder(path: photosPath)
        let output = try OutputFolder(path: "\(folder.path)/out", photos: photos)
        try FileManager.default.removeItem(atPath: output.pictures)
        let result = try await kind.make().result(
            of: photos.photos,
            into: output,
            options: .init(photoCount: 2)
        ) { _ in }
        #expect(
            result.rejections.map(\.reason) == ["No such file or directory", "No such file or directory"]
        )
    }
}
