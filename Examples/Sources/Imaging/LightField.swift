// SPDX-License-Identifier: Apache-2.0
//
// A picture as amounts of light, and tilt-shift's blur: the examples' hot loops, in shapes that become vector
// instructions.

/// The pixels of a picture in linear light, four channels of 16 bits.
struct LightField {
    private let width: Int
    private let height: Int
    private var light: [UInt16]

    private static let channels = 4
    private static let boxes = 3

    init(_ image: Image) {
        width = image.width
        height = image.height
        light = [UInt16](unsafeUninitializedCapacity: image.bytes.count) { light, count in
            image.bytes.withUnsafeBufferPointer { bytes in
                Gamma.toLight.withUnsafeBufferPointer { toLight in
                    for at in 0..<bytes.count { light[at] = toLight[Int(bytes[at])] }
                }
            }
            count = image.bytes.count
        }
    }

    /// The picture again, each colour moved away from the grey of its brightness.
    func image(saturation: Float) -> Image {
        let bytes = [UInt8](unsafeUninitializedCapacity: light.count) { bytes, count in
            light.withUnsafeBufferPointer { light in
                Gamma.fromLight.withUnsafeBufferPointer { fromLight in
                    for at in stride(from: 0, to: light.count, by: Self.channels) {
                        let color = SIMD4<Float>(
                            Float(fromLight[Int(light[at])]),
                            Float(fromLight[Int(light[at + 1])]),
                            Float(fromLight[Int(light[at + 2])]),
                            255
                        )
                        let grey = 0.2126 * color.x + 0.7152 * color.y + 0.0722 * color.z
                        let lifted = (grey + (color - grey) * saturation).clamped(
                            lowerBound: .zero,
                            upperBound: .init(repeating: 255)
                        )
                        bytes[at] = UInt8(truncatingIfNeeded: lifted.x.nearestInteger)
                        bytes[at + 1] = UInt8(truncatingIfNeeded: lifted.y.nearestInteger)
                        bytes[at + 2] = UInt8(truncatingIfNeeded: lifted.z.nearestInteger)
                        bytes[at + 3] = 255
                    }
                }
            }
            count = light.count
        }
        return Image(width: width, height: height, bytes: bytes)
    }

    /// Blurs each row, along it and across it, by its radius. Edge pixels continue the picture.
    mutating func blur(radii: [Float]) {
        precondition(radii.count == height, "one radius a row")
        for row in 0..<height where radii[row] > 0 { blurAlong(row, radius: radii[row]) }
        var target = light
        for _ in 0..<Self.boxes {
            blurAcross(into: &target, radii: radii)
            swap(&light, &target)
        }
    }

    /// In one row, which stays in the cache.
    private mutating func blurAlong(_ row: Int, radius: Float) {
        let window = Window(radius)
        let edge = window.whole + 1
        let channels = Self.channels
        let width = width
        light.withUnsafeMutableBufferPointer { light in
            let row = UnsafeMutableBufferPointer(
                rebasing: light[row * width * channels..<(row + 1) * width * channels]
            )
            withUnsafeTemporaryAllocation(of: SIMD4<Int32>.self, capacity: width + 2 * edge) { padded in
                for x in 0..<width {
                    let at = x * channels
                    padded.initializeElement(
                        at: edge + x,
                        to: SIMD4(Int32(row[at]), Int32(row[at + 1]), Int32(row[at + 2]), Int32(row[at + 3]))
                    )
                }
                for _ in 0..<Self.boxes {
                    for x in 0..<edge {
                        padded.initializeElement(at: x, to: padded[edge])
                        padded.initializeElement(at: edge + width + x, to: padded[edge + width - 1])
                    }
                    Self.boxBlur(padded, width: width, window: window, into: row)
                    for x in 0..<width {
                        let at = x * channels
                        padded[edge + x] = SIMD4(
                            Int32(row[at]),
                            Int32(row[at + 1]),
                            Int32(row[at + 2]),
                            Int32(row[at + 3])
                        )
                    }
                }
            }
        }
    }

