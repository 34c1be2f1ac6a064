// SPDX-License-Identifier: Apache-2.0
//
// Downloads from a server that means harm: names that lead elsewhere, bodies without an end, and redirections.

import FlyingFox
import FlyingSocks
import Foundation
import Interlock
import PhotoDownloads
import PhotoServer
import Testing

@testable import Imaging
@testable import PhotoPipeline

@Suite(.serialized, .timeLimit(.minutes(5))) struct HostileServerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func output() throws -> OutputFolder {
        try OutputFolder(path: "\(folder.path)/out", photos: try PhotoFolder(path: try folder.makePhotos()))
    }

    /// Runs a server that gives `answer` to every request while `body` runs.
    private func serve<Result: Sendable>(
        _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse,
        _ body: (URL) async throws -> Result
    ) async throws -> Result {
        let server = HTTPServer(
            address: try .inet(ip4: "127.0.0.1", port: 0),
            logger: .disabled,
            handler: ClosureHTTPHandler(answer)
        )
        let running = Task { try await server.run() }
        defer { running.cancel() }
        try await server.waitUntilListening()
        guard case .ip4(_, let port) = await server.listeningAddress else { throw SocketError.disconnected }
        return try await body(URL(string: "http://127.0.0.1:\(port)/photos")!)
    }

    /// The error of the download of one picture.
    private func failure(
        limit: Int = 100_000,
        _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) async throws -> DownloadError? {
        try await serve(answer) { list -> DownloadError? in
            let downloads = PhotoDownloads(list, attempts: 1, attemptLimit: .seconds(20), pause: .zero)
            let file = PhotoFile.numbered([("p.png", "p.png")])[0]
            let operation = downloads.load(file, limit: limit)
            operation.start()
            return await #expect(throws: DownloadError.self) { try await operation.value }
        }
    }

    @Test func aNameThatLeadsElsewhereStaysInTheOutputFolder() async throws {
        let names = [
            "../escaped.png", "../../escaped.png", "../../../escaped.png", "/escaped.png", "sub/inner.png",
            "..", "../..", ".", "", "/", "a/../../b.png", "nul\0/../c.png", "line\nbreak\u{7f}.png",
            "\u{85}.png", "../\u{301}accent.png",
        ]
        let list = try JSONEncoder().encode(names)
        let picture = Data(PNG.bytes(.gradient(width: 30, height: 20)))
        try folder.write(Array("precious".utf8), "escaped.jpg")
        let output = try output()
        let before = try folder.contents(except: "out")
        let asked = Counter()
        let result = try await serve { request in
            if request.path == "/photos", asked.next() == 0 {
                return HTTPResponse(statusCode: .ok, body: list)
            }
            return HTTPResponse(statusCode: .ok, body: picture)
        } _: { address in
            let downloads = PhotoDownloads(address, attempts: 1, pause: .zero)
            let files = try await downloads.photos()
            return try await OperationPipeline(manager: PhotoManager(), source: downloads)
                .result(of: files, into: output, options: .init(photoCount: files.count)) { _ in }
        }
        #expect(result.photos.count == names.count, "\(result.rejections)")
        #expect(try folder.contents(except: "out") == before)
        let made = try FileManager.default.subpathsOfDirectory(atPath: output.path)
        let pictures = made.filter { $0 != "contact-sheet.jpg" && $0 != "pictures" }
        #expect(pictures.count == names.count)
        for path in pictures {
            let parts = path.unicodeScalars.split(separator: "/").map(String.init)
            #expect(parts.count == 2 && parts[0] == "pictures", "\(path)")
            #expect(!path.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(path)")
        }
    }

    @Test func aBodyOverItsLimitIsGivenUpWhileItComes() async throws {
        let error = try await failure { _ in
            HTTPResponse(statusCode: .ok, body: HTTPBodySequence(from: Zeros(then: .more)))
        }
        #expect(error == .tooLarge(limit: 100_000))
    }

    /// Nothing comes but the first byte.
    @Test func aStatedLengthOverTheLimitIsGivenUpBeforeTheBody() async throws {
        let error = try await failure { _ in
            HTTPResponse(
                statusCode: .ok,
                body: HTTPBodySequence(from: Zeros(then: .silence), count: 10_000_000_000)
            )
        }
        #expect(error == .tooLarge(limit: 100_000))
    }

    /// The server sees the end of the connection: nothing more is sent to a client that has given up.
    @Test func aBodyThatIsGivenUpIsNotTakenToItsEnd() async throws {
        let ended = Latch(count: 1)
        let answer: @Sendable (HTTPRequest) async -> HTTPResponse = { _ in
            HTTPResponse(statusCode: .ok, body: HTTPBodySequence(from: Zeros(then: .more, ended: ended)))
        }
        let isEnded = try await serve(answer) { list in
            let downloads = PhotoDownloads(list, attempts: 1, attemptLimit: .seconds(20), pause: .zero)
            let operation = downloads.load(PhotoFile.numbered([("p.png", "p.png")])[0], limit: 1000)
            operation.start()
            await #expect(throws: DownloadError.tooLarge(limit: 1000)) { try await operation.value }
            return try await ended.wait(timeout: .seconds(30))
        }
        #expect(isEnded)
    }

    /// Nothing comes but the first byte of its body.
    @Test func anAnswerOfAnErrorIsGivenUpBeforeItsBody() async throws {
        let error = try await failure { _ in
            HTTPResponse(
                statusCode: .notFound,
                body: HTTPBodySequence(from: Zeros(then: .silence), count: 50_000)
            )
        }
        #expect(error == .status(404))
    }

    @Test func aListOverItsLimitIsGivenUp() async throws {
        let answer: @Sendable (HTTPRequest) async -> HTTPResponse = { _ in
            HTTPResponse(
                statusCode: .ok,
                body: HTTPBodySequence(from: Zeros(then: .silence), count: 1_000_001)
            )
        }
        try await serve(answer) { list in
            let downloads = PhotoDownloads(list, attempts: 1, attemptLimit: .seconds(20), pause: .zero)
            await #expect(throws: DownloadError.tooLarge(limit: 1_000_000)) { try await downloads.photos() }
        }
    }

    @Test func aBodyOfTheLimitIsTaken() async throws {
        let answer: @Sendable (HTTPRequest) async -> HTTPResponse = { _ in
            HTTPResponse(statusCode: .ok, body: Data(count: 100_000))
        }
        let count = try await serve(answer) { list in
            let downloads = PhotoDownloads(list, attempts: 1, pause: .zero)
            let operation = downloads.load(PhotoFile.numbered([("p.png", "p.png")])[0], limit: 100_000)
            operation.start()
            return try await operation.value.count
        }
        #expect(count == 100_000)
    }

    @Test func aRedirectionIsNotFollowed() async throws {
        let requests = Counter()
        let answer: @Sendable (HTTPRequest) async -> HTTPResponse = { _ in
            _ = requests.next()
            return HTTPResponse(statusCode: .ok, body: Data(count: 10))
        }
        let error = try await serve(answer) { elsewhere in
            try await failure { _ in
                HTTPResponse(statusCode: .found, headers: HTTPHeaders([.location: "\(elsewhere)/secret"]))
            }
        }
        #expect(error == .status(302))
        #expect(requests.count == 0)
    }
}

