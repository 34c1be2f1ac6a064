// SPDX-License-Identifier: Apache-2.0
//
// The memory that a pipeline's pictures have together: how much each asks for, and that none begins without it.

import Foundation
import Interlock
import Testing

@testable import ImageCodecs
@testable import Imaging
@testable import PhotoPipeline
@testable import Timeline

/// A picture whose header promises much and whose pixels are missing: it takes memory, and is refused at once.
private let promising = PNG.bytes(.gradient(width: 3, height: 3), size: (4000, 3000))

private enum Route: CaseIterable, Sendable {
    case files, downloads, dispatch

    func make() -> any PhotoPipeline {
        switch self {
        case .files: OperationPipeline(manager: PhotoManager())
        case .downloads: OperationPipeline(manager: PhotoManager(), source: Promises())
        case .dispatch: DispatchPipeline()
        }
    }
}

private struct Promises: PhotoSource {
    func load(_ file: PhotoFile, limit: Int) -> AsyncOperation<[UInt8]> {
        AsyncOperation(name: file.name) { promising }
    }
}

@Suite(.serialized) struct MemoryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.makeFolder("photos")
    }

    private func steps(_ change: (inout PipelineOptions) -> Void = { _ in }) throws -> PhotoSteps {
        try folder.write(promising, "photos/a.png")
        let photos = try PhotoFolder(path: "\(folder.path)/photos")
        var options = PipelineOptions(photoCount: 1)
        change(&options)
        let output = try OutputFolder(path: "\(folder.path)/out", photos: photos)
        return PhotoSteps(output: output, options: options, recorder: TimelineRecorder())
    }

    /// In permits of 16 MB, of 512 MB that all have together.
    @Test func aPictureAsksForWhatItNeeds() throws {
        let all = PipelineOptions(photoCount: 1).memoryPermits
        #expect(all == 32)
        // 8 megapixels are worked on, with 32 bytes each: 256 MB.
        #expect(try steps().permits(for: promising) == 16)
        // Next to nothing is worked on; 12 megapixels of 4 bytes are decoded.
        #expect(try steps { $0.scaledLimit = 1000 }.permits(for: promising) == 4)
        // The least is one; a picture that needs more than there is asks for all.
        #expect(try steps().permits(for: PNG.bytes(.gradient(width: 3, height: 3))) == 1)
        #expect(try steps { $0.memoryBudget = 50_000_000 }.permits(for: promising) == 3)
        #expect(try steps { $0.memoryBudget = 1 }.permits(for: promising) == 1)
        // What cannot be decoded needs none.
        #expect(try steps { $0.pixelLimit = 1_000_000 }.permits(for: promising) == 0)
        #expect(try steps().permits(for: Array("text".utf8)) == 0)
    }

    /// Each needs more than half of what there is. Two that collected theirs at once would have a part each, and wait
    /// for ever.
    @Test(arguments: Route.allCases) private func picturesThatNeedMoreThanHalfAreOneAtATime(_ route: Route)
        async throws
    {
        let count = 24
        for index in 0..<count { try folder.write(promising, "photos/p\(index).png") }
        let photos = try PhotoFolder(path: "\(folder.path)/photos")
        let output = try OutputFolder(path: "\(folder.path)/out", photos: photos)
        var options = PipelineOptions(photoCount: count)
        options.memoryBudget = 24 * PipelineOptions.memoryPermit
        let results = Guarded<[PipelineResult]>([])
        let ended = Latch(count: 1)
        // A pipeline that hangs must not hold the test.
        Task.detached { [options] in
            if let result = try? await route.make().result(
                of: photos.photos,
                into: output,
                options: options,
                announce: { _ in }
            ) {
                results.withLock { $0 = [result] }
            }
            ended.countDown()
        }
        try await #require(ended.wait(timeout: .seconds(120)), "the pictures wait for each other's memory")
        let result = try #require(results.withLock { $0.first })
        #expect(result.rejections.count == count)
        #expect(result.timeline.peak(of: "decode") == 1)
    }

    ///     first  │ enter(3): waits ─ 1 ─ 2 ─ waits ─ 3, leave
    ///     second │ enter(3): waits for its turn ──────────────── 1 2 3
    ///     test   │ all four         2 back          2 back
    @Test func permitsAreCollectedByOneThreadAtATime() async throws {
        let budget = MemoryBudget(permits: 4)
        budget.enter(4)
        let ended = Latch(count: 2)
        for _ in 0..<2 {
            Thread.detachNewThread {
                budget.enter(3)
                budget.leave(3)
                ended.countDown()
            }
        }
        let end = ContinuousClock.now + .seconds(120)
        for _ in 0..<2 {
            while -min(budget.permits.value, 0) - min(budget.turn.value, 0) < 2, .now < end {
                await Task.yield()
            }
            budget.leave(2)
        }
        try await #require(ended.wait(timeout: .seconds(60)), "each has a part of its permits")
        #expect(budget.permits.value == 4)
    }
}
