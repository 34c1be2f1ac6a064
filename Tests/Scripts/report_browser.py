# SPDX-License-Identifier: Apache-2.0
"""The report of all benchmarks in headless Chromium: drawn, without a request, on a phone and on a desk, light and dark.
Without a Chromium the tests are skipped.

INTERLOCK_PICTURES=FOLDER keeps pictures of the page.
"""

import contextlib
import io
import itertools
import json
import os
import pathlib
import tempfile
import unittest

import browser
from bench_report_test import RESULTS, bench_report
from bench_table_test import tree

WIDTHS = (360, 800, 1030, 1280)
CHROMIUM = browser.find()
NO_BROWSER = f"no {', '.join(browser.NAMES)} on the PATH"

# Text and shapes of a chart that lie outside of its picture.
OUTSIDE = """[...document.querySelectorAll("svg.chart")].flatMap(chart => {
  const all = chart.getBoundingClientRect();
  return [...chart.querySelectorAll("text, rect, circle")].filter(each => {
    const box = each.getBoundingClientRect();
    return box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 || box.bottom > all.bottom + 1;
  }).map(each => chart.getAttribute("aria-label") + ": " + (each.textContent || each.outerHTML));
})"""
WIDER_THAN_THE_SCREEN = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Cells that one would have to scroll sideways for.
CUT_OFF = """[...document.querySelectorAll("td")].filter(each => {
  const box = each.getBoundingClientRect(), screen = document.documentElement.clientWidth;
  return !box.width || box.left < 0 || box.right > screen || each.scrollWidth > each.clientWidth + 1;
}).map(each => each.textContent)"""
# The least height of a letter on the screen.
SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll("svg.chart text")]
  .map(each => each.getBoundingClientRect().height))"""


@unittest.skipUnless(CHROMIUM, NO_BROWSER)
class ReportInABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        texts = {name + ".json": json.dumps(result) for name, result in RESULTS.items()}
        with tree(**texts), contextlib.redirect_stdout(io.StringIO()):
            if bench_report.main([cls.folder, *texts]) != 0:
                raise AssertionError("the report was not written")
        cls.url = pathlib.Path(cls.folder, "index.html").as_uri()
        cls.browser = cls.enterClassContext(browser.Browser(CHROMIUM))

    @classmethod
    def tearDownClass(cls):
        folder = os.environ.get("INTERLOCK_PICTURES")
        for width, is_dark in itertools.product(WIDTHS, (False, True)) if folder else ():
            cls.browser.load(cls.url, width, is_dark)
            cls.browser.picture(os.path.join(folder, f"report-{width}-{'dark' if is_dark else 'light'}.png"))

    def test_nothing_is_asked_for_and_nothing_complained_of(self):
        for width in WIDTHS:
            self.browser.load(self.url, width)
            self.assertEqual(self.browser.complaints, [])
            self.assertEqual([url for url in self.browser.requests if url != self.url], [])

    def test_every_chart_is_drawn_within_its_picture(self):
        for width in WIDTHS:
            self.browser.load(self.url, width)
            heights = self.browser.value(
                '[...document.querySelectorAll("svg.chart")].map(each => each.getBoundingClientRect().height)')
            self.assertGreater(len(heights), 20)
            self.assertGreater(min(heights), 20)
            self.assertEqual(self.browser.value(OUTSIDE), [], f"at {width}")

    def test_it_fits_a_phone_and_can_be_read_there(self):
        for width in WIDTHS:
            self.browser.load(self.url, width)
            self.assertLessEqual(self.browser.value(WIDER_THAN_THE_SCREEN), 0, f"at {width}")
            self.assertGreaterEqual(self.browser.value(SMALLEST_TEXT), 9, f"at {width}")

    def test_every_cell_of_every_table_is_on_the_screen(self):
        for width in WIDTHS:
            self.browser.load(self.url, width)
            self.browser.value('document.querySelectorAll("details").forEach(each => each.open = true)')
            self.assertGreater(self.browser.value('document.querySelectorAll("td").length'), 100)
            self.assertEqual(self.browser.value(CUT_OFF), [], f"at {width}")

    def test_a_dark_scheme_is_followed(self):
        def light_of(is_dark, selector, what):
            self.browser.load(self.url, 1100, is_dark)
            colour = self.browser.value(f'getComputedStyle(document.querySelector("{selector}")).{what}')
            return sum(int(part) for part in colour[colour.index("(") + 1:-1].split(",")[:3]) / 3
        for selector, what in (("body", "backgroundColor"), ("body", "color"), ("svg.chart text", "fill")):
            is_ground = what == "backgroundColor"
            self.assertEqual(light_of(True, selector, what) < 100, is_ground, selector)
            self.assertEqual(light_of(False, selector, what) < 100, not is_ground, selector)


if __name__ == "__main__":
    unittest.main()
