# SPDX-License-Identifier: Apache-2.0
"""What a change is proved by (scripts/lib/areas.sh), asked with made-up changes."""

import glob
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


# The calls of each part of the core, by its folder.
CALLS = {
    "ring": r"\bilk_(spsc|mpmc)_[a-z]",
    "rwlock": r"\bilk_rwlock_[a-z]",
    "sync": r"\bilk_(semaphore|latch|barrier|mutex)_[a-z]",
    "pool": r"\bilk_(pool|group)_[a-z]",
}
GROUPS = re.compile(r"interlock_tests\(([\w${}]+)_test GROUP (\w+)")


def contents(pattern):
    for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
        with open(path, encoding="utf-8") as file:
            yield os.path.relpath(path, ROOT), file.read()


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

    def test_the_c_tests_of_a_part_are_those_that_call_it(self):
        """Those of another part's folder only use it."""
        (_, cmake), = contents("Tests/CCoreTests/CMakeLists.txt")
        groups = {name.replace("${ring}", ring): group for name, group in GROUPS.findall(cmake) for ring in ("spsc", "mpmc")}
        folders = {"ring": "rings", "rwlock": "rwlock", "sync": "sync", "pool": "pool"}
        for part, calls in CALLS.items():
            selection = ask([f"Sources/CCore/{part}/x.c"], "changed_c_tests").removeprefix("-R ")
            seen = 0
            for path, text in contents("Tests/CCoreTests/*/*_test.c*"):
                _, _, folder, name = path.split("/")
                name = ("cxx_" if folder == "cxx" else "ring_" if name == "handler_test.c" else "") + name.split("_test.c")[0]
                group = "diagnostics" if folder == "diagnostics" else groups.get(name, name)
                if folder == folders[part] or folder not in folders.values() and re.search(calls, text):
                    self.assertRegex(group, selection, f"{part}: {path}")
                    seen += 1
            self.assertGreater(seen, 10, part)

    def test_the_scenarios_of_a_part_are_those_that_call_it(self):
        for part, calls in CALLS.items():
            wanted = ask([f"Sources/CCore/{part}/x.c"], "changed_scenarios").split()[:-1]
            others = [name for other in CALLS if other != part for name in
                      {"ring": "spsc mpmc ring", "sync": "semaphore latch barrier mutex"}.get(other, other).split()]
            seen = 0
            for path, text in contents("Tests/Explorer/scenarios/*.c"):
                if re.search(calls, text) and not os.path.basename(path).startswith(tuple(others)):
                    # Where macros make the names, they begin as the file does.
                    names = re.findall(r'\.name = "([^"]*)"', text) or [os.path.basename(path)]
                    self.assertTrue([name for name in names for one in wanted if name.startswith(one.rstrip("*"))], f"{part}: {path}")
                    seen += 1
            self.assertGreater(seen, 3, part)

    def test_the_suites_of_a_change_are_all_that_its_folders_have(self):
        for folder in os.listdir(os.path.join(ROOT, "Sources/SwiftFacade")):
            if not os.path.isdir(os.path.join(ROOT, "Tests/SwiftFacadeTests", folder)):
                continue
            suites = ask([f"Sources/SwiftFacade/{folder}/X.swift"], "changed_suites")
            for path, text in contents(f"Tests/SwiftFacadeTests/{folder}/**/*.swift"):
                self.assert_has_suite(suites, path, text)
        everything = ask(["Package.swift"], "changed_suites")
        count = 0
        for depth in ("*", "*/*", "*/*/*"):
            for path, text in contents(f"Tests/SwiftFacadeTests/{depth}.swift"):
                count += self.assert_has_suite(everything, path, text)
        self.assertGreater(count, 100)
        for part in CALLS:
            self.assertIn("MPMCConformance" if part == "ring" else "Tests", ask([f"Sources/CCore/{part}/x.c"], "changed_suites"))

    def assert_has_suite(self, suites, path, text):
        types = [(match.start(), match.group(1)) for match in
                 re.finditer(r"^(?:(?:@|public|final)[^/\n]* )?(?:struct|class|enum|actor|extension) (\w+)", text, re.M)]
        own = {[name for start, name in types if start < test.start()][-1] for test in re.finditer(r"^ +@Test\b", text, re.M)}
        for name in own:
            self.assertRegex(suites, rf"[(|]{name}[|)]", path)
        return len(own)

    def test_everything_that_the_table_names_is_there(self):
        tests = subprocess.run(
            ["git", "ls-files", "Tests/CCoreTests"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        # In cxx/ and properties/ the folder or the subject is a part of the group.
        groups = {os.path.basename(test) for test in tests} | {"_".join(test.split("/")[-2:]) for test in tests}
        with open(os.path.join(ROOT, "Tests/CCoreTests/CMakeLists.txt"), encoding="utf-8") as file:
            groups |= set(re.findall(r"\w+", file.read()))
        scenarios = subprocess.run(
            "cat Tests/Explorer/scenarios/*.[ch]", shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        rows = table() + [[[], ask([], 'echo "$ALL_PARTS"').split(), [], []]]
        for paths, prefixes, names, folders in rows:
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
