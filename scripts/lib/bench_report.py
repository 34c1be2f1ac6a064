#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that is made of the benchmarks' results, from one reading of them.

    bench_report.py FOLDER RESULT.json...   writes FOLDER/report.json (all results, the machine and the commit) and
                                            FOLDER/index.html (one page that needs nothing else); and in the tree the
                                            tables of docs/benchmarks.md, the README's, and docs/images/benchmarks/*.svg
    bench_report.py --stamp RESULT.json     adds the commit that was measured, unless it is there

A result is the JSON of one suite, or a report.json, which has those of all.
"""

import json
import math
import os
import subprocess
import sys
from collections import namedtuple
from html import escape

import bench_costs
import bench_page
import bench_table
import charts
from bench_table import Malformed, Node, counted, counting, digits, grouped

# A question, its charts, and what to know about them.
Section = namedtuple("Section", "question charts remark")

FEW_WRITES = 0.1  # per cent


def is_ours(name):
    return name.startswith(("ilk_", "InterlockQueue")) or bool(bench_table.OWN_IN_SWIFT.match(name))


def bar_rows(nodes, name, samples):
    return [charts.Bar(node.get(name, str), node.numbers(samples), is_ours(node.get(name, str))) for node in nodes]


def percentile_rows(nodes, name):
    keys = (("p50", "p50_ns"), ("p99", "p99_ns"), ("p99.9", "p99_9_ns"))
    return [charts.Percentiles(node.get(name, str), {short: node.get(key, float) for short, key in keys},
                               is_ours(node.get(name, str)))
            for node in nodes if node.get("p50_ns", float) > 0]


def by_best(rows):
    """The names of others, the one with the greatest median first."""
    best = {}
    for row in rows:
        for samples in row.points.values():
            best[row.name] = max(best.get(row.name, 0), charts.median(samples))
    return sorted((row.name for row in rows if not row.is_ours), key=lambda name: -best[name])


# ---- The suites ----


def by_share_of_writes(result):
    """Each share of writes with the lines of its locks, for the shortest sections; and the colours of all."""
    cells = result.children("throughput_million_per_second")
    shortest = min((cell.get("section_ns", float) for cell in cells), default=0)
    panels = []
    for (writes,), group in grouped([c for c in cells if c.get("section_ns", float) == shortest],
                                    ("writes_percent", float)).items():
        rows = []
        for (name,), points in grouped(group, ("lock", str)).items():
            rows.append(charts.Line(name, {c.get("threads", float): c.numbers("samples") for c in points}, is_ours(name)))
        panels.append((writes, rows))
    everything = [row for _, rows in panels for row in rows]
    return panels, charts.colours(list(dict.fromkeys(by_best(everything))))


def scaling(result):
    """The picture of what a reader–writer lock is for: few writes, more and more threads."""
    panels, palette = by_share_of_writes(result)
    few = [panel for panel in panels if panel[0] > 0]
    if not few:
        return None
    writes, rows = min(few, key=lambda panel: abs(panel[0] - FEW_WRITES))
    chart = charts.lines(f"Reads with {writes:g} % writes, by threads", "million sections a second", rows, "threads", palette)
    return charts.above(charts.legend(["ilk_rwlock"], palette), chart)


def rwlock(result):
    panels, palette = by_share_of_writes(result)
    pictures = [charts.legend(["ilk_rwlock"], palette)] if panels else []
    pictures += [charts.lines(f"{writes:g} % writes", "million sections a second", rows, "threads", palette)
                 for writes, rows in panels]
    yield Section("How many short sections does a reader–writer lock let through?", pictures,
                  "Locks that spin are here too; they are no peers in the ratios.")
    yield Section("How long does one wait for a lock that the others saturate?",
                  [charts.percentiles(f"{waiter} beside {counted(threads - 1, 'reader' if waiter == 'writer' else 'writer')}",
                                      "wait", percentile_rows(group, "lock"))
                   for (threads, waiter), group in
                   grouped(result.children("waits"), ("threads", float), ("waiter", str)).items()], "")


def rings(result):
    flows = [cell for cell in result.children("throughput_million_per_second") if cell.get("element_bytes", float) == 8]
    yield Section("How many elements pass a ring?",
                  [charts.bars(f"{way}, {producers:g}P{consumers:g}C, capacity {capacity:,.0f}",
                               "million elements a second", bar_rows(group, "ring", "samples"), False)
                   for (way, producers, consumers, capacity), group in
                   grouped(flows, ("way", str), ("producers", float), ("consumers", float), ("capacity", float)).items()],
                  "Elements of 8 bytes. With try the ends poll, with blocking they sleep when there is nothing to do.")
    yield Section("How long is a round trip through two rings?",
                  [charts.percentiles(way, "round trip", percentile_rows(group, "ring"))
                   for (way,), group in grouped(result.children("round_trips"), ("way", str)).items()], "")


def mutex(result):
    trips = percentile_rows(result.children("round_trips"), "lock")
    yield Section("How often is a mutex taken?",
                  [charts.bars(f"{counted(threads, 'thread')}, section of {digits(section)} ns", "million times a second",
                               bar_rows(group, "lock", "samples"), False)
                   for (threads, section), group in
                   grouped(result.children("throughput_million_per_second"), ("threads", float), ("section_ns", float)).items()], "")
    yield Section("How long does one wait for a mutex, or for a baton?",
                  [charts.percentiles(counted(threads, "thread"), "wait", percentile_rows(group, "lock"))
                   for (threads,), group in grouped(result.children("waits"), ("threads", float)).items()]
                  + ([charts.percentiles("baton, two threads", "round trip", trips)] if trips else []), "")


def condition(result):
    yield spans(result, "What does waiting under a lock for a condition cost?", "ns a hand-over")


def wait_set(result):
    yield spans(result, "What does a thread cost that serves three rings?", "ns an element")


def spans(result, question, unit):
    return Section(question, [charts.bars(span.get("span", str), unit,
                                          [charts.Bar(name, span.numbers(name), name.startswith("ilk_"))
                                           for name in span.value if name != "span"], True)
                              for span in result.children("spans")], "")


def pool(result):
    pictures = [charts.bars(f"empty jobs from {counted(threads, 'outside thread')}", "ns a job",
                            bar_rows(group, "pool", "samples"), True)
                for (threads,), group in grouped(result.children("submissions"), ("threads", float)).items()]
    for key, title in (("fibonacci", "fork and join"), ("loop_even", "even loop"), ("loop_uneven", "very uneven loop")):
        pictures.append(charts.bars(title, "ns a pass", bar_rows(result.children(key), "pool", "samples"), True))
    yield Section("What does a job cost on a pool?", pictures, "")
    yield Section("How soon does an idle worker begin?",
                  [charts.percentiles("wake-up", "from submission to beginning",
                                      percentile_rows(result.children("wake_ups"), "pool"))], "")
    yield Section("What does a timer cost?",
                  [charts.bars(title, "ns a timer", [row for row in bar_rows(
                      [cell for cell in result.children("timers") if cell.get(key, list)], "timers", key)], True)
                   for key, title in (("set_ns", "set"), ("cancel_ns", "cancel"), ("fire_ns", "fire"))], "")


def swift(result):
    yield Section("What does the Swift facade cost, beside what one would write without it?",
                  [charts.bars(cell.get("title", str), "ns between two operations",
                               bar_rows(cell.children("lines"), "contender", "nanoseconds"), True)
                   for cell in result.children("cells")], "")


def operations(result):
    cells = result.children("cells")
    yield Section("What does an operation with its edge cost?",
                  [charts.bars(cell.get("title", str), "ns a node", bar_rows(cell.children("lines"), "contender", "nanoseconds"),
                               True) for cell in cells], "Made, run and freed.")
    grown = {}
    for cell in cells:
        if "random" in cell.get("title", str):
            for line in cell.children("lines"):
                grown.setdefault(line.get("contender", str), {})[cell.get("nodes", float)] = line.numbers("nanoseconds")
    rows = [charts.Line(name, points, name == bench_table.JOB) for name, points in grown.items() if len(points) > 1]
    palette = charts.colours([row.name for row in rows if not row.is_ours])
    yield Section("Does the cost of a node grow with the graph?",
                  [charts.legend([bench_table.JOB], palette),
                   charts.lines("random graphs", "ns a node", rows, "nodes", palette, True)] if rows else [], "")


def diagnosis(result):
    modes = ("off", "order", "contention", "hang", "all")
    yield Section("What does a watched call cost?",
                  [charts.bars(call.get("call", str), "ns a call",
                               [charts.Bar(mode, call.numbers(mode), mode == "off") for mode in modes], True)
                   for call in result.children("calls")], "Diagnosis off, and each of its parts on.")


SUITES = {"rwlock": rwlock, "rings": rings, "mutex": mutex, "condition": condition, "wait_set": wait_set,
          "pool": pool, "swift": swift, "operations": operations, "diagnosis": diagnosis}


# ---- The page ----


PAGE_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1c2733; --quiet: #5c6873; --line: #d8dee4; --behind: #fff1e8; }
@media (prefers-color-scheme: dark) { :root { --ground: #10161d; --text: #e6edf3; --quiet: #9aa7b3; --line: #39424c;
  --behind: #33221a; } }
body { margin: 0 auto; padding: 1rem; max-width: 82rem; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
.quiet { color: var(--quiet); font-size: .9rem; overflow-wrap: anywhere; }
.charts { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); }
.chart { width: 100%; height: auto; max-width: 34rem; }
.wide { overflow-x: auto; overflow-wrap: break-word; } table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
td.number { text-align: right; white-space: nowrap; } tr.behind { background: var(--behind); } tr.ours { font-weight: 600; } nav { display: flex; flex-wrap: wrap; gap: 0 1rem; margin-bottom: 1rem; }
/* A narrow screen has a row of a table below the other, each cell with its column's name. */
@media (max-width: 64rem) {
  .wide table, .wide tbody { display: block; } .wide thead { display: none; }
  .wide tr { display: block; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
  .wide td, .wide td.number { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: .6rem; padding: 0; border: 0;
    text-align: left; white-space: normal; }
  .wide td::before { content: attr(data-column); color: var(--quiet); font-weight: 400; }
}
"""


