// SPDX-License-Identifier: Apache-2.0
//
// Pictures come out upright from every stored orientation, and no Exif block crashes the reader.

import Testing

@testable import ImageCodecs
@testable import Imaging

@Suite struct OrientationTests {
    /// From its TIFF header on, with one entry.
    private func block(orientation: UInt8, isLittleEndian: Bool = true) -> [UInt8] {
        isLittleEndian
            ? [
                0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0,
                0, 0,
            ]
            : [
                0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0,
                0, 0,
            ]
    }

    /// The standard's wording, independent of the code under test: where the stored picture's first row and first
    /// column lie when shown.
    private func shown(_ stored: Image, _ orientation: Orientation) -> Image {
        let (width, height) = (stored.width, stored.height)
        let swaps = orientation.swapsSides
        var upright = Image(
            width: swaps ? height : width,
            height: swaps ? width : height,
            color: Color(red: 0, green: 0, blue: 0)
        )
        for row in 0..<height {
            for column in 0..<width {
                let (fromRight, fromBottom) = (width - 1 - column, height - 1 - row)
                let (x, y) =
                    switch orientation {
                    case .upright: (column, row)  // row 0 at the top, column 0 at the left
                    case .mirrored: (fromRight, row)  // top, right
                    case .upsideDown: (fromRight, fromBottom)  // bottom, right
                    case .mirroredUpsideDown: (column, fromBottom)  // bottom, left
                    case .mirroredThenTurnedLeft: (row, column)  // row 0 at the left, column 0 at the top
                    case .turnedLeft: (fromBottom, column)  // right, top
                    case .mirroredThenTurnedRight: (fromBottom, fromRight)  // right, bottom
                    case .turnedRight: (row, fromRight)  // left, bottom
                    }
                upright[x, y] = stored[column, row]
            }
        }
        return upright
    }

    @Test(arguments: Orientation.allCases)
    func aPictureComesOutUpright(_ orientation: Orientation) {
        let stored = Image.gradient(width: 7, height: 4)
        #expect(stored.turnedUpright(from: orientation) == shown(stored, orientation))
    }

    @Test(arguments: Orientation.allCases)
    func decodingFollowsTheNoteInAJPEG(_ orientation: Orientation) throws {
        let plain = try Codecs.encodeJPEG(.gradient(width: 24, height: 16))
        let exif = Array("Exif\0\0".utf8) + block(orientation: UInt8(orientation.rawValue))
        let marker: [UInt8] = [0xFF, 0xE1, 0, UInt8(exif.count + 2)]
        let noted = plain[..<2] + marker + exif + plain[2...]
        #expect(try Codecs.decode(Array(noted)) == shown(try Codecs.decode(plain), orientation))
    }

    @Test func bothByteOrdersAreRead() {
        #expect(Orientation(exif: block(orientation: 6)) == .turnedLeft)
        #expect(Orientation(exif: block(orientation: 6, isLittleEndian: false)) == .turnedLeft)
    }

    @Test func noDamageToTheBlockDoesMoreThanLoseTheNote() {
        let whole = block(orientation: 6)
        for count in 0..<20 { #expect(Orientation(exif: whole[..<count]) == nil, "\(count) bytes") }
        for index in whole.indices {
            for value: UInt8 in [0, 0x7F, 0xFF] {
                var damaged = whole
                damaged[index] = value
                _ = Orientation(exif: damaged)
            }
        }
        #expect(Orientation(exif: block(orientation: 0)) == nil)
        #expect(Orientation(exif: block(orientation: 9)) == nil)
    }
}
