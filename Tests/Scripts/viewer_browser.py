# SPDX-License-Identifier: Apache-2.0
"""The viewer of reports in a browser: viewer_report.c writes a real report, headless Chromium draws it, and what it has
drawn is compared with the report's JSON. Without a Chromium the tests are skipped.

INTERLOCK_PICTURES=FOLDER keeps pictures of it.
"""

import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTHS = (360, 1100)
CHROMIUM = browser.find()
NO_BROWSER = f"no {', '.join(browser.NAMES)} on the PATH"

# What of the graph lies outside of it, and the words of edges that a node covers.
HIDDEN = """(() => {
  const graph = document.querySelector("section[aria-labelledby=graph] svg"), all = graph.getBoundingClientRect();
  const boxes = selector => [...graph.querySelectorAll(selector)].map(each => [each, each.getBoundingClientRect()]);
  const isInside = box => box.left >= all.left && box.right <= all.right && box.top >= all.top && box.bottom <= all.bottom;
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const nodes = boxes("g rect"), words = boxes(":scope > text");
  return [...boxes("rect, text, .edge").filter(([, box]) => !isInside(box)),
    ...words.filter(([, box]) => nodes.some(([, node]) => meet(box, node)))].map(([each]) => each.outerHTML);
})()"""


def write_reports(folder):
    """report.json, the page report.html, and whole.html, which has the JSON inside the viewer: as docs/diagnosis.md says."""
    sources = [str(path) for path in sorted((ROOT / "Sources/CCore").rglob("*.[cS]"))]
    program = os.path.join(folder, "<u>viewed<u>")
    subprocess.run(
        [os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}/include", f"-I{ROOT}/Sources/CCore",
         str(ROOT / "Tests/Scripts/viewer_report.c"), *sources, "-o", program, "-lpthread", "-lbsd"],
        check=True, timeout=300)
    subprocess.run([program, "report.json", "report.html"], cwd=folder, check=True, timeout=120)
    shutil.copy(ROOT / "viewer/diagnosis.html", folder)
    command = re.search(r"^sed .* whole\.html$", (ROOT / "docs/diagnosis.md").read_text(encoding="utf-8"), re.M).group()
    subprocess.run(["sh", "-c", command], cwd=folder, check=True, timeout=60)


def waits_of(report):
    """The graph that is to be drawn: its nodes, and its edges of both kinds."""
    waiting = [thread for thread in report["threads"] if thread["waits"]]
    wanted = {thread["waits"]["object"] for thread in waiting}
    held = [(thread["id"], hold["object"]) for thread in report["threads"] for hold in thread["holds"]
            if hold["object"] in wanted]
    threads = {thread["id"] for thread in waiting} | {thread for thread, _ in held}
    return len(threads) + len(wanted), len(waiting), len(held)