COLUMNS = ("suite", "what", "setting", "ours", "figure", "best peer", "its figure", "ratio", "rounds, least–most")


def row_html(suite, title, row):
    behind = ' class="behind"' if counting([row]) and row.ratio < 1 else ""
    cells = [suite, title, row.setting, row.ours, row.our_figure, row.peer, row.peer_figure, bench_table.shown(row.ratio),
             bench_table.span(row.rounds)]
    return f"<tr{behind}>" + "".join(
        f'<td data-column="{COLUMNS[index]}"{" class=number" if index in (4, 6, 7, 8) else ""}>{escape(cell)}</td>'
        for index, cell in enumerate(cells)) + "</tr>"


def table_html(rows):
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    return (f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n'
            + "\n".join(row_html(*row) for row in rows) + "\n</tbody></table></div>")


def facts(result):
    busy = " A busy machine: its figures say little." if result.get("cores_used_by_others", float) > bench_table.BUSY else ""
    return f"{result.get('date', str)}. {bench_table.facts(result)}{busy}"


def parts_of(result):
    """The sections of a suite, and the rows of its tables."""
    suite = bench_table.accepted(result)
    sections = [section for section in SUITES[suite](result) if section.charts]
    tables = bench_table.SUITES[suite](result) if suite in bench_table.SUITES else []
    return sections, [(suite, title, with_unit(row, unit)) for title, unit, rows in tables for row in rows]


