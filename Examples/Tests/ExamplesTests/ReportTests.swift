// SPDX-License-Identifier: Apache-2.0
//
// The page is well-formed, loads nothing from elsewhere, and shows hostile names as text.

import Foundation
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

@testable import ImageCodecs
@testable import Imaging
@testable import PhotoPipeline
@testable import Report
@testable import Timeline

/// Collects what an XML parser finds.
private final class Reading: NSObject, XMLParserDelegate {
    var elements: [String: Int] = [:]
    var attributes: [(element: String, name: String, value: String)] = []
    var text = ""

    func parser(
        _ parser: XMLParser,
        didStartElement element: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes found: [String: String]
    ) {
        elements[element, default: 0] += 1
        attributes += found.map { (element, $0.key, $0.value) }
    }

    func parser(_ parser: XMLParser, foundCharacters characters: String) {
        text += characters
    }
}

@Suite struct ReportTests {
    private let hostile = "<script>alert('x')</script> & \"quoted\" ]]> \u{1}\u{FFFE} né 猫.png"

    private var page: Page {
        var page = Page(summary: "2 pictures from \(hostile)")
        page.pictures = [
            .init(name: hostile, detail: "3 × 4", before: [1, 2, 3], after: [4, 5, 6]),
            .init(name: "b.jpg", detail: hostile, before: [], after: []),
        ]
        page.furtherPictures = 5
        page.rejections = [(hostile, hostile)]
        page.contactSheet = [7, 8]
        let spans = (0..<6).map { index in
            Timeline.Span(
                step: "step \(index)\(index == 0 ? hostile : "")",
                item: hostile,
                thread: index % 3,
                begin: .milliseconds(index * 10),
                end: .milliseconds(index * 10 + 15)
            )
        }
        page.runs = [
            .init(name: "One \(hostile)", detail: "60 ms", timeline: Timeline(spans: spans)),
            .init(name: "None", detail: "0 ms", timeline: Timeline(spans: [])),
        ]
        page.runsNote = hostile
        page.downloads = .init(
            note: hostile,
            times: [("downloads", .milliseconds(500)), (hostile, .seconds(2))],
            items: [
                .init(
                    name: hostile,
                    faults: hostile,
                    attempts: 2,
                    delay: .milliseconds(1500),
                    ending: "delivered",
                    picture: [9]
                ),
                .init(name: "c", faults: "", attempts: 1, delay: .zero, ending: hostile, picture: nil),
            ]
        )
        page.safe = .init(columns: ["array", hostile], rows: [[hostile, "1 ns"], ["b", "2 ns"]])
        page.unsafeNote = hostile
        page.capture = .init(columns: ["blocks", "lost"], rows: [[hostile, "3"]])
        page.captureNote = hostile
        return page
    }

    private func read(_ page: Page) -> Reading? {
        let parser = XMLParser(data: Data(page.html.utf8))
        let reading = Reading()
        parser.delegate = reading
        guard parser.parse() else {
            Issue.record("line \(parser.lineNumber): \(String(describing: parser.parserError))")
            return nil
        }
        return reading
    }

    @Test func thePageIsWellFormed() throws {
        let reading = try #require(read(page))
        #expect(reading.elements["img"] == 6)
        #expect(reading.elements["svg"] == 2)
        #expect(reading.elements["rect"] == 6)
        #expect(reading.elements["h1"] == 1)
        #expect(reading.elements["script"] == nil)
        #expect(reading.text.contains("<script>alert('x')</script> & \"quoted\" ]]>"))
        #expect(read(Page(summary: "nothing")) != nil)
    }

    @Test func thePageNeedsNothingFromElsewhere() throws {
        let reading = try #require(read(page))
        let places = reading.attributes.filter {
            ["src", "href", "data", "srcset", "action"].contains($0.name)
        }
        #expect(places.count == 6)
        #expect(places.allSatisfy { $0.value.hasPrefix("data:image/jpeg;base64,") })
        #expect(places.contains { $0.value.hasSuffix(",AQID") })
        #expect(!page.html.contains("url(") && !page.html.contains("@import"))
    }

    @Test func everyPictureAndDrawingIsSaidInWords() throws {
        let reading = try #require(read(page))
        let alternatives = reading.attributes.filter { $0.element == "img" && $0.name == "alt" }
        #expect(alternatives.count == 6 && alternatives.allSatisfy { !$0.value.isEmpty })
        let drawings = reading.attributes.filter { $0.element == "svg" && $0.name == "aria-label" }
        #expect(drawings.count == 2)
        #expect(drawings.contains { $0.value.contains("thread 2: 2 steps, 30.0 ms") })
        #expect(reading.attributes.contains { $0.element == "html" && $0.name == "lang" })
    }

    @Test func furtherPicturesAreToldInAParagraph() throws {
        let reading = try #require(read(page))
        #expect(reading.text.contains("And 5 more, in the folder pictures beside this page."))
        #expect(!reading.text.contains("<p>"))
    }

    @Test func whatWasNotDoneToThePicturesIsTold() throws {
        var page = Page(summary: "")
        #expect(try #require(read(page)).elements["p"] == 1)
        page.picturesNote = "No faces <were> looked for."
        let reading = try #require(read(page))
        #expect(reading.elements["p"] == 2 && reading.text.contains("No faces <were> looked for."))
    }

    @Test func theSamplesOfTheCThreadAreATable() throws {
        let reading = try #require(read(page))
        #expect(reading.text.contains("Samples from a C thread") && reading.elements["table"] == 2)
        let without = try #require(read(Page(summary: "")))
        #expect(!without.text.contains("Samples from a C thread"))
    }

