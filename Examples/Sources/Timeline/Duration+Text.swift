// SPDX-License-Identifier: Apache-2.0
//
// Durations as text, the same in every locale.

extension Duration {
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }

    /// Three significant digits in a fitting unit: `1.24 s`, `37.5 ms`, `263 ns`.
    package var text: String {
        let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]
        let (size, unit) = units.first { inSeconds >= $0.0 } ?? (1e-9, "ns")
        let value = inSeconds / size
        let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        // No part of a nanosecond was measured.
        return "\(unit == "ns" ? value.text(decimals: 0) : value.text(decimals: decimals)) \(unit)"
    }
}

extension Double {
    /// The number rounded to so many decimals, all shown.
    package func text(decimals: Int) -> String {
        let scale = (0..<decimals).reduce(1.0) { scale, _ in scale * 10 }
        let rounded = Int((self.magnitude * scale).rounded())
        let sign = self < 0 && rounded > 0 ? "-" : ""
        guard decimals > 0 else { return "\(sign)\(rounded)" }
        let digits = String(rounded)
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return "\(sign)\(padded.dropLast(decimals)).\(padded.suffix(decimals))"
    }
}
