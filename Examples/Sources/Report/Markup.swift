// SPDX-License-Identifier: Apache-2.0
//
// The only way of text into the page: names of files may contain anything.

import Timeline

/// A piece of markup. Interpolation escapes every value that is not markup already.
struct Markup: ExpressibleByStringInterpolation {
    private(set) var source: String

    init(stringLiteral source: String) {
        self.source = source
    }

    init(stringInterpolation: Interpolation) {
        source = stringInterpolation.source
    }

    /// Text to be shown as it is.
    init(text: String) {
        source = Self.escaped(text)
    }

    init(joining parts: some Sequence<Markup>) {
        source = parts.map(\.source).joined(separator: "\n")
    }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var source = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            source.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) { source += literal }
        mutating func appendInterpolation(_ markup: Markup) { source += markup.source }
        mutating func appendInterpolation(_ text: String) { source += Markup.escaped(text) }
        mutating func appendInterpolation(_ number: Int) { source += String(number) }
        /// A length or a place in a drawing.
        mutating func appendInterpolation(_ number: Double) { source += number.text(decimals: 2) }
    }

    /// Escapes what has a meaning in markup, in text and in attributes, and drops control characters.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case "\t", "\n": escaped.unicodeScalars.append(scalar)
            case "\u{0}"..<" ", "\u{7F}"..<"\u{A0}", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }
}