def with_unit(row, unit):
    """Figures of time have their unit; the others' is the table's."""
    short = {"million": "M/s", "nanoseconds": "ns", "bytes": "B"}.get(unit.split()[0])
    return row._replace(**{name: f"{figure} {short}" for name in ("our_figure", "peer_figure")
                           if short and (figure := getattr(row, name)) != "–"})


def page(results, commit, overview):
    body, rows, names = [], [], []
    for result in results:
        sections, its_rows = parts_of(result)
        suite = result.get("suite", str)
        names.append(suite)
        rows += its_rows
        body.append(f'<h2 id="{suite}">{suite}</h2>\n<p class="quiet">{escape(facts(result))}</p>')
        for section in sections:
            remark = f'<p class="quiet">{escape(section.remark)}</p>' if section.remark else ""
            body.append(f"<h3>{escape(section.question)}</h3>{remark}\n" + '<div class="charts">' + "".join(section.charts) + "</div>")
        if costs := bench_costs.costs(result):
            body.append(bench_costs.html(costs, is_ours))
        if its_rows:
            body.append(f"<details><summary>All figures of {suite}</summary>{table_html(its_rows)}</details>")
    counted_rows = [row for row in rows if counting([row[2]])]
    behind = sorted((row for row in counted_rows if row[2].ratio < 1), key=lambda row: row[2].ratio)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Interlock's benchmarks</title>
