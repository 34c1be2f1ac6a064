# SPDX-License-Identifier: Apache-2.0
"""The record of scripts/mutants: a verdict holds for one text of the mutated file."""

import importlib.machinery
import importlib.util
import os
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("mutants", str(ROOT / "scripts/mutants"))
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", LOADER))
LOADER.exec_module(mutants)

RING = mutants.Mutant("Sources/CCore/ring/x.c:SP1#1 release->relaxed", "Sources/CCore/ring/x.c", "int one;")
LATCH = mutants.Mutant("Sources/CCore/sync/x.c:LA1#1 acquire->relaxed", "Sources/CCore/sync/x.c", "int two;")


class RecordTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "record")

    def test_a_verdict_is_found_again(self):
        record = mutants.Record(self.path)
        record.add(RING, "spsc-close (sc)", "deadlock")
        record.add(LATCH, None, None)
        again = mutants.Record(self.path)
        self.assertEqual((again.of(RING).verdict, again.of(RING).how), ("killed", "deadlock"))
        self.assertEqual(again.of(LATCH).verdict, "survives")
        self.assertRegex(again.of(RING).commit, r"^[0-9a-f]{8}\+?$")

    def test_a_changed_file_has_no_verdict(self):
        record = mutants.Record(self.path)
        record.add(RING, "spsc-close (sc)", "deadlock")
        self.assertIsNone(record.of(RING._replace(text="int other;")))
        self.assertIsNone(record.of(LATCH))

    def test_the_last_verdict_counts(self):
        mutants.Record(self.path).add(RING, None, None)
        mutants.Record(self.path).add(RING, "spsc-close (sc)", "deadlock")
        self.assertEqual(mutants.Record(self.path).of(RING).verdict, "killed")

    def test_a_broken_line_is_named(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("killed\tonly two\n")
        with self.assertRaisesRegex(SystemExit, "record:1: not a verdict"):
            mutants.Record(self.path)

    def test_the_table_counts_by_part_and_finding(self):
        record = mutants.Record(self.path)
        record.add(RING, "spsc-close (sc)", "deadlock")
        self.assertEqual(record.table([RING, LATCH]), "\n".join([
            "| part | mutants | deadlock | no verdict |", "|---|---:|---:|---:|",
            "| ring | 1 | 1 | 0 |", "| sync | 1 | 0 | 1 |", "| all | 2 | 1 | 1 |"]))


if __name__ == "__main__":
    unittest.main()
