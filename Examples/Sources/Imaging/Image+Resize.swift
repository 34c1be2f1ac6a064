// SPDX-License-Identifier: Apache-2.0
//
// Smaller pictures by averaging the area of each new pixel: no aliasing, no ringing.

extension Image {
    /// The picture scaled down in proportion to fit a box; unchanged if it fits.
    package func fitted(width maxWidth: Int, height maxHeight: Int) -> Image {
        let scale = min(Double(maxWidth) / Double(width), Double(maxHeight) / Double(height))
        guard scale < 1 else { return self }
        return scaledDown(
            width: max(1, Int((Double(width) * scale).rounded())),
            height: max(1, Int((Double(height) * scale).rounded()))
        )
    }

    /// The picture scaled down in proportion to so many pixels at most; unchanged if it has no more.
    package func fitted(pixels limit: Int) -> Image {
        let scale = (Double(limit) / (Double(width) * Double(height))).squareRoot()
        guard scale < 1 else { return self }
        let newWidth = min(max(1, Int(Double(width) * scale)), max(1, limit))
        return scaledDown(
            width: newWidth,
            height: max(1, min(Int(Double(height) * scale), limit / newWidth))
        )
    }

    /// The picture averaged down to a size not larger in either direction. O(pixels).
    package func scaledDown(width newWidth: Int, height newHeight: Int) -> Image {
        precondition((1...width).contains(newWidth) && (1...height).contains(newHeight), "only scales down")
        guard (newWidth, newHeight) != (width, height) else { return self }
        let columns = Coverage.of(newWidth, over: width)
        let rows = Coverage.of(newHeight, over: height)
        let scale = Float(newWidth) * Float(newHeight) / (Float(width) * Float(height))
        let stored = width * Self.bytesPerPixel
        let scaled = [UInt8](unsafeUninitializedCapacity: newWidth * newHeight * Self.bytesPerPixel) {
            scaled,
            count in
            bytes.withUnsafeBufferPointer { bytes in
                withUnsafeTemporaryAllocation(of: Float.self, capacity: stored) { sums in
                    for (newY, span) in rows.enumerated() {
                        sums.initialize(repeating: 0)
                        for y in span.range {
                            let weight = span.weight(of: y)
                            let start = y * stored
                            for at in 0..<stored { sums[at] += weight * Float(bytes[start + at]) }
                        }
                        for (newX, span) in columns.enumerated() {
                            var total = SIMD4<Float>.zero
                            for x in span.range {
                                let at = x * Self.bytesPerPixel
                                total +=
                                    span.weight(of: x)
                                    * SIMD4(sums[at], sums[at + 1], sums[at + 2], sums[at + 3])
                            }
                            let pixel = (total * scale).rounded(.toNearestOrEven)
                            let to = (newY * newWidth + newX) * Self.bytesPerPixel
                            // Rounded weights may exceed 255 by an ulp.
                            for channel in 0..<3 { scaled[to + channel] = UInt8(min(pixel[channel], 255)) }
                            scaled[to + 3] = 255
                        }
                    }
                }
            }
            count = newWidth * newHeight * Self.bytesPerPixel
        }
        return Image(width: newWidth, height: newHeight, bytes: scaled)
    }
}

/// The stored rows (or columns) of a new one: all in full but the first and the last.
private struct Coverage {
    let range: Range<Int>
    let first: Float
    let last: Float

    func weight(of index: Int) -> Float {
        if index == range.lowerBound { return first }
        return index == range.upperBound - 1 ? last : 1
    }

    static func of(_ newCount: Int, over count: Int) -> [Coverage] {
        let step = Double(count) / Double(newCount)
        return (0..<newCount).map { index in
            let start = Double(index) * step
            let end = min(start + step, Double(count))
            let range = Int(start)..<min(max(Int(end.rounded(.up)), Int(start) + 1), count)
            let first = Float(min(end, Double(range.lowerBound + 1)) - start)
            return Coverage(range: range, first: first, last: Float(end - Double(range.upperBound - 1)))
        }
    }
}
