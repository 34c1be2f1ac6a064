# SPDX-License-Identifier: Apache-2.0
"""scripts/ablate: that its changes are those it names, its arithmetic, and what it does with a variant that fails."""

import contextlib
import copy
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts", "lib"))
import ablate
import ablate_report
import ablate_runs
import ablate_variants
from ablate_variants import Edit, Mismatch, Variant


def variant(*edits, name="planted", suites=("spsc",)):
    return Variant(name, suites, "a test's", tuple(Edit(*edit) for edit in edits))


def changed(text, *edits):
    return ablate_variants.changed(variant(*(("file.c", *edit) for edit in edits)), lambda path: text)["file.c"]


class Variants(unittest.TestCase):
    def test_every_variant_fits_the_sources_and_changes_them(self):
        read = lambda path: ablate_variants.read(ROOT, path)
        variants = ablate_variants.all_variants(ROOT)
        self.assertEqual(len({v.name for v in variants}), len(variants))
        for one in variants:
            with self.subTest(one.name):
                texts = ablate_variants.changed(one, read)
                self.assertEqual(one is ablate_variants.UNCHANGED, not texts)
                for path, text in texts.items():
                    self.assertNotEqual(text, read(path))
                self.assertLessEqual(set(one.suites), set(ablate_runs.SUITES))

    def test_the_page_of_ablations_lists_every_heuristic(self):
        page = ablate_variants.read(ROOT, "docs/ablations.md")
        for one in (ablate_variants.UNCHANGED, *ablate_variants.HEURISTICS):
            self.assertIn(f"`{one.name}`", page)

    def test_each_constant_is_halved_and_doubled(self):
        text = "enum { FEW = 3, MANY = 1 << 4 };\n"
        found = list(ablate_variants.constants(lambda path: text if path == ablate_variants.MODE else ""))
        self.assertEqual([v.name for v in found], ["FEW-halved", "FEW-doubled", "MANY-halved", "MANY-doubled"])
        results = [ablate_variants.changed(v, lambda path: text)[ablate_variants.MODE] for v in found]
        self.assertEqual(results, [
            "enum { FEW = 1, MANY = 1 << 4 };\n", "enum { FEW = 6, MANY = 1 << 4 };\n",
            "enum { FEW = 3, MANY = 8 };\n", "enum { FEW = 3, MANY = 32 };\n"])

    def test_a_text_that_is_not_there_is_an_error_that_names_it(self):
        with self.assertRaisesRegex(Mismatch, "variant 'planted': its text stands 0 times in file.c, not once: a = 2;"):
            changed("a = 1;", ("a = 2;", "a = 3;"))

    def test_a_text_that_is_there_twice_is_an_error_that_names_it(self):
        with self.assertRaisesRegex(Mismatch, "variant 'planted': its text stands 2 times in file.c, not once: a = 1;"):
            changed("a = 1;\na = 1;", ("a = 1;", "a = 3;"))

    def test_a_text_is_found_across_lines_and_not_within_a_word(self):
        self.assertEqual(changed("x = a ||\n    b;", ("a || b", "a")), "x = a;")
        self.assertEqual(changed("N = 320, N = 32,", ("N = 32", "N = 16")), "N = 320, N = 16,")
        self.assertEqual(changed("MIN = 3, IN = 3", ("IN = 3", "IN = 1")), "MIN = 3, IN = 1")

    def test_the_edits_of_a_file_add_up(self):
        self.assertEqual(changed("a b", ("a", "c"), ("b", "d")), "c d")

    def test_a_name_of_no_variant_is_an_error(self):
        with self.assertRaisesRegex(Mismatch, "no variant's name contains 'nothing-like-it'"):
            ablate_variants.select(ablate_variants.all_variants(ROOT), ["central", "nothing-like-it"])

    def test_the_unchanged_one_is_always_selected(self):
        names = [v.name for v in ablate_variants.select(ablate_variants.all_variants(ROOT), ["central"])]
        self.assertEqual(names, ["unchanged", "central-only"])


def rounds(*pairs, more_is_better=True):
    return [({"cell": (figure, more_is_better)}, {"cell": (base, more_is_better)}) for figure, base in pairs]


