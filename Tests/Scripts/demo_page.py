# SPDX-License-Identifier: Apache-2.0
"""The page that the demo wrote, in headless Chromium: demo_page.py PAGE. Nothing sticks out sideways on a phone and on a
desk, also where names are long; each picture's place has its height before it is decoded, and no picture is higher
than a screen but the contact sheet. Without a Chromium it says so and passes.
"""

import pathlib
import re
import sys

import browser

WIDTHS = (390, 1280)
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Pictures that are far below the window are not decoded yet.
COLLAPSED = """[...document.querySelectorAll("img")].filter(each =>
  !each.getAttribute("height") || each.getBoundingClientRect().height < 1).map(each => each.alt)"""
TOO_HIGH = """[...document.querySelectorAll(".pair img, .download img")].filter(each =>
  each.getBoundingClientRect().height > 800).map(each => each.alt)"""


def faults(path):
    html = pathlib.Path(path).read_text(encoding="utf-8")
    # The time in a chart's title is the one that the text tells.
    for name, time in re.findall(r"<figcaption>(Interlock|GCD alone): ([^<]*)</figcaption>", html):
        if f"{name} {time}" not in html:
            yield f"the chart of {name} has {time}, which the text has not"
    with browser.Browser(browser.find()) as tab:
        for width in WIDTHS:
            tab.load(pathlib.Path(path).resolve().as_uri(), width)
            if (wider := tab.value(TOO_WIDE)) > 0:
                yield f"at {width} the page is {wider} pixels too wide"
            for what, expression in (("collapsed", COLLAPSED), ("too high", TOO_HIGH)):
                if found := tab.value(expression):
                    yield f"at {width} pictures are {what}: {found}"
            yield from (f"at {width}: {complaint}" for complaint in tab.complaints)


def main(arguments):
    if not browser.find():
        print(f"no {', '.join(browser.NAMES)} on the PATH: the page was not drawn")
        return 0
    found = list(faults(arguments[0]))
    for fault in found:
        print(f"error: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
