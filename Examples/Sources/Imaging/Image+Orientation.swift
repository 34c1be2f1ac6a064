// SPDX-License-Identifier: Apache-2.0
//
// Turns a picture upright by the camera's Exif block, which is untrusted: every offset is checked.

/// How the stored rows and columns lie in the upright picture; the Exif tag's values.
package enum Orientation: UInt16, CaseIterable, Sendable {
    case upright = 1
    case mirrored
    case upsideDown
    case mirroredUpsideDown
    case mirroredThenTurnedLeft
    case turnedLeft
    case mirroredThenTurnedRight
    case turnedRight

    package var swapsSides: Bool {
        rawValue >= Orientation.mirroredThenTurnedLeft.rawValue
    }

    /// The orientation in an Exif block, given from its TIFF header on, or `nil` when the block has none or is damaged.
    /// No bytes make it trap.
    ///
    /// The layout is TIFF 6.0's: byte order, 42, the offset of a directory; the directory is a count and that many
    /// entries of twelve bytes: tag, type, count, value.
    package init?(exif: some RandomAccessCollection<UInt8>) {
        let block = Array(exif)
        let isLittleEndian: Bool
        switch block.prefix(4) {
        case [0x49, 0x49, 0x2A, 0x00]: isLittleEndian = true
        case [0x4D, 0x4D, 0x00, 0x2A]: isLittleEndian = false
        default: return nil
        }
        func number(at offset: Int, bytes: Int) -> Int? {
            guard offset >= 0, offset <= block.count - bytes else { return nil }
            let digits = block[offset..<offset + bytes]
            return (isLittleEndian ? Array(digits.reversed()) : Array(digits)).reduce(0) { $0 << 8 | Int($1) }
        }
        let orientationTag = 0x0112
        let shortType = 3
        guard let directory = number(at: 4, bytes: 4), let count = number(at: directory, bytes: 2) else {
            return nil
        }
        for entry in (0..<count).lazy.map({ directory + 2 + $0 * 12 }) {
            guard let tag = number(at: entry, bytes: 2) else { return nil }
            if tag == orientationTag {
                guard number(at: entry + 2, bytes: 2) == shortType,
                    let value = number(at: entry + 8, bytes: 2)
                else { return nil }
                self.init(rawValue: UInt16(value))
                return
            }
        }
        return nil
    }
}

extension Image {
    /// The picture turned upright. O(pixels); `upright` costs nothing.
    package func turnedUpright(from orientation: Orientation) -> Image {
        guard orientation != .upright else { return self }
        let newWidth = orientation.swapsSides ? height : width
        let newHeight = orientation.swapsSides ? width : height
        // The upright picture's first pixel in the stored one, and the steps, in pixels, for each column and row of the
        // upright one.
        let right = width - 1
        let bottom = (height - 1) * width
        let (first, column, row): (Int, Int, Int) =
            switch orientation {
            case .upright: (0, 1, width)
            case .mirrored: (right, -1, width)
            case .upsideDown: (bottom + right, -1, -width)
            case .mirroredUpsideDown: (bottom, 1, -width)
            case .mirroredThenTurnedLeft: (0, width, 1)
            case .turnedLeft: (bottom, -width, 1)
            case .mirroredThenTurnedRight: (bottom + right, -width, -1)
            case .turnedRight: (right, width, -1)
            }
        let turned = [UInt8](unsafeUninitializedCapacity: bytes.count) { turned, count in
            bytes.withUnsafeBytes { stored in
                let target = UnsafeMutableRawBufferPointer(turned)
                for y in 0..<newHeight {
                    for x in 0..<newWidth {
                        let from = (first + x * column + y * row) * Self.bytesPerPixel
                        let to = (y * newWidth + x) * Self.bytesPerPixel
                        let pixel = stored.loadUnaligned(fromByteOffset: from, as: UInt32.self)
                        target.storeBytes(of: pixel, toByteOffset: to, as: UInt32.self)
                    }
                }
            }
            count = bytes.count
        }
        return Image(width: newWidth, height: newHeight, bytes: turned)
    }
}