class Ratios(unittest.TestCase):
    def test_a_ratio_is_the_median_of_the_rounds_ratios(self):
        # Round by round the variant was as fast, twice as fast and half as fast.
        self.assertEqual(ablate_report.ratio_of_cell("cell", rounds((10, 10), (20, 10), (20, 40))).ratio, 1)

    def test_of_times_the_shorter_is_the_better(self):
        self.assertEqual(ablate_report.ratio_of_cell("cell", rounds((50, 100), more_is_better=False)).ratio, 2)
        self.assertEqual(ablate_report.ratio_of_cell("cell", rounds((50, 100))).ratio, 0.5)

    def test_a_round_that_stood_still_has_no_ratio(self):
        self.assertEqual(ablate_report.ratio_of_cell("cell", rounds((10, 0), (0, 10), (30, 10))).ratio, 3)
        self.assertIsNone(ablate_report.ratio_of_cell("cell", rounds((0, 0))).ratio)

    def test_a_ratio_is_clear_by_five_percent_where_the_rounds_agree(self):
        def is_clear(*figures):
            return ablate_report.ratio_of_cell("cell", rounds(*((figure, 100) for figure in figures))).is_clear

        self.assertTrue(is_clear(*[90] * 8))
        self.assertTrue(is_clear(*[110] * 11, 90))
        self.assertFalse(is_clear(*[90] * 7))  # seven of seven come by luck once in 64 times
        self.assertFalse(is_clear(*[110] * 9, 90))
        self.assertFalse(is_clear(*[97] * 20))
        self.assertFalse(is_clear(*[103] * 20))

    def test_the_chance_of_rounds_that_agree_is_that_of_coins(self):
        self.assertEqual(ablate_report.chance([2, 2, 2]), 0.25)
        self.assertEqual(ablate_report.chance([2, 2, 2, 0.5]), 10 / 16)
        self.assertEqual(ablate_report.chance([2, 0.5, 1]), 1)

    def test_the_mean_of_ratios_is_geometric(self):
        self.assertAlmostEqual(ablate_report.geometric_mean([0.5, 2, 1]), 1)


