# SPDX-License-Identifier: Apache-2.0
"""The report of all benchmarks: what scripts/lib/bench_report.py makes of results, and the charts in it."""

import contextlib
import copy
import io
import json
import math
import os
import re
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "scripts", "lib")]
import bench_page
import bench_report
import charts
from bench_table_test import CONDITION, COSTS, HEAD, MUTEX, OPERATIONS, POOL, README, RINGS, RWLOCK, SWIFT, WAIT_SET, content, tree

SVG = "{http://www.w3.org/2000/svg}"


def percentiles(node):
    return {"p50_ns": 10.0, "p99_ns": 100.0, "p99_9_ns": 1000.0, **node}


def with_percentiles(result, *lists):
    """The table's tests have only the percentiles that it shows."""
    result = copy.deepcopy(result)
    for name in lists:
        result[name] = [percentiles(node) for node in result.get(name, [])]
    return result


RESULTS = {
    "rwlock": with_percentiles(RWLOCK, "waits"),
    "rings": with_percentiles(RINGS, "round_trips"),
    "mutex": {**with_percentiles(MUTEX, "round_trips"), "waits": []},
    "condition": CONDITION,
    "wait_set": WAIT_SET,
    "pool": with_percentiles(POOL, "wake_ups"),
    "swift": SWIFT,
    "operations": OPERATIONS,
    "diagnosis": {"suite": "diagnosis", **HEAD, "calls": [
        {"call": "mutex, lock", **{mode: [1.0, 2.0, 3.0] for mode in ("off", "order", "contention", "hang", "all")}}]},
}


class Maker(unittest.TestCase):
    def made(self, *results, status=0, readme=README):
        """What is made of results, as name -> text, and what was said."""
        texts = {f"r{index}.json": result if isinstance(result, str) else json.dumps(result) for index, result in enumerate(results)}
        said = io.StringIO()
        with tree(**{"README.md": readme, **texts}), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            self.assertEqual(bench_report.main(["out", *texts]), status)
            paths = [os.path.join(folder, name) for folder in ("out", "docs/images/benchmarks") if os.path.isdir(folder)
                     for name in os.listdir(folder)]
            files = {os.path.basename(path): content(path) for path in paths}
            if status == 0:
                files |= {name: content(name) for name in ("README.md", "docs/benchmarks.md")}
        return files, said.getvalue()


