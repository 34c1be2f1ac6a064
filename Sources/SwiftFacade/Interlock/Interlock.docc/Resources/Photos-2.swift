// SPDX-License-Identifier: Apache-2.0

import Foundation
import Interlock

/// A grey picture: rows of `width` bytes.
struct Picture: Sendable {
    let width: Int
    var pixels: [UInt8]
}

/// Why a file gave no picture.
struct Rejection: Error {
    let file: String
    let reason: String
}

/// The first byte of a file is the width; the rest are the rows.
func decode(_ bytes: Data, of file: URL) throws -> Picture {
    guard let width = bytes.first, width > 0, (bytes.count - 1) % Int(width) == 0 else {
        throw Rejection(file: file.lastPathComponent, reason: "not a picture")
    }
    return Picture(width: Int(width), pixels: Array(bytes.dropFirst()))
}

/// Each pixel becomes the mean of itself and the next one.
func soften(_ picture: Picture) -> Picture {
    var picture = picture
    for place in picture.pixels.indices.dropLast() {
        picture.pixels[place] = picture.pixels[place] / 2 + picture.pixels[place + 1] / 2
    }
    return picture
}

func write(_ picture: Picture, to file: URL) throws {
    try Data([UInt8(picture.width)] + picture.pixels).write(to: file)
}

/// Twenty pictures, and a file that is none.
func samples(in folder: URL) throws -> [URL] {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return try (0...20).map { number in
        let file = folder.appendingPathComponent("photo-\(number).grey")
        try Data(number == 0 ? [] : [10] + [UInt8](repeating: UInt8(number), count: 10_000)).write(to: file)
        return file
    }
}

@main
struct Photos {
    static func main() async throws {
        let name = "photos-\(UUID().uuidString)"
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
        let files = try samples(in: folder)
        defer { try? FileManager.default.removeItem(at: folder) }

        let written = try await files.concurrentMap(on: .shared) { file in
            let picture = try? decode(try Data(contentsOf: file), of: file)
            guard let picture else { return false }
            try write(soften(picture), to: file.appendingPathExtension("soft"))
            return true
        }
        print("\(written.filter { $0 }.count) written")
    }
}