class Turns(unittest.TestCase):
    def test_the_base_runs_before_every_few_variants_of_each_piece_and_round(self):
        ran = []
        ablate_runs.measure(list("ABCDE"), [1, 2], 2, lambda name, piece: ran.append(f"{name or 'base'}{piece}") or {})
        turns = "base1 A1 B1 C1 D1 base1 E1 "
        self.assertEqual(" ".join(ran) + " ", (turns + turns.replace("1", "2")) * 2)

    def test_a_variant_is_compared_with_the_base_that_ran_before_it(self):
        figures = iter(range(100))
        measured = ablate_runs.measure(list("ABCDE"), ["x", "y"], 1, lambda name, piece: {piece: (next(figures), True)})
        self.assertEqual(measured.rounds["A"], [({"x": (1, True), "y": (8, True)}, {"x": (0, True), "y": (7, True)})])
        self.assertEqual(measured.rounds["E"], [({"x": (6, True), "y": (13, True)}, {"x": (5, True), "y": (12, True)})])

    def test_a_variant_that_fails_is_left_out_and_the_others_go_on(self):
        ran = []

        def run(name, piece):
            ran.append(name)
            if name == "B":
                raise ablate_runs.Failure("exit status 1: a fault")
            return {"cell": (1, True)}

        measured = ablate_runs.measure(["A", "B", "C"], [[]], 2, run)
        self.assertEqual(measured.failures, {"B": "B: exit status 1: a fault"})
        self.assertEqual(ran, [None, "A", "B", "C", None, "A", "C"])
        text = ablate_report.suite_tables(measured)
        self.assertIn("`C`", text)
        self.assertNotIn("`B`", text)

    def test_a_failure_of_the_base_ends_the_suite_with_the_rounds_before(self):
        bases = iter([{"cell": (1, True)}, ablate_runs.Failure("hangs")])

        def run(name, piece):
            result = {"cell": (2, True)} if name else next(bases)
            if isinstance(result, Exception):
                raise result
            return result

        measured = ablate_runs.measure(["A"], [[]], 3, run)
        self.assertEqual(measured.failures, {"base": "base: hangs; the suite ended in round 2"})
        self.assertEqual(len(measured.rounds["A"]), 1)

    def test_the_busy_process_ends_with_the_measurement(self):
        with self.assertRaises(KeyError):
            with ablate_runs.busy_process() as process:
                self.assertIsNone(process.poll())
                raise KeyError
        self.assertIsNotNone(process.poll())

    def test_a_program_that_fails_is_a_failure_with_what_it_said(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            with open(program, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho 'error: an element was lost' >&2\nexit 1\n")
            os.chmod(program, 0o755)
            with self.assertRaisesRegex(ablate_runs.Failure, "exit status 1: error: an element was lost"):
                ablate_runs.run_program(program, [])


    def test_a_run_that_measures_nothing_is_an_error(self):
        options = ablate.arguments_of(["--suite", "modes", "fetch-ahead"])
        with self.assertRaisesRegex(ablate_runs.Failure, "measured nothing: these variants are of other suites"):
            ablate.measure_all([ablate_variants.UNCHANGED], {}, {}, options)

    def test_some_runs_of_a_round_can_be_chosen(self):
        pieces = ablate_runs.SUITES["modes"].full
        for texts, expected in (([], pieces), (["threads 1", "threads 4"], [pieces[0], pieces[2]]), (["way try"], [])):
            arguments = [part for text in texts for part in ("--piece", text)]
            self.assertEqual(ablate.pieces_of("modes", ablate.arguments_of(arguments)), expected)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(ablate.main(["--piece", "threads 3"]), 1)
        self.assertIn("error: --piece leaves nothing to run: threads 3", said.getvalue())


class Builds(unittest.TestCase):
    """With a tree of one file, and a build that copies it to the program or refuses it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root, self.folder = os.path.join(folder.name, "root"), os.path.join(folder.name, "out")
        self.file = os.path.join("Sources", "CCore", "file.c")
        os.makedirs(os.path.join(self.root, "Sources", "CCore"))
        self.write("int a = 1;\n")
        for command in (["init", "--quiet"], ["add", "."]):
            subprocess.run(["git", "-C", self.root, *command], check=True)
        self.built = 0

    def write(self, text):
        with open(os.path.join(self.root, self.file), "w", encoding="utf-8") as file:
            file.write(text)

    def text(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def build(self, tree, folder, programs):
        self.built += 1
        text = self.text(os.path.join(tree, self.file))
        if "broken" in text:
            raise subprocess.CalledProcessError(1, "make", output="making\nfile.c:1: error: 'broken' is unknown\n")
        os.makedirs(folder, exist_ok=True)
        for name in programs:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def builder(self):
        return ablate_runs.Builder(self.root, self.folder, self.build)

    def test_a_variant_that_does_not_build_is_reported_and_the_others_go_on(self):
        variants = [ablate_variants.UNCHANGED, variant((self.file, "a = 1", "broken"), name="one"),
                    variant((self.file, "a = 1", "a = 2"), name="two")]
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            built, failures = ablate.build_all(self.builder(), variants)
        self.assertEqual(list(built), ["unchanged", "two"])
        self.assertEqual(list(failures), ["one"])
        self.assertIn("error: one does not build: file.c:1: error: 'broken' is unknown", said.getvalue())
        self.assertEqual(self.text(os.path.join(built["two"], "bench_rings")), "int a = 2;\n")
        self.assertEqual(self.text(os.path.join(built["unchanged"], "bench_rings")), "int a = 1;\n")

    def test_the_copy_is_put_back_after_each_variant(self):
        builder = self.builder()
        for text in ("a = 2", "broken"):
            with contextlib.suppress(ablate_runs.Failure):
                builder.programs(variant((self.file, "a = 1", text)))
            self.assertEqual(self.text(os.path.join(self.folder, "tree", self.file)), "int a = 1;\n")

    def test_a_variant_is_built_again_where_the_sources_are_new_and_not_else(self):
        variants = (variant(name="plain"), variant((self.file, "a = 1", "a = 2")))
        for _ in range(2):
            for one in variants:
                self.builder().programs(one)
        self.assertEqual(self.built, 2)
        self.write("int a = 1; int b;\n")
        folders = [self.builder().programs(one) for one in variants]
        self.assertEqual([self.text(os.path.join(folder, "bench_rings")) for folder in folders],
                         ["int a = 1; int b;\n", "int a = 2; int b;\n"])


RINGS = {
    "throughput_million_per_second": [
        {"ring": "ilk_spsc", "way": "batches of 8", "producers": 1, "consumers": 1, "capacity": 1024, "samples": [5]},
        {"ring": "ilk_spsc (in place)", "way": "batches of 8", "producers": 1, "consumers": 1, "capacity": 1024,
         "samples": [7]}],
    "round_trips": [{"ring": "ilk_spsc", "way": "try", "p50_ns": 120}, {"ring": "ilk_mpmc", "way": "try", "p50_ns": 130}],
}
LOCKS = {"throughput_million_per_second": [
    {"lock": "ilk_rwlock", "threads": 1, "writes_percent": 0.1, "samples": [300]},
    {"lock": "ilk_rwlock", "threads": 2, "writes_percent": 50, "samples": [60]}]}
FACTS = {"commit": "abc", "date": "2026-01-31", "rounds": 3, "slice_ms": 20, "slices": 5, "best": True, "urgent": False, "busy_process": True,
         "cores_used": [1.0, 1.2, 1.1], "line_trips_ns": [70, 65],
         "machine": {"processor": "A processor", "cores": 2, "kernel": "Linux 6.1 x86_64", "compiler": "clang 20 (x)"}}


class Reports(unittest.TestCase):
    def test_the_figure_of_a_run_is_the_median_of_its_slices_or_the_best(self):
        result = {"throughput_million_per_second": [
            {"lock": "ilk_rwlock", "threads": 1, "writes_percent": 1, "samples": [1, 9, 4]}]}
        self.assertEqual(ablate_runs.cells(result, "ilk_rwlock"), {"1 thread, 1 % writes": (4, True)})
        self.assertEqual(ablate_runs.cells(result, "ilk_rwlock", max), {"1 thread, 1 % writes": (9, True)})

    def test_the_cells_are_those_of_the_contender_alone(self):
        self.assertEqual(ablate_runs.cells(RINGS, "ilk_spsc"), {
            "batches of 8, 1P1C, 1,024": (5, True), "round trip, try, ns": (120, False)})
        self.assertEqual(ablate_runs.cells(LOCKS, "ilk_rwlock"), {
            "1 thread, 0.1 % writes": (300, True), "2 threads, 50 % writes": (60, True)})

    def measured(self):
        return ablate_runs.Measured({"slow": rounds(*[(50, 100), (55, 110)] * 4)}, {"lost": "lost: hangs"})

    def test_a_report_has_the_state_the_summary_the_cells_and_what_is_left_out(self):
        text = ablate_report.report(FACTS, {"spsc": self.measured()})
        said = " ".join(text.split())
        self.assertIn("2026-01-31, commit abc. A processor, 2 cores; Linux 6.1; clang 20. 3 rounds; the figure of a run is the best of "
                      "5 slices of 20 ms. One process kept one of the cores busy. Other processes used 1.10 cores (median of the runs), at "
                      "most 1.20. A cache line went to the other core and back in 67.5 ns (65.0 to 70.0).", said)
        self.assertIn("| `slow` | 0.50× | 1 | 0 | **0.50×** cell | **0.50×** cell |\n", text)
        self.assertIn("| variant | cell |\n|---|---:|\n| base | 105 |\n| `slow` | **0.50×** |\n", text)
        self.assertIn("Left out: lost: hangs\n", text)

    def test_stored_samples_make_the_same_report(self):
        measured = self.measured()
        stored = {"facts": FACTS, "suites": {"spsc": {
            "variants": ablate_report.samples(measured), "failures": measured.failures}}}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(stored, file)
            file.flush()
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(ablate.main(["--from", file.name]), 0)
        self.assertEqual(said.getvalue(), ablate_report.report(copy.deepcopy(FACTS), {"spsc": measured}))

    def refusal(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(ablate.main(list(arguments)), 1)
        return said.getvalue()

    def test_a_file_that_holds_no_samples_is_an_error_that_names_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            for text in ("", "[]", "{}", '{"suites": {"spsc": {}}, "facts": {}}', '{"suites": {}, "facts": {}}'):
                file.seek(0)
                file.truncate()
                file.write(text)
                file.flush()
                self.assertIn(f"error: {file.name} holds no samples of scripts/ablate", self.refusal("--from", file.name))


if __name__ == "__main__":
    unittest.main()
