# SPDX-License-Identifier: Apache-2.0
"""scripts/prove --changed and --minutes: a change asks for what it touches, and what is left out has not passed."""

import os
import re
import subprocess
import tempfile
import unittest

from plan import ROOT, Tree


class Changes(unittest.TestCase):
    def setUp(self):
        self.tree = Tree(self.enterContext(tempfile.TemporaryDirectory()))

    def asking(self):
        """A function from a path to the steps that its change asks for."""
        told = f"{self.tree.folder}/build-test/paths"
        self.tree.plan("prove", TELL_PATHS=told)
        with open(told, encoding="utf-8") as file:
            words = file.read().split("\0")[:-1]
        steps = list(zip(words[::2], map(str.split, words[1::2])))
        self.assertGreater(len(steps), 30)
        return lambda path: {name for name, paths in steps if any(path == one or path.startswith(one + "/") for one in paths)}

    def changed(self, *names, **environment):
        for name in names:
            self.tree.write(name)
        self.tree.git("add", "--all")
        return self.tree.plan("prove", "--changed", **environment)

    def test_where_nothing_changed_nothing_is_run(self):
        steps, said, status = self.changed()
        self.assertEqual((set(steps), status), (set(), 0))
        self.assertIn("Nothing changed that a step of the second tier is for.", said)

    def test_a_change_is_what_differs_from_the_last_proof(self):
        self.tree.write("Workshop/ABI/x")
        self.tree.commit()
        self.tree.write("Workshop/Benchmarks/x")
        self.tree.commit()  # the last commit is not the only one
        self.tree.write("Workshop/Packages/x")
        steps, _, _ = self.changed()  # nor are commits all
        self.assertEqual(set(steps), {"Build: benchmarks", "C ABI", "C packages", "Scripts"})
        self.tree.write("Bridges/x")  # nor what git knows
        self.assertIn("Metrics bridge", self.tree.plan("prove", "--changed")[0])

    def test_where_the_history_does_not_reach_back_all_has_changed(self):
        whole, _, _ = self.tree.plan("prove")
        first, _, _ = self.tree.plan("test")
        for name in ("Sources/CCore/x.c", "include/x.h", "Package.swift", "docs/x.md", "Examples/x", "Workshop/Explorer/x", "Bridges/x"):
            self.tree.write(name)
        for commit in ("0123456789" * 4, ""):
            self.tree.write(".ci/proven", commit)
            steps, _, _ = self.changed()
            self.assertEqual(set(whole) - set(first) - set(steps), set(), commit)

    def test_where_there_is_no_history_nothing_is_proved(self):
        subprocess.run(["rm", "-rf", f"{self.tree.folder}/.git"], check=True)
        _, said, status = self.tree.plan("prove", "--changed", GIT_CEILING_DIRECTORIES=os.path.dirname(self.tree.folder))
        self.assertNotEqual(status, 0, said)

    def test_a_change_of_a_part_is_proved_by_its_tests_in_every_configuration(self):
        steps, _, _ = self.changed("Sources/CCore/ring/mpmc.c")
        configurations = [step for step in steps.values() if 'c_tests "$@"' in step.words]
        self.assertEqual(len(configurations), 6)
        for step in configurations:
            selection = step.words[step.words.index("-R") + 1]
            self.assertRegex(selection, r"^\^\(spsc\|mpmc", step.name)
            self.assertRegex("realtime.a_claim" if step.name == "C tests: realtime" else "misuse.a_claim", selection)
        self.assertEqual(steps["Explorer: quick selection"].words[1:3], ["spsc*", "mpmc*"])
        thread = steps["Swift tests: thread"].words
        self.assertIn("MPMCRingTests", thread[thread.index("--filter") + 1])
        for name in ("Instruction counts", "C ABI", "Fuzzing: C", "C tests: all rounds", "C tests: arm64", "C tests: musl",
                     "Branches for Apple systems", "Consumer: Headers", "Consumer: SwiftPackage", "Metrics bridge", "Examples"):
            self.assertIn(name, steps)

    def test_a_change_of_the_facade_leaves_the_c_tests_out(self):
        steps, _, _ = self.changed("Sources/SwiftFacade/Sync/Rings/MPMCRing.swift")
        self.assertEqual([name for name in steps if name.startswith(("C ", "Explorer", "Fuzzing: C"))], [])
        for name in ("Swift tests: thread", "Swift tests: all rounds", "Fuzzing: Swift", "Documentation", "Examples",
                     "Examples: programs", "Swift release: speed and allocations", "Metrics bridge", "Consumer: SwiftPackage"):
            self.assertIn(name, steps)
        for build in ("Build: examples", "Build: Swift tests, thread", "Build: Swift release"):
            self.assertIn(build, steps)

    def test_each_tracked_file_asks_for_a_step(self):
        asked = self.asking()
        spared = re.compile(r"LICENSE|SECURITY.md|CHANGELOG.md|CONTRIBUTING.md|\.ci/proven|\.[\w-]+")
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
        self.assertEqual([name for name in tracked if not asked(name) and not spared.fullmatch(name)], [])

    def test_a_step_whose_own_files_changed_is_asked_for(self):
        asked = self.asking()
        for path, name in (("scripts/docs", "Documentation"), ("scripts/lib/documentation.py", "Documentation"),
                           ("ARCHITECTURE.md", "Documentation"), ("docs/x.md", "Documentation"),
                           ("scripts/explore", "Explorer: quick selection"), ("scripts/test-arm64", "C tests: arm64"),
                           ("scripts/test-musl", "C tests: musl"), ("scripts/check", "Gates fail on planted faults"),
                           ("Examples/x", "Examples"), ("Examples/run-programs", "Examples: programs")):
            self.assertIn(name, asked(path), path)

    def test_the_scripts_tests_are_asked_for_by_what_they_read(self):
        asked = self.asking()
        for path in ("README.md", "docs/fork.md", "ARCHITECTURE.md", ".ci/run", "scripts/prove",
                     "Tests/CCoreTests/CMakeLists.txt", "Workshop/Consumers/lib.sh", "Workshop/Explorer/scenarios/x.c",
                     "Tests/SwiftFacadeTests/x.swift", "Workshop/Benchmarks/x", "viewer/diagnosis.html"):
            self.assertIn("Scripts", asked(path), path)

    def test_what_a_budget_leaves_out_is_named_and_has_not_passed(self):
        steps, _, _ = self.changed("Sources/CCore/ring/mpmc.c", "docs/x.md")
        late, said, status = self.tree.plan("prove", "--changed", "--minutes", "-1")
        self.assertEqual((set(late), status), (set(), 0))
        for name in steps:
            if not name.startswith("Build: "):
                self.assertRegex(said, rf"(?m)^{re.escape(name)} +skipped: the time is over; scripts/prove '{re.escape(name)}' runs it$")
        self.assertRegex(said, r"(?m)^1 passed, 0 failed, \d+ skipped$")


if __name__ == "__main__":
    unittest.main()
