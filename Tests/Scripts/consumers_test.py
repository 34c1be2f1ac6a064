# SPDX-License-Identifier: Apache-2.0
"""swift and attempt of Workshop/Consumers/lib.sh, with a stand-in for swift: a build that hangs is ended, and fails."""

import os
import signal
import subprocess
import tempfile
import time
import unittest

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Workshop", "Consumers", "lib.sh")


class HangingBuildTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_with(self, swift, script):
        path = os.path.join(self.folder, "swift")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/usr/bin/env bash\n" + swift + "\n")
        os.chmod(path, 0o755)
        environment = dict(os.environ, work=self.folder, PATH=self.folder + ":" + os.environ["PATH"], SWIFT_IDLE_LIMIT="3")
        return subprocess.run(["bash", "-c", '. "$1"; ' + script, "_", LIBRARY], env=environment, capture_output=True,
                              text=True, timeout=60, check=False)

    def test_a_build_that_hangs_fails_and_no_other_is_tried(self):
        answer = self.run_with("sleep 1000 & wait", "attempt one swift build; attempt two swift run; totals")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("FAILED  one: swift build", answer.stdout)
        self.assertIn("FAILED  two: not tried, because of swift build, which used no processor time for 3 s", answer.stdout)
        self.assertTrue(answer.stdout.endswith("0 passed, 2 failed\n"), answer.stdout)

    def test_a_build_that_hung_does_not_fail_the_next_run_in_its_folder(self):
        self.run_with("sleep 1000 & wait", "attempt one swift build")
        answer = self.run_with("true", "attempt one swift build; totals")
        self.assertTrue(answer.stdout.endswith("1 passed, 0 failed\n"), answer.stdout)

    def test_a_build_whose_processes_cannot_be_seen_is_ended(self):
        answer = self.run_with("exec sleep 30", "tree() { :; }; attempt one swift build; totals")
        self.assertTrue(answer.stdout.startswith("FAILED  one: swift build\n"), answer.stdout)

    def test_no_process_of_a_build_that_hangs_is_left(self):
        children = os.path.join(self.folder, "children")
        # Slow enough for the script to go on meanwhile, were it to.
        slow = 'kill() { builtin kill "$@"; [[ $1 != -KILL ]] || sleep 0.2; }; '
        self.run_with(f"for _ in {{1..10}}; do sleep 1000 & echo $! >>{children}; done; wait",
                      slow + "attempt one swift build")
        with open(children, encoding="utf-8") as file:
            numbers = file.read().split()
        left, end = numbers, time.monotonic() + 10  # a killed process takes its time
        while left and time.monotonic() < end:
            left = [number for number in left if self.lives(number)]
        for number in left:
            os.kill(int(number), signal.SIGKILL)
        self.assertEqual((len(numbers), left), (10, []))

    @staticmethod
    def lives(number):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8") as file:
                return file.read().rsplit(") ", 1)[1][0] not in "ZX"
        except FileNotFoundError:
            return False

    def test_a_build_that_takes_long_is_left_alone(self):
        busy = "end=$((SECONDS + 8)); while ((SECONDS < end)); do :; done; echo built"
        answer = self.run_with(busy, 'built() { [[ $(swift build) == built ]]; }; attempt one built; totals')
        self.assertEqual((answer.returncode, answer.stdout), (0, "ok      one\n1 passed, 0 failed\n"))

    def test_the_status_of_a_build_is_kept(self):
        self.assertEqual(self.run_with("exit 7", "swift build; exit $?").returncode, 7)


if __name__ == "__main__":
    unittest.main()