    /// Its place is kept while it is not decoded.
    @Test func everyPictureSaysItsSize() throws {
        let jpeg = try Codecs.encodeJPEG(.gradient(width: 300, height: 20))
        var page = Page(summary: "")
        page.pictures = [.init(name: "a", detail: "", before: jpeg, after: jpeg)]
        page.contactSheet = jpeg
        page.downloads = .init(
            note: "",
            items: [.init(name: "a", faults: "", attempts: 1, delay: .zero, ending: "", picture: jpeg)]
        )
        let sides = try #require(read(page)).attributes.filter { $0.element == "img" }
        #expect(sides.filter { $0.name == "width" }.map(\.value) == ["300", "300", "300", "300"])
        #expect(sides.filter { $0.name == "height" }.map(\.value) == ["20", "20", "20", "20"])
        var progressive = jpeg
        let frame = try #require(jpeg.indices.first { jpeg[$0...].starts(with: [0xFF, 0xC0]) })
        progressive[frame + 1] = 0xC2
        let size = try #require(Page.size(ofJPEG: progressive))
        #expect(size == (300, 20))
        for count in 0..<jpeg.count where count < 700 { _ = Page.size(ofJPEG: Array(jpeg[..<count])) }
    }

    @Test func eachDownloadIsShownWithItsAttemptsAndItsEnding() throws {
        let cards = page.html.components(separatedBy: "<figure class=\"download\">").dropFirst()
        #expect(cards.count == 2)
        let (came, absent) = (try #require(cards.first), try #require(cards.last))
        #expect(came.contains("2 attempts, 1.50 s") && came.contains("<strong>delivered</strong>"))
        #expect(came.contains("<img") && came.contains("faults: "))
        #expect(absent.contains("1 attempt, ") && absent.contains("no picture"))
        #expect(!absent.contains("<img") && !absent.contains("faults: "))
    }

    /// The longest fills the width.
    @Test func theTimesOfTheDownloadsAreBarsOfOneScale() throws {
        let reading = try #require(read(page))
        let widths = reading.attributes.filter { $0.element == "span" && $0.name == "style" }.map(\.value)
        #expect(widths == ["min-width: 25.00%", "min-width: 100.00%"])
        #expect(reading.text.contains("500 ms") && reading.text.contains("2.00 s"))
        var without = Page(summary: "")
        #expect(!without.html.contains("bad network"))
        without.downloads = .init(note: "nothing came")
        let empty = try #require(read(without))
        #expect(empty.text.contains("nothing came") && empty.elements["dl"] == nil)
    }

    /// Load, decode, write and the contact sheet; the edits, of which two are there only where faces can be found.
    @Test func everyStepOfATimelineHasAColour() {
        #expect(Edit.all.count + 4 <= 7)
        for step in 0..<7 {
            #expect(Page.style.contains(".step\(step) {"))
            #expect(
                Page.style.components(separatedBy: "--step\(step): #").count == 3,
                "one for light, one for dark"
            )
        }
    }

    /// WCAG 2.2's relative luminance and contrast.
    @Test func textStandsOutInLightAndInDark() throws {
        let themes = Page.style.components(separatedBy: "@media (prefers-color-scheme: dark)")
        #expect(themes.count == 2)
        for theme in themes {
            func luminance(_ name: String) throws -> Double {
                let value = try #require(
                    theme.components(separatedBy: "--\(name): #").dropFirst().first?.prefix(6)
                )
                let number = try #require(Int(value, radix: 16))
                let channels = [number >> 16, number >> 8 & 255, number & 255].map { channel in
                    let coded = Double(channel) / 255
                    return coded <= 0.04045 ? coded / 12.92 : pow((coded + 0.055) / 1.055, 2.4)
                }
                return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]
            }
            let pairs =
                [
                    ("text", "page"), ("text", "card"), ("quiet", "page"), ("quiet", "card"),
                    ("accent", "card"),
                ]
                + (0..<7).map { ("bar-text", "step\($0)") }
            for (one, other) in pairs {
                let both = [try luminance(one), try luminance(other)]
                let contrast = (both.max()! + 0.05) / (both.min()! + 0.05)
                #expect(contrast >= 4.5, "\(one) on \(other): \(contrast)")
            }
        }
    }

    @Test(arguments: [
        (70.0, "70 s"), (3600, "3500 s"), (9.5, "9 s"), (2.4, "2.0 s"), (0.9, "0.9 s"), (0.07, "70 ms"),
        (0.004, "4.0 ms"), (0.000_05, "50 µs"),
    ])
    func theAxisEndsInItsLargestUnitWithinThePicture(_ seconds: Double, _ last: String) throws {
        let span = Timeline.Span(step: "a", item: "b", thread: 0, begin: .zero, end: .seconds(seconds))
        let chart = TimelineChart(
            title: "t",
            timeline: Timeline(spans: [span]),
            span: .seconds(seconds),
            steps: ["a"]
        )
        let tick = try #require(chart.markup.source.components(separatedBy: "class=\"tick\" x=\"").last)
        let text = try #require(tick.components(separatedBy: "</text>")[0].components(separatedBy: ">").last)
        #expect(text == last)
        // About 7 units a letter, half on each side.
        let x = try #require(Double(tick.components(separatedBy: "\"")[0]))
        #expect(x + 3.5 * Double(text.count) <= 1000)
    }

    @Test(arguments: [(0.000_000_4, 4...11), (0.037, 4...11), (1.0, 4...11), (42.5, 4...11), (3600, 4...11)])
    func theAxisHasAHandfulOfTicks(_ seconds: Double, _ range: ClosedRange<Int>) {
        let step = TimelineChart.tickStep(for: seconds)
        #expect(seconds < 1e-5 || range.contains(Int(seconds / step) + 1), "\(step)")
    }
}
