// SPDX-License-Identifier: Apache-2.0
//
// Pictures over HTTP for the pipeline: each is an operation that asks again where the network fails, gives an attempt up
// that takes too long, and stops the request when it is cancelled. URLSession does HTTP.
//
// A download holds a place of the pipeline's reading queue, and no thread: its limit bounds the requests under way.

import Foundation
import Interlock
import PhotoPipeline

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Why a picture could not be downloaded.
package enum DownloadError: Error, Equatable, CustomStringConvertible {
    case refused(String)
    case status(Int)
    case network(String)
    case tooLarge(limit: Int)

    package var description: String {
        switch self {
        case .refused(let address): "nothing answers at \(address)"
        case .status(let code): "the server answered \(code)"
        case .network(let reason): reason
        case .tooLarge(let limit): "larger than \(limit / 1_000_000) MB"
        }
    }

    /// Whether another attempt may go better.
    var isPassing: Bool {
        switch self {
        case .refused, .network: true
        case .status(let code): code >= 500 || code == 429
        case .tooLarge: false
        }
    }
}

/// The pictures of a ``PhotoServer``, and the requests for them.
package final class PhotoDownloads: PhotoSource {
    private let list: URL
    private let session = URLSession(configuration: .ephemeral)
    private let policy: RetryPolicy
    private let downloads = SafeDictionary<String, AsyncOperation<[UInt8]>>()
    private let unwanted = SafeSet<String>()

    /// - Parameters:
    ///   - list: the address of the list of names; a picture's is `list`/NAME.
    ///   - attempts: how often a picture is asked for, at most.
    ///   - attemptLimit: how long an attempt may take.
    package init(
        _ list: URL,
        attempts: Int = 4,
        attemptLimit: Duration = .seconds(10),
        pause: Duration = .milliseconds(50)
    ) {
        self.list = list
        policy = RetryPolicy(
            attempts: attempts,
            backoff: .exponential(initial: pause, cap: .seconds(2)),
            jitter: .equal,
            attemptLimit: attemptLimit,
            where: { ($0 as? DownloadError)?.isPassing != false }
        )
    }

    deinit { session.finishTasksAndInvalidate() }

    /// The pictures that the server has. Suspends the task.
    package func photos() async throws -> [PhotoFile] {
        let listing = download(list, name: "the list of photos", limit: 1_000_000)
        listing.start()
        let names = try JSONDecoder().decode([String].self, from: Data(try await listing.value))
        return PhotoFile.numbered(names.map { ($0, list.appending(path: $0).absoluteString) })
    }

    package func load(_ file: PhotoFile, limit: Int) -> AsyncOperation<[UInt8]> {
        let operation = download(list.appending(path: file.name), name: file.name, limit: limit)
        downloads[file.name] = operation
        if unwanted.contains(file.name) { operation.cancel() }
        operation.onFinish { [downloads] _ in downloads[file.name] = nil }
        return operation
    }

    /// Stops the download of a picture that is no longer wanted, under way or still to come.
    package func cancel(_ name: String) {
        unwanted.insert(name)
        downloads[name]?.cancel()
    }

    private func download(_ url: URL, name: String, limit: Int) -> AsyncOperation<[UInt8]> {
        AsyncOperation(name: name, retry: policy) { [session] completion in
            let task = session.dataTask(with: url) { data, response, error in
                completion(Self.outcome(data, response, error, of: url, limit: limit))
            }
            completion.onCancel { task.cancel() }
            task.resume()
        }
    }

    private static func outcome(
        _ data: Data?,
        _ response: URLResponse?,
        _ error: (any Error)?,
        of url: URL,
        limit: Int
    ) -> Result<[UInt8], any Error> {
        if (error as? URLError)?.code == .cannotConnectToHost {
            return .failure(DownloadError.refused("\(url.host() ?? ""):\(url.port ?? 80)"))
        }
        // Of a connection that ends early it says how many bytes were missing.
        if let error { return .failure(DownloadError.network(error.localizedDescription)) }
        let code = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard code == 200, let data else { return .failure(DownloadError.status(code)) }
        guard data.count <= limit else { return .failure(DownloadError.tooLarge(limit: limit)) }
        return .success(Array(data))
    }
}
