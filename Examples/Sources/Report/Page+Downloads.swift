// SPDX-License-Identifier: Apache-2.0
//
// The page's section of downloads: how long they took beside the sum of their delays, and a card for each picture.

import Timeline

extension Page {
    package struct Download: Sendable {
        package let name: String
        /// Those that the requests for it met; may be empty.
        package let faults: String
        package let attempts: Int
        package let delay: Duration
        package let ending: String
        /// A JPEG; nil: there is none.
        package let picture: [UInt8]?

        package init(
            name: String,
            faults: String,
            attempts: Int,
            delay: Duration,
            ending: String,
            picture: [UInt8]?
        ) {
            self.name = name
            self.faults = faults
            self.attempts = attempts
            self.delay = delay
            self.ending = ending
            self.picture = picture
        }
    }

    package struct Downloads: Sendable {
        package let note: String
        /// Shown as bars of one scale.
        package let times: [(name: String, time: Duration)]
        package let items: [Download]

        package init(
            note: String,
            times: [(name: String, time: Duration)] = [],
            items: [Download] = []
        ) {
            self.note = note
            self.times = times
            self.items = items
        }
    }

    var downloadsSection: Markup {
        guard let downloads else { return "" }
        return """
            <section>
            <h2>Photos over a bad network</h2>
            <p>\(downloads.note)</p>
            \(bars(downloads.times))
            <div class="downloads">
            \(Markup(joining: downloads.items.map(card)))
            </div>
            </section>
            """
    }

    private func bars(_ times: [(name: String, time: Duration)]) -> Markup {
        guard let longest = times.map(\.time).max() else { return "" }
        let bars = times.enumerated().map { index, bar -> Markup in
            let width = 100 * bar.time.inSeconds / max(longest.inSeconds, 1e-9)
            return """
                <dt>\(bar.name)</dt>
                <dd><span class="step\(index)" style="min-width: \(width)%">\(bar.time.text)</span></dd>
                """
        }
        return """
            <dl class="bars">
            \(Markup(joining: bars))
            </dl>
            """
    }

    private func card(_ download: Download) -> Markup {
        let picture: Markup =
            download.picture.map { Self.image($0, alt: "\(download.name) as downloaded") }
            ?? "<div class=\"absent\">no picture</div>"
        let faults: Markup = download.faults.isEmpty ? "" : "<small>faults: \(download.faults)</small>"
        let attempts = download.attempts == 1 ? "1 attempt" : "\(download.attempts) attempts"
        return """
            <figure class="download">
            \(picture)
            <figcaption>
            <span>\(download.name)</span>
            <strong>\(download.ending)</strong>
            <small>\(attempts), \(download.delay.text)</small>
            \(faults)
            </figcaption>
            </figure>
            """
    }
}
