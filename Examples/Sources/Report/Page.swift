// SPDX-License-Identifier: Apache-2.0
//
// The demo's page: one file with the pictures inside, HTML and well-formed XML, with the steps and their times.

import Foundation
import Timeline

/// The contents of the page.
package struct Page: Sendable {
    package struct Picture: Sendable {
        package let name: String
        package let detail: String
        /// JPEGs.
        package let before: [UInt8]
        package let after: [UInt8]

        package init(name: String, detail: String, before: [UInt8], after: [UInt8]) {
            self.name = name
            self.detail = detail
            self.before = before
            self.after = after
        }
    }

    package struct Run: Sendable {
        package let name: String
        package let detail: String
        package let timeline: Timeline

        package init(name: String, detail: String, timeline: Timeline) {
            self.name = name
            self.detail = detail
            self.timeline = timeline
        }
    }

    package struct Table: Sendable {
        package let columns: [String]
        package let rows: [[String]]

        package init(columns: [String], rows: [[String]]) {
            self.columns = columns
            self.rows = rows
        }
    }

    package var summary: String
    package var pictures: [Picture] = []
    /// How many pictures there are beside these.
    package var furtherPictures = 0
    /// Names and reasons.
    package var rejections: [(name: String, reason: String)] = []
    /// A JPEG.
    package var contactSheet: [UInt8] = []
    /// What was not done to the pictures, if anything.
    package var picturesNote = ""
    package var runs: [Run] = []
    package var runsNote = ""
    package var downloads: Downloads?
    package var safe: Table?
    package var unsafeNote = ""
    package var capture: Table?
    package var captureNote = ""

    package init(summary: String) {
        self.summary = summary
    }

    /// The page as HTML.
    package var html: String { markup.source }

    private var markup: Markup {
        """
        <!DOCTYPE html>
        <html lang="en" xmlns="http://www.w3.org/1999/xhtml">
        <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Interlock: what the demo did</title>
        <style>\(Markup(stringLiteral: Self.style))</style>
        </head>
        <body>
        <header>
        <h1>What the demo did</h1>
        <p>\(summary)</p>
        </header>
        <main>
        \(Markup(joining: [picturesSection, timelineSection, sheetSection, downloadsSection, captureSection, arraySection]))
        </main>
        </body>
        </html>

        """
    }

    private var picturesSection: Markup {
        """
        <section>
        <h2>The pictures, before and after</h2>
        <div class="pictures">
        \(Markup(joining: pictures.enumerated().map { picture($0.offset + 1, $0.element) }))
        </div>
        \(furtherPicturesNote)
        \(notDoneNote)
        \(rejectionList)
        </section>
        """
    }

    private var furtherPicturesNote: Markup {
        guard furtherPictures > 0 else { return "" }
        return "<p>And \(furtherPictures) more, in the folder <code>pictures</code> beside this page.</p>"
    }

    private var notDoneNote: Markup { picturesNote.isEmpty ? "" : "<p>\(picturesNote)</p>" }

    private func picture(_ number: Int, _ picture: Picture) -> Markup {
        """
        <figure class="pair">
        <div>
        \(Self.image(picture.before, alt: "\(picture.name) before"))
        \(Self.image(picture.after, alt: "\(picture.name) after tilt-shift"))
        </div>
        <figcaption><span class="number">\(number)</span> \(picture.name) <small>\(picture.detail)</small></figcaption>
        </figure>
        """
    }

    private var rejectionList: Markup {
        guard !rejections.isEmpty else { return "" }
        let items = rejections.map { rejection -> Markup in
            "<li><strong>\(rejection.name)</strong>: \(rejection.reason)</li>"
        }
        return """
            <h3>Files that gave no picture</h3>
            <ul>
            \(Markup(joining: items))
            </ul>
            """
    }

    private var timelineSection: Markup {
        guard !runs.isEmpty else { return "" }
        let spans = runs.flatMap(\.timeline.spans)
        var steps: [String] = []
        for span in spans.sorted(by: { $0.begin < $1.begin }) where !steps.contains(span.step) {
            steps.append(span.step)
        }
        let longest = runs.map(\.timeline.end).max() ?? .zero
        let legend = steps.enumerated().map { index, step -> Markup in
            "<li><span class=\"key step\(index)\"></span>\(step)</li>"
        }
        let charts = runs.map { run -> Markup in
            TimelineChart(
                title: "\(run.name): \(run.detail)",
                timeline: run.timeline,
                span: longest,
                steps: steps
            ).markup
        }
        return """
            <section>
            <h2>Which thread did what, when</h2>
            <p>\(runsNote)</p>
            <ul class="legend">
            \(Markup(joining: legend))
            </ul>
            \(Markup(joining: charts))
            </section>
            """
    }

    private var sheetSection: Markup {
        guard !contactSheet.isEmpty else { return "" }
        return """
            <section>
            <h2>The contact sheet</h2>
            <div class="sheet">\(Self.image(contactSheet, alt: "Contact sheet: all pictures as numbered frames on strips of film"))</div>
            </section>
            """
    }

    private var captureSection: Markup {
        guard let capture else { return "" }
        return """
            <section>
            <h2>Samples from a C thread</h2>
            <p>A POSIX thread makes samples and pushes them through a ring; it never blocks, allocates or runs Swift. \
            A task takes them out with <code>for await</code>.</p>
            \(table(capture))
            <p>\(captureNote)</p>
            </section>
            """
    }

    private var arraySection: Markup {
        guard let safe else { return "" }
        return """
            <section>
            <h2>Safe against unsafe</h2>
            <p>A thousand concurrent iterations, each of which reads an array's last element and appends one more \
            than it. Times are of one iteration, in the median run.</p>
            \(table(safe))
            <p>\(unsafeNote)</p>
            </section>
            """
    }

    private func table(_ table: Table) -> Markup {
        let head = table.columns.map { column -> Markup in "<th scope=\"col\">\(column)</th>" }
        let rows = table.rows.map { row -> Markup in
            let cells = row.enumerated().map { index, cell -> Markup in
                index == 0 ? "<th scope=\"row\">\(cell)</th>" : "<td>\(cell)</td>"
            }
            return "<tr>\(Markup(joining: cells))</tr>"
        }
        return """
            <div class="scroll" tabindex="0" role="group" aria-label="Table, scrolls sideways">
            <table>
            <thead><tr>\(Markup(joining: head))</tr></thead>
            <tbody>
            \(Markup(joining: rows))
            </tbody>
            </table>
            </div>
            """
    }
}