class Report(Maker):
    def test_every_suite_has_its_charts_and_its_figures(self):
        files, _ = self.made(*RESULTS.values())
        page = files["index.html"]
        for suite in RESULTS:
            self.assertIn(f'<h2 id="{suite}">', page)
        for suite in bench_report.bench_table.SUITES:
            self.assertIn(f"<summary>All figures of {suite}</summary>", page)
            self.assertIn(f"{suite}.svg", files)
        self.assertIn('aria-label="Reads with 1 % writes, by threads"', files["scaling.svg"])
        for title in ("1 % writes", "writer beside 2 readers", "fork and join", "mutex, lock"):
            self.assertIn(f'aria-label="{title}"', page)
        self.assertEqual(set(json.loads(files["report.json"])["suites"]), set(RESULTS))
        self.assertRegex(json.loads(files["report.json"])["commit"], "^[0-9a-f]{12}")
        self.assertEqual(json.loads(files["report.json"])["suites"]["rwlock"]["arguments"], "--threads 2")

    def test_the_page_needs_nothing_else(self):
        page = self.made(*RESULTS.values())[0]["index.html"]
        self.assertEqual(set(re.findall(r"https?://[^\"<) ]*", page)), {"http://www.w3.org/2000/svg"})
        self.assertNotRegex(page, r"<(script|link|img|iframe)|url\(|@import")

    def test_charts_are_well_formed(self):
        files, _ = self.made(*RESULTS.values())
        pictures = re.findall(r"<svg.*?</svg>", files["index.html"], re.S)
        pictures += [text for name, text in files.items() if name.endswith(".svg")]
        self.assertGreater(len(pictures), 20)
        for picture in pictures:
            root = xml.etree.ElementTree.fromstring(picture)
            width, height = map(float, root.get("viewBox").split()[2:])
            for node in root.iter():
                for name, limit in (("x", width), ("cx", width), ("y", height), ("cy", height)):
                    if node.get(name):
                        self.assertTrue(0 <= float(node.get(name)) <= limit, f"{node.tag} {node.attrib}")
                self.assertNotRegex(" ".join(node.attrib.values()), r"\b(nan|inf)\b")

    def test_what_is_behind_is_listed_the_worst_first(self):
        page = self.made(*RESULTS.values())[0]["index.html"]
        behind = page[page.index('<h2 id="behind">'):]
        ratios = [float(text) for text in re.findall(r'data-column="ratio" class=number>([0-9.,]+)×<', behind)]
        self.assertTrue(ratios and ratios == sorted(ratios) and ratios[-1] <= 1)
        rows = re.findall(r'<tr( class="behind")?>(?:(?!</tr>|itself).)*?data-column="ratio" class=number>([0-9.,]+)×<', page)
        self.assertTrue(all(bool(marked) == (float(ratio.replace(",", "")) < 1) for marked, ratio in rows
                            if ratio != "1.00"))

    def test_every_figure_has_its_unit(self):
        page = self.made(*RESULTS.values())[0]["index.html"]
        figures = re.findall(r'data-column="(?:its )?figure" class=number>([^<]*)</td>', page)
        self.assertGreater(len(figures), 20)
        for figure in figures:
            self.assertRegex(figure, r"^(–|[0-9.,∞]+ (M/s|ns|µs|ms|s|B))$")
        self.assertEqual({figure.split()[-1] for figure in figures} & {"M/s", "ns", "B"}, {"M/s", "ns", "B"})

    def test_the_page_the_summary_and_the_charts_count_the_same_settings(self):
        files, _ = self.made(*RESULTS.values())
        page = files["index.html"]
        ahead, counted = map(int, re.search(r"in (\d+) of (\d+) settings", files["README.md"]).groups())
        self.assertIn(f"<p>{counted - ahead} of {counted} settings, the worst first.</p>", page)
        self.assertNotIn("itself", page[page.index('<h2 id="behind">'):])
        finite = [row.ratio for table in bench_page.tables(files["docs/benchmarks.md"])
                  for row in bench_page.counting(bench_page.rows_of(table)) if 0 < row.ratio < math.inf]
        overviews = re.findall(r"(\d+) settings, (\d+) behind: left", page)
        self.assertEqual([sum(map(int, column)) for column in zip(*overviews)], [len(finite), sum(one < 1 for one in finite)])

    def test_the_report_of_a_release_makes_all_of_it_anew(self):
        files, _ = self.made(*RESULTS.values())
        self.assertEqual(self.made(files["report.json"])[0], files)

    def test_a_result_keeps_the_commit_it_was_measured_at(self):
        for result in (RESULTS["mutex"], {**RESULTS["mutex"], "commit": "0123456789ab"}):
            with tree(**{"r.json": json.dumps(result)}):
                self.assertEqual(bench_report.main(["--stamp", "r.json"]), 0)
                stamped = json.loads(content("r.json"))
            self.assertEqual(stamped["commit"][:12], result.get("commit", bench_report.commit_of(HERE)[:12]))
            for name in ("index.html", "docs/benchmarks.md"):
                self.assertIn(f"Commit {stamped['commit']}.", self.made(stamped)[0][name])
        self.assertNotIn("Commit ", self.made(RESULTS["mutex"])[0]["index.html"])

    def test_names_are_text(self):
        result = copy.deepcopy(RESULTS["rwlock"])
        for cell in result["throughput_million_per_second"] + result["locks"]:
            if cell["lock"] == "parker":
                cell["lock"] = "<b>&parker"
        page = self.made(result)[0]["index.html"]
        self.assertNotIn("<b>", page)
        self.assertIn("&lt;b&gt;&amp;parker", page)

    def test_results_that_do_not_count_are_refused(self):
        for result, said in (
            ({**RESULTS["mutex"], "faults": 2}, "r0.json is of a run that found 2 faults"),
            ({**RESULTS["mutex"], "suite": "hats"}, "'suite' of r0.json is 'hats'; there are rwlock"),
            ({"suite": "rwlock"}, "r0.json has no 'faults'"),
            ("{", "r0.json is not JSON"),
        ):
            files, text = self.made(result, status=1)
            self.assertIn("error: " + said, text)
            self.assertEqual(files, {})

    def test_instructions_are_a_table_of_the_suites_that_counted_them(self):
        counted = {**RESULTS["rwlock"], "instructions": COSTS}
        page = self.made(counted, RESULTS["mutex"])[0]["index.html"]
        table = page[page.index("<h3>Instructions of one operation</h3>"):]
        rows = re.findall(r"<tr.*?</tr>", table[:table.index("</table>")])[1:]
        self.assertEqual(rows, [
            f'<tr{mark}><td data-column="contender">{name}</td><td data-column="operation">{operation}</td>'
            f'<td data-column="instructions" class=number>{instructions}</td>'
            f'<td data-column="locked" class=number>{locked}</td><td data-column="fences" class=number>{fences}</td></tr>'
            for mark, name, operation, instructions, locked, fences in (
                (" class=ours", "ilk_rwlock", "read, fenced", "43", "1", "0"),
                ("", "&lt;spinner&gt;", "write", "1,234", "2.2", "1"))])
        self.assertEqual(page.count("Instructions of one operation"), 1)

    def test_a_run_of_instructions_alone_has_no_charts(self):
        empty = {"throughput_million_per_second": [], "waits": [], "round_trips": [], "waiting": []}
        rings = [{("ring" if key == "lock" else key): value for key, value in row.items()} for row in COSTS]
        page = bench_report.page([bench_report.Node(result, "r") for result in (
            {**RESULTS["mutex"], **empty, "instructions": COSTS}, {**RESULTS["rwlock"], **empty, "instructions": COSTS},
            {**RESULTS["rings"], **empty, "instructions": rings})], "", "")
        self.assertEqual(page.count("<h3>Instructions of one operation</h3>"), 3)
        self.assertEqual(page.count("<h3>"), 3)
        self.assertNotIn("<svg", page)

    def test_a_busy_machine_is_told(self):
        page = self.made({**RESULTS["mutex"], "cores_used_by_others": 1.2})[0]["index.html"]
        self.assertIn("A busy machine", page)
        self.assertNotIn("A busy machine", self.made(RESULTS["mutex"])[0]["index.html"])

    def test_the_machines_state_is_told_where_it_is_known(self):
        page = self.made({**RESULTS["mutex"], "state": "shared"})[0]["index.html"]
        self.assertIn("cores meanwhile; the machine&#x27;s state: shared.", page)
        self.assertNotIn("state:", self.made(RESULTS["mutex"])[0]["index.html"])


