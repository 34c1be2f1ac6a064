# SPDX-License-Identifier: Apache-2.0
"""What a change is proved by (scripts/lib/areas.sh), asked with made-up changes."""

import glob
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def ask(changed, question):
    """The answer of a function of areas.sh to a change of these paths."""
    script = f'. scripts/lib/verify.sh; changed_paths=$1; {question}'
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


def contents(pattern):
    for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
        with open(path, encoding="utf-8") as file:
            yield os.path.relpath(path, ROOT), file.read()


def tracked(*folders):
    return subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def groups_of_sources():
    """The groups of ctest by the sources of their tests, as CMakeLists.txt says it."""
    tests = tracked("Tests/CCoreTests")
    found = {}
    for call in re.findall(r"interlock_tests\(([^)]*)\)", pathlib.Path(ROOT, "Tests/CCoreTests/CMakeLists.txt").read_text()):
        name, *words = call.split()
        group = words[1] if words[0] == "GROUP" else re.sub("_test$", "", name)
        for word in filter(re.compile(r"\.cc?$").search, words):
            pattern = re.compile("Tests/CCoreTests/" + re.sub(r"\$\{\w+\}", r"(\\w+)", word) + "$")
            for match in filter(None, map(pattern.match, tests)):
                found.setdefault(match.group(), set()).add(re.sub(r"\$\{\w+\}", (match.groups() or ("",))[0], group))
    return found


