# SPDX-License-Identifier: Apache-2.0
"""What a change is proved by (scripts/lib/areas.sh), asked with made-up changes."""

import os
import re
import subprocess
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def ask(changed, question):
    """The answer of a function of areas.sh to a change of these paths."""
    script = f'. scripts/lib/areas.sh; changed_paths=$1; {question}'
    done = subprocess.run(
        ["bash", "-c", script, "_", "\n".join(changed)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == "", done.stderr
    return done.stdout.strip()


def table():
    """The parts, as lists of words: paths, groups, scenarios, folders."""
    text = ask([], 'printf "%s\\0" "${AREAS[@]}"')
    return [[field.split() for field in row.split(";")] for row in text.split("\0") if row]


class AreasTest(unittest.TestCase):
    def test_a_part_is_proved_by_its_own(self):
        ring = ["Sources/CCore/ring/mpmc.c", "docs/rings.md"]
        self.assertRegex(ask(ring, "changed_c_tests"), r"^-R \^\(spsc\|mpmc\|")
        self.assertRegex(ask(ring, "changed_scenarios"), r"^spsc\* mpmc\* .*--quick$")
        suites = ask(ring, "changed_suites")
        self.assertIn("MPMCRingTests", suites)
        self.assertNotIn("GroupPlaceTests", suites)

    def test_two_parts_are_proved_by_both(self):
        both = ["Sources/CCore/ring/mpmc.c", "include/interlock/pool.h"]
        self.assertIn("pool", ask(both, "changed_c_tests"))
        self.assertIn("mpmc", ask(both, "changed_c_tests"))
        self.assertIn("GroupPlaceTests", ask(both, "changed_suites"))

    def test_what_all_build_on_is_proved_by_everything(self):
        for path in ("Sources/CCore/wait/fence.c", "include/interlock/inline/atomic.h", "Tests/CCoreTests/support/check.c", "cmake/x"):
            changed = [path, "Sources/CCore/ring/mpmc.c"]
            self.assertEqual(ask(changed, "changed_c_tests"), "", path)
        self.assertEqual(ask(["Tests/Explorer/memory.c"], "changed_scenarios"), "--quick")
        suites = ask(["Sources/SwiftFacade/Internal/X.swift", "Sources/SwiftFacade/Jobs/Job.swift"], "changed_suites")
        self.assertIn("SingleFlightCacheTests", suites)

    def test_a_path_is_not_the_beginning_of_another(self):
        self.assertEqual(ask(["Sources/CCore/ring2/x.c"], "changed_c_tests"), "")

    def test_everything_that_the_table_names_is_there(self):
        tests = subprocess.run(
            ["git", "ls-files", "Tests/CCoreTests"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        # In cxx/ and properties/ the folder or the subject is a part of the group.
        groups = {os.path.basename(test) for test in tests} | {"_".join(test.split("/")[-2:]) for test in tests}
        with open(os.path.join(ROOT, "Tests/CCoreTests/CMakeLists.txt"), encoding="utf-8") as file:
            groups |= set(re.findall(r"\w+", file.read()))
        scenarios = subprocess.run(
            "cat Tests/Explorer/scenarios/*.[ch]", shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for paths, prefixes, names, folders in table():
            for path in paths:
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)
            for prefix in prefixes:
                self.assertTrue(any(group.startswith(prefix) for group in groups), prefix)
            for name in names:
                self.assertIn('"' + name.rstrip("*"), scenarios)
            for folder in folders:
                self.assertTrue(os.path.isdir(os.path.join(ROOT, "Tests/SwiftFacadeTests", folder)), folder)


if __name__ == "__main__":
    unittest.main()
