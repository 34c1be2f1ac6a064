// SPDX-License-Identifier: Apache-2.0
//
// The steps for a picture, without any threading: both pipelines run these functions. A step that needs more than the
// value of the one before (faces to draw on) adds it to `EditedPhoto` and itself to `Edit.all`.

import GooglyEyes
import ImageCodecs
import Imaging
import Timeline

/// A picture's file in memory.
struct LoadedPhoto: Sendable {
    let file: PhotoFile
    let bytes: [UInt8]
}

/// A picture while it is being edited.
struct EditedPhoto: Sendable {
    let file: PhotoFile
    let original: Image
    var image: Image
    var faces: [Face] = []
    var remarks: [String] = []
}

/// A finished picture: its result is on disk, the report's part of it here.
package struct Photo: Sendable, Equatable {
    package let file: PhotoFile
    package let width: Int
    package let height: Int
    package let faces: [Face]
    /// What was not done as usual: a smaller scale, a step that failed.
    package let remarks: [String]
    /// Small JPEGs of the picture before and after, or `nil` beyond `previewLimit`.
    package let preview: Preview?
    /// The result at a contact sheet frame's size, or `nil` beyond `frameLimit`.
    let frame: Image?

    package struct Preview: Sendable, Equatable {
        package let before: [UInt8]
        package let after: [UInt8]
    }
}

/// A change to a picture between decoding and writing.
package struct Edit: Sendable {
    let name: String
    let apply: @Sendable (EditedPhoto) throws(Rejection) -> EditedPhoto

    /// Why no faces are looked for, as a sentence; nil where they are.
    package static var whyNoFaces: String? {
        FaceFinder.shared.fault.map { "No faces were looked for, and no eyes drawn: \($0.reason)." }
    }

    /// The edits in their order. Where no faces can be found, there are no eyes to draw.
    static let all = [tiltShift] + (FaceFinder.shared.fault == nil ? [faces, googlyEyes] : [])

    static let tiltShift = Edit(name: "tilt-shift") { photo throws(Rejection) in
        var photo = photo
        photo.image = TiltShift().applied(to: photo.image)
        return photo
    }

    static let faces = faces { image throws(FacesUnavailable) in try FaceFinder.shared.faces(in: image) }

    /// In the original: the tilt-shift makes some faces unsharp. Where the search fails, the picture goes on without.
    static func faces(
        by search: @escaping @Sendable (Image) throws(FacesUnavailable) -> [Face]
    ) -> Edit {
        Edit(name: "faces") { photo throws(Rejection) in
            var photo = photo
            do throws(FacesUnavailable) {
                photo.faces = try search(photo.original)
            } catch {
                photo.remarks.append("step faces failed: \(error.reason)")
            }
            return photo
        }
    }

    static let googlyEyes = Edit(name: "googly eyes") { photo throws(Rejection) in
        var photo = photo
        photo.image.drawGooglyEyes(on: photo.faces)
        return photo
    }
}

/// The steps, with the results' folder and the recorder of times.
struct PhotoSteps: Sendable {
    let output: OutputFolder
    let options: PipelineOptions
    let recorder: TimelineRecorder

    func load(_ file: PhotoFile) throws(Rejection) -> LoadedPhoto {
        try recorder.measure("load", of: file.name) { () throws(Rejection) in
            let bytes = try naming(file) { () throws(FileError) in
                try options.read(file, options.byteLimit + 1)
            }
            guard bytes.count <= options.byteLimit else {
                throw Rejection(name: file.name, reason: "larger than \(options.byteLimit / 1_000_000) MB")
            }
            return LoadedPhoto(file: file, bytes: bytes)
        }
    }

    /// The permits of ``PipelineOptions/memoryPermit`` bytes that a picture needs until it is written. All that there
    /// are, where it needs more: it is alone then. None for what cannot be decoded.
    func permits(for bytes: [UInt8]) -> Int {
        guard let header = try? header(of: bytes) else { return 0 }
        let need = max(header.decodingBytes, PipelineOptions.bytesPerPixel * header.pixels)
        return min(
            options.memoryPermits,
            (need + PipelineOptions.memoryPermit - 1) / PipelineOptions.memoryPermit
        )
    }

