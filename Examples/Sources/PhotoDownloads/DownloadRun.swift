// SPDX-License-Identifier: Apache-2.0
//
// A run of the pipeline over a bad network, from the start of the server to the records of the downloads. It ends by
// itself: each attempt has a limit, and so have all downloads together.

import Foundation
import Interlock
import PhotoPipeline
import PhotoServer

/// The pipeline fed by downloads from a server on the loopback address.
package struct DownloadRun: Sendable {
    private let network: BadNetwork
    /// How many requests are under way at once, at most.
    package var atOnce = 4
    /// How often a picture is asked for, at most.
    package var attempts = 3
    /// How long an attempt may take.
    package var attemptLimit = Duration.seconds(2)
    /// How long all downloads may take together; nil: as long as they need. Those that are left then are given up.
    package var limit: Duration?
    /// How long after its first request the picture without an answer is cancelled, as by a user that has gone on.
    package var interest = Duration.milliseconds(200)
    /// The longer side of the report's small pictures.
    package var previewSize = 720

    package init(_ network: BadNetwork) {
        self.network = network
    }

    /// Downloads all pictures and works on those that come. Suspends the task.
    ///
    /// - Parameter announce: as in ``PhotoPipeline``.
    /// - Throws: When the server cannot listen, does not give its list, or the contact sheet cannot be written.
    package func result(
        into output: OutputFolder,
        announce: @escaping @MainActor (PhotoOutcome) -> Void
    ) async throws -> DownloadResult {
        let asked = Latch(count: 1)
        let heard = SafeSet<String>()
        let server = network.server { name in
            // Later attempts find it open.
            if name == network.unanswered && heard.insert(name).inserted { asked.countDown() }
        }
        return try await server.serve { list in
            let downloads = PhotoDownloads(list, attempts: attempts, attemptLimit: attemptLimit)
            let files = try await downloads.photos()
            let user = Task {
                try await asked.wait()
                try await Task.sleep(for: interest)
                downloads.cancel(network.unanswered)
            }
            let alarm = limit.map { limit in
                Task {
                    try await Task.sleep(for: limit)
                    downloads.giveUpAll(after: limit)
                }
            }
            defer {
                user.cancel()
                alarm?.cancel()
            }
            let pipeline = OperationPipeline(manager: PhotoManager(), source: downloads)
            let result = try await pipeline.result(
                of: files,
                into: output,
                options: options(for: files.count),
                announce: announce
            )
            return DownloadResult(
                pipeline: result,
                downloads: try await downloads.records(),
                requests: server.requests.values.reduce(0, +),
                peak: server.peak
            )
        }
    }

    private func options(for count: Int) -> PipelineOptions {
        var options = PipelineOptions(photoCount: count)
        options.loads = atOnce
        options.inFlight = max(8, 2 * atOnce)
        options.previewSize = previewSize
        return options
    }
}

/// The result of a ``DownloadRun``.
package struct DownloadResult: Sendable {
    package let pipeline: PipelineResult
    /// Of each picture in the list, by name.
    package let downloads: [DownloadRecord]
    /// How many requests for pictures the server got.
    package let requests: Int
    /// The most that were being answered at once, without those that never are.
    package let peak: Int

    /// What the downloads would take one after the other.
    package var delays: Duration { downloads.map(\.delay).reduce(.zero, +) }
    /// From the first request to the end of the last download.
    package var downloading: Duration {
        let periods = downloads.compactMap(\.period)
        guard let begin = periods.map(\.lowerBound).min(), let end = periods.map(\.upperBound).max() else {
            return .zero
        }
        return begin.duration(to: end)
    }
}

extension BadNetwork {
    /// A network with the smallest of some files, `count` at most. One that cannot be read is in the list, and not on
    /// the server.
    package init(smallest count: Int = .max, of files: [PhotoFile], hopeless: NetworkFault) {
        let chosen = files.map { (size: $0.size ?? .max, file: $0) }
            .sorted { ($0.size, $0.file.position) < ($1.size, $1.file.position) }
            .prefix(count).map(\.file)
        var photos: [String: [UInt8]] = [:]
        for file in chosen {
            photos[file.name] = try? file.contents
        }
        self.init(photos, missing: chosen.map(\.name).filter { photos[$0] == nil }, hopeless: hopeless)
    }
}