    /// One box blur of a padded row.
    private static func boxBlur(
        _ padded: UnsafeMutableBufferPointer<SIMD4<Int32>>,
        width: Int,
        window: Window,
        into row: UnsafeMutableBufferPointer<UInt16>
    ) {
        // The window of pixel x is padded[x + 1...x + count], and its two neighbours count by a fraction.
        let count = 2 * window.whole + 1
        var sum = SIMD4<Int32>.zero
        for x in 1...count { sum &+= padded[x] }
        for x in 0..<width {
            let sides = padded[x] &+ padded[x + count + 1]
            let mean = (SIMD4<Float>(sum) + SIMD4<Float>(sides) * window.fraction) * window.scale
            let at = x * channels
            for channel in 0..<channels {
                row[at + channel] = UInt16(truncatingIfNeeded: mean[channel].nearestInteger)
            }
            sum = sum &+ padded[x + count + 1] &- padded[x + 1]
        }
    }

    /// One box blur across the rows. `sums` holds, for every column, the sum of the rows in the window.
    private func blurAcross(into target: inout [UInt16], radii: [Float]) {
        let stride = width * Self.channels
        let last = height - 1
        light.withUnsafeBufferPointer { light in
            target.withUnsafeMutableBufferPointer { target in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: stride) { sums in
                    func row(_ index: Int) -> UnsafeBufferPointer<UInt16> {
                        let start = min(max(index, 0), last) * stride
                        return UnsafeBufferPointer(rebasing: light[start..<start + stride])
                    }
                    func add(_ index: Int, _ sign: Int32) {
                        let row = row(index)
                        for at in 0..<stride { sums[at] &+= sign &* Int32(row[at]) }
                    }
                    sums.initialize(repeating: 0)
                    var summed = 0..<0
                    for y in 0...last {
                        let window = Window(radii[y])
                        let wanted = y - window.whole..<y + window.whole + 1
                        if summed.isEmpty { summed = wanted.lowerBound..<wanted.lowerBound }
                        while summed.upperBound < wanted.upperBound {
                            add(summed.upperBound, 1)
                            summed = summed.lowerBound..<summed.upperBound + 1
                        }
                        while summed.lowerBound > wanted.lowerBound {
                            add(summed.lowerBound - 1, 1)
                            summed = summed.lowerBound - 1..<summed.upperBound
                        }
                        while summed.upperBound > wanted.upperBound {
                            add(summed.upperBound - 1, -1)
                            summed = summed.lowerBound..<summed.upperBound - 1
                        }
                        while summed.lowerBound < wanted.lowerBound {
                            add(summed.lowerBound, -1)
                            summed = summed.lowerBound + 1..<summed.upperBound
                        }
                        let above = row(wanted.lowerBound - 1)
                        let below = row(wanted.upperBound)
                        let out = UnsafeMutableBufferPointer(
                            rebasing: target[y * stride..<(y + 1) * stride]
                        )
                        for at in 0..<stride {
                            let sides = Float(Int32(above[at]) &+ Int32(below[at]))
                            let mean = (Float(sums[at]) + sides * window.fraction) * window.scale
                            out[at] = UInt16(truncatingIfNeeded: mean.nearestInteger)
                        }
                    }
                }
            }
        }
    }
}

/// A box of radius r: the whole pixels to each side, and a part of the next.
private struct Window {
    let whole: Int
    let fraction: Float
    let scale: Float

    init(_ radius: Float) {
        whole = Int(radius)
        fraction = radius - Float(whole)
        scale = 1 / (2 * radius + 1)
    }
}

extension Float {
    /// The nearest integer, in the low bits: for values from 0 to 2²². Adding 2²³ leaves a float no bits below one, and
    /// its significand is then the integer. Unlike a conversion this cannot trap: its loops become vector instructions.
    fileprivate var nearestInteger: UInt32 {
        (self + 8_388_608).bitPattern & 0x007F_FFFF
    }
}

/// The sRGB transfer function (IEC 61966-2-1), both ways, as tables.
private enum Gamma {
    static let toLight: [UInt16] = (0...255).map { value in
        let encoded = Double(value) / 255
        let light = encoded <= 0.04045 ? encoded / 12.92 : power((encoded + 0.055) / 1.055, 2.4)
        return UInt16((light * 65535).rounded())
    }

    static let fromLight: [UInt8] = (0...65535).map { value in
        let light = Double(value) / 65535
        let encoded = light <= 0.0031308 ? light * 12.92 : 1.055 * power(light, 1 / 2.4) - 0.055
        return UInt8((encoded * 255).rounded())
    }
}
