# SPDX-License-Identifier: Apache-2.0
"""A failure is told, and an interrupt ends everything (scripts/lib/steps.sh, .ci/run), with made-up steps."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class StepsTest(unittest.TestCase):
    def run_steps(self, body):
        """The exit status and the last line of a script of these steps."""
        with tempfile.TemporaryDirectory() as folder:
            script = f'set -uo pipefail; . scripts/lib/steps.sh; steps_begin "$1/logs"\n{body}\nsteps_end'
            done = subprocess.run(["bash", "-c", script, "_", folder], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1]

    def test_what_passes_passes(self):
        self.assertEqual(self.run_steps("step a one 10 true; step b totals 10 echo '3 passed, 0 failed'"), (0, "4 passed, 0 failed"))

    def test_each_failure_fails_the_run(self):
        for body, failed in {
            "step a one 10 false": 1,
            "step a totals 10 echo '3 passed, 2 failed'": 2,  # of a tool that forgets its status
            "step a totals 10 bash -c 'echo 3 passed, 0 failed; exit 1'": 1,
            "step a totals 10 echo '0 passed, 0 failed'": 1,
            "step a ctest 10 echo 'No tests were found!!!'": 1,
            "step a ctest 10 bash -c 'echo \"50% tests passed, 1 tests failed out of 2\"; exit 8'": 1,
            "step a swift 10 bash -c 'echo \"error: fatalError\"; exit 1'": 1,
            "step a one 10 no-such-program": 1,
            "step a one 1 sleep 60": 1,
        }.items():
            status, line = self.run_steps("step good one 10 true\n" + body)
            self.assertEqual((status, f" {failed} failed" in line), (1, True), f"{body}: {line}")

    def test_a_lane_that_fails_or_does_not_end_fails_the_run(self):
        lanes = "good() { step a one 10 true; }; bad() { step b one 10 false; }; broken() { exit 0$unset; }\n"
        self.assertEqual(self.run_steps(lanes + "side_by_side good good"), (0, "2 passed, 0 failed"))
        self.assertEqual(self.run_steps(lanes + "side_by_side bad good"), (1, "1 passed, 1 failed"))
        self.assertEqual(self.run_steps(lanes + "side_by_side broken good"), (1, "1 passed, 1 failed"))

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

    def test_a_run_without_a_step_fails(self):
        self.assertEqual(self.run_steps(""), (1, "0 passed, 0 failed"))


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
