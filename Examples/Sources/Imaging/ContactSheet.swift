// SPDX-License-Identifier: Apache-2.0
//
// The contact sheet: all pictures small, in strips of film one below the other, each frame with its number.

/// A contact sheet's measures. Rendering is thread-safe; the same pictures give the same bytes.
package struct ContactSheet: Sendable {
    /// The sheet's width in pixels.
    package var width: Int
    /// About how high the pictures are; each strip's are scaled to fill its width.
    package var frameHeight: Int

    private let margin = 28

    /// All but the margin shrinks with the frames, down to a visible minimum.
    private var scale: Double { max(0.5, Double(frameHeight) / 300) }
    private var gap: Int { Int(12 * scale) }
    private var perforation: Int { Int(42 * scale) }  // the band above and below the frames
    private var stripGap: Int { Int(22 * scale) }

    /// JPEG ends at 65,535 rows.
    private static let heightLimit = 65_000

    private static let table = Color(red: 0xED, green: 0xEA, blue: 0xE4)
    private static let film = Color(red: 0x17, green: 0x15, blue: 0x13)
    private static let print = Color(red: 0xF2, green: 0xA9, blue: 0x3B)

    package init(width: Int = 1600, frameHeight: Int = 300) {
        self.width = width
        self.frameHeight = frameHeight
    }

    /// The sheet with the pictures in order, numbered from 1, as many as fit. Traps without a picture.
    package func rendered(_ pictures: [Image]) -> Image {
        precondition(!pictures.isEmpty, "a contact sheet needs a picture")
        let strips = self.strips(pictures)
        let heights = strips.map { $0.height + 2 * perforation }
        let height = 2 * margin + heights.reduce(-stripGap) { $0 + $1 + stripGap }
        var sheet = Image(width: width, height: height, color: Self.table)
        var top = margin
        for (strip, stripHeight) in zip(strips, heights) {
            draw(strip, on: &sheet, top: top, height: stripHeight)
            top += stripHeight + stripGap
        }
        return sheet
    }

    /// Pictures that share a strip, and their height.
    private struct Strip {
        var frames: [(number: Int, picture: Image)] = []
        var height: Int
    }

    private var usableWidth: Int { width - 2 * margin - 2 * gap }

    /// Fills strip after strip, each until its pictures at `frameHeight` would reach the end.
    private func strips(_ pictures: [Image]) -> [Strip] {
        var strips: [Strip] = []
        var strip = Strip(height: frameHeight)
        var aspects = 0.0
        var room = Self.heightLimit - 2 * margin - (frameHeight + 2 * perforation)
        for (index, picture) in pictures.enumerated() where room > 0 {
            strip.frames.append((index + 1, picture))
            aspects += Double(picture.width) / Double(picture.height)
            let forPictures = Double(usableWidth - gap * (strip.frames.count - 1))
            if aspects * Double(frameHeight) >= forPictures {
                strip.height = max(24, Int(forPictures / aspects))
                room -= strip.height + 2 * perforation + stripGap
                strips.append(strip)
                strip = Strip(height: frameHeight)
                aspects = 0
            }
        }
        if !strip.frames.isEmpty { strips.append(strip) }
        return strips
    }

    private func draw(_ strip: Strip, on sheet: inout Image, top: Int, height: Int) {
        let film = Box(
            x: Float(margin),
            y: Float(top),
            width: Float(width - 2 * margin),
            height: Float(height)
        )
        sheet.fill(film, radius: 6, color: Self.film)
        let unit = Float(scale)
        let hole = Box(x: 0, y: 0, width: 15 * unit, height: 11 * unit)
        var x = Float(margin) + 14 * unit
        while x + hole.width + 14 * unit <= Float(width - margin) {
            for y in [Float(top) + 9 * unit, Float(top + height) - 9 * unit - hole.height] {
                sheet.fill(
                    Box(x: x, y: y, width: hole.width, height: hole.height),
                    radius: 3.5 * unit,
                    color: Self.table
                )
            }
            x += 30 * unit
        }
        var left = margin + gap
        for frame in strip.frames {
            let width = max(
                1,
                Int(Double(frame.picture.width) / Double(frame.picture.height) * Double(strip.height))
            )
            // Pictures smaller than their frame stay as they are, in its middle.
            let picture = frame.picture.fitted(width: width, height: strip.height)
            sheet.draw(
                picture,
                x: left + (width - picture.width) / 2,
                y: top + perforation + (strip.height - picture.height) / 2
            )
            sheet.draw(
                number: frame.number,
                x: Float(left) + 3 * unit,
                y: Float(top + height - perforation) + 6 * unit,
                height: 11 * unit,
                color: Self.print
            )
            left += width + gap
        }
    }
}
