# SPDX-License-Identifier: Apache-2.0
"""The steps of scripts/test and scripts/prove (scripts/lib/steps.sh): what fails, is skipped or runs nothing is told, and an
interrupt ends everything (.ci/run)."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

CTEST = """\
    Start 1: a.one
1/4 Test #1: a.one ............   Passed    0.01 sec
2/4 Test #2: a.two ............***Failed    0.01 sec
3/4 Test #3: a.three ..........***Skipped   0.01 sec
4/4 Test #4: a.four ...........   Passed    0.01 sec

75% tests passed, 1 tests failed out of 4
"""
SWIFT = """\
Test Suite 'All tests' passed at 2026-01-31 10:00:00.000.
\t Executed 0 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds
◇ Test run started.
✔ Test one() passed after 0.001 seconds.
✘ Test two() failed after 0.001 seconds with 1 issue.
➜ Test three() skipped: "not here"
✔ Test four() passed after 0.001 seconds.
✘ Test run with 4 tests in 1 suite failed after 0.002 seconds with 1 issue.
"""


def swift_passed(count):
    return f"✔ Test run with {count} test{'s' if count != 1 else ''} in 1 suite passed after 0.001 seconds.\n"


class StepsTest(unittest.TestCase):
    def run_with(self, script, **environment):
        """What a list of steps prints, and its status. `say TEXT [STATUS]` is a tool."""
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "say")
            with open(tool, "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\nprintf %s "$1"\nexit "${2:-0}"\n')
            os.chmod(tool, 0o755)
            done = subprocess.run(
                ["bash", "-uc", f'. scripts/lib/steps.sh; steps_begin "$1/logs"; say=$1/say; {script}', "_", folder],
                cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False)
            return done.stdout, done.returncode

    def one(self, kind, text, status=0, **environment):
        """The verdict and the counts of one step, and the status of the list."""
        text = text.replace("'", "'\\''")
        said, code = self.run_with(f"step name {kind} 50 \"$say\" '{text}' {status}; steps_end", **environment)
        verdict, counts = re.match(r"name +\d+ s  (.*)  \((.*)\)$", said.splitlines()[0]).groups()
        return verdict, counts, code

    def test_ctest_is_counted(self):
        self.assertEqual(self.one("ctest", CTEST, 8), ("FAILED", "2 passed, 1 failed, 1 skipped", 1))
        self.assertEqual(self.one("ctest", "100% tests passed, 0 tests failed out of 7\n"), ("ok", "7 passed, 0 failed", 0))

    def test_swift_is_counted_in_any_locale(self):
        for locale in ("C", "C.UTF-8"):
            self.assertEqual(self.one("swift", SWIFT, 1, LC_ALL=locale), ("FAILED", "2 passed, 1 failed, 1 skipped", 1), locale)
            self.assertEqual(self.one("swift", swift_passed(1), LC_ALL=locale), ("ok", "1 passed, 0 failed", 0), locale)

    def test_totals_are_counted(self):
        self.assertEqual(self.one("totals", "ok      it\n3 passed, 2 failed, 1 skipped\n", 1),
                         ("FAILED", "3 passed, 2 failed, 1 skipped", 1))
        self.assertEqual(self.one("totals", "12 passed, 0 failed\n"), ("ok", "12 passed, 0 failed", 0))

    def test_a_tool_that_fails_is_a_failure_whatever_it_says(self):
        for kind, text in (("one", "fine"), ("ctest", "100% tests passed, 0 tests failed out of 7\n"),
                           ("swift", swift_passed(7)), ("totals", "7 passed, 0 failed\n")):
            verdict, counts, code = self.one(kind, text, 3)
            self.assertEqual((verdict, code), ("FAILED", 1), kind)
            self.assertIn("1 failed", counts, kind)

    def test_a_failing_test_is_a_failure_whatever_the_status(self):
        self.assertEqual(self.one("totals", "3 passed, 2 failed\n", 0), ("FAILED", "3 passed, 2 failed", 1))
        self.assertEqual(self.one("ctest", CTEST, 0), ("FAILED", "2 passed, 1 failed, 1 skipped", 1))

    def test_a_tool_that_runs_no_test_is_a_failure(self):
        for kind, text in (("ctest", "No tests were found!!!\n"), ("totals", "0 passed, 0 failed\n"),
                           ("swift", "warning: No matching test cases were run\n" + swift_passed(0)), ("totals", "")):
            self.assertEqual(self.one(kind, text), ("FAILED", "0 passed, 1 failed", 1), text)

    def test_skipped_tests_without_a_count_of_all_are_a_failure(self):
        verdict, counts, code = self.one("swift", '➜ Test three() skipped: "not here"\n')
        self.assertEqual((verdict, counts, code), ("FAILED", "0 passed, 1 failed, 1 skipped", 1))

    def test_a_step_that_takes_too_long_is_ended_and_fails(self):
        said, code = self.run_with("step name one 1 sleep 1000; steps_end")
        self.assertRegex(said, r"^name .*FAILED \(over 1 s\)  \(0 passed, 1 failed\)")
        self.assertEqual(code, 1)

    def test_what_failed_is_printed(self):
        said, _ = self.run_with('step name one 50 "$say" "a: error: of it" 1; steps_end')
        self.assertIn("\na: error: of it\n", said)

    def test_the_list_goes_on_after_a_failure_and_fails(self):
        said, code = self.run_with('step first one 50 false; step second one 50 true; steps_end')
        self.assertRegex(said, r"(?m)^second .*ok  \(1 passed, 0 failed\)$")
        self.assertTrue(said.endswith("\n1 passed, 1 failed\n"), said)
        self.assertEqual(code, 1)

    def test_the_totals_are_those_of_all_steps_also_in_lanes(self):
        said, code = self.run_with(
            'one() { step a totals 50 "$say" "3 passed, 0 failed"; step b one 50 true; }; '
            'other() { step c ctest 50 "$say" "100% tests passed, 0 tests failed out of 5"; skip_step d "it cannot"; }; '
            'side_by_side one other; step e totals 50 "$say" "1 passed, 0 failed, 2 skipped"; steps_slowest 9; steps_end')
        self.assertTrue(said.endswith("\n10 passed, 0 failed, 3 skipped\n"), said)
        self.assertRegex(said, r"(?m)^d +skipped: it cannot$")
        for name in "abce":
            self.assertRegex(said, rf"(?m)^    \d+ s  {name}$")
        self.assertEqual(code, 0)

    def test_a_failure_in_a_lane_fails_the_list(self):
        _, code = self.run_with('one() { step a one 50 false; }; other() { step b one 50 true; }; side_by_side one other; steps_end')
        self.assertEqual(code, 1)

    def test_a_lane_that_does_not_come_to_its_end_is_a_failure(self):
        for end in ("exit 3", 'echo "$not_set"'):
            said, code = self.run_with(f'one() {{ {end}; }}; other() {{ step b one 50 true; }}; side_by_side one other; steps_end')
            self.assertIn("one did not come to its end\n", said)
            self.assertEqual((said.splitlines()[-1], code), ("1 passed, 1 failed", 1), end)

    def test_a_skipped_step_has_not_passed(self):
        said, code = self.run_with('skip_step name "it cannot"; steps_end')
        self.assertEqual((said.splitlines()[-1], code), ("0 passed, 0 failed, 1 skipped", 1))

    def test_nothing_is_not_a_pass(self):
        self.assertEqual(self.run_with("steps_end"), ("0 passed, 0 failed\n", 1))

    def test_a_second_run_in_one_place_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            script = ('. scripts/lib/steps.sh; steps_begin "$1/logs"; step bad one 10 false >&2; echo ready; '
                      'step two one 60 cat "$1/go"; steps_end')
            os.mkfifo(os.path.join(folder, "go"))
            with subprocess.Popen(["bash", "-c", script, "_", folder], cwd=ROOT, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True) as first:
                self.assertEqual(first.stdout.readline(), "ready\n")
                second = subprocess.run(
                    ["bash", "-c", '. scripts/lib/steps.sh; steps_begin "$1/logs"; step a one 10 true; steps_end', "_", folder],
                    cwd=ROOT, capture_output=True, text=True, check=False)
                pathlib.Path(folder, "go").write_text("")
                lines = first.communicate(timeout=60)[0].splitlines()
            self.assertEqual((second.returncode, second.stdout), (1, ""))
            self.assertIn("error: another run is under way here", second.stderr)
            self.assertEqual((first.returncode, lines[-1]), (1, "1 passed, 1 failed"))


class ContinuousBuildTest(unittest.TestCase):
    """.ci/run beside stand-ins for the tiers: the second is not to begin."""

    TIER = '#!/usr/bin/env bash\n. scripts/lib/steps.sh\nsteps_begin logs\necho ready\nstep one one 60 sleep 60\nsteps_end\n'

    def interrupted(self, send):
        with tempfile.TemporaryDirectory() as folder:
            for name in (".ci/run", "scripts/lib/steps.sh", "scripts/lib/install.sh"):
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, path)
            for name, text in (("test", self.TIER), ("prove", "#!/bin/sh\ntouch began\n")):
                path = pathlib.Path(folder, "scripts", name)
                path.write_text(text)
                path.chmod(0o755)
            with subprocess.Popen([".ci/run"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  start_new_session=True) as run:
                run.stdout.readline()
                send(run.pid)
                try:
                    # The end of its output: no process of the run is left.
                    run.communicate(timeout=30)
                finally:
                    if run.poll() is None:
                        os.killpg(run.pid, signal.SIGKILL)
            return run.returncode, os.path.exists(os.path.join(folder, "began"))

    def test_an_interrupt_at_the_terminal_ends_it(self):
        self.assertEqual(self.interrupted(lambda pid: os.killpg(pid, signal.SIGINT)), (130, False))

    def test_a_signal_to_it_alone_ends_what_it_runs(self):
        self.assertEqual(self.interrupted(lambda pid: os.kill(pid, signal.SIGTERM)), (130, False))


if __name__ == "__main__":
    unittest.main()
