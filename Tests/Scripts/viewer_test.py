# SPDX-License-Identifier: Apache-2.0
"""The viewer of reports is one file, and the documented command puts a report into it. viewer_browser.py draws with it."""

import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VIEWER = (ROOT / "viewer/diagnosis.html").read_text(encoding="utf-8")


class Viewer(unittest.TestCase):
    def test_it_needs_no_other_file_and_no_network(self):
        self.assertNotRegex(VIEWER, r"<(script|img|iframe)[^>]* src=|<link[^>]* href=\"(?!data:)|url\((?!#)|@import|fetch\(")
        self.assertIn("default-src 'none'", VIEWER)

    def test_the_documented_command_puts_a_report_into_it(self):
        text = (ROOT / "docs/diagnosis.md").read_text(encoding="utf-8")
        command = re.search(r"^sed .*> whole\.html$", text, re.M).group()
        report = '{\n "name": "a & \\u003cb> \\\\ /@REPORT@"\n}\n'
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "report.json").write_text(report, encoding="utf-8")
            pathlib.Path(folder, "diagnosis.html").write_text(VIEWER, encoding="utf-8")
            subprocess.run(["sh", "-c", command], cwd=folder, check=True, timeout=60)
            whole = pathlib.Path(folder, "whole.html").read_text(encoding="utf-8")
        self.assertEqual(VIEWER.count("\n@REPORT@\n"), 1)
        self.assertEqual(whole, VIEWER.replace("@REPORT@\n", report))


if __name__ == "__main__":
    unittest.main()
