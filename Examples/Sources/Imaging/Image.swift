// SPDX-License-Identifier: Apache-2.0
//
// A picture in memory: a value that is copied when one of the two is written.

/// A picture of 8-bit sRGB pixels. A value type; safe to pass between threads.
///
/// Each pixel is four bytes: red, green, blue and one that is always 255. Rows run top to bottom without padding.
package struct Image: Equatable, Sendable {
    package static let bytesPerPixel = 4

    package let width: Int
    package let height: Int
    /// `width * height * bytesPerPixel` bytes.
    package private(set) var bytes: [UInt8]

    /// Takes over bytes of that layout; traps when their number does not fit the size.
    package init(width: Int, height: Int, bytes: [UInt8]) {
        precondition(width > 0 && height > 0, "an image has at least one pixel")
        precondition(bytes.count == width * height * Self.bytesPerPixel, "the bytes do not fit the size")
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    /// A picture of one colour.
    package init(width: Int, height: Int, color: Color) {
        self.init(
            width: width,
            height: height,
            bytes: [UInt8](unsafeUninitializedCapacity: width * height * Self.bytesPerPixel) { bytes, count in
                for at in stride(from: 0, to: bytes.count, by: Self.bytesPerPixel) {
                    bytes[at] = color.red
                    bytes[at + 1] = color.green
                    bytes[at + 2] = color.blue
                    bytes[at + 3] = 255
                }
                count = width * height * Self.bytesPerPixel
            }
        )
    }

    /// The colour of the pixel in column `x` and row `y`.
    package subscript(x: Int, y: Int) -> Color {
        get {
            let at = offset(x, y)
            return Color(red: bytes[at], green: bytes[at + 1], blue: bytes[at + 2])
        }
        set {
            let at = offset(x, y)
            bytes[at] = newValue.red
            bytes[at + 1] = newValue.green
            bytes[at + 2] = newValue.blue
        }
    }

    private func offset(_ x: Int, _ y: Int) -> Int {
        precondition(x >= 0 && x < width && y >= 0 && y < height, "pixel outside the image")
        return (y * width + x) * Self.bytesPerPixel
    }

    /// Copies `other` to `x`, `y` (its top left corner); parts outside are cut off.
    package mutating func draw(_ other: Image, x: Int, y: Int) {
        let columns = (-x..<width - x).clamped(to: 0..<other.width)
        let rows = (-y..<height - y).clamped(to: 0..<other.height)
        guard !columns.isEmpty else { return }
        for row in rows {
            let from = (row * other.width + columns.lowerBound) * Self.bytesPerPixel
            let to = offset(x + columns.lowerBound, y + row)
            let count = columns.count * Self.bytesPerPixel
            bytes.replaceSubrange(to..<to + count, with: other.bytes[from..<from + count])
        }
    }
}

/// A colour in 8-bit sRGB.
package struct Color: Equatable, Sendable {
    package var red: UInt8
    package var green: UInt8
    package var blue: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// This colour, moved towards `other` by `amount` between 0 and 1.
    package func mixed(with other: Color, amount: Float) -> Color {
        func mix(_ from: UInt8, _ to: UInt8) -> UInt8 {
            UInt8((Float(from) + (Float(to) - Float(from)) * amount).rounded())
        }
        return Color(
            red: mix(red, other.red),
            green: mix(green, other.green),
            blue: mix(blue, other.blue)
        )
    }
}
