// SPDX-License-Identifier: Apache-2.0
//
// A timeline as scalable vector graphics: a row for each thread, a bar for each step, an axis below, coloured by the
// page's style.

import Timeline

struct TimelineChart {
    let title: String
    let timeline: Timeline
    /// The time of the whole width: charts with the same one compare by eye.
    let span: Duration
    /// All steps in the order of the legend, which decides the colour.
    let steps: [String]

    private let width = 1000.0
    private let left = 84.0
    /// Half of the widest label of the axis.
    private let right = 32.0
    private let rowHeight = 34.0
    private let barHeight = 24.0

    var markup: Markup {
        let height = Double(timeline.threadCount) * rowHeight + 34
        return """
            <figure class="timeline">
            <figcaption>\(title)</figcaption>
            <div class="scroll" tabindex="0" role="group" aria-label="\(title): timeline, scrolls sideways">
            <svg viewBox="0 0 \(width) \(height)" role="img" aria-label="\(summary)">
            \(Markup(joining: grid(height: height)))
            \(Markup(joining: (0..<timeline.threadCount).map(label)))
            \(Markup(joining: timeline.spans.map(bar)))
            </svg>
            </div>
            </figure>
            """
    }

    /// The drawing's content for screen readers.
    private var summary: String {
        let threads = (0..<timeline.threadCount).map { thread in
            let count = timeline.spans.count { $0.thread == thread }
            return "thread \(thread + 1): \(count) steps, \(timeline.busy(thread: thread).text)"
        }
        return "\(title). \(threads.joined(separator: "; ")). The last step ended after \(timeline.end.text)."
    }

    private func x(_ time: Duration) -> Double {
        left + (width - left - right) * (time.inSeconds / max(span.inSeconds, 1e-9))
    }

    private func grid(height: Double) -> [Markup] {
        let step = Self.tickStep(for: span.inSeconds)
        let bottom = height - 28
        return (0...Int(span.inSeconds / step)).map { index in
            let time = Duration.seconds(step * Double(index))
            return """
                <line class="grid" x1="\(x(time))" x2="\(x(time))" y1="0" y2="\(bottom)" />
                <text class="tick" x="\(x(time))" y="\(height - 10)">\(Self.tick(time, step: .seconds(step)))</text>
                """
        }
    }

    /// One, two or five times a power of ten, for four to ten ticks.
    static func tickStep(for seconds: Double) -> Double {
        var power = 1e-6
        while true {
            for step in [1.0, 2, 5] where seconds / (power * step) <= 10 { return power * step }
            power *= 10
        }
    }

    /// In the largest unit in which the step has a decimal at most: one unit for all of an axis.
    static func tick(_ time: Duration, step: Duration) -> String {
        let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")]
        let (size, unit) = units.first { step.inSeconds > 0.099 * $0.0 } ?? (1e-6, "µs")
        let decimals = step.inSeconds < 0.99 * size ? 1 : 0
        return "\((time.inSeconds / size).text(decimals: decimals)) \(unit)"
    }

    private func label(thread: Int) -> Markup {
        let middle = Double(thread) * rowHeight + rowHeight / 2
        return """
            <text class="thread" x="0" y="\(middle + 4.5)">thread \(thread + 1)</text>
            """
    }

    private func bar(_ span: Timeline.Span) -> Markup {
        let begin = x(span.begin)
        let barWidth = max(1.2, x(span.end) - begin)
        let top = Double(span.thread) * rowHeight + (rowHeight - barHeight) / 2
        let step = steps.firstIndex(of: span.step) ?? 0
        // About 6.2 units a letter; the tooltip has names that do not fit.
        let fits = Double(span.item.count) * 6.2 + 8 < barWidth
        let name: Markup =
            fits
            ? """
            <text class="name" x="\(begin + 5)" y="\(top + barHeight / 2 + 4)">\(span.item)</text>
            """ : ""
        return """
            <g class="step\(step)"><title>\(span.step): \(span.item), \(span.begin.text) to \(span.end.text)</title>\
            <rect x="\(begin)" y="\(top)" width="\(barWidth)" height="\(barHeight)" rx="2" />\(name)</g>
            """
    }
}