class ChangesTest(unittest.TestCase):
    """changed_since, in a repository of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("core/ring.c", "int ring;\n" * 20)
        self.write("kept", "")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")

    def write(self, name, text):
        path = pathlib.Path(self.folder, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.folder, check=True)

    def since(self, commit, **environment):
        areas = os.path.join(ROOT, "scripts/lib/areas.sh")
        return subprocess.run(
            ["bash", "-c", '. "$1"; changed_since "$2"', "_", areas, commit], cwd=self.folder, capture_output=True, text=True,
            check=False, env=os.environ | environment)

    def test_a_moved_file_has_changed_where_it_was(self):
        self.write("papers/x", "")
        self.git("mv", "core/ring.c", "papers/ring.md")
        self.assertIn("core/ring.c\n", self.since("HEAD").stdout)

    def test_a_file_that_git_does_not_know_yet_has_changed(self):
        self.write("core/new.c", "")
        self.assertEqual(self.since("HEAD").stdout, "core/new.c\n")

    def test_names_are_as_they_are(self):
        self.write("core/é.c", "")
        self.git("add", ".")
        self.assertEqual(self.since("HEAD").stdout, "core/é.c\n")

    def test_all_has_changed_since_a_commit_that_is_not_there(self):
        for commit in ("0123456789012345678901234567890123456789", ""):
            self.assertEqual(self.since(commit).stdout, "core/ring.c\nkept\n")

    def test_where_git_does_not_answer_nothing_is_known(self):
        self.assertNotEqual(self.since("HEAD", GIT_DIR="/nowhere").returncode, 0)


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
        self.assertEqual(ask(["Workshop/Explorer/memory.c"], "changed_scenarios"), "--quick")
        suites = ask(["Sources/SwiftFacade/Sync/Internal/X.swift", "Sources/SwiftFacade/Pool/Queue/Jobs/Job.swift"], "changed_suites")
        self.assertIn("SingleFlightCacheTests", suites)

    def test_tests_of_a_part_are_chosen_wherever_they_are(self):
        verbs = {"ring": "spsc|mpmc", "rwlock": "rwlock", "sync": "semaphore|latch|barrier|mutex", "pool": "pool|group"}
        for part, names in verbs.items():
            chosen = ask([f"Sources/CCore/{part}/x.c"], "changed_c_tests").split(" ", 1)[1]
            for source, groups in groups_of_sources().items():
                text = pathlib.Path(ROOT, source).read_text()
                about = f"/{part}{'s' if part == 'ring' else ''}/" in source
                # Other parts' tests use a latch or a semaphore as a tool.
                shared = source.split("/")[2] in ("properties", "diagnostics", "library")
                if about or shared and re.search(rf"\bilk_({names})_", text):
                    self.assertTrue(any(re.match(chosen, group) for group in groups), f"{part}: {source} {groups}")

    def test_suites_of_both_modules_are_chosen(self):
        suites = ask(["Sources/SwiftFacade/Sync/Locks/X.swift"], "changed_suites")
        for name in ("InterlockTests.LatchTests/x()", "ConformanceTests.LockConformance/x()",
                     "ConformanceTests.RecursionTests/x()", "InterlockTests.SafeDictionaryTests/x()"):
            self.assertRegex(name, suites)

    def test_what_is_built_on_a_part_is_proved_too(self):
        # VisibleMutex, on which nearly every file of the facade waits, is one of sync.
        self.assertIn("DebounceTests", ask(["Sources/CCore/sync/mutex.c"], "changed_suites"))
        self.assertIn("SafeDictionaryTests", ask(["Sources/SwiftFacade/Sync/Locks/ReadWriteLock.swift"], "changed_suites"))
        self.assertIn("WorkerThreadTests", ask(["Sources/SwiftFacade/Sync/Rings/MPMCRing.swift"], "changed_suites"))

    def test_a_path_is_not_the_beginning_of_another(self):
        self.assertEqual(ask(["Sources/CCore/ring2/x.c"], "changed_c_tests"), "")

    def test_the_scenarios_of_a_part_are_those_that_call_it(self):
        for part, calls in CALLS.items():
            wanted = ask([f"Sources/CCore/{part}/x.c"], "changed_scenarios").split()[:-1]
            others = [name for other in CALLS if other != part for name in
                      {"ring": "spsc mpmc ring", "sync": "semaphore latch barrier mutex"}.get(other, other).split()]
            seen = 0
            for path, text in contents("Workshop/Explorer/scenarios/*.c"):
                if re.search(calls, text) and not os.path.basename(path).startswith(tuple(others)):
                    # Where macros make the names, they begin as the file does.
                    names = re.findall(r'\.name = "([^"]*)"', text) or [os.path.basename(path)]
                    self.assertTrue([name for name in names for one in wanted if name.startswith(one.rstrip("*"))], f"{part}: {path}")
                    seen += 1
            self.assertGreater(seen, 3, part)

    def test_the_suites_of_a_change_are_all_that_its_folders_have(self):
        facade = os.path.join(ROOT, "Sources/SwiftFacade")
        rooms = [f"{module}/{room}" for module in os.listdir(facade) for room in os.listdir(os.path.join(facade, module))]
        seen = 0
        for room in rooms + ["Operations"]:
            folder = room.split("/")[-1]
            if not os.path.isdir(os.path.join(ROOT, "Tests/SwiftFacadeTests", folder)):
                continue
            seen += 1
            suites = ask([f"Sources/SwiftFacade/{room}/X.swift"], "changed_suites")
            for path, text in contents(f"Tests/SwiftFacadeTests/{folder}/**/*.swift"):
                self.assert_has_suite(suites, path, text)
        self.assertGreater(seen, 7)
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
        tests = tracked("Tests/CCoreTests")
        # In cxx/ and properties/ the folder or the subject is a part of the group.
        groups = {os.path.basename(test) for test in tests} | {"_".join(test.split("/")[-2:]) for test in tests}
        with open(os.path.join(ROOT, "Tests/CCoreTests/CMakeLists.txt"), encoding="utf-8") as file:
            groups |= set(re.findall(r"\w+", file.read())) | {"examples"}
        scenarios = subprocess.run(
            "cat Workshop/Explorer/scenarios/*.[ch]", shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        rows = table() + [[[], ask([], 'echo "$COMMON_C_TESTS"').split(), [], []]]
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
