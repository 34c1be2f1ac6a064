// SPDX-License-Identifier: Apache-2.0
//
// The Swift interface of the face finder. Built without OpenCV (Package.swift), it says so and finds nothing.

import Imaging
import Interlock

#if canImport(CFaces)
import CFaces
#endif

/// An eye in a picture, in pixels.
package struct Eye: Equatable, Sendable {
    package var x, y, radius: Float

    package init(x: Float, y: Float, radius: Float) { (self.x, self.y, self.radius) = (x, y, radius) }
}

/// A face in a picture, in pixels.
package struct Face: Equatable, Sendable {
    /// The square around it.
    package var x, y, size: Float
    /// The one on the left of the picture first.
    package var eyes: [Eye]
    /// Whether the eyes were found; otherwise they are where a face of this size has them.
    package var hasFoundEyes: Bool

    /// How far the line through the eyes is turned clockwise, in radians.
    package var tilt: Float { eyes.count < 2 ? 0 : angle(y: eyes[1].y - eyes[0].y, x: eyes[1].x - eyes[0].x) }
}

/// Why no faces were looked for.
package struct FacesUnavailable: Error, Equatable, CustomStringConvertible {
    package let reason: String
    package var description: String { "no faces can be found: \(reason)" }
}

/// Finds frontal faces. Any number of threads may use it: each call takes a classifier that no other uses, and gives it
/// back.
package final class FaceFinder: Sendable {
    /// The process's own; reading the data takes a tenth of a second.
    package static let shared = FaceFinder()

    #if canImport(CFaces)
    // Used by the call that took it out.
    private final class Classifier: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
        deinit { faces_destroy(pointer) }
    }

    private let idle = SafeArray<Classifier>()
    private let limit = 32

    /// The faces from left to right. Blocks for the time of the search, O(pixels) up to a million of them.
    package func faces(in image: Image) throws(FacesUnavailable) -> [Face] {
        let taken = idle.popLast()
        let classifier = if let taken { taken } else { try makeClassifier() }
        defer { idle.append(classifier) }
        var message = [CChar](repeating: 0, count: Int(FACES_MESSAGE_SIZE))
        var found = [faces_face](repeating: faces_face(), count: limit)
        let count = faces_find(
            classifier.pointer,
            image.bytes,
            UInt32(image.width),
            UInt32(image.height),
            &found,
            limit,
            &message
        )
        if count < 0 { throw FacesUnavailable(reason: text(message)) }
        return found.prefix(Int(count)).map { face in
            Face(
                x: face.x,
                y: face.y,
                size: face.size,
                eyes: [face.eyes.0, face.eyes.1].map { Eye(x: $0.x, y: $0.y, radius: $0.radius) },
                hasFoundEyes: face.has_eyes != 0
            )
        }
    }

    private func makeClassifier() throws(FacesUnavailable) -> Classifier {
        var message = [CChar](repeating: 0, count: Int(FACES_MESSAGE_SIZE))
        guard let pointer = faces_create(&message) else { throw FacesUnavailable(reason: text(message)) }
        return Classifier(pointer)
    }

    private func text(_ message: [CChar]) -> String {
        String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
    #else
    package func faces(in image: Image) throws(FacesUnavailable) -> [Face] {
        throw FacesUnavailable(
            reason: "built without OpenCV, which scripts/demo --faces installs, and INTERLOCK_FACES=1 uses"
        )
    }
    #endif

    /// Why it finds nothing; nil if it can.
    package var fault: FacesUnavailable? {
        do throws(FacesUnavailable) {
            _ = try faces(in: Image(width: 1, height: 1, color: Color(red: 0, green: 0, blue: 0)))
            return nil
        } catch {
            return error
        }
    }
}
