// SPDX-License-Identifier: Apache-2.0
//
// Faces in the sample photos, found by OpenCV, and the eyes drawn on them.

import Foundation
import GooglyEyes
import ImageCodecs
import Testing

@testable import Imaging

private let reason = FaceFinder.shared.fault.map { "\($0)" } ?? ""

@Suite(.enabled(if: reason.isEmpty, "\(reason)"), .timeLimit(.minutes(5))) struct FaceTests {
    private func sample(_ name: String) throws -> Image {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Photos")
        return try Codecs.decode(Array(Data(contentsOf: folder.appending(path: name))))
    }

    private func expect(_ eye: Eye, near x: Float, _ y: Float, within reach: Float = 9) {
        #expect(abs(eye.x - x) < reach && abs(eye.y - y) < reach, "\(eye), not at (\(x), \(y))")
    }

    @Test func eyesAreFoundWhereTheyAre() throws {
        let astronaut = try FaceFinder.shared.faces(in: try sample("astronaut.jpg"))
        #expect(astronaut.count == 1 && astronaut[0].hasFoundEyes)
        expect(astronaut[0].eyes[0], near: 201, 101)
        expect(astronaut[0].eyes[1], near: 246, 103)
        let hopper = try FaceFinder.shared.faces(in: try sample("grace-hopper.jpg"))
        #expect(hopper.count == 1 && hopper[0].hasFoundEyes)
        expect(hopper[0].eyes[0], near: 223, 194)
        expect(hopper[0].eyes[1], near: 305, 186)
    }

    @Test(arguments: ["chelsea.png", "coffee.png", "hubble.jpg", "raccoon.jpg", "rocket.jpg"])
    func picturesWithoutAFaceHaveNone(name: String) throws {
        #expect(try FaceFinder.shared.faces(in: try sample(name)).isEmpty)
    }

    @Test(arguments: [Float(-10), 10]) func aTurnedFaceIsTilted(degrees: Float) throws {
        let upright = try sample("astronaut.jpg")
        let face = try #require(try FaceFinder.shared.faces(in: upright).first)
        let turned = try #require(
            try FaceFinder.shared.faces(in: upright.turned(by: degrees * .pi / 180)).first
        )
        let difference = (turned.tilt - face.tilt) * 180 / .pi
        #expect(abs(difference - degrees) < 5, "\(difference)° instead of \(degrees)°")
    }

    @Test func googlyEyesCoverTheEyesAndNothingElse() throws {
        let original = try sample("grace-hopper.jpg")
        let faces = try FaceFinder.shared.faces(in: original)
        var image = original
        image.drawGooglyEyes(on: faces)
        let eyes = faces.flatMap(\.eyes)
        var changed = 0
        for y in 0..<image.height {
            for x in 0..<image.width where image[x, y] != original[x, y] {
                changed += 1
                let isInside = eyes.contains { eye in
                    hypotf(Float(x) + 0.5 - eye.x, Float(y) + 0.5 - eye.y) < eye.radius + 2
                }
                #expect(isInside, "(\(x), \(y))")
            }
        }
        let area = eyes.reduce(0) { $0 + Float.pi * $1.radius * $1.radius }
        #expect(Float(changed) > 0.7 * area && Float(changed) < 1.1 * area)
        // The same picture gets the same eyes.
        var again = original
        again.drawGooglyEyes(on: try FaceFinder.shared.faces(in: original))
        #expect(again == image)
    }

    @Test func aPictureOfOnePixelHasNoFace() throws {
        let image = Image(width: 1, height: 1, color: Color(red: 9, green: 9, blue: 9))
        #expect(try FaceFinder.shared.faces(in: image).isEmpty)
    }

    @Test(arguments: [(1, 30_000), (30_000, 1), (3, 2_000)])
    func aPictureTooNarrowToBeSearchedHasNoFace(width: Int, height: Int) throws {
        let image = Image(width: width, height: height, color: Color(red: 9, green: 9, blue: 9))
        #expect(try FaceFinder.shared.faces(in: image).isEmpty)
    }

    @Test func manyThreadsFindTheSame() async throws {
        let image = try sample("astronaut.jpg")
        let expected = try FaceFinder.shared.faces(in: image)
        try await withThrowingTaskGroup(of: [Face].self) { group in
            for _ in 0..<12 { group.addTask { try FaceFinder.shared.faces(in: image) } }
            for try await faces in group { #expect(faces == expected) }
        }
    }
}

extension Image {
    /// Turned clockwise about its middle, each pixel the nearest one.
    fileprivate func turned(by angle: Float) -> Image {
        var image = self
        let (middleX, middleY) = (Float(width) / 2, Float(height) / 2)
        for y in 0..<height {
            for x in 0..<width {
                let from = rotated((x: Float(x) - middleX, y: Float(y) - middleY), by: -angle)
                let (fromX, fromY) = (Int((from.x + middleX).rounded()), Int((from.y + middleY).rounded()))
                image[x, y] = self[min(max(fromX, 0), width - 1), min(max(fromY, 0), height - 1)]
            }
        }
        return image
    }
}