    private func header(of bytes: [UInt8]) throws(CodecError) -> Codecs.Header {
        try Codecs.header(of: bytes, pixelLimit: options.pixelLimit, scaledLimit: options.scaledLimit)
    }

    func decode(_ photo: LoadedPhoto) throws(Rejection) -> EditedPhoto {
        try recorder.measure("decode", of: photo.file.name) { () throws(Rejection) in
            do throws(CodecError) {
                let header = try header(of: photo.bytes)
                let image = try Codecs.decode(
                    photo.bytes,
                    pixelLimit: options.pixelLimit,
                    scaledLimit: options.scaledLimit
                )
                var edited = EditedPhoto(file: photo.file, original: image, image: image)
                if image.width * image.height < header.width * header.height {
                    edited.remarks.append(
                        "smaller than the file's \(header.width) x \(header.height), to save memory"
                    )
                }
                return edited
            } catch {
                throw Rejection(name: photo.file.name, reason: error.description)
            }
        }
    }

    func edit(_ photo: EditedPhoto, _ edit: Edit) throws(Rejection) -> EditedPhoto {
        try recorder.measure(edit.name, of: photo.file.name) { () throws(Rejection) in
            try edit.apply(photo)
        }
    }

    func write(_ photo: EditedPhoto) throws(Rejection) -> Photo {
        try recorder.measure("write", of: photo.file.name) { () throws(Rejection) in
            let encoded = try encode(photo.image, of: photo.file, quality: 88)
            try naming(photo.file) { () throws(FileError) in
                try Files.replace("\(output.pictures)/\(photo.file.outputName)", with: encoded)
            }
            let position = photo.file.position
            return Photo(
                file: photo.file,
                width: photo.image.width,
                height: photo.image.height,
                faces: photo.faces,
                remarks: photo.remarks,
                preview: position < options.previewLimit ? try preview(photo) : nil,
                frame: position < options.frameLimit
                    ? photo.image.fitted(width: 4 * options.frameHeight, height: options.frameHeight) : nil
            )
        }
    }

    private func preview(_ photo: EditedPhoto) throws(Rejection) -> Photo.Preview {
        func small(_ image: Image) throws(Rejection) -> [UInt8] {
            let fitted = image.fitted(width: options.previewSize, height: options.previewSize)
            return try encode(fitted, of: photo.file, quality: 82)
        }
        return Photo.Preview(before: try small(photo.original), after: try small(photo.image))
    }

    private func encode(_ image: Image, of file: PhotoFile, quality: Int) throws(Rejection) -> [UInt8] {
        do throws(CodecError) {
            return try Codecs.encodeJPEG(image, quality: quality)
        } catch {
            throw Rejection(name: file.name, reason: error.description)
        }
    }

    /// The last step, once for all pictures; `photos` in the order of their names.
    func writeContactSheet(_ photos: [Photo]) throws(FileError) {
        let frames = photos.compactMap(\.frame)
        guard !frames.isEmpty else { return }
        try recorder.measure("contact sheet", of: "all pictures") { () throws(FileError) in
            let sheet = ContactSheet(frameHeight: options.frameHeight).rendered(frames)
            let encoded: [UInt8]
            do throws(CodecError) {
                encoded = try Codecs.encodeJPEG(sheet)
            } catch {
                throw FileError(output.contactSheet, reason: error.description)
            }
            try Files.replace(output.contactSheet, with: encoded)
        }
    }

    /// Gives a file's error the picture's name.
    private func naming<Output>(
        _ file: PhotoFile,
        _ body: () throws(FileError) -> Output
    ) throws(Rejection) -> Output {
        do throws(FileError) {
            return try body()
        } catch {
            throw Rejection(name: file.name, reason: error.reason)
        }
    }
}
