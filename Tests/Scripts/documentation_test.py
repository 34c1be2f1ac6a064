# SPDX-License-Identifier: Apache-2.0
"""What scripts/docs does beside docc: links of articles and papers, docc's warnings, the links of an archive."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/lib"))

import documentation

PAGES = {"docs/rings.md": "paper-rings", "Sources/SwiftFacade/Interlock/Interlock.docc/Choosing.md": "Choosing"}


def archived(text, name="docs/pool.md"):
    return documentation.for_the_archive(text, name, PAGES)


class Catalogue(unittest.TestCase):
    def test_a_link_to_a_paper_leads_to_its_page(self):
        self.assertEqual(archived("see [rings](rings.md#closing)"), "see [rings](doc:paper-rings)")
        article = "Sources/SwiftFacade/Interlock/Interlock.docc/Choosing.md"
        self.assertEqual(archived("[it](../../../../docs/rings.md)", article), "[it](doc:paper-rings)")

    def test_a_link_of_a_paper_to_the_guide_leads_to_its_article(self):
        link = "[the guide](../Sources/SwiftFacade/Interlock/Interlock.docc/Choosing.md)"
        self.assertEqual(archived(link), "[the guide](doc:Choosing)")

    def test_a_link_to_what_the_archive_has_not_becomes_its_words(self):
        self.assertEqual(archived("see [pool.h](../include/interlock/pool.h)."), "see pool.h.")
        self.assertEqual(archived("[`a[1]`](../README.md) and [below](#below)"), "`a[1]` and below")

    def test_addresses_and_code_stay(self):
        text = "[x](https://example.org/a.md) `[y](rings.md)` <doc:Other> [z](doc:Other)\n```c\n[w](rings.md)\n```\n"
        self.assertEqual(archived(text), text)


class LongPapers(unittest.TestCase):
    def divided(self, text):
        with tempfile.TemporaryDirectory() as folder:
            paper = pathlib.Path(folder, "paper-long.md")
            paper.write_text(text, encoding="utf-8")
            documentation.divide(str(paper))
            return {path.name: path.read_text(encoding="utf-8") for path in pathlib.Path(folder).iterdir()}

    def test_a_short_paper_is_one_page(self):
        self.assertEqual(self.divided("# A\n\n## B\n\nC\n"), {"paper-long.md": "# A\n\n## B\n\nC\n"})

    def test_a_long_paper_is_a_page_for_each_chapter(self):
        words = "word " * 13_000
        pages = self.divided(f"# A\n\nBegin.\n\n## B & c\n\n{words}\n\n### D\n\n```\n## no chapter\n```\n\n## E\n\nF\n")
        self.assertEqual(pages["paper-long.md"], "# A\n\nBegin.\n\n## Topics\n\n### Chapters\n\n"
                         "- <doc:paper-long-b-c>\n- <doc:paper-long-e>\n")
        self.assertEqual(pages["paper-long-b-c.md"], f"# B & c\n\nOf <doc:paper-long>.\n\n{words}\n\n## D\n\n"
                         "```\n## no chapter\n```\n")
        self.assertEqual(pages["paper-long-e.md"], "# E\n\nOf <doc:paper-long>.\n\nF\n")

    def test_no_chapter_takes_the_page_of_another(self):
        pages = self.divided("# A\n\n" + "word " * 13_000 + "\n\n## C\n\nFirst.\n\n## C++\n\nSecond.\n")
        self.assertEqual(len(pages), 3)
        for words in ("First.", "Second."):
            self.assertEqual(sum(words in page for page in pages.values()), 1)

    def test_a_long_table_is_cut_between_rows(self):
        rows = [f"| {number} | {'x' * 600} |" for number in range(110)]
        pages = self.divided("# A\n\n## B\n\n| n | x |\n|---|---|\n" + "\n".join(rows) + "\n")
        parts = [pages[f"paper-long-b-part-{part}.md"] for part in (1, 2, 3, 4)]
        self.assertEqual(len(pages), 5)
        self.assertEqual([line for part in parts for line in part.splitlines()[6:]], rows)
        for part in parts:
            self.assertIn("\n\n| n | x |\n|---|---|\n| ", part)
            self.assertLess(len(part), documentation.LONGEST_TABLE + 1_000)

    def test_no_page_of_the_papers_is_long_and_each_has_its_images(self):
        with tempfile.TemporaryDirectory() as folder:
            documentation.catalogue(str(ROOT), str(pathlib.Path(folder, "catalogue")))
            sizes = {path.name: len(path.read_text(encoding="utf-8"))
                     for path in pathlib.Path(folder, "catalogue/Papers").glob("*.md")}
            self.assertLessEqual({"paper-rings.md", "paper-promises.md", "paper-labels.md"}, sizes.keys())
            self.assertEqual([name for name, size in sizes.items() if size > documentation.LONGEST], [])
            images = {image for page in pathlib.Path(folder, "catalogue/Papers").glob("*.md")
                      for _, image in documentation.IMAGE.findall(page.read_text(encoding="utf-8"))}
            self.assertTrue(images)
            self.assertEqual([name for name in images if not pathlib.Path(folder, "catalogue/Papers", name).is_file()], [])


class Diagnostics(unittest.TestCase):
    def found(self, *findings):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "diagnostics.json")
            path.write_text(json.dumps({"diagnostics": list(findings)}), encoding="utf-8")
            return list(documentation.diagnostics(path))

    def test_a_link_that_is_not_resolved_counts(self):
        finding = {
            "summary": "'Latsch' doesn't exist at '/Interlock'", "severity": "warning", "source": "file:///a.md",
            "range": {"start": {"line": 7}}, "solutions": [{"summary": "Replace 'Latsch' with 'Latch'"}]}
        self.assertEqual(
            self.found(finding),
            ["/a.md:7: warning: 'Latsch' doesn't exist at '/Interlock'; Replace 'Latsch' with 'Latch'"])

    def test_a_parameter_without_a_line_is_spared_and_one_that_is_not_there_counts(self):
        spared = {"summary": "Parameter 'key' is missing documentation", "severity": "warning", "source": "file:///a"}
        counted = dict(spared, summary="Parameter 'kye' not found in instance method declaration")
        self.assertEqual(len(self.found(spared, counted)), 1)


class Archive(unittest.TestCase):
    """An archive of two pages; each test breaks it, or does not."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.archive = pathlib.Path(folder.name)
        self.page("one", {"references": {"two": {"url": "/documentation/two#A-heading"}}})
        self.page("two", {"primaryContentSections": [{"anchor": "A-heading"}]})
        (self.archive / "style.css").write_text("")
        (self.archive / "documentation/interlock").mkdir()
        (self.archive / "documentation/interlock/index.html").write_text("")
        documentation.complete(str(self.archive))

    def page(self, name, content):
        html = self.archive / "documentation" / name / "index.html"
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text('<link href="/style.css">')
        data = self.archive / "data/documentation" / (name + ".json")
        data.parent.mkdir(parents=True, exist_ok=True)
        data.write_text(json.dumps(content))

    def links(self):
        return list(documentation.archive_links(str(self.archive)))

    def test_a_whole_archive_passes(self):
        self.assertEqual(self.links(), [])

    def test_the_address_of_the_server_leads_to_the_first_page(self):
        self.assertIn('content="0; url=/documentation/interlock/"', (self.archive / "index.html").read_text())
        (self.archive / "index.html").unlink()
        self.assertEqual(self.links(), [f"{self.archive}: has no index.html"])

    def test_the_settings_that_every_page_asks_for_are_there(self):
        self.assertEqual(json.loads((self.archive / "theme-settings.json").read_text()), {})
        (self.archive / "theme-settings.json").unlink()
        self.assertEqual(self.links(), [f"{self.archive}: has no theme-settings.json"])

    def test_settings_of_the_archive_stay(self):
        (self.archive / "theme-settings.json").write_text('{"theme": {}}')
        documentation.complete(str(self.archive))
        self.assertEqual((self.archive / "theme-settings.json").read_text(), '{"theme": {}}')

    def test_a_heading_of_another_page_is_not_one_of_this(self):
        self.page("two", {"references": {"x": {"anchor": "A-heading"}}})
        self.assertEqual(self.links(), ["/documentation/one: no such heading: /documentation/two#A-heading"])

    def test_a_page_that_is_not_there_is_found(self):
        self.page("one", {"references": {"x": {"url": "/documentation/three"}}})
        self.assertEqual(self.links(), ["/documentation/one: leads nowhere: /documentation/three"])

    def test_a_heading_that_is_not_there_is_found(self):
        self.page("one", {"references": {"x": {"url": "/documentation/two#B"}}})
        self.assertEqual(self.links(), ["/documentation/one: no such heading: /documentation/two#B"])

    def test_a_file_that_is_not_there_is_found(self):
        self.page("one", {"references": {"x": {"url": "../../../../docs/no-paper.md"}}})
        (self.archive / "style.css").unlink()
        self.assertEqual(len(self.links()), 3)

    def test_a_page_without_its_html_is_found(self):
        (self.archive / "documentation/two/index.html").unlink()
        self.assertEqual(self.links(), ["/documentation/two: has no index.html"])

    def test_a_chapter_of_tutorials_needs_no_page(self):
        chapter = {"url": "/tutorials/guide/work"}
        self.page("one", {"hierarchy": {"modules": [{"reference": "c"}]}, "references": {"c": chapter}})
        self.assertEqual(self.links(), [])
        self.page("one", {"references": {"c": chapter}})
        self.assertEqual(len(self.links()), 1)

    def test_an_archive_without_pages_does_not_pass(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(len(list(documentation.archive_links(empty))), 3)


if __name__ == "__main__":
    unittest.main()
