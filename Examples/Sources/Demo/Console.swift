// SPDX-License-Identifier: Apache-2.0
//
// The demo's output: lines and tables to standard output, errors to standard error.

import Foundation
import PhotoPipeline

enum Console {
    /// Progress is a moving bar on a terminal, otherwise plain lines.
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// A line: what would steer the terminal, from names of files and folders, is spelled out.
    static func line(_ text: String = "") {
        write(text.printable + "\n")
    }

    static func heading(_ text: String) {
        write("\n\(text)\n\n")
    }

    static func error(_ text: String) {
        FileHandle.standardError.write(Data("error: \(text)\n".utf8))
    }

    /// Unbuffered: the bar must move.
    static func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// Prints rows in columns: those of text, by default the first, to the left, the others to the right.
    static func table(columns: [String], rows: [[String]], text: Set<Int> = [0]) {
        let all = [columns] + rows
        let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        for row in all {
            let cells = row.enumerated().map { index, cell in
                let padding = String(repeating: " ", count: widths[index] - cell.count)
                if text.contains(index) { return index == row.count - 1 ? cell : cell + padding }
                return padding + cell
            }
            line("    " + cells.joined(separator: "   "))
        }
    }
}
