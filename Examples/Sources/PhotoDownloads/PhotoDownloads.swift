// SPDX-License-Identifier: Apache-2.0
//
// Pictures over HTTP for the pipeline: each is an operation that asks again where the network fails, gives an attempt
// up that takes too long, and stops the request when it is cancelled. URLSession does HTTP; Answers.swift bounds what
// comes. The names in the server's list are a stranger's: PhotoFolder makes names for files of them.
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
    case late(Duration)

    package var description: String {
        switch self {
        case .refused(let address): "nothing answers at \(address)"
        case .status(let code): "the server answered \(code)"
        case .network(let reason): reason
        case .tooLarge(let limit): "larger than \(limit / 1_000_000) MB"
        case .late(let limit): "not there when the \(limit) for all downloads were over"
        }
    }

    /// Whether another attempt may go better.
    var isPassing: Bool {
        switch self {
        case .refused, .network: true
        case .status(let code): code >= 500 || code == 429
        case .tooLarge, .late: false
        }
    }
}

/// The pictures of a ``PhotoServer``, and the requests for them.
package final class PhotoDownloads: PhotoSource {
    private let list: URL
    private let session: URLSession
    private let answers = Answers()
    private let policy: RetryPolicy
    private let downloads = SafeDictionary<String, AsyncOperation<[UInt8]>>()
    private let logs = SafeDictionary<String, DownloadLog>()
    private let unwanted = SafeSet<String>()
    /// The limit of all downloads, once it has passed.
    private let passedLimit = ReadWriteLock<Duration?>(nil)

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
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [:]
        session = URLSession(configuration: configuration, delegate: answers, delegateQueue: nil)
        policy = RetryPolicy(
            attempts: attempts,
            backoff: .exponential(initial: pause, cap: .seconds(2)),
            jitter: .equal,
            attemptLimit: attemptLimit,
            where: { ($0 as? DownloadError)?.isPassing != false }
        )
    }

    /// Makes the process connect to servers and not to the environment's proxies, to which a loopback address is
    /// another. Sets `no_proxy`: to be called before other threads run.
    ///
    /// On Linux `URLSession` takes proxies from the environment only.
    package static func avoidProxies() {
        setenv("no_proxy", "*", 1)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// The pictures that the server has. Suspends the task.
    package func photos() async throws -> [PhotoFile] {
        let listing = download(list, name: "the list of photos", limit: 1_000_000)
        listing.start()
        let names = try JSONDecoder().decode([String].self, from: Data(try await listing.value))
        return PhotoFile.numbered(names.map { ($0, FilePath(list.appending(path: $0).absoluteString)) })
    }

    package func load(_ file: PhotoFile, limit: Int) -> AsyncOperation<[UInt8]> {
        let log = DownloadLog()
        let operation = download(list.appending(path: file.name), name: file.name, limit: limit, log: log)
        logs[file.name] = log
        downloads[file.name] = operation
        if unwanted.contains(file.name) { operation.cancel() }
        operation.onFinish { [self] outcome in
            downloads[file.name] = nil
            log.end(ending(of: file.name, outcome))
        }
        return operation
    }

    /// The downloads that were begun or cancelled, by name, each as it last ended. Suspends until the last has ended.
    package func records() async throws -> [DownloadRecord] {
        var records: [DownloadRecord] = []
        for (name, log) in logs.snapshot.sorted(by: { $0.key < $1.key }) {
            if let record = try await log.record(of: name) { records.append(record) }
        }
        return records
    }

    /// Stops the download of a picture that is no longer wanted, under way or still to come.
    package func cancel(_ name: String) {
        unwanted.insert(name)
        downloads[name]?.cancel()
    }

    /// Gives up all downloads, under way or still to come: they had `limit` together.
    package func giveUpAll(after limit: Duration) {
        passedLimit.withWriteLock { $0 = limit }
        for operation in downloads.values { operation.cancel() }
    }

    /// A download that has begun is cancelled when the limit of all has passed; one that begins later fails.
    private func ending(of name: String, _ outcome: Result<[UInt8], any Error>) -> DownloadEnding {
        switch outcome {
        case .success: return .delivered
        case .failure(let error) where error is OperationCancelled:
            if !unwanted.contains(name), let late { return .givenUp("\(late)") }
            return .unwanted
        case .failure(let error): return .givenUp("\(error)")
        }
    }

    private var late: DownloadError? { passedLimit.withReadLock { $0.map(DownloadError.late) } }

    private func download(
        _ url: URL,
        name: String,
        limit: Int,
        log: DownloadLog? = nil
    ) -> AsyncOperation<[UInt8]> {
        AsyncOperation(name: name, retry: policy) { [self] completion in
            if let late {
                completion.fail(late)
                return
            }
            log?.beginAttempt()
            let task = session.dataTask(with: url)
            completion.onCancel { task.cancel() }
            answers.start(task, limit: limit) { completion($0) }
        }
    }
}