@unittest.skipUnless(CHROMIUM, NO_BROWSER)
class ViewerInBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        write_reports(cls.folder)
        cls.report = json.loads(cls.path("report.json").read_text(encoding="utf-8"))
        cls.browser = cls.enterClassContext(browser.Browser(CHROMIUM))
        cls.url = cls.path("whole.html").as_uri()

    @classmethod
    def tearDownClass(cls):
        folder = os.environ.get("INTERLOCK_PICTURES")
        for width, is_dark in itertools.product(WIDTHS, (False, True)) if folder else ():
            cls.browser.load(cls.url, width, is_dark)
            cls.browser.picture(os.path.join(folder, f"viewer-{width}-{'dark' if is_dark else 'light'}.png"))

    @classmethod
    def path(cls, name):
        return pathlib.Path(cls.folder, name)

    def load(self, width=1100, is_dark=False, name="whole.html"):
        self.browser.load(self.path(name).as_uri(), width, is_dark)

    def await_that(self, condition):
        """Asks the page, frame by frame, until it holds; the browser's limit ends it."""
        self.browser.value(f"new Promise(done => {{ const look = () => {condition} ? done() : requestAnimationFrame(look); "
                           "look(); })")

    def count(self, selector):
        return self.browser.value(f"document.querySelectorAll({json.dumps(selector)}).length")

    def texts(self, selector):
        return self.browser.value(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.textContent)")

    def drawn(self, selector):
        """How many of these elements have an area or a length."""
        return self.browser.value(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.getBoundingClientRect())"
            ".filter(box => box.width > 1 || box.height > 1).length")

    # ---- What is in it ----

    def test_the_scripts_run_without_an_error_and_ask_for_nothing(self):
        for width in WIDTHS:
            self.load(width)
            self.assertEqual(self.browser.complaints, [])
            others = [url for url in self.browser.requests if url != self.url and not url.startswith("data:")]
            self.assertEqual((others, self.browser.requests.count(self.url)), ([], 1))

    def test_the_graph_has_the_nodes_and_edges_of_the_report(self):
        nodes, waits, holds = waits_of(self.report)
        self.assertEqual((nodes, waits, holds), (4, 2, 2))
        graph = "section[aria-labelledby=graph] svg "
        for width in WIDTHS:
            self.load(width)
            self.assertEqual(self.drawn(graph + "g rect"), nodes)
            self.assertEqual(self.drawn(graph + "path.edge.waits"), waits)
            self.assertEqual(self.drawn(graph + "path.edge.held"), holds)
            # Every one is in the cycle.
            self.assertEqual(self.count(graph + "g rect.cycle"), nodes)
            self.assertEqual(self.count(graph + "path.edge.cycle"), waits + holds)
            self.assertEqual(self.browser.value(HIDDEN), [], f"at {width}")
        self.assertEqual(self.texts("section[aria-labelledby=cycles] p"),
                         ["Cycle 1: " + self.report["cycles"][0]["text"]])

    def test_every_thread_has_its_row(self):
        self.load()
        rows = self.texts("section[aria-labelledby=threads] tbody tr")
        self.assertEqual(len(rows), len(self.report["threads"]))
        for thread in self.report["threads"]:
            self.assertEqual(sum(f"({thread['id']})" in row for row in rows), 1)
        self.assertIn(", in cycle 1", rows[0])
        self.assertIn("without a limit", rows[0])
        self.assertEqual(self.count("section[aria-labelledby=threads] details"), 2)

    def test_objects_are_shown_twenty_at_first_and_sorted_as_asked(self):
        self.load()
        part = "section[aria-labelledby=objects] "
        objects = len(self.report["objects"])
        self.assertGreater(objects, 20)
        self.assertEqual(self.count(part + "tbody tr"), 20)
        self.browser.value(f"document.querySelector('{part}button').click()")
        self.assertEqual(self.count(part + "tbody tr"), objects)
        acquired = lambda: [int(text) for text in self.texts(part + "tbody td:nth-child(2)")]
        self.browser.value(f"document.querySelectorAll('{part}th button')[1].click()")
        descending = acquired()
        self.assertEqual(descending, sorted((each["acquisitions"] for each in self.report["objects"]), reverse=True))
        self.browser.value(f"document.querySelectorAll('{part}th button')[1].click()")
        self.assertEqual(acquired(), descending[::-1])

    def test_every_histogram_has_its_bars(self):
        self.load()
        part = "section[aria-labelledby=histograms] "
        timed = [each for each in self.report["objects"] if each["wait"]["count"] + each["hold"]["count"] > 0]
        timed.sort(key=lambda each: -each["wait"]["total_ns"])
        self.assertEqual(self.count(part + "option"), len(timed))
        for index, each in enumerate(timed[:4]):
            self.browser.value(f"{{ const choice = document.querySelector('{part}select'); "
                               f"choice.value = {index}; choice.onchange(); }}")
            for kind in ("wait", "hold"):
                self.assertEqual(self.drawn(f"{part}svg rect.{kind}"), len(each[kind]["histogram"]), (each, kind))
        self.assertGreater(sum(len(each["wait"]["histogram"]) for each in timed[:4]), 1)

    def test_rings_timeline_and_orders_are_drawn(self):
        self.load()
        self.assertEqual(self.drawn("section[aria-labelledby=rings] path.curve"), 1)
        self.assertIn("3 of 3 now, 3 at most", self.texts("section[aria-labelledby=rings] p")[0])
        self.assertEqual(self.drawn("section[aria-labelledby=timeline] svg rect"), len(self.report["timeline"]))
        self.assertGreater(len(self.report["timeline"]), 0)
        self.assertEqual(self.texts("section[aria-labelledby=orders] p.bad"),
                         [order["text"] for order in self.report["orders"]])
        self.assertEqual(self.count("section[aria-labelledby=orders] pre"),
                         sum(len(order["stacks"]) for order in self.report["orders"]))

    # ---- How it is shown ----

    def test_names_with_markup_are_text(self):
        self.load()
        self.assertEqual(self.count("img, b, i, u, svg[onload], #report ~ script[src]"), 0)
        self.assertEqual(self.count("script"), 2)
        text = self.browser.value("document.querySelector('main').textContent")
        for name in ("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "<svg onload=alert(3)>",
                     'prices & "<b>more</b>"', "<b>clerk</b>", "<i>teller</i>"):
            self.assertIn(name, text)
        self.assertEqual(self.texts("h1"), ["Report of <u>viewed<u>"])
        self.assertEqual(self.browser.value("document.title"), "Report of <u>viewed<u>")

    def test_nothing_overflows_sideways(self):
        for width in WIDTHS:
            self.load(width)
            window, shown, needed = self.browser.value(
                "(root => [innerWidth, root.clientWidth, root.scrollWidth])(document.documentElement)")
            self.assertEqual(window, width)
            self.assertLessEqual(needed, shown, f"at {width}")

    def test_a_dark_scheme_is_used_where_it_is_asked_for(self):
        colors = []
        for is_dark in (False, True):
            self.load(is_dark=is_dark)
            colors.append(self.browser.value(
                "(style => [style.backgroundColor, style.color])(getComputedStyle(document.body))"))
        self.assertEqual(colors, [["rgb(255, 255, 255)", "rgb(22, 25, 29)"], ["rgb(20, 23, 27)", "rgb(232, 235, 239)"]])

    # ---- How a report comes to it ----

    def has_drawn_the_report(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertEqual(self.count("section[aria-labelledby=threads] tbody tr"), len(self.report["threads"]))
        self.assertEqual((self.count("h1"), self.count("nav")), (1, 1))

    def test_it_asks_for_a_report_and_draws_the_file_that_is_chosen(self):
        self.load(name="diagnosis.html")
        self.assertEqual(self.browser.complaints, [])
        self.assertIn("Choose a report", self.texts("main")[0])
        self.browser.choose("#file", self.path("report.json"))
        self.await_that("document.title.startsWith('Report of')")
        self.has_drawn_the_report()

    def test_it_draws_what_is_dropped_in_the_place_of_what_was_shown(self):
        self.load()
        for name in ("report.html", "report.json"):
            text = json.dumps(self.path(name).read_text(encoding="utf-8"))
            self.browser.value(f"{{ document.title = ''; const dataTransfer = new DataTransfer(); "
                               f"dataTransfer.items.add(new File([{text}], '{name}')); "
                               "document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true })); }")
            self.await_that("document.title.startsWith('Report of')")
            self.has_drawn_the_report()

    def test_what_is_no_report_is_told(self):
        for text in ("{", "[]", "null", '{"threads": []}'):
            self.path("other.html").write_text(
                (ROOT / "viewer/diagnosis.html").read_text(encoding="utf-8").replace("@REPORT@", text, 1), encoding="utf-8")
            self.load(name="other.html")
            self.assertEqual(self.browser.complaints, [])
            self.assertIn("There is no report in this", self.texts("main")[0])

    def test_a_programs_page_is_drawn_by_the_viewer_in_its_folder(self):
        self.load(name="report.html")
        self.await_that("document.getElementById('hint').hidden")
        self.assertEqual(self.browser.complaints, [])
        rows = "document.querySelectorAll('section[aria-labelledby=threads] tbody tr').length"
        self.assertEqual(self.browser.value_in_frame(rows), len(self.report["threads"]))

    def test_a_programs_page_alone_says_where_the_viewer_is(self):
        self.path("alone").mkdir()
        shutil.copy(self.path("report.html"), self.path("alone"))
        self.load(name="alone/report.html")
        self.assertFalse(self.browser.value("document.getElementById('hint').hidden"))
        self.assertIn("share/interlock", self.texts("#hint")[0])


if __name__ == "__main__":
    unittest.main()
