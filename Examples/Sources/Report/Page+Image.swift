// SPDX-License-Identifier: Apache-2.0
//
// A picture inside the page. It says its size, so that its place is kept until it is decoded.

import Foundation

extension Page {
    static func image(_ jpeg: [UInt8], alt: String) -> Markup {
        let size: Markup = size(ofJPEG: jpeg).map { "width=\"\($0.width)\" height=\"\($0.height)\" " } ?? ""
        return "<img src=\"\(dataURI(jpeg))\" alt=\"\(alt)\" \(size)loading=\"lazy\" />"
    }

    private static func dataURI(_ jpeg: [UInt8]) -> String {
        "data:image/jpeg;base64,\(Data(jpeg).base64EncodedString())"
    }

    /// The sides in the frame header, which follows other segments, each with its length; nil if there is none.
    static func size(ofJPEG bytes: [UInt8]) -> (width: Int, height: Int)? {
        func number(_ at: Int) -> Int { Int(bytes[at]) << 8 | Int(bytes[at + 1]) }
        var at = 2
        while at + 9 <= bytes.count, bytes[at] == 0xFF {
            switch bytes[at + 1] {
            case 0xC0, 0xC1, 0xC2: return (width: number(at + 7), height: number(at + 5))
            case 0xDA: return nil
            default: at += 2 + number(at + 2)
            }
        }
        return nil
    }
}
