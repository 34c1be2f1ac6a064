// SPDX-License-Identifier: Apache-2.0
//
// How far the photos are: a moving bar on a terminal, else a line for each photo.

import PhotoPipeline

@MainActor
final class Progress {
    private let total: Int
    private let title: String
    private let listsPhotos: Bool
    private var done = 0

    private let barWidth = 30

    init(of total: Int, title: String, listsPhotos: Bool) {
        self.total = total
        self.title = title
        self.listsPhotos = listsPhotos
        if Console.isTerminal { draw(latest: "") }
    }

    func advance(_ outcome: PhotoOutcome) {
        done += 1
        let (name, detail) =
            switch outcome {
            case .finished(let photo):
                (
                    photo.file.name,
                    (["\(photo.width) x \(photo.height)\(Self.faces(of: photo))"] + photo.remarks)
                        .joined(separator: "; ")
                )
            case .rejected(let rejection): (rejection.name, rejection.reason)
            }
        if Console.isTerminal {
            draw(latest: name)
        } else if listsPhotos {
            Console.line("    \(done) of \(total)  \(name): \(detail)")
        }
    }

    private static func faces(of photo: Photo) -> String {
        switch photo.faces.count {
        case 0: ""
        case 1: ", 1 face"
        case let count: ", \(count) faces"
        }
    }

    /// Removes the bar: the lines below repeat its text.
    func end() {
        if Console.isTerminal { Console.write("\r\u{1B}[K") }
    }

    private func draw(latest: String) {
        let filled = total == 0 ? barWidth : barWidth * done / total
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: barWidth - filled)
        // Fits in 80 columns; \u{1B}[K clears the rest of an earlier name.
        let name = latest.count > 20 ? "\(latest.prefix(19))…" : latest
        Console.write("\r    \(bar) \(done) of \(total)  \(title)  \(name)\u{1B}[K")
    }
}
