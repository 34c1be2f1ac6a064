// SPDX-License-Identifier: Apache-2.0
//
// Recognises a picture by its first bytes, because names lie.

/// The formats that the codecs read.
package enum PictureFormat: String, Sendable {
    case jpeg = "JPEG"
    case png = "PNG"

    /// The format that these first bytes claim, or `nil`.
    package init?(firstBytes bytes: some Collection<UInt8>) {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else {
            return nil
        }
    }

    /// What a file with these first bytes seems to be, as the end of a sentence.
    package static func guess(firstBytes bytes: some Collection<UInt8>) -> String {
        if bytes.isEmpty { return "it is empty" }
        let known: [(String, [UInt8])] = [
            ("it is a GIF", Array("GIF8".utf8)), ("it is a PDF", Array("%PDF".utf8)),
            ("it is a TIFF", [0x49, 0x49, 0x2A, 0x00]), ("it is a TIFF", [0x4D, 0x4D, 0x00, 0x2A]),
            ("it is a ZIP archive", [0x50, 0x4B, 0x03, 0x04]), ("it is a BMP", Array("BM".utf8)),
        ]
        if let (name, _) = known.first(where: { bytes.starts(with: $0.1) }) { return name }
        if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return "it is a WebP"
        }
        if bytes.dropFirst(4).starts(with: Array("ftyp".utf8)) { return "it is a HEIC, AVIF or video" }
        let head = bytes.prefix(64)
        let isText = head.allSatisfy { $0 >= 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        return isText ? "it is text" : "its first bytes are of neither"
    }
}
