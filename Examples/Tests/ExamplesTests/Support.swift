// SPDX-License-Identifier: Apache-2.0
//
// Pictures, files and folders for the tests.

import Foundation
import ImageCodecs
import Testing

@testable import Imaging
@testable import PhotoPipeline

extension Image {
    /// No two places look alike: smooth enough for JPEG, with no symmetry.
    static func gradient(width: Int, height: Int) -> Image {
        var image = Image(width: width, height: height, color: Color(red: 0, green: 0, blue: 0))
        for y in 0..<height {
            for x in 0..<width {
                image[x, y] = Color(
                    red: UInt8(x * 255 / max(1, width - 1)),
                    green: UInt8(y * 255 / max(1, height - 1)),
                    blue: UInt8((x + 2 * y) * 255 / max(1, width + 2 * height - 3))
                )
            }
        }
        return image
    }

    /// The mean difference of all channels.
    func difference(from other: Image) -> Double {
        guard width == other.width, height == other.height else { return .infinity }
        let sum = zip(bytes, other.bytes).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        return Double(sum) / Double(bytes.count)
    }
}

extension Image: CustomTestStringConvertible {
    /// Failed expectations do not spell a picture out.
    public var testDescription: String { "\(width) x \(height) pixels" }
}

/// Writes PNGs by the specification, uncompressed, with any content, also content that no encoder writes.
enum PNG {
    /// Three or, with `alpha`, four channels. `rows` overrides the pixel data.
    static func bytes(_ image: Image, alpha: UInt8? = nil, rows: [UInt8]? = nil, size: (Int, Int)? = nil)
        -> [UInt8]
    {
        var raw: [UInt8] = []
        for y in 0..<image.height {
            raw.append(0)  // the row's filter: none
            for x in 0..<image.width {
                let color = image[x, y]
                raw += [color.red, color.green, color.blue] + (alpha.map { [$0] } ?? [])
            }
        }
        let (width, height) = size ?? (image.width, image.height)
        let header =
            bigEndian(UInt32(width)) + bigEndian(UInt32(height)) + [8, alpha == nil ? 2 : 6, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", header) + chunk("IDAT", stored(rows ?? raw)) + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + body + bigEndian(checksum(body))
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    /// CRC-32 as in ISO 3309, bit by bit.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var sum = ~UInt32(0)
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 {
                let low = sum & 1
                sum >>= 1
                if low == 1 { sum ^= 0xEDB8_8320 }
            }
        }
        return ~sum
    }

    /// A zlib stream (RFC 1950) of stored blocks (RFC 1951).
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        for start in stride(from: 0, to: max(bytes.count, 1), by: 65_535) {
            let block = bytes[start..<min(start + 65_535, bytes.count)]
            let count = UInt16(block.count)
            stream.append(block.endIndex == bytes.count ? 1 : 0)
            stream += [UInt8(count & 0xFF), UInt8(count >> 8), UInt8(~count & 0xFF), UInt8(~count >> 8)]
            stream += block
        }
        let (low, high) = bytes.reduce((UInt32(1), UInt32(0))) { sums, byte in
            let low = (sums.0 + UInt32(byte)) % 65_521
            return (low, (sums.1 + low) % 65_521)
        }
        return stream + bigEndian(high << 16 | low)
    }
}

/// A lock that ThreadSanitizer sees, unlike a contended Mutex.
// Unchecked: `value` is touched only while `lock` is held.
final class Guarded<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    func withLock<Output>(_ body: (inout Value) throws -> Output) rethrows -> Output {
        try lock.withLock { try body(&value) }
    }
}

let isThreadSanitized = dlsym(nil, "__tsan_init") != nil

/// A test's own folder, gone with the test.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory
            .appending(path: "interlock-examples-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
    }

    /// A name of any bytes.
    func write(_ bytes: [UInt8], named name: [UInt8]) throws {
        let path = Array("\(path)/".utf8) + name + [0]
        let file = try #require(
            path.withUnsafeBytes { fopen($0.baseAddress!.assumingMemoryBound(to: CChar.self), "w") }
        )
        #expect(bytes.withUnsafeBytes { fwrite($0.baseAddress!, 1, $0.count, file) } == bytes.count)
        fclose(file)
    }

    func makeFolder(_ name: String) throws -> String {
        let folder = "\(path)/\(name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
    }

    /// Everything in it, with the contents of files: to see changes.
    func contents(except folder: String) throws -> [String: Data] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: path).filter { !$0.hasPrefix(folder) }
        return Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data())
            }
        )
    }
}

/// The sample photos.
let samplePhotos = URL(filePath: #filePath)
    .deletingLastPathComponent().appending(path: "../../Photos").standardizedFileURL.path()
