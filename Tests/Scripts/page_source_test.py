# SPDX-License-Identifier: Apache-2.0
"""The page of a diagnosis in C is what page.html makes, and is that page again."""

import ast
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/lib/page_source.py"
FOLDER = ROOT / "Sources/CCore/diagnostics"


def text_of(source, name):
    """What the C strings of an array say."""
    body = re.search(name + r"\[\] = \{\n(.*?)\n    NULL\};", source, re.S).group(1)
    return "".join(ast.literal_eval(line.strip().rstrip(",")) for line in body.splitlines())


class PageSource(unittest.TestCase):
    def test_the_source_is_what_the_page_makes(self):
        run = subprocess.run([sys.executable, SCRIPT, "--check"], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_the_source_has_the_whole_page_but_for_indentation(self):
        source = (FOLDER / "page.c").read_text(encoding="utf-8").replace("\\?", "?")
        page = (FOLDER / "page.html").read_text(encoding="utf-8")
        page = page.replace("SPDX-License-Identifier: Apache-2.0", "Interlock", 1)
        begin, end = page.split("@REPORT@")
        lines = lambda text: [line.lstrip(" ") for line in text.splitlines()]
        self.assertEqual(lines(text_of(source, "ilk__page_begin")), lines(begin))
        self.assertEqual(lines(text_of(source, "ilk__page_end")), lines(end))


if __name__ == "__main__":
    unittest.main()
