# SPDX-License-Identifier: Apache-2.0
"""The machine's state in the benchmarks: the checks of Workshop/Benchmarks/state/self_test.cpp, what a suite prints, and the
values of --until-quiet. And what the suites of runner/spans.h refuse to measure. Compiles the runner, without peers."""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = ("clock", "options", "probe", "report", "rounds", "slice", "state", "states", "suite", "until_quiet", "urgent")


def run(*arguments, **options):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, timeout=300,
                          check=False, **options)


class State(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        sources = [ROOT / f"Workshop/Benchmarks/runner/{name}.cpp" for name in RUNNER]
        own = [ROOT / "Workshop/Benchmarks/state/main.cpp", ROOT / "Workshop/Benchmarks/state/self_test.cpp"]
        own += [ROOT / f"Tests/Scripts/bench_{name}.cpp" for name in ("suite", "wait_set", "condition")]
        compiler = os.environ.get("CXX", "c++")

        def compiled(source):
            built = os.path.join(cls.folder.name, source.stem + ".o")
            done = run(compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", '-DINTERLOCK_BENCH_MISSING=""', "-c", source, "-o", built)
            if done.returncode:
                raise AssertionError(done.stderr)
            return built

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compiled, sources + own))
        shared, (main, checks, suite, wait_set, condition) = objects[:len(RUNNER)], objects[len(RUNNER):]
        cls.program, cls.suite, cls.wait_set, cls.condition = (
            os.path.join(cls.folder.name, name) for name in ("state", "suite", "wait_set", "condition"))
        for program, parts in ((cls.program, [main, checks]), (cls.suite, [suite]), (cls.wait_set, [wait_set]),
                               (cls.condition, [condition])):
            linked = run(compiler, *parts, *shared, "-pthread", "-o", program)
            if linked.returncode:
                raise AssertionError(linked.stderr)

    def test_the_judgement_holds(self):
        done = run(self.program, "--self-test")
        self.assertEqual(re.findall("^FAILED .*", done.stdout, re.MULTILINE), [])
        self.assertRegex(done.stdout, r"(?m)^[1-9][0-9]* passed, 0 failed$")
        self.assertEqual(done.returncode, 0)

    def test_a_probe_is_a_sentence_and_json_and_keeps_its_best(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "best")
            with open(kept, "w", encoding="utf-8") as file:
                file.write("1000000 0.001 0.001\n")  # no machine is so fast: every probe beside it is of a shared one
            done = run(self.program, "--keep", kept)
            sentence, text = done.stdout.split("\n", 1)
            probed = json.loads(text)
            self.assertTrue(sentence.startswith("shared ("), sentence)
            self.assertEqual(probed["state"], "shared")
            self.assertIn("at best", "; ".join(probed["reasons"]))
            self.assertGreater(probed["additions_per_ns"], 0)
            with open(kept, encoding="utf-8") as file:
                self.assertEqual([float(word) for word in file.read().split()], [1000000, 0.001, 0.001])

    def test_on_one_core_no_line_trip_is_taken(self):
        core = min(os.sched_getaffinity(0))
        done = run(self.program, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        sentence, text = done.stdout.split("\n", 1)
        self.assertEqual(json.loads(text)["line_trip_ns"], 0)
        self.assertNotIn("line trip", sentence)

    def test_bad_minutes_are_named_before_anything_is_measured(self):
        for program, flags in ((self.program, ["--check"]), (self.suite, [])):
            for value in ("0", "0.0", "1440.5", "1e9"):
                done = run(program, *flags, "--until-quiet", value)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"error: --until-quiet takes minutes, more than 0 and at most 1440, not {value};", done.stderr)
            for value in ("-1", "nan", "soon", "5m"):
                done = run(program, *flags, "--until-quiet=" + value)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"error: --until-quiet: not a number: {value};", done.stderr)
                self.assertNotIn("measured", done.stderr)
            done = run(program, *flags, "--until-quiet")
            self.assertEqual(done.returncode, 2)
            self.assertIn("error: --until-quiet needs a value;", done.stderr)
        for value in ("0.001", "1440"):
            self.assertEqual(run(self.program, "--check", "--until-quiet", value).returncode, 0)

    def test_a_suite_prints_and_writes_the_state_around_each_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "small.json")
            done = run(self.suite, "--json", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
        self.assertEqual([table["table"] for table in result["states"]], ["First", "Second"])
        first, second = result["states"]
        self.assertEqual(first["after"]["additions_per_ns"], second["before"]["additions_per_ns"])
        for table in (first, second):
            both = {table["before"]["state"], table["after"]["state"]}
            self.assertEqual(table["state"], both.pop() if len(both) == 1 else "changed")
        lines = [line for line in done.stdout.split("\n") if line]
        for name, table in (("first", first), ("second", second)):
            place = lines.index(f"## {name.capitalize()}")
            self.assertTrue(lines[place + 1].startswith(f"Before: {table['before']['state']}"), lines[place + 1])
            row = next(index for index in range(place, len(lines)) if re.fullmatch(rf"\| {name} *\|", lines[index]))
            changed = r"\*\*changed\*\*, " if table["state"] == "changed" else ""
            self.assertRegex(lines[row + 1], f"^After: {changed}{table['after']['state']}")
        self.assertIn(f"The machine's state: {result['state']}.", done.stdout)

    def spans(self, program, contender, **environment):
        return run(program, "--only", contender, "--rounds", 1, "--count", 50, "--no-state", env={**os.environ, **environment})

    def test_spans_are_measured(self):
        for program, rows in ((self.wait_set, ("flow", "trip")), (self.condition, ("turns", "buffer", "distinct"))):
            done = self.spans(program, "right")
            self.assertEqual(done.returncode, 0, done.stderr)
            for row in rows:
                self.assertRegex(done.stdout, rf"(?m)^\| {row} +\| +[1-9]")

    def test_no_span_has_a_wait_without_its_end_or_a_number_twice(self):
        for program, contender in ((self.condition, "hasty"), (self.wait_set, "doubling")):
            done = self.spans(program, contender)
            self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, ""))

    def test_a_span_without_work_is_a_fault(self):
        done = self.spans(self.wait_set, "idle")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(re.findall("error: idle: no work, ", done.stderr)), 2)

    def test_no_contender_takes_the_place_of_another(self):
        done = self.spans(self.wait_set, "right", TWICE="1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("second: its position is taken", done.stderr)

    def test_a_suite_waits_before_its_first_cell_and_goes_on(self):
        said = run(self.suite, "--until-quiet", "0.0001").stderr.split("\n")
        ends = [index for index, line in enumerate(said) if line.startswith("going on without a quiet machine: time is up after 0.0001 minutes")]
        self.assertEqual(len(ends), 1, said)
        self.assertGreater(said.index("measured a cell of First"), ends[0])


if __name__ == "__main__":
    unittest.main()
