// SPDX-License-Identifier: Apache-2.0
//
// The tilt-shift effect: a band of the picture stays sharp, the rest blurs with its distance from the band, and the
// colours gain a little. It looks like a close-up of a miniature.
//
// The blur works on light, not on sRGB values, so that bright points spread as in a lens. Three box blurs, each along
// columns and rows, come close to a Gaussian. By running sums a box blur costs the same with every radius, so the
// radius may change from row to row, by fractions of pixels: whole numbers would show as lines.

/// The tilt-shift effect with its settings. A value; applying it is thread-safe; the same picture gives the same bytes.
package struct TiltShift: Equatable, Sendable {
    /// The height of the sharp band's middle as a part of the picture's: 0 is the top. `nil` searches for the band with
    /// the most detail.
    package var focus: Double?
    /// The sharp band's height as a part of the picture's.
    package var sharpHeight: Double
    /// How far beyond the band the blur is at full strength, as a part of the picture's height.
    package var transition: Double
    /// The radius of each box blur at full strength, as a part of the picture's diagonal.
    package var radius: Double
    /// How much farther from grey colours move; 1: unchanged.
    package var saturation: Float

    package init(
        focus: Double? = nil,
        sharpHeight: Double = 0.2,
        transition: Double = 0.4,
        radius: Double = 0.008,
        saturation: Float = 1.25
    ) {
        self.focus = focus
        self.sharpHeight = sharpHeight
        self.transition = transition
        self.radius = radius
        self.saturation = saturation
    }

    /// The picture with the effect. O(pixels), whatever the radius; needs sixteen bytes a pixel while it runs.
    package func applied(to image: Image) -> Image {
        let focus = focus ?? Self.mostDetailedHeight(of: image, band: sharpHeight)
        let radii = self.radii(width: image.width, height: image.height, focus: focus)
        var light = LightField(image)
        light.blur(radii: radii)
        return light.image(saturation: saturation)
    }

    /// The blur radius of each row: 0 within the band, then a smooth rise.
    func radii(width: Int, height: Int, focus: Double) -> [Float] {
        let diagonal = (Double(width) * Double(width) + Double(height) * Double(height)).squareRoot()
        let full = radius * diagonal
        return (0..<height).map { row in
            let distance = abs((Double(row) + 0.5) / Double(height) - focus) - sharpHeight / 2
            let part = min(max(distance / transition, 0), 1)
            return Float(full * part * part * (3 - 2 * part))
        }
    }

    /// The height whose band has the most detail. Differences between neighbours are squared: outlines count more than
    /// noise. Bands somewhat above the middle are preferred.
    static func mostDetailedHeight(of image: Image, band: Double) -> Double {
        var sums = [0.0]  // sums[n]: the detail of the first n rows
        sums.reserveCapacity(image.height + 1)
        image.bytes.withUnsafeBufferPointer { bytes in
            let stride = image.width * Image.bytesPerPixel
            for row in 0..<image.height {
                var detail = 0
                for at in row * stride..<(row + 1) * stride - Image.bytesPerPixel {
                    let step = Int(bytes[at]) - Int(bytes[at + Image.bytesPerPixel])
                    detail &+= step &* step
                }
                sums.append(sums[row] + Double(detail))
            }
        }
        let rows = min(image.height, max(1, Int(band * Double(image.height))))
        let best = (0...image.height - rows).max { one, other in
            func score(_ top: Int) -> Double {
                let middle = (Double(top) + Double(rows) / 2) / Double(image.height)
                return (sums[top + rows] - sums[top]) * max(0, 1 - 2 * abs(middle - 0.4))
            }
            return score(one) < score(other)
        }
        return (Double(best ?? 0) + Double(rows) / 2) / Double(image.height)
    }
}
