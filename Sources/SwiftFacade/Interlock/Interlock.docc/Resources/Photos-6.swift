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

        let reading = InterlockQueue(name: "reading", limit: 4, isBlocking: true)
        let working = InterlockQueue(name: "working")
        let inFlight = FIFOSemaphore(permits: 8)
        let written = SafeArray<URL>()
        let rejections = SafeArray<Rejection>()

        for file in files {
            try await inFlight.wait()
            let result = file.appendingPathExtension("soft")
            let bytes = reading.job(name: file.lastPathComponent) { try Data(contentsOf: file) }
            let picture = working.job(after: bytes) { try decode($0, of: file) }
            let soft = picture.then { soften($0) }
            let saved = soft.then {
                try write($0, to: result)
                written.append(result)
            }
            let ended = saved.recover { error in
                rejections.append(error as? Rejection ?? Rejection(file: file.path, reason: "\(error)"))
            }
            ended.onFinish { _ in inFlight.signal() }
        }
        try await working.wait()
        print("\(written.count) written, rejected: \(rejections.snapshot.map(\.file))")

        let checks = BoundedRunner(limit: 2, on: .global(qos: .utility))
        let sizes = SafeArray<Int>()
        for file in written.snapshot {
            checks.submit { sizes.append((try? Data(contentsOf: file).count) ?? 0) }
        }
        try await checks.waitUntilIdle()
        print("\(sizes.snapshot.reduce(0, +)) bytes")
    }
}
