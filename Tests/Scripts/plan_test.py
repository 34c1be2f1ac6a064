# SPDX-License-Identifier: Apache-2.0
"""The steps of scripts/test and scripts/prove: each does what its name says, each test of the tree has its step, and
each filter names tests that there are.
"""

import os
import re
import subprocess
import tempfile
import unittest

from plan import ROOT, Tree, alternatives, swift_suites

JOBS = str(len(os.sched_getaffinity(0)))


class Whole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = Tree(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.first, cls.said_first, _ = cls.tree.plan("test")
        cls.all, cls.said, cls.status = cls.tree.plan("prove")

    def test_the_first_tier(self):
        self.assertEqual(set(self.first), {"Gates", "C tests: clang", "C tests: address and undefined",
                                           "Build: Swift tests", "Swift tests"})
        self.assertIn("5 passed, 0 failed", self.said_first)

    def test_everything_has_the_first_tier(self):
        for name, step in self.first.items():
            self.assertEqual(self.all[name].words, step.words)
        self.assertEqual(self.status, 0, self.said)

    # ---- C ----

    def test_gcc_builds_the_other_park_backend(self):
        words = self.all["Build: gcc, pthread park"].words
        for word in ("-DINTERLOCK_PARK_BACKEND=pthread", "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++",
                     "-DINTERLOCK_WERROR=ON", "--build"):
            self.assertIn(word, words)

    def test_each_configuration_of_the_c_tests_is_what_its_name_says(self):
        names = {f"C tests: {name}" for name in (
            "clang", "clang, pthread park", "gcc", "thread", "thread, pthread park",
            "address and undefined", "address and undefined, pthread park", "realtime")}
        configurations = {name: step for name, step in self.all.items() if "c_tests \"$@\"" in step.words}
        self.assertEqual(set(configurations), names)
        folders = set()
        for name, step in configurations.items():
            options = {word.split("=")[0]: word.split("=", 1)[1] for word in step.words if word.startswith("-D")}
            sanitizer = next((word for word in ("thread", "address and undefined", "realtime") if f": {word}" in name), "")
            self.assertEqual(options.get("-DINTERLOCK_SANITIZE", ""), sanitizer.replace(" and ", ","), name)
            self.assertEqual(options.get("-DINTERLOCK_PARK_BACKEND"), "pthread" if "pthread" in name else None, name)
            compilers = ("gcc", "g++") if "gcc" in name else tuple(f"{self.tree.folder}/swift/bin/{c}" for c in ("clang", "clang++"))
            self.assertEqual((options["-DCMAKE_C_COMPILER"], options["-DCMAKE_CXX_COMPILER"]), compilers, name)
            self.assertEqual(options["-DINTERLOCK_WERROR"], "ON", name)
            # The explorer's own tests are of one of them, without those of the other backend.
            self.assertEqual(options.get("-DINTERLOCK_BUILD_EXPLORER"), "ON" if name == "C tests: clang" else "OFF", name)
            self.assertEqual(options.get("-DINTERLOCK_CHECKED"), "ON" if name == "C tests: address and undefined" else None, name)
            stress = f" {step.stress}".rstrip()
            tools = step.words[step.words.index("cmake" + stress):]
            folder = tools[tools.index("-B") + 1]
            folders.add(folder)
            selection = ["-E", "explorer-core-table"] if name == "C tests: clang" else []
            self.assertEqual(tools[tools.index("cmake" + stress, 1):], [
                "cmake" + stress, "--build", folder, "-j", JOBS,
                "ctest" + stress, "--test-dir", folder, "-j", JOBS, "--output-on-failure", *selection])
            self.assertEqual(step.kind, "ctest")
        self.assertEqual(len(folders), len(configurations))

    def test_a_tool_that_fails_fails_its_step(self):
        folder = "build-test/C-tests--clang"
        for failing in (f"--build {folder} -j {JOBS}",
                        f"--test-dir {folder} -j {JOBS} --output-on-failure -E explorer-core-table"):
            steps, _, _ = self.tree.plan("test", "C tests: clang", FAIL=failing)
            self.assertNotEqual(steps["C tests: clang"].status, 0, failing)

    def test_each_name_in_a_selection_of_c_tests_is_a_group(self):
        with open(f"{ROOT}/Tests/CCoreTests/CMakeLists.txt", encoding="utf-8") as file:
            cmake = file.read()
        files = [name for _, _, names in os.walk(f"{ROOT}/Tests/CCoreTests") for name in names if name.endswith("_test.c")]
        groups = {name.removesuffix("_test.c") for name in files} | set(re.findall(r"GROUP (\w+)", cmake))
        selection, = [step.words[index + 1] for step in self.all.values() for index, word in enumerate(step.words) if word == "-R"]
        inner = re.fullmatch(r"\^\((.*)\)\\\.", selection).group(1)
        for name in alternatives(inner):
            self.assertTrue(any(re.fullmatch(name, group) for group in groups), name)

    def test_all_rounds_are_all_rounds(self):
        self.assertIn("ctest full", self.all["C tests: all rounds"].words)
        self.assertEqual(self.all["Swift tests: all rounds"].stress, "full")
        for name in ("clang, pthread park", "thread", "thread, pthread park", "address and undefined, pthread park"):
            self.assertEqual(self.all[f"C tests: {name}"].stress, "full", name)

    def test_fuzzing_is_longer_than_among_the_other_tests(self):
        self.assertEqual(self.all["Fuzzing: C"].words, ["scripts/fuzz", "60"])
        with open(f"{ROOT}/scripts/fuzz", encoding="utf-8") as file:
            script = file.read()
        for option in ("-DINTERLOCK_SANITIZE=address,undefined,", "-DINTERLOCK_CHECKED=ON"):
            self.assertIn(option, script)
        self.assertEqual(self.all["Fuzzing: Swift"].fuzz, "15")

    # ---- Swift ----

    def test_each_name_in_a_filter_is_of_a_swift_test(self):
        filters = {name: step.words[step.words.index("--filter") + 1] for name, step in self.all.items() if "--filter" in step.words}
        self.assertGreaterEqual(len(filters), 4)
        names = {f"InterlockTests.{suite}/" for suite in swift_suites()}
        for step, pattern in filters.items():
            for part in alternatives(pattern):
                self.assertTrue(any(re.search(part, name) for name in names), f"{step}: {part}")

    def test_whole_steps_have_no_filter(self):
        for name in ("Swift tests", "Examples", "Metrics bridge"):
            self.assertEqual([word for word in self.all[name].words if word in ("--filter", "--skip")], [], name)
        thread = self.all["Swift tests: thread"].words
        self.assertEqual(thread[thread.index("--filter") + 1], ".")

    def test_the_sanitizer_and_the_optimiser_are_in_the_tests_and_in_their_build(self):
        for name, words in (("Swift tests: thread", ["--sanitize=thread"]), ("Build: Swift tests, thread", ["--sanitize=thread"]),
                            ("Build: Swift release", ["-c", "release"]), ("Swift release: speed and allocations", ["-c", "release"])):
            self.assertIn(" ".join(words), " ".join(self.all[name].words), name)
        self.assertIn("halt_on_error=1", self.all["Swift tests: thread"].tsan)
        supp = re.search(r"suppressions=(\S+)", self.all["Swift tests: thread"].tsan).group(1)
        self.assertTrue(os.path.isfile(supp), supp)
        for name in ("Build: Swift release", "Swift release: speed and allocations"):
            self.assertEqual(self.all[name].compare, "1", name)

    def test_a_step_alone_has_the_build_that_it_needs(self):
        def place(words):
            values = {word: words[index + 1] for index, word in enumerate(words) if word in ("--scratch-path", "--package-path")}
            return values["--scratch-path"], values.get("--package-path", ".")
        needing = {name: place(step.words) for name, step in self.all.items() if "--skip-build" in step.words}
        self.assertGreaterEqual(len(needing), 5)
        needing["Examples: programs"] = (".build-test", "Examples")
        needing["Documentation"] = (".build-test", ".")
        for name, at in needing.items():
            steps, said, _ = self.tree.plan("prove", name)
            builds = [place(step.words) for step in steps.values() if step.name.startswith("Build: ")]
            self.assertIn(name, steps)
            self.assertEqual(builds, [at], name)

    # ---- The others ----

    def test_each_script_that_runs_tests_is_a_step(self):
        tracked = subprocess.run(["git", "ls-files", "Tests", "Workshop", "Examples", "scripts"], cwd=ROOT, capture_output=True, text=True,
                                 check=True).stdout.split()
        runs = {name for name in tracked if re.search(r"/run(-\w+)?$|^scripts/(test-\w+|explore|docs|check)$", name)}
        self.assertGreater(len(runs), 12)
        self.assertEqual(runs - {step.words[0] for step in self.all.values()}, set())
        words = [step.words for step in self.all.values()]
        for command in (["scripts/check"], ["scripts/check", "--self-test"], ["Tests/Scripts/run"],
                        ["Tests/Scripts/run", "*_browser.py"], ["scripts/explore", "--quick"]):
            self.assertIn(command, words)

    def test_the_kind_of_a_step_is_the_one_of_its_tool(self):
        for step in self.all.values():
            if "ctest" in step.words:
                self.assertEqual(step.kind, "ctest", step.name)
            if step.words[:2] == ["swift", "test"] and "list" not in step.words:
                self.assertEqual(step.kind, "swift", step.name)
            if re.search(r"/run$|^scripts/(check|test-)", step.words[0]):
                self.assertEqual(step.kind, "totals", step.name)


if __name__ == "__main__":
    unittest.main()