class Summary(Maker):
    """The README's table."""

    def summary_of(self, *results, readme=README):
        return self.made(*results, readme=readme)[0]["README.md"]

    def test_each_question_has_its_best_and_its_worst(self):
        text = self.summary_of(RESULTS["rwlock"], RESULTS["swift"])
        # Ratios of 2 and 1.25; of a wait 0.02.
        self.assertIn("| Reader–writer locks, critical section of about 2.00 ns | 2 of 2 | 1.62× | 2.00× | – |", text)
        self.assertIn("| Waits for a lock that the others saturate | 0 of 1 | 0.0200× | 0.0200× | 0.0200×: ilk_rwlock, writer "
                      "beside 2 readers; parker |", text)
        self.assertRegex(text, r"A processor, 2 cores; 2026-01-31\. Ahead of the best peer in \d of \d settings\.")

    def test_what_ours_did_elsewhere_is_no_peer(self):
        self.assertNotIn("Random graphs of growing size", self.summary_of(RESULTS["operations"]))

    def test_it_is_written_anew(self):
        once = self.summary_of(RESULTS["rwlock"])
        self.assertEqual(self.summary_of(RESULTS["rwlock"], readme=once), once)

    def test_several_days_are_told(self):
        later = {**RESULTS["rings"], "date": "2026-02-01"}
        self.assertIn("; 2026-01-31 to 2026-02-01. ", self.summary_of(RESULTS["rwlock"], later))

    def test_what_does_not_count_is_refused(self):
        for result, readme, said in (
            (RESULTS["diagnosis"], README, "the results have no setting with a peer"),
            (RESULTS["rwlock"], "# Title\n", "the document has no place for the table: <!-- results -->"),
        ):
            self.assertIn(said, self.made(result, readme=readme, status=1)[1])


