// SPDX-License-Identifier: Apache-2.0
//
// Boxes with round corners, numbers made of strokes, and discs, with smooth edges from each pixel's distance to the
// shape.

/// A rectangle in pixels.
struct Box {
    var x: Float
    var y: Float
    var width: Float
    var height: Float
}

extension Image {
    mutating func fill(_ box: Box, radius: Float, color: Color) {
        let halfWidth = box.width / 2
        let halfHeight = box.height / 2
        let edge = Int(radius) + 2
        let columns = Int(box.x) + edge..<max(Int(box.x) + edge, Int(box.x + box.width) - edge)
        let rows = Int(box.y) + edge..<max(Int(box.y) + edge, Int(box.y + box.height) - edge)
        if !columns.isEmpty, !rows.isEmpty {
            let inner = Image(width: columns.count, height: rows.count, color: color)
            draw(inner, x: columns.lowerBound, y: rows.lowerBound)
        }
        cover(box, except: columns, rows, color: color) { x, y in
            // The distance to a box with round corners: negative inside.
            let across = abs(x - box.x - halfWidth) - halfWidth + radius
            let down = abs(y - box.y - halfHeight) - halfHeight + radius
            let outside = (max(across, 0) * max(across, 0) + max(down, 0) * max(down, 0)).squareRoot()
            return outside + min(max(across, down), 0) - radius
        }
    }

    package mutating func disc(x: Float, y: Float, radius: Float, color: Color) {
        let box = Box(x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius)
        cover(box, except: 0..<0, 0..<0, color: color) { atX, atY in
            ((atX - x) * (atX - x) + (atY - y) * (atY - y)).squareRoot() - radius
        }
    }

    /// Draws a number of the given height with its top left corner at `x`, `y`.
    mutating func draw(number: Int, x: Float, y: Float, height: Float, color: Color) {
        let digitWidth = height * 0.55
        for (place, digit) in String(number).compactMap(\.wholeNumberValue).enumerated() {
            let left = x + Float(place) * (digitWidth + height * 0.28)
            for stroke in Self.strokes[digit] {
                for (from, to) in zip(stroke, stroke.dropFirst()) {
                    line(
                        from: (left + from.0 * digitWidth, y + from.1 * height),
                        to: (left + to.0 * digitWidth, y + to.1 * height),
                        thickness: height * 0.17,
                        color: color
                    )
                }
            }
        }
    }

    private mutating func line(from: (Float, Float), to: (Float, Float), thickness: Float, color: Color) {
        let reach = thickness / 2
        let box = Box(
            x: min(from.0, to.0) - reach,
            y: min(from.1, to.1) - reach,
            width: abs(to.0 - from.0) + thickness,
            height: abs(to.1 - from.1) + thickness
        )
        let (dx, dy) = (to.0 - from.0, to.1 - from.1)
        cover(box, except: 0..<0, 0..<0, color: color) { x, y in
            let along = min(max(((x - from.0) * dx + (y - from.1) * dy) / (dx * dx + dy * dy), 0), 1)
            let (awayX, awayY) = (x - from.0 - along * dx, y - from.1 - along * dy)
            return (awayX * awayX + awayY * awayY).squareRoot() - reach
        }
    }

    /// Colours the pixels in and around a box by `distance`, which is negative inside a shape; a pixel on its edge is
    /// half covered. Pixels in both ranges stay as they are.
    private mutating func cover(
        _ box: Box,
        except doneColumns: Range<Int>,
        _ doneRows: Range<Int>,
        color: Color,
        distance: (Float, Float) -> Float
    ) {
        let columns = (Int(box.x) - 1..<Int(box.x + box.width) + 2).clamped(to: 0..<width)
        let rows = (Int(box.y) - 1..<Int(box.y + box.height) + 2).clamped(to: 0..<height)
        for y in rows {
            let isDone = doneRows.contains(y)
            for x in columns where !(isDone && doneColumns.contains(x)) {
                let coverage = 0.5 - distance(Float(x) + 0.5, Float(y) + 0.5)
                if coverage > 0 { self[x, y] = self[x, y].mixed(with: color, amount: min(coverage, 1)) }
            }
        }
    }

    /// The digits as strokes through points in a box of size 1.
    private static let strokes: [[[(Float, Float)]]] = [
        [
            [
                (0.5, 0), (0.9, 0.15), (1, 0.5), (0.9, 0.85), (0.5, 1), (0.1, 0.85), (0, 0.5), (0.1, 0.15),
                (0.5, 0),
            ]
        ],
        [[(0.1, 0.25), (0.55, 0), (0.55, 1)]],
        [[(0, 0.22), (0.2, 0.03), (0.5, 0), (0.85, 0.06), (1, 0.27), (0.85, 0.5), (0, 1), (1, 1)]],
        [
            [(0, 0.08), (0.45, 0), (0.85, 0.08), (0.95, 0.27), (0.8, 0.44), (0.4, 0.48)],
            [(0.4, 0.48), (0.85, 0.55), (1, 0.75), (0.85, 0.94), (0.45, 1), (0, 0.92)],
        ],
        [[(0.75, 1), (0.75, 0), (0, 0.7), (1, 0.7)]],
        [
            [
                (0.95, 0), (0.12, 0), (0.06, 0.46), (0.45, 0.38), (0.88, 0.47), (1, 0.7), (0.85, 0.93),
                (0.45, 1),
                (0, 0.92),
            ]
        ],
        [
            [
                (0.9, 0.03), (0.45, 0.08), (0.1, 0.35), (0, 0.68), (0.15, 0.93), (0.5, 1), (0.88, 0.92),
                (1, 0.68),
                (0.85, 0.47), (0.5, 0.4), (0.12, 0.5),
            ]
        ],
        [[(0, 0), (1, 0), (0.35, 1)]],
        [
            [
                (0.5, 0.46), (0.12, 0.36), (0.05, 0.2), (0.2, 0.04), (0.5, 0), (0.8, 0.04), (0.95, 0.2),
                (0.88, 0.36), (0.5, 0.46), (0.1, 0.58), (0, 0.75), (0.15, 0.94), (0.5, 1), (0.85, 0.94),
                (1, 0.75), (0.9, 0.58), (0.5, 0.46),
            ]
        ],
        [
            [
                (0.88, 0.5), (0.5, 0.6), (0.15, 0.53), (0, 0.32), (0.12, 0.08), (0.5, 0), (0.85, 0.07),
                (1, 0.32),
                (0.9, 0.65), (0.55, 0.92), (0.1, 0.97),
            ]
        ],
    ]
}
