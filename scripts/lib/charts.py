# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG text: bars with a spread, lines over a logarithmic axis, percentiles, ratios.

Each is as wide as a phone. Colours are variables of CSS (`STYLE`), so that one picture serves light and dark. A
contender of ours has the accent; others have a colour of their own as long as there are some, then grey.
"""

import html
import math
import re
from collections import namedtuple
from html import escape

WIDTH = 420
ROW = 20
LABEL = 156
OTHERS = 5  # colours

STYLE = """
.chart { font: 12px system-ui, sans-serif; --ink: #1c2733; --quiet: #5c6873; --line: #d8dee4; --ours: #c2410c;
  --grey: #9aa5b1; --c1: #1d4ed8; --c2: #0f766e; --c3: #7e22ce; --c4: #a16207; --c5: #475569; }
@media (prefers-color-scheme: dark) { .chart { --ink: #e6edf3; --quiet: #9aa7b3; --line: #39424c; --ours: #fb923c;
  --grey: #6b7681; --c1: #7aa7ff; --c2: #4fd1c5; --c3: #cda4ff; --c4: #facc15; --c5: #94a3b8; } }
.chart text { fill: var(--ink); } .chart .quiet { fill: var(--quiet); font-size: 11px; }
.chart .ours { font-weight: 600; } .chart .axis { stroke: var(--line); }
""".strip()

# `samples` are of one contender in one setting; a single figure has none but itself.
Bar = namedtuple("Bar", "name samples is_ours")
Line = namedtuple("Line", "name points is_ours")  # points: x -> samples
Percentiles = namedtuple("Percentiles", "name values is_ours")  # values: "p50" -> a figure
Ratio = namedtuple("Ratio", "name value")


def median(values):
    """The median as the benchmarks compute it."""
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def digits(value):
    if value == math.inf:
        return "∞"
    if value >= 1e6:
        return f"{digits(value / 1e6)}M"
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def _text(x, y, text, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(str(text))}</text>'


def _svg(title, height, parts):
    """A picture with its title as text for screen readers."""
    return (f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'aria-label="{escape(title, quote=True)}">\n' + "\n".join(parts) + "\n</svg>\n")


def standing_alone(svg):
    """The same as a file of its own."""
    return svg.replace(">\n", f">\n<style>{STYLE}</style>\n", 1)


def above(first, second):
    """Two pictures in one, by the title of the second."""
    heights = [float(re.search(r'viewBox="0 0 \d+ (\d+)"', svg)[1]) for svg in (first, second)]
    title = html.unescape(re.search(r'aria-label="([^"]*)"', second)[1])
    parts = [svg.replace("<svg ", f'<svg y="{y:g}" width="{WIDTH}" height="{height:g}" ', 1).strip()
             for svg, y, height in zip((first, second), (0, heights[0]), heights)]
    return _svg(title, sum(heights), parts)


def _head(title, unit):
    return [_text(0, 14, title, "ours"), _text(0, 29, unit, "quiet")]


def _short(name, width=18):
    """Without its middle: names of one family differ at their ends."""
    return name if len(name) <= width else name[: width // 2 - 2] + "…" + name[-width // 2 - 1:]


def bars(title, unit, rows, less_is_better):
    """The best first. A bar ends at the median; a thin line spans all samples."""
    rows = sorted(rows, key=lambda row: median(row.samples), reverse=not less_is_better)
    finite = [value for row in rows for value in row.samples if math.isfinite(value)]
    top = max(finite, default=1) or 1
    room = WIDTH - LABEL - 52
    parts = _head(title, unit + (", less is better" if less_is_better else ", more is better"))
    for index, row in enumerate(rows):
        y = 40 + index * ROW
        middle, low, high = median(row.samples), min(row.samples), max(row.samples)
        colour = "var(--ours)" if row.is_ours else "var(--grey)"
        parts.append(_text(LABEL - 6, y + 12, _short(row.name), "ours" if row.is_ours else "", "end"))
        if not math.isfinite(middle):
            parts.append(_text(LABEL, y + 12, "no progress", "quiet"))
            continue
        width = room * middle / top
        parts.append(f'<rect x="{LABEL}" y="{y + 3}" width="{max(width, 1):.1f}" height="12" fill="{colour}">'
                     f"<title>{escape(row.name)}: {digits(middle)}</title></rect>")
        end = width
        if len(row.samples) > 1:
            end = room * min(high, top) / top
            parts.append(f'<path d="M{LABEL + room * low / top:.1f} {y + 9}H{LABEL + end:.1f}" stroke="var(--ink)"/>')
        parts.append(_text(LABEL + max(end, width) + 5, y + 13, digits(middle), "quiet"))
    return _svg(title, 44 + len(rows) * ROW, parts)


def _logarithmic(values, decades=12):
    """A scale from 0 to 1 over the powers of ten around the values, `decades` at most, and those powers."""
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    high = math.ceil(math.log10(max(positive, default=10)) - 1e-9)
    low = min(max(math.floor(math.log10(min(positive, default=1)) + 1e-9), high - decades), high - 1)
    return (lambda value: (math.log10(max(value, 10.0**low)) - low) / (high - low)), [10.0**n for n in range(low, high + 1)]


def colours(names_by_rank):
    """Colours for the first names; the others are grey."""
    return {name: f"var(--c{index + 1})" for index, name in enumerate(names_by_rank[:OTHERS])}


def lines(title, unit, rows, x_title, palette, less_is_better=False):
    """Medians with a span of all samples, the y axis logarithmic, the x axis in steps. What is below a thousandth of the
    most is below the axis: a triangle that points down stands on it, for a median, or for the end of a span. So does one
    that points up for the end of a span above the axis."""
    xs = sorted({x for row in rows for x in row.points})
    scale, powers = _logarithmic([median(samples) for row in rows for samples in row.points.values()], 3)
    top, bottom, right = 42, 212, WIDTH - 12
    left = max(44, 12 + 6.5 * max(len(digits(power)) for power in powers))

    def place(x, value):
        step = (right - left - 20) / max(1, len(xs) - 1)
        return left + 10 + step * xs.index(x), bottom - (bottom - top) * scale(value)

    def has_span(row):
        return row.is_ours or row.name in palette

    is_below = any((min if has_span(row) else median)(samples) < powers[0] for row in rows for samples in row.points.values())
    is_above = any(has_span(row) and max(samples) > powers[-1] for row in rows for samples in row.points.values())
    parts = _head(title, unit + (", less is better" if less_is_better else ", more is better")
                  + (f"; ▼ below {digits(powers[0])}" if is_below else "")
                  + (f"; ▲ above {digits(powers[-1])}" if is_above else ""))
    for power in powers:
        y = bottom - (bottom - top) * scale(power)
        parts += [f'<path class="axis" d="M{left} {y:.1f}H{right}"/>', _text(left - 5, y + 4, digits(power), "quiet", "end")]
    for x in xs:
        parts.append(_text(place(x, powers[0])[0], bottom + 16, f"{x:,g}", "quiet", "middle"))
    parts.append(_text((left + right) / 2, bottom + 31, x_title, "quiet", "middle"))
    # Ours last, on top.
    for row in sorted(rows, key=lambda row: (row.is_ours, row.name in palette)):
        colour = "var(--ours)" if row.is_ours else palette.get(row.name, "var(--grey)")
        width = 3 if row.is_ours else 1.5 if row.name in palette else 0.7
        points = [(x, row.points[x]) for x in xs if x in row.points and math.isfinite(median(row.points[x]))]
        path = "L".join(f"{place(x, median(s))[0]:.1f} {place(x, median(s))[1]:.1f}" for x, s in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        for x, samples in points:
            at, y = place(x, median(samples))
            if has_span(row) and max(samples) > powers[-1]:
                parts.append(f'<path class="above" d="M{at - 5:.1f} {top + 4}h10l-5 -8z" fill="{colour}">'
                             f"<title>{escape(row.name)}, {x:,g}: {digits(max(samples))} at most, median "
                             f"{digits(median(samples))}</title></path>")
            if (min if has_span(row) else median)(samples) < powers[0]:
                parts.append(f'<path class="below" d="M{at - 5:.1f} {bottom - 4}h10l-5 8z" fill="{colour}">'
                             f"<title>{escape(row.name)}, {x:,g}: {digits(min(samples))} at least, median "
                             f"{digits(median(samples))}</title></path>")
                if median(samples) < powers[0]:
                    continue
            if has_span(row):
                low, high = place(x, min(samples))[1], place(x, min(max(samples), powers[-1]))[1]
                parts.append(f'<path d="M{at:.1f} {low:.1f}V{high:.1f}" stroke="{colour}"/>')
            parts.append(f'<circle cx="{at:.1f}" cy="{y:.1f}" r="{2.5 if width > 1 else 1.5}" fill="{colour}">'
                         f"<title>{escape(row.name)}, {x:,g}: {digits(median(samples))}</title></circle>")
    return _svg(title, bottom + 38, parts)


def legend(names, palette):
    """For several charts of lines with one palette."""
    entries = [(name, "var(--ours)") for name in names] + list(palette.items()) + [("others", "var(--grey)")]
    parts = []
    for index, (name, colour) in enumerate(entries):
        x, y = (index % 2) * WIDTH / 2, 4 + index // 2 * 18
        parts += [f'<rect x="{x}" y="{y + 3}" width="16" height="5" fill="{colour}"/>', _text(x + 22, y + 11, _short(name, 24))]
    return _svg("colours", 8 + (len(entries) + 1) // 2 * 18, parts)


def percentiles(title, unit, rows):
    """Dots on a logarithmic axis: hollow p50, half p99, full the last."""
    rows = sorted(rows, key=lambda row: list(row.values.values())[-1])
    scale, powers = _logarithmic([value for row in rows for value in row.values.values()])
    left, right, bottom = LABEL, WIDTH - 30, 44 + len(rows) * ROW
    names = list(rows[0].values) if rows else []
    parts = _head(title, f"{unit}, less is better; from left: {', '.join(names)}")
    step = 1 if len(powers) < 7 else 2
    for index, power in enumerate(powers):
        x = left + (right - left) * scale(power)
        parts.append(f'<path class="axis" d="M{x:.1f} 38V{bottom}"/>')
        if index % step == 0:
            parts.append(_text(x, bottom + 14, _span(power), "quiet", "middle"))
    for index, row in enumerate(rows):
        y = 50 + index * ROW
        colour = "var(--ours)" if row.is_ours else "var(--grey)"
        parts.append(_text(LABEL - 6, y + 4, _short(row.name), "ours" if row.is_ours else "", "end"))
        places = [(name, value, left + (right - left) * scale(value)) for name, value in row.values.items()]
        parts.append(f'<path d="M{places[0][2]:.1f} {y}H{places[-1][2]:.1f}" stroke="{colour}"/>')
        for order, (name, value, x) in enumerate(places):
            fill = colour if order == len(places) - 1 else "none" if order == 0 else colour
            opacity = "" if order in (0, len(places) - 1) else ' fill-opacity="0.4"'
            parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="{fill}"{opacity} stroke="{colour}">'
                         f"<title>{escape(row.name)}, {name}: {_span(value)}</title></circle>")
    return _svg(title, bottom + 22, parts)


def _span(ns):
    for unit, size in (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if ns < size * 999.5 or unit == "s":
            return f"{ns / size:.3g} {unit}"


def ratios(title, rows):
    """A dot for each cell, ours over the best peer, on a logarithmic axis with 1 in it."""
    values = [row.value for row in rows]
    low, high = min([0.5] + values) / 1.1, max([2.0] + values) * 1.1
    left, right = 14, WIDTH - 16

    def place(value):
        return left + (right - left) * (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))

    behind = sum(1 for row in rows if row.value < 1)
    parts = _head(title, f"{len(rows)} settings, {behind} behind: left of the line, in the accent")
    y = 60
    taken = []
    for mark in (1, 0.1, 10, 0.01, 100, 0.5, 2, 5, 0.2, 20, 50, 0.05, 0.001, 1000):
        if low <= mark <= high and all(abs(place(mark) - other) > 34 for other in taken):
            taken.append(place(mark))
            width = 2 if mark == 1 else 1
            parts += [f'<path class="axis" d="M{place(mark):.1f} 40V80" stroke-width="{width}"/>',
                      _text(place(mark), 94, f"{mark:g}×", "quiet", "middle")]
    for index, row in enumerate(rows):
        colour = "var(--ours)" if row.value < 1 else "var(--c1)"
        parts.append(f'<circle cx="{place(row.value):.1f}" cy="{y + (index * 7) % 31 - 15}" r="3" fill="{colour}" '
                     f'fill-opacity="0.7"><title>{escape(row.name)}: {digits(row.value)}×</title></circle>')
    return _svg(title, 102, parts)
