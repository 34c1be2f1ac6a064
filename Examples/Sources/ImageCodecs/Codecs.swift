// SPDX-License-Identifier: Apache-2.0
//
// The Swift interface of the C codecs: bytes in, a picture or a reason out. No bytes make it trap; a picture beyond the
// limit gets no memory.

import CImageCodecs
import Imaging

/// Why a picture could not be read or written.
package enum CodecError: Error, Equatable, CustomStringConvertible {
    /// No format read here; with the format it seems to be.
    case notAPicture(String)
    /// The bytes are damaged; with the library's message.
    case damaged(PictureFormat, String)
    /// More pixels than allowed; with the sizes.
    case tooLarge(PictureFormat, String)
    /// The library could not get the memory it asked for.
    case noMemory

    package var description: String {
        switch self {
        case .notAPicture(let guess): "not a JPEG or PNG picture: \(guess)"
        case .damaged(let format, let reason): "damaged \(format.rawValue): \(reason)"
        case .tooLarge(let format, let reason): "\(format.rawValue) too large: \(reason)"
        case .noMemory: "not enough memory"
        }
    }
}

/// Reading and writing of pictures, in memory. Stateless; any number of threads may use it at once.
package enum Codecs {
    /// The default pixel limit: a camera of 100 megapixels.
    package static let defaultPixelLimit = 100_000_000

    /// Decodes a JPEG or PNG, recognised by its first bytes, and turns it upright by its Exif block.
    ///
    /// Blocks, and allocates as ``Header/decodingBytes`` says. O(pixels).
    ///
    /// - Parameter scaledLimit: a picture of more pixels comes smaller, in proportion, with at most so many.
    package static func decode(
        _ bytes: [UInt8],
        pixelLimit: Int = defaultPixelLimit,
        scaledLimit: Int = .max
    ) throws(CodecError) -> Image {
        let format = try format(of: bytes)
        let decoded = bytes.withUnsafeBufferPointer { bytes in
            opened(bytes, format, pixelLimit, scaledLimit) { pixels(of: $0, format) }
        }
        let (image, orientation) = try decoded.get()
        return image.fitted(pixels: scaledLimit).turnedUpright(from: orientation)
    }

    /// What a picture's header tells, without its pixels.
    package struct Header: Equatable, Sendable {
        /// As the file has it.
        package let width, height: Int
        /// The pixels that ``decode(_:pixelLimit:scaledLimit:)`` gives, at most.
        package let pixels: Int
        /// What that call allocates, at most: the library's share, the decoded pixels, and the smaller or turned ones.
        package let decodingBytes: Int
    }

    /// Reads the header, with the same limits and errors as ``decode(_:pixelLimit:scaledLimit:)``.
    package static func header(
        of bytes: [UInt8],
        pixelLimit: Int = defaultPixelLimit,
        scaledLimit: Int = .max
    ) throws(CodecError) -> Header {
        let format = try format(of: bytes)
        let read = bytes.withUnsafeBufferPointer { bytes in
            opened(bytes, format, pixelLimit, .max) { full in
                opened(bytes, format, pixelLimit, scaledLimit) { decoder in
                    let decoded = Int(codec_width(decoder)) * Int(codec_height(decoder))
                    let pixels = min(decoded, scaledLimit)
                    return .success(
                        Header(
                            width: Int(codec_width(full)),
                            height: Int(codec_height(full)),
                            pixels: pixels,
                            decodingBytes: Int(codec_working_bytes(decoder))
                                + (decoded + pixels) * Image.bytesPerPixel
                        )
                    )
                }
            }
        }
        return try read.get()
    }

    private static func format(of bytes: [UInt8]) throws(CodecError) -> PictureFormat {
        guard let format = PictureFormat(firstBytes: bytes) else {
            throw .notAPicture(PictureFormat.guess(firstBytes: bytes))
        }
        return format
    }

    private static func opened<Output>(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ format: PictureFormat,
        _ pixelLimit: Int,
        _ scaledLimit: Int,
        _ body: (OpaquePointer) -> Result<Output, CodecError>
    ) -> Result<Output, CodecError> {
        var decoder: OpaquePointer?
        var message = codec_message()
        let open = format == .jpeg ? codec_jpeg_open : codec_png_open
        let status = open(
            bytes.baseAddress,
            bytes.count,
            UInt64(pixelLimit),
            UInt64(scaledLimit),
            &decoder,
            &message
        )
        guard let decoder else { return .failure(error(status, format, message)) }
        defer { codec_destroy(decoder) }
        return body(decoder)
    }

    private static func pixels(
        of decoder: OpaquePointer,
        _ format: PictureFormat
    ) -> Result<(Image, Orientation), CodecError> {
        var message = codec_message()
        let width = Int(codec_width(decoder))
        let height = Int(codec_height(decoder))
        var status = CODEC_OK
        let pixels = [UInt8](unsafeUninitializedCapacity: width * height * Image.bytesPerPixel) {
            pixels,
            count in
            status = codec_read(decoder, pixels.baseAddress, &message)
            count = status == CODEC_OK ? width * height * Image.bytesPerPixel : 0
        }
        guard status == CODEC_OK else { return .failure(error(status, format, message)) }

        var exifCount = 0
        let exif = UnsafeBufferPointer(start: codec_exif(decoder, &exifCount), count: exifCount)
        return .success(
            (Image(width: width, height: height, bytes: pixels), Orientation(exif: exif) ?? .upright)
        )
    }

    /// Encodes a picture as a JPEG; the same picture gives the same bytes. Blocks and allocates. O(pixels).
    ///
    /// - Parameter quality: from 1 to 100, as libjpeg counts it.
    package static func encodeJPEG(_ image: Image, quality: Int = 88) throws(CodecError) -> [UInt8] {
        let limit = 65_500  // libjpeg's own, in either direction
        guard image.width <= limit, image.height <= limit else {
            throw .tooLarge(.jpeg, "\(image.width) x \(image.height) pixels, and the format ends at \(limit)")
        }
        var encoded: UnsafeMutablePointer<UInt8>?
        var count = 0
        var message = codec_message()
        let status = image.bytes.withUnsafeBufferPointer {
            codec_jpeg_encode(
                $0.baseAddress,
                UInt32(image.width),
                UInt32(image.height),
                Int32(quality),
                &encoded,
                &count,
                &message
            )
        }
        guard status == CODEC_OK, let encoded else { throw error(status, .jpeg, message) }
        defer { codec_free(encoded) }
        return Array(UnsafeBufferPointer(start: encoded, count: count))
    }

    /// Makes the process give the memory of freed pictures back to the system. To be called before there are any.
    package static func giveFreedMemoryBack() { codec_give_freed_memory_back() }

    private static func error(
        _ status: codec_status,
        _ format: PictureFormat,
        _ message: codec_message
    ) -> CodecError {
        let text = withUnsafeBytes(of: message.text) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        switch status {
        case CODEC_TOO_LARGE: return .tooLarge(format, text)
        case CODEC_NO_MEMORY: return .noMemory
        default: return .damaged(format, text)
        }
    }
}
