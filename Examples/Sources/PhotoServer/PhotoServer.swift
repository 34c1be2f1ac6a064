// SPDX-License-Identifier: Apache-2.0
//
// A server of pictures on the loopback address, with the faults of a network on request: FlyingFox does HTTP.

import FlyingFox
import FlyingSocks
import Foundation
import Interlock

/// What a request meets instead of its answer.
package enum NetworkFault: Sendable, Equatable, CustomStringConvertible {
    /// The answer comes late.
    case slow(Duration)
    /// No answer comes.
    case stalled
    /// The connection ends in the middle of the picture.
    case cutOff
    /// 503.
    case busy

    package var description: String {
        switch self {
        case .slow(let pause): "\(Int(pause / .milliseconds(1))) ms late"
        case .stalled: "no answer"
        case .cutOff: "cut off"
        case .busy: "503"
        }
    }
}

/// Serves pictures by name on a free port of 127.0.0.1: `/photos` lists the names, `/photos/NAME` is a picture.
package final class PhotoServer: Sendable {
    private struct Traffic {
        var requests: [String: Int] = [:]
        var current = 0
        var peak = 0
    }

    private let photos: [String: [UInt8]]
    private let faults: [String: [NetworkFault]]
    private let always: [String: NetworkFault]
    private let willAnswer: @Sendable (_ name: String) async -> Void
    private let traffic = ReadWriteLock(Traffic())

    /// - Parameters:
    ///   - faults: of a picture: the first request meets the first fault, and so on.
    ///   - always: of a picture: the fault of all further requests.
    ///   - willAnswer: called before each picture is answered, which waits for it.
    package init(
        _ photos: [String: [UInt8]],
        faults: [String: [NetworkFault]] = [:],
        always: [String: NetworkFault] = [:],
        willAnswer: @escaping @Sendable (_ name: String) async -> Void = { _ in }
    ) {
        (self.photos, self.faults, self.always, self.willAnswer) = (photos, faults, always, willAnswer)
    }

    /// How often each picture was asked for.
    package var requests: [String: Int] { traffic.withReadLock { $0.requests } }
    /// The most pictures that were being answered at once, without those that never are.
    package var peak: Int { traffic.withReadLock { $0.peak } }

    /// Runs the server while `body` runs.
    ///
    /// - Parameter body: given the address of the list.
    package func serve<Result: Sendable>(_ body: (URL) async throws -> Result) async throws -> Result {
        let server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: 0), logger: .disabled)
        let names = try JSONEncoder().encode(names)
        await server.appendRoute("GET /photos") { _ in HTTPResponse(statusCode: .ok, body: names) }
        await server.appendRoute("GET /photos/:name") { [self] request in
            await answer(request.routeParameters["name"] ?? "")
        }
        let running = Task { try await server.run() }
        defer { running.cancel() }
        try await server.waitUntilListening()
        guard case .ip4(_, let port) = await server.listeningAddress else { throw SocketError.disconnected }
        return try await body(URL(string: "http://127.0.0.1:\(port)/photos")!)
    }

    /// With those that are only faults.
    private var names: [String] { Set(photos.keys).union(faults.keys).union(always.keys).sorted() }

    private func answer(_ name: String) async -> HTTPResponse {
        let number = traffic.withWriteLock { traffic in
            traffic.current += 1
            traffic.peak = max(traffic.peak, traffic.current)
            traffic.requests[name, default: 0] += 1
            return traffic.requests[name]!
        }
        await willAnswer(name)
        let list = faults[name] ?? []
        let fault = number <= list.count ? list[number - 1] : always[name]
        defer { if fault != .stalled { traffic.withWriteLock { $0.current -= 1 } } }
        switch fault {
        case .slow(let pause):
            try? await Task.sleep(for: pause)
        case .stalled:
            traffic.withWriteLock { $0.current -= 1 }
            // Until the server or the connection ends.
            try? await Task.sleep(for: .seconds(3600))
        case .cutOff:
            let bytes = photos[name] ?? []
            return HTTPResponse(statusCode: .ok, body: .init(from: CutOff(bytes), count: bytes.count + 1))
        case .busy:
            return HTTPResponse(statusCode: .serviceUnavailable)
        case nil:
            break
        }
        guard let bytes = photos[name] else { return HTTPResponse(statusCode: .notFound) }
        return HTTPResponse(statusCode: .ok, body: Data(bytes))
    }
}

/// Half of the bytes, and then an error, by which the server ends the connection.
private struct CutOff: AsyncBufferedSequence {
    typealias Element = UInt8

    let half: [UInt8]

    init(_ bytes: [UInt8]) { half = Array(bytes.prefix(bytes.count / 2)) }

    func makeAsyncIterator() -> Iterator { Iterator(rest: half) }

    struct Iterator: AsyncBufferedIteratorProtocol {
        var rest: [UInt8]

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            if rest.isEmpty { throw SocketError.disconnected }
            defer { rest = Array(rest.dropFirst(count)) }
            return Array(rest.prefix(count))
        }
    }
}
