# SPDX-License-Identifier: Apache-2.0
"""What scripts/mutants takes for a verdict, and its record: a verdict holds for one text of the mutated file, and none is
lost or made by an interruption."""

import importlib.machinery
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

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

    def test_a_line_that_was_being_written_is_written_anew(self):
        mutants.Record(self.path).add(RING, "spsc-close (sc)", "deadlock")
        first = pathlib.Path(self.path).read_bytes()
        mutants.Record(self.path).add(LATCH, None, None)
        second = pathlib.Path(self.path).read_bytes()[len(first):]
        for written in range(1, len(second)):
            pathlib.Path(self.path).write_bytes(first + second[:written])
            record = mutants.Record(self.path)
            self.assertIsNone(record.of(LATCH))
            record.add(LATCH, None, None)
            self.assertEqual(pathlib.Path(self.path).read_bytes(), first + second)

    def test_the_table_counts_by_part_and_finding(self):
        record = mutants.Record(self.path)
        record.add(RING, "spsc-close (sc)", "deadlock")
        self.assertEqual(record.table([RING, LATCH]), "\n".join([
            "| part | mutants | deadlock | no verdict |", "|---|---:|---:|---:|",
            "| ring | 1 | 1 | 0 |", "| sync | 1 | 0 | 1 |", "| all | 2 | 1 | 1 |"]))


class VerdictTest(unittest.TestCase):
    """Of one mutant, by what the explorer does: a shell script here."""

    def verdict(self, script):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "explore"
            program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            program.chmod(0o700)
            return mutants.hunt(mock.Mock(program=lambda mutant, backend: str(program)), RING)

    def test_a_scenario_that_fails_kills(self):
        self.assertEqual(self.verdict("echo 'WRONG  spsc-close  sc'; echo 'spsc-close: deadlock'; exit 1"),
                         ("spsc-close (sc)", "deadlock"))

    def test_a_crash_kills(self):
        self.assertEqual(self.verdict("kill -SEGV $$"), ("crash", f"exit status {-signal.SIGSEGV}"))

    def test_none_that_fails_survives(self):
        self.assertEqual(self.verdict("exit 0"), (None, None))

    def test_the_larger_budget_may_find_it(self):
        self.assertEqual(self.verdict("case \"$*\" in *--hunt*) echo 'WRONG  spsc-close  weak'; exit 1;; esac"),
                         ("spsc-close (weak)", "?"))

    def test_an_explorer_that_was_ended_or_did_not_understand_gives_none(self):
        for script in ("kill -INT $$", "kill -TERM $$", "kill -KILL $$", "exit 2", "exit 127"):
            with self.assertRaisesRegex(SystemExit, "no verdict", msg=script):
                self.verdict(script)

    def test_what_does_not_compile_gives_none(self):
        builder = object.__new__(mutants.Builder)
        builder.folder = builder.explorer = builder.tree = "/nowhere"
        with mock.patch.dict(os.environ, CC="false"), self.assertRaisesRegex(SystemExit, "does not compile"):
            builder.compile("x.c", "x.o", "futex", True)


# A run on twelve mutants whose verdicts take no time. Each hunt writes a line, and so many lines before it interrupt it.
RUN = """
import importlib.machinery, importlib.util, os, signal, sys, types
script, hunts, interruption, lines, *arguments = sys.argv[1:]
loader = importlib.machinery.SourceFileLoader("mutants", script)
mutants = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
loader.exec_module(mutants)

def hunt(builder, mutant):
    with open(hunts, "a+") as file:
        file.seek(0)
        before = len(file.readlines())
        file.write(mutant.name + "\\n")
    if before == int(lines):
        if interruption == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise SystemExit("mutants: no verdict")
    return "spsc-close (sc)", "deadlock"

mutants.hunt = hunt
mutants.Builder = lambda folder: types.SimpleNamespace(program=lambda mutant, backend: "true")
mutants.read_survivors = dict
mutants.all_mutants = lambda: [mutants.Mutant(f"x.c:SP{n}#1 release->relaxed", "x.c", str(n)) for n in range(12)]
sys.argv = [script, "--jobs", "1", *arguments]
sys.exit(mutants.main())
"""


class InterruptionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_once(self, interruption, lines, *more):
        command = [sys.executable, "-B", "-c", RUN, ROOT / "scripts/mutants", self.folder / "hunts", interruption, str(lines),
                   "--record", self.folder / "record", *more]
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(self.folder)},
                              check=False, timeout=60)

    def lines(self, name):
        return (self.folder / name).read_text(encoding="utf-8").splitlines()

    def test_a_killed_run_goes_on_where_it_was(self):
        self.assertEqual(self.run_once("kill", 3).returncode, -signal.SIGKILL)
        self.assertEqual((len(self.lines("hunts")), len(self.lines("record"))), (4, 3))
        self.assertEqual(self.run_once("kill", 9).returncode, -signal.SIGKILL)
        last = self.run_once("none", -1)
        self.assertEqual(last.returncode, 0, last.stdout + last.stderr)
        self.assertEqual(len(self.lines("hunts")), 12 + 2)
        self.assertEqual(len({line.split("\t")[1] for line in self.lines("record")}), 12)
        self.assertEqual(len(self.lines("record")), 12)

    def test_no_hunt_begins_behind_one_without_a_verdict(self):
        done = self.run_once("no verdict", 5)
        self.assertEqual((done.returncode, done.stderr), (1, "mutants: no verdict\n"))
        self.assertEqual((len(self.lines("hunts")), len(self.lines("record"))), (6, 5))

    def test_no_hunt_begins_when_the_minutes_are_over(self):
        done = self.run_once("none", -1, "--minutes", "0")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("12 without a verdict", done.stdout)


if __name__ == "__main__":
    unittest.main()
