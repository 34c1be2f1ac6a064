// SPDX-License-Identifier: Apache-2.0
//
// Which files of a folder count as pictures, and where results may go.

import Foundation
import Testing

@testable import ImageCodecs
@testable import Imaging
@testable import PhotoPipeline

@Suite struct PhotoFolderTests {
    private let folder: TemporaryFolder
    private let png = PNG.bytes(.gradient(width: 8, height: 8))

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func contentsAndNotNamesMakeAPicture() throws {
        try folder.write(png, "upper.PNG")
        try folder.write(png, "misnamed.txt")
        try folder.write(png, "bare")
        try folder.write(Array("text".utf8), "text.jpg")
        try folder.write([], "empty.png")
        try folder.write(png, ".hidden.png")
        _ = try folder.makeFolder("folder.jpg")
        let listing = try PhotoFolder(path: folder.path)
        #expect(listing.photos.map(\.name) == ["bare", "misnamed.txt", "upper.PNG"])
        #expect(listing.photos.map(\.position) == [0, 1, 2])
        #expect(listing.others.map(\.name) == ["empty.png", "folder.jpg", "text.jpg"])
        #expect(listing.others.map(\.reason).allSatisfy { !$0.isEmpty })
    }

    @Test func linksAreFollowedAndPipesAreNotOpened() throws {
        try folder.write(png, "real.png")
        let files = FileManager.default
        try files.createSymbolicLink(atPath: "\(folder.path)/link.png", withDestinationPath: "real.png")
        try files.createSymbolicLink(atPath: "\(folder.path)/dangling.png", withDestinationPath: "nowhere")
        #expect(mkfifo("\(folder.path)/pipe.png", 0o600) == 0)
        let listing = try PhotoFolder(path: folder.path)
        #expect(listing.photos.map(\.name) == ["link.png", "real.png"])
        #expect(
            listing.others == [
                Rejection(name: "dangling.png", reason: "No such file or directory"),
                Rejection(name: "pipe.png", reason: "not a regular file"),
            ]
        )
    }

    @Test func namesOfAnyBytesAreOpenedAndPrintable() throws {
        let names: [[UInt8]] = [
            [0x61, 0xFF, 0x2E, 0x70], Array("esc\u{1B}[2J\n".utf8), Array("\u{E9}".utf8),
            Array("e\u{301}".utf8),
            Array("\u{202E}gpj".utf8), Array("family 👨‍👩‍👧".utf8), [0xE7, 0x8C],
            Array("line\u{2028}paragraph\u{2029}".utf8),
        ]
        for name in names {
            try folder.write(png, named: name)
        }
        let photos = try PhotoFolder(path: folder.path).photos
        let expected: Set<String> = [
            "a\\xFF.p", "esc\\x1B[2J\\x0A", "e\u{301}", "\u{E9}'", "\\u{202e}gpj", "family 👨‍👩‍👧", "\\xE7\\x8C",
            "line\\u{2028}paragraph\\u{2029}",
        ]
        #expect(photos.count == names.count && Set(photos.map(\.name)) == expected, "\(photos.map(\.name))")
        for photo in photos { #expect(try photo.contents == png, "\(photo.name)") }
        #expect(Rejection(name: "a\nb", reason: "\u{1B}c").description == "a\\x0Ab: \\x1Bc")
    }

    @Test func aFolderWithoutPicturesIsAnErrorThatSaysWhy() throws {
        #expect(throws: PhotoFolder.Unusable.empty(folder.path)) { try PhotoFolder(path: folder.path) }
        try folder.write(Array("text".utf8), "note")
        let error = #expect(throws: PhotoFolder.Unusable.self) { try PhotoFolder(path: folder.path) }
        #expect(error?.description.contains("note: not a JPEG or PNG picture: it is text") == true)
        #expect(throws: PhotoFolder.Unusable.notAFolder("\(folder.path)/note")) {
            try PhotoFolder(path: "\(folder.path)/note")
        }
        #expect(
            throws: PhotoFolder.Unusable.missing("\(folder.path)/gone", reason: "No such file or directory")
        ) {
            try PhotoFolder(path: "\(folder.path)/gone")
        }
    }

    @Test func noTwoResultsHaveOneName() {
        let names = [
            "a.jpg", "a.png", "A.JPG", "b.jpg", "a.jpg.jpg", "a.png.jpg", "a.png 2.jpg", "c", "c.tar.png",
            ".x", "b 2",
        ]
        let outputs = PhotoFolder.outputNames(for: names)
        #expect(Set(outputs.map { $0.lowercased() }).count == names.count, "\(outputs)")
        #expect(outputs[3] == "b.jpg" && outputs[0] == "a.jpg.jpg", "\(outputs)")
    }

    @Test func aNameThatTheSystemTakesGivesAResultThatItTakes() throws {
        var names = ["x", "y"].map { Array(String(repeating: $0, count: 251).utf8) + Array(".png".utf8) }
        names += [[UInt8](repeating: 0xE9, count: 255), [UInt8](repeating: 0xE9, count: 254)]
        for name in names { try folder.write(png, named: name) }
        let photos = try PhotoFolder(path: folder.path)
        let output = try OutputFolder(path: "\(folder.path)/out", photos: photos)
        let places = photos.photos.map { "\(output.pictures)/\($0.outputName)" }
        #expect(Set(places).count == names.count)
        for place in places {
            try Files.replace(place, with: png)
            #expect(try Files.contents(of: FilePath(place), limit: .max) == png)
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: output.pictures)
        #expect(left.count == names.count, "\(left)")
    }

    @Test func namesOfFoldersDoNotSteerTheTerminal() throws {
        let path = "\(folder.path)/esc\u{1B}[2J"
        #expect(mkdir(path, 0o700) == 0)
        let photos = try photosOfOne()
        for error in [
            #expect(throws: PhotoFolder.Unusable.self) { try PhotoFolder(path: path) } as (any Error)?,
            #expect(throws: PhotoFolder.Unusable.self) { try PhotoFolder(path: path + "/gone") },
            #expect(throws: FileError.self) { try OutputFolder(path: "/dev/null/\u{1B}", photos: photos) },
        ] {
            let text = error.map { "\($0)" } ?? ""
            #expect(text.contains("\\x1B") && !text.contains("\u{1B}"), "\(text)")
        }
    }

    private func photosOfOne() throws -> PhotoFolder {
        try folder.write(png, "a.png")
        return try PhotoFolder(path: folder.path)
    }

    @Test func theOutputIsNeverTheFolderOfThePhotos() throws {
        try folder.write(png, "a.png")
        let photos = try PhotoFolder(path: folder.path)
        for path in [
            folder.path, "\(folder.path)/",
            "\(folder.path)/../\(URL(filePath: folder.path).lastPathComponent)",
        ] {
            #expect(throws: FileError.self) { try OutputFolder(path: path, photos: photos) }
        }
        #expect(throws: Never.self) { try OutputFolder(path: "\(folder.path)/new/out/", photos: photos) }
        #expect(throws: FileError.self) { try OutputFolder(path: "\(folder.path)/a.png", photos: photos) }
        #expect(try folder.bytes("a.png") == png)
    }

    /// A server's list may have one name a hundred thousand times: a search from 1 for each would take hours.
    @Test func equalNamesAreNumberedWithoutATrialOfEachNumber() {
        let count = 100_000
        let names = PhotoFolder.outputNames(for: Array(repeating: "a.png", count: count) + ["a.png 2"])
        #expect(names.first == "a.png.jpg")
        #expect(names[count - 1] == "a.png \(count).jpg")
        #expect(names.last == "a.png 2 2.jpg")
        #expect(Set(names).count == count + 1)
    }

    /// Results would go to where the link leads.
    @Test func aPartOfTheOutputThatIsALinkIsRefused() throws {
        try folder.write(png, "a.png")
        let photos = try PhotoFolder(path: folder.path)
        let elsewhere = try folder.makeFolder("elsewhere")
        for part in ["pictures", "comparison"] {
            let path = try folder.makeFolder("out-\(part)")
            try FileManager.default.createSymbolicLink(
                atPath: "\(path)/\(part)",
                withDestinationPath: elsewhere
            )
            let error = #expect(throws: FileError.self) {
                _ = try OutputFolder(path: path, photos: photos).comparison()
            }
            #expect(error?.reason == "a link; results would go where it leads")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == [])
    }
}
