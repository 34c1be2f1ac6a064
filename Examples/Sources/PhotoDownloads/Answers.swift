// SPDX-License-Identifier: Apache-2.0
//
// The answers to requests, as they come in. A server may send anything: a body is given up at the first byte over its
// limit, before the body where the stated length is over it, and a redirection is not followed: it is the answer.

import Foundation
import Interlock

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The delegate of a `URLSession`: it collects each body, and gives it to the request's `completion`, once.
final class Answers: NSObject, URLSessionDataDelegate {
    typealias Completion = @Sendable (Result<[UInt8], any Error>) -> Void

    private struct Answer {
        let limit: Int
        let completion: Completion
        private(set) var body: [UInt8] = []

        init(_ limit: Int, _ completion: @escaping Completion) {
            (self.limit, self.completion) = (limit, completion)
        }

        /// Adds a part to the body, or answers the limit that it would pass.
        mutating func limitPassed(by data: Data) -> Int? {
            guard data.count <= limit - body.count else { return limit }
            body.append(contentsOf: data)
            return nil
        }
    }

    /// By the tasks' numbers.
    private let answers = ReadWriteLock<[Int: Answer]>([:])

    /// Sends a request. `completion` is called on a thread of the `URLSession`.
    func start(_ task: URLSessionDataTask, limit: Int, completion: @escaping Completion) {
        answers.withWriteLock { $0[task.taskIdentifier] = Answer(limit, completion) }
        task.resume()
    }

    /// Later parts of the answer are dropped.
    private func end(_ task: URLSessionTask, _ error: (any Error)?) {
        guard let answer = answers.withWriteLock({ $0.removeValue(forKey: task.taskIdentifier) }) else {
            return
        }
        task.cancel()
        answer.completion(error.map(Result.failure) ?? .success(answer.body))
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let limit = answers.withReadLock { $0[dataTask.taskIdentifier]?.limit } ?? 0
        if let status = Self.refusal(response) {
            end(dataTask, status)
        } else if response.expectedContentLength > Int64(limit) {
            end(dataTask, DownloadError.tooLarge(limit: limit))
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let limit = answers.withWriteLock { $0[dataTask.taskIdentifier]?.limitPassed(by: data) ?? nil }
        if let limit { end(dataTask, DownloadError.tooLarge(limit: limit)) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The task then ends with this response. Not cancelled here: on Linux a task must not be while it waits for
        // this.
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let error else { return end(task, Self.refusal(task.response)) }
        guard (error as? URLError)?.code == .cannotConnectToHost else {
            // Of a connection that ends early it says how many bytes were missing.
            return end(task, DownloadError.network(error.localizedDescription))
        }
        let url = task.originalRequest?.url
        end(task, DownloadError.refused("\(url?.host() ?? ""):\(url?.port ?? 80)"))
    }

    private static func refusal(_ response: URLResponse?) -> DownloadError? {
        let code = (response as? HTTPURLResponse)?.statusCode ?? 0
        return code == 200 ? nil : .status(code)
    }
}