class Charts(unittest.TestCase):
    def nodes(self, svg, tag):
        return list(xml.etree.ElementTree.fromstring(svg).iter(SVG + tag))

    def test_bars_are_as_long_as_their_medians(self):
        svg = charts.bars("t", "u", [charts.Bar("a", [2.0, 4.0, 9.0], True), charts.Bar("b", [8.0], False)], False)
        bars = {node[0].text.split(":")[0]: float(node.get("width")) for node in self.nodes(svg, "rect")}
        self.assertAlmostEqual(bars["b"] / bars["a"], 2, places=1)
        self.assertEqual([node[0].text for node in self.nodes(svg, "rect")], ["b: 8.00", "a: 4.00"])
        less = charts.bars("t", "u", [charts.Bar("a", [9.0], True), charts.Bar("b", [8.0], False)], True)
        self.assertEqual([node[0].text for node in self.nodes(less, "rect")], ["b: 8.00", "a: 9.00"])

    def test_no_progress_has_no_bar(self):
        svg = charts.bars("t", "u", [charts.Bar("a", [math.inf], True), charts.Bar("b", [8.0], False)], True)
        self.assertEqual(len(self.nodes(svg, "rect")), 1)
        self.assertIn("no progress", svg)

    def test_a_tenth_is_one_decade_lower(self):
        rows = [charts.Line("a", {1.0: [100.0], 2.0: [10.0], 4.0: [1.0]}, True)]
        heights = [float(node.get("cy")) for node in self.nodes(charts.lines("t", "u", rows, "threads", {}), "circle")]
        self.assertAlmostEqual(heights[1] - heights[0], heights[2] - heights[1], places=1)
        self.assertGreater(heights[1], heights[0])

    def test_what_is_below_the_axis_is_marked_and_not_a_point_of_it(self):
        rows = [charts.Line("a", {1.0: [1000.0], 2.0: [0.2, 0.25, 0.3], 4.0: [0.1, 500.0, 600.0]}, True),
                charts.Line("b", {1.0: [0.0]}, False)]
        svg = charts.lines("t", "u", rows, "threads", {})
        marks = [node for node in self.nodes(svg, "path") if node.get("class") == "below"]
        self.assertEqual([mark[0].text for mark in marks],
                         ["b, 1: 0 at least, median 0", "a, 2: 0.20 at least, median 0.25", "a, 4: 0.10 at least, median 500"])
        self.assertEqual(len(self.nodes(svg, "circle")), 2)
        self.assertIn("u, more is better; ▼ below 1.00", svg)
        self.assertNotIn("▼", charts.lines("t", "u", [charts.Line("a", {1.0: [10.0]}, True)], "threads", {}))

    def test_the_end_of_a_span_above_the_axis_is_marked(self):
        rows = [charts.Line("a", {1.0: [5.0, 5.0, 500.0], 2.0: [6.0]}, True), charts.Line("grey", {1.0: [5.0, 5.0, 500.0]}, False)]
        svg = charts.lines("t", "u", rows, "threads", {})
        marks = [node for node in self.nodes(svg, "path") if node.get("class") == "above"]
        self.assertEqual([mark[0].text for mark in marks], ["a, 1: 500 at most, median 5.00"])
        self.assertIn("u, more is better; ▲ above 10.0", svg)
        self.assertNotIn("▲", charts.lines("t", "u", rows[1:], "threads", {}))

    def test_a_mark_that_is_explained_is_drawn(self):
        # Only ours and the coloured ones have spans.
        rows = [charts.Line("a", {1.0: [5000.0]}, True), charts.Line("grey", {1.0: [1.0, 100.0, 200.0]}, False)]
        self.assertNotIn("▼", charts.lines("t", "u", rows, "threads", {}))

    def test_the_end_of_a_span_below_the_axis_is_told_without_a_median_there(self):
        rows = [charts.Line("<a>", {1.0: [1000.0], 4.0: [0.1, 500.0, 600.0]}, True)]
        svg = charts.lines("t", "u", rows, "threads", {})
        self.assertIn("u, more is better; ▼ below 100", svg)
        marks = [node[0].text for node in self.nodes(svg, "path") if node.get("class") == "below"]
        self.assertEqual(marks, ["<a>, 4: 0.10 at least, median 500"])

    def test_a_span_stays_within_the_axis(self):
        rows = [charts.Line("a", {1.0: [90.0, 95.0, 9e6], 2.0: [0.001, 95.0, 99.0]}, True)]
        svg = charts.lines("t", "u", rows, "threads", {})
        axis = [float(re.search(r" ([0-9.]+)H", node.get("d")).group(1)) for node in self.nodes(svg, "path") if node.get("class") == "axis"]
        spans = [tuple(map(float, found.groups())) for node in self.nodes(svg, "path")
                 if (found := re.fullmatch(r"M[0-9.]+ ([0-9.]+)V([0-9.]+)", node.get("d")))]
        self.assertEqual(len(spans), 2)
        self.assertEqual((min(map(min, spans)), max(map(max, spans))), (min(axis), max(axis)))

    def test_the_figures_of_an_axis_have_room(self):
        svg = charts.lines("t", "u", [charts.Line("a", {1.0: [990_000.0], 2.0: [2000.0]}, True)], "nodes", {}, True)
        figures = [node for node in self.nodes(svg, "text") if node.get("text-anchor") == "end"]
        self.assertIn("100,000", [node.text for node in figures])
        for node in figures:
            self.assertGreaterEqual(float(node.get("x")) - 6.2 * len(node.text), 0, node.text)

    def test_a_ratio_of_one_is_on_its_mark(self):
        svg = charts.ratios("t", [charts.Ratio("even", 1.0), charts.Ratio("ahead", 4.0), charts.Ratio("behind", 0.25)])
        self.assertIn("3 settings, 1 behind: left of the line", svg)
        dots = {node[0].text.split(":")[0]: node for node in self.nodes(svg, "circle")}
        mark = next(node.get("x") for node in self.nodes(svg, "text") if node.text == "1×")
        self.assertEqual(dots["even"].get("cx"), mark)
        ahead, behind = (abs(float(dots[name].get("cx")) - float(mark)) for name in ("ahead", "behind"))
        self.assertAlmostEqual(ahead, behind, delta=0.2)
        self.assertEqual([name for name in dots if dots[name].get("fill") == "var(--ours)"], ["behind"])


if __name__ == "__main__":
    unittest.main()
