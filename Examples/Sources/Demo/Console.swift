// SPDX-License-Identifier: Apache-2.0
//
// What the demo prints: lines to standard output as they come, errors to the other one, tables in columns.

import Foundation

enum Console {
    /// Whether a person watches: then progress is a bar that moves, and otherwise plain lines.
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    static func line(_ text: String = "") {
        write(text + "\n")
    }

    static func heading(_ text: String) {
        write("\n\(text)\n\n")
    }

    static func error(_ text: String) {
        FileHandle.standardError.write(Data("error: \(text)\n".utf8))
    }

    /// Without a buffer of our own: the bar must move, and lines must come out in their order.
    static func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// Prints rows in columns: the first one to the left, the others to the right.
    static func table(columns: [String], rows: [[String]]) {
        let all = [columns] + rows
        let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        for row in all {
            let cells = row.enumerated().map { index, cell in
                let padding = String(repeating: " ", count: widths[index] - cell.count)
                return index == 0 ? cell + padding : padding + cell
            }
            line("    " + cells.joined(separator: "   "))
        }
    }
}
