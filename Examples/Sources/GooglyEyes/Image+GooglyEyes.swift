// SPDX-License-Identifier: Apache-2.0
//
// Googly eyes: white discs with a black pupil each, where the eyes are, at their size, turned as the face is. The
// pupils look in a direction that follows from their place, so that the same picture gets the same eyes.

import Imaging

extension Image {
    /// Draws a googly eye over each eye of the faces.
    package mutating func drawGooglyEyes(on faces: [Face]) {
        for face in faces {
            for (index, eye) in face.eyes.enumerated() { drawGooglyEye(eye, tilt: face.tilt, number: index) }
        }
    }

    private mutating func drawGooglyEye(_ eye: Eye, tilt: Float, number: Int) {
        let radius = max(eye.radius * 0.95, 3)
        let dark = Color(red: 18, green: 18, blue: 20)
        let white = Color(red: 252, green: 252, blue: 250)
        disc(x: eye.x, y: eye.y, radius: radius, color: dark)
        disc(x: eye.x, y: eye.y, radius: radius * 0.92, color: white)
        // Below the middle as the face has it: a loose pupil falls. To one side by the eye's place.
        let side = Float((Int(eye.x) &* 7 &+ Int(eye.y) &* 13 &+ number &* 5) % 11) / 10 - 0.5
        let (away, pupil) = (radius * 0.38, radius * 0.46)
        let turned = rotated((x: side * 1.4, y: (1 - side * side).squareRoot()), by: tilt)
        let (x, y) = (eye.x + away * turned.x, eye.y + away * turned.y)
        disc(x: x, y: y, radius: pupil, color: dark)
        let glint = rotated((x: -0.3, y: -0.3), by: tilt)
        disc(x: x + pupil * glint.x, y: y + pupil * glint.y, radius: pupil * 0.28, color: white)
    }
}