/// Counts what happens on several threads.
private final class Counter: Sendable {
    private let value = ReadWriteLock(0)

    /// How often it was called before.
    func next() -> Int {
        value.withWriteLock { value in
            defer { value += 1 }
            return value
        }
    }

    var count: Int { value.withReadLock { $0 } }
}

/// A body that has no end.
private struct Zeros: AsyncBufferedSequence {
    typealias Element = UInt8
    enum Rest { case more, silence }

    private let rest: Rest
    private let ended: Latch?

    /// - Parameters:
    ///   - rest: what follows the first byte.
    ///   - ended: counted down when the server sends no more of it.
    init(then rest: Rest, ended: Latch? = nil) { (self.rest, self.ended) = (rest, ended) }

    func makeAsyncIterator() -> Iterator { Iterator(rest: rest, end: ended.map(End.init)) }

    /// The iterator's life.
    final class End: Sendable {
        private let latch: Latch

        init(_ latch: Latch) { self.latch = latch }

        deinit { latch.countDown() }
    }

    struct Iterator: AsyncBufferedIteratorProtocol {
        let rest: Rest
        let end: End?
        var hasBegun = false

        mutating func next() async throws -> UInt8? { try await nextBuffer(suggested: 1)?.first }

        mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
            // Until the server ends.
            if hasBegun && rest == .silence { try await Task.sleep(for: .seconds(3600)) }
            try Task.checkCancellation()
            defer { hasBegun = true }
            return [UInt8](repeating: 0, count: hasBegun ? count : 1)
        }
    }
}
