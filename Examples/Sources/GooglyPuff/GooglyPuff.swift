// SPDX-License-Identifier: Apache-2.0
//
// Googly eyes on the faces of a folder's photos, all at once: GooglyPuff FOLDER OUTPUT. See the README beside this
// file. Exit status 0: done; 1: a picture failed; 2: no folder, or no faces can be found here.

import Dispatch
import Foundation
import GooglyEyes
import ImageCodecs
import Interlock
import PhotoPipeline

@main
enum GooglyPuff {
    static func main() {
        guard CommandLine.arguments.count == 3 else { end(64, "usage: GooglyPuff FOLDER OUTPUT") }
        if let fault = FaceFinder.shared.fault { end(2, "\(fault)") }
        do {
            let photos = try PhotoFolder(path: CommandLine.arguments[1])
            let output = try OutputFolder(path: CommandLine.arguments[2], photos: photos)
            exit(puff(photos.photos, into: output) ? 0 : 1)
        } catch {
            end(2, "\(error)")
        }
    }

    /// Each photo is a job of a group on a concurrent queue, at most as many at once as there are processors; the group
    /// collects what was found, in the photos' order.
    private static func puff(_ photos: [PhotoFile], into output: OutputFolder) -> Bool {
        let runner = BoundedRunner(limit: ProcessInfo.processInfo.activeProcessorCount, name: "puff")
        let group = DispatchGroup()
        for photo in photos {
            group.wrap(photo.name) { (completion: Completion<[Face]>) in
                runner.submit { completion(Result { try puff(photo, into: output) }) }
            }
        }
        let found = group.collect([Face].self)
        for (photo, result) in zip(photos, found.results) {
            switch result {
            case .success(let faces)?: print("\(photo.name): \(description(of: faces))")
            case .failure(let error)?: print("\(photo.name): \(error)")
            case nil: print("\(photo.name): not finished")
            }
        }
        return found.successes.count == photos.count
    }

    private static func puff(_ photo: PhotoFile, into output: OutputFolder) throws -> [Face] {
        var image = try Codecs.decode(photo.contents)
        let faces = try FaceFinder.shared.faces(in: image)
        image.drawGooglyEyes(on: faces)
        let encoded = Data(try Codecs.encodeJPEG(image, quality: 90))
        try encoded.write(to: URL(filePath: "\(output.pictures)/\(photo.outputName)"))
        return faces
    }

    private static func description(of faces: [Face]) -> String {
        if faces.isEmpty { return "no face" }
        return faces.map { face in
            let degrees = Int((face.tilt * 180 / .pi).rounded())
            let eyes = face.eyes.map { "(\(Int($0.x)), \(Int($0.y)))" }.joined(separator: " and ")
            return "eyes at \(eyes)\(face.hasFoundEyes ? "" : ", by the face's size"), tilted by \(degrees)°"
        }
        .joined(separator: "; ")
    }

    private static func end(_ status: Int32, _ text: String) -> Never {
        FileHandle.standardError.write(Data("googlypuff: \(text)\n".utf8))
        exit(status)
    }
}