<style>{PAGE_STYLE}{charts.STYLE}</style>
</head>
<body>
<h1>Interlock's benchmarks</h1>
<p>Interlock beside the libraries that one would use instead: the same work, in turns, in one run. Figures are medians of
rounds; thin lines span all rounds. The ratio is that of the two figures, against the best peer of the same kind, above 1
where Interlock is better; behind it stand the lowest and the highest ratio of a round. Written at commit <code>{escape(commit)}</code>; a suite that was measured at
another names it.</p>
<nav>{"".join(f'<a href="#{name}">{name}</a>' for name in names)}<a href="#behind">where we are behind</a></nav>
<div class="charts">{overview}</div>
{chr(10).join(body)}
<h2 id="behind">Where we are behind</h2>
<p>{len(behind)} of {len(counted_rows)} settings, the worst first.</p>
{table_html(behind) if behind else ""}
</body>
</html>
"""


def commit_of(folder):
    """The commit that was measured, marked where the sources differ from it."""
    def git(*arguments):
        return subprocess.run(("git", "-C", folder) + arguments, capture_output=True, text=True, check=False).stdout.strip()
    name = git("rev-parse", "--short=12", "HEAD") or "unknown"
    return name + (", with changes" if git("status", "--porcelain", "--", "Sources", "include", "Workshop/Benchmarks") else "")


def kept(value):
    """A result as the report keeps it: figures to five digits, and the flags without the place where it was written."""
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.5g}")
    if isinstance(value, list):
        return [kept(one) for one in value]
    if isinstance(value, dict):
        return {name: bench_table.flags(one) if name == "arguments" else kept(one) for name, one in value.items()}
    return value


def read(path):
    """The commit of a file, if it is a report, and its results as they are kept: what is made of a suite's result is the
    same as what is made of the report's."""
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        value = kept(json.loads(text))
    except ValueError as error:
        raise Malformed(f"{name} is not JSON: {error}") from None
    if isinstance(value, dict) and "suites" in value:
        return value.get("commit"), [Node(value["suites"][suite], f"{suite} of {name}") for suite in SUITES if suite in value["suites"]]
    return None, [Node(value, name)]


def stamp(path):
    """A result keeps the commit it was measured at, also when a later report has it."""
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    if "commit" not in result:
        result["commit"] = commit_of(os.path.dirname(os.path.abspath(__file__)))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file)


def files_of(folder, results, commit):
    """The files by their paths. What stands in the tree is made of the page alone, but for the chart with all samples."""
    with open(bench_page.DOCUMENT, encoding="utf-8") as file:
        document = bench_table.insert(file.read(), "".join(map(bench_table.section, results)))
    files = {bench_page.DOCUMENT: document} | bench_page.made_of(document)
    overview = "".join(bench_page.overviews(bench_page.tables(document)).values())
    for result in results:
        if result.get("suite", str) == "rwlock" and (picture := scaling(result)):
            files[bench_page.chart_of("scaling")] = charts.standing_alone(picture)
    return files | {
        os.path.join(folder, "index.html"): page(results, commit, overview),
        os.path.join(folder, "report.json"): json.dumps(
            {"commit": commit, "suites": {result.get("suite", str): result.value for result in results}},
            separators=(",", ":"), sort_keys=True) + "\n"}


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder, paths = arguments[0], arguments[1:]
    try:
        if folder == "--stamp":
            for path in paths:
                stamp(path)
            return 0
        commits, results = zip(*map(read, paths))
        commit = next(filter(None, commits), None) or commit_of(os.path.dirname(os.path.abspath(__file__)))
        for path, text in files_of(folder, sum(results, []), commit).items():
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    except (Malformed, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"wrote {os.path.join(folder, 'index.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
