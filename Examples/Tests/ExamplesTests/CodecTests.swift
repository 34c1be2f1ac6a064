// SPDX-License-Identifier: Apache-2.0
//
// The codecs on good files and on bad ones, which must end in an error with a reason.

import Dispatch
import Foundation
import Testing

@testable import ImageCodecs
@testable import Imaging

@Suite struct CodecTests {
    private let picture = Image.gradient(width: 40, height: 24)

    @Test func everySamplePhotoDecodes() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: samplePhotos).filter {
            !$0.hasSuffix("txt")
        }
        #expect(names.count >= 6)
        for name in names {
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(samplePhotos)/\(name)")))
            let image = try Codecs.decode(bytes)
            #expect(image.width >= 300 && image.height >= 300, "\(name)")
        }
    }

    @Test func aPNGComesBackExactly() throws {
        #expect(try Codecs.decode(PNG.bytes(picture)) == picture)
    }

    @Test func aJPEGComesBackNearlyAndItsBytesAreTheSameEachTime() throws {
        let encoded = try Codecs.encodeJPEG(picture, quality: 95)
        #expect(try Codecs.decode(encoded).difference(from: picture) < 3)
        #expect(try Codecs.encodeJPEG(picture, quality: 95) == encoded)
    }

    @Test func aPictureLongerThanAJPEGCanBeIsRefusedInEitherDirection() {
        for (width, height) in [(65_501, 1), (1, 65_501)] {
            let long = Image(width: width, height: height, color: Color(red: 9, green: 9, blue: 9))
            let reason = "\(width) x \(height) pixels, and the format ends at 65500"
            #expect(throws: CodecError.tooLarge(.jpeg, reason)) { try Codecs.encodeJPEG(long) }
        }
    }

    @Test func aJPEGLargerThanTheFirstBlockOfMemoryIsWhole() throws {
        var noise = SystemRandomNumberGenerator()
        let bytes = (0..<300 * 300).flatMap { _ in
            [UInt8.random(in: 0...255, using: &noise), .random(in: 0...255), .random(in: 0...255), 255]
        }
        let encoded = try Codecs.encodeJPEG(Image(width: 300, height: 300, bytes: bytes), quality: 98)
        #expect(encoded.count > 64 * 1024)
        #expect(try Codecs.decode(encoded).width == 300)
    }

    @Test func transparencyLiesOnWhite() throws {
        let black = Image(width: 3, height: 3, color: Color(red: 0, green: 0, blue: 0))
        #expect(try Codecs.decode(PNG.bytes(black, alpha: 0))[1, 1] == Color(red: 255, green: 255, blue: 255))
        #expect(try Codecs.decode(PNG.bytes(black, alpha: 255)) == black)
    }

    @Test func whatIsNoPictureIsCalledByWhatItSeemsToBe() {
        #expect(throws: CodecError.notAPicture("it is empty")) { try Codecs.decode([]) }
        #expect(throws: CodecError.notAPicture("it is text")) { try Codecs.decode(Array("hello\n".utf8)) }
        #expect(throws: CodecError.notAPicture("it is a GIF")) { try Codecs.decode(Array("GIF89a".utf8)) }
    }

    /// Refused, or whole: a PNG cut after its last pixel has lost only its end mark.
    @Test func aFileCutShortAnywhereGivesNoPartOfAPicture() throws {
        for whole in [try Codecs.encodeJPEG(picture), PNG.bytes(picture)] {
            let complete = try Codecs.decode(whole)
            var refused = 0
            for count in 0..<whole.count {
                do throws(CodecError) {
                    let image = try Codecs.decode(Array(whole[..<count]))
                    #expect(image == complete, "\(count) of \(whole.count) bytes")
                } catch {
                    refused += 1
                    if case .damaged(_, let reason) = error { #expect(!reason.isEmpty) }
                }
            }
            #expect(refused >= whole.count - 16)
        }
    }

    @Test func aFileWithAnyByteChangedIsRefusedOrKeepsToItsLimit() throws {
        let limit = 100_000
        for whole in [try Codecs.encodeJPEG(picture), PNG.bytes(picture)] {
            for index in whole.indices {
                for change: UInt8 in [0x01, 0x80, 0xFF] {
                    var changed = whole
                    changed[index] ^= change
                    if let image = try? Codecs.decode(changed, pixelLimit: limit) {
                        #expect(image.width * image.height <= limit)
                    }
                }
            }
        }
    }

    @Test func tooFewPixelsAreAnErrorAndNotAGreyPicture() {
        let error = #expect(throws: CodecError.self) {
            try Codecs.decode(PNG.bytes(picture, rows: [0, 1, 2, 3]))
        }
        guard case .damaged(.png, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func aHugeSizeInTheHeaderIsRefusedBeforeMemoryIsTaken() throws {
        // 60,000 x 60,000 pixels need 14 GB: only an immediate refusal ends in time.
        let bomb = PNG.bytes(picture, size: (60_000, 60_000))
        var jpeg = try Codecs.encodeJPEG(picture)
        let frame = try #require(jpeg.indices.first { jpeg[$0...].starts(with: [0xFF, 0xC0]) })
        jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xEA, 0x60, 0xEA, 0x60])
        for (bytes, format) in [(bomb, PictureFormat.png), (jpeg, .jpeg)] {
            #expect(
                throws: CodecError.tooLarge(format, "60000 x 60000 pixels, more than the 100000000 allowed")
            ) {
                try Codecs.decode(bytes)
            }
        }
    }

    @Test func thePixelLimitIsExact() throws {
        #expect(throws: Never.self) { try Codecs.decode(PNG.bytes(picture), pixelLimit: 960) }
        #expect(throws: CodecError.self) { try Codecs.decode(PNG.bytes(picture), pixelLimit: 959) }
    }

    @Test func aLargePictureIsDecodedAtASmallerScale() throws {
        let large = Image.gradient(width: 400, height: 300)
        for bytes in [try Codecs.encodeJPEG(large, quality: 95), PNG.bytes(large)] {
            // A JPEG goes down by eighths of its sides.
            let half = try Codecs.decode(bytes, scaledLimit: 30_000)
            #expect(half.width == 200 && half.height == 150)
            #expect(half.difference(from: large.scaledDown(width: 200, height: 150)) < 3)
            for limit in [1, 7, 900, 29_999, 119_999] {
                let small = try Codecs.decode(bytes, scaledLimit: limit)
                let pixels = small.width * small.height
                #expect(pixels <= limit && pixels > limit / 4, "\(limit): \(pixels)")
                let header = try Codecs.header(of: bytes, scaledLimit: limit)
                #expect(header.width == 400 && header.height == 300 && header.pixels >= pixels)
            }
            #expect(try Codecs.decode(bytes, scaledLimit: 120_000) == Codecs.decode(bytes))
        }
    }

    /// A JPEG is never whole in memory, unless its coefficients come in several scans.
    @Test func aHeaderTellsWhatDecodingNeeds() throws {
        let large = Image.gradient(width: 400, height: 320)
        let jpeg = try Codecs.encodeJPEG(large)
        func need(_ bytes: [UInt8]) throws -> Int {
            try Codecs.header(of: bytes, scaledLimit: 32_000).decodingBytes
        }
        #expect(try need(jpeg) == 4 * (200 * 160 + 32_000))
        #expect(try need(PNG.bytes(large)) == 4 * (400 * 320 + 32_000))
        var progressive = jpeg
        let frame = try #require(jpeg.indices.first { jpeg[$0...].starts(with: [0xFF, 0xC0]) })
        progressive[frame + 1] = 0xC2
        #expect(try need(progressive) - need(jpeg) == 2 * 64 * (50 * 40 + 2 * 25 * 20))
    }

    @Test func manyThreadsDecodeTheirOwnFilesAtOnce() throws {
        let good = try Codecs.encodeJPEG(picture)
        let expected = try Codecs.decode(good)
        let bad = Array(good.dropLast(40))
        let wrong = Guarded(0)
        DispatchQueue.concurrentPerform(iterations: 400) { index in
            let image = try? Codecs.decode(index.isMultiple(of: 2) ? good : bad)
            if image != (index.isMultiple(of: 2) ? expected : nil) { wrong.withLock { $0 += 1 } }
        }
        #expect(wrong.withLock { $0 } == 0)
    }
}
