# SPDX-License-Identifier: Apache-2.0
"""What counts the benchmarks' instructions (Workshop/Benchmarks/runner/stepped.h), on loops of known instructions."""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RUNNER = HERE.parents[1] / "Workshop/Benchmarks/runner"
SOURCES = ("instruction", "instructions", "stepped", "report", "clock", "slice")
COMPILER = os.environ.get("CXX") or shutil.which("clang++") or shutil.which("c++")

KINDS = {
    "locked": (
        "f0 ff 00",              # lock incl (%rax)
        "f0 48 0f b1 0a",        # lock cmpxchgq %rcx, (%rdx)
        "66 f0 ff 00", "f0 66 ff 00",  # lock incw (%rax), prefixes in both orders
        "64 f0 83 00 01", "3e f0 ff 00", "67 f0 ff 00",
        "f0 41 0f c1 00",        # lock xaddl %eax, (%r8)
        "f0 87 0a", "f2 f0 87 0a",
        "87 0a", "86 0a", "48 87 0a", "4d 87 42 08", "66 87 0a", "87 0d 00 00 00 00", "65 87 0c 25 00 00 00 00",
    ),
    "fence": ("0f ae f0", "0f ae e8", "0f ae f8"),
    "breakpoint": ("cc",),
    "other": (
        "87 ca", "86 ca", "48 87 ca", "49 90", "90",  # xchg of registers
        "0f b1 0a", "0f c1 0a",  # cmpxchg and xadd without LOCK
        "0f ae 38", "0f ae 28", "0f ae 30",  # clflush, xrstor, xsaveopt: memory
        "66 0f ae 38",           # clflushopt
        "f3 0f ae e8", "f3 48 0f ae e8",  # incsspd, incsspq
        "f3 0f ae f0", "66 0f ae f0", "f2 0f ae f0",  # umonitor, tpause, umwait
        "0f 01 f9", "0f 0d f0", "f3 90",  # rdtscp, a prefetch, pause
        "48 b8 f0 87 0a 87 0a 87 0a 87",  # bytes of an operand
        "0f 87 0a 00 00 00",     # ja
        "c4 e2 71 f0 00",        # a VEX prefix
        "a4", "", "f0", "66", "48", "0f", "0f ae", "87",
    ),
    "other repeats": ("f3 a4", "f3 48 a5", "f2 ae", "f3 aa"),
}

# Instructions, locked, fences; the loop has four instructions of its own.
COSTS = {
    "nothing": (4, 0, 0),
    "nops and one of each": (16, 1, 1),
    "exchanges of registers": (7, 0, 0),
    "exchanges with memory": (7, 3, 0),
    "prefixed": (7, 3, 0),
    "unlocked": (7, 0, 0),
    "fences": (7, 0, 3),
    "no fences": (7, 0, 0),
    "a string": (8, 0, 0),
}


@unittest.skipUnless(platform.machine() == "x86_64", "decodes x86-64 only")
@unittest.skipUnless(COMPILER, "no C++ compiler")
class Instructions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = os.path.join(folder.name, "bench_instructions")
        subprocess.run([COMPILER, "-std=c++17", "-pthread", '-DINTERLOCK_BENCH_MISSING=""', "-o", cls.program,
                        HERE / "bench_instructions.cpp", *(RUNNER / f"{name}.cpp" for name in SOURCES)], check=True)

    def said(self, what, text=""):
        run = subprocess.run([self.program, what], input=text, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_locked_instructions_and_fences_are_told_from_others(self):
        expected = [(code, kind) for kind, codes in KINDS.items() for code in codes]
        kinds = self.said("kinds", "".join(code + "\n" for code, _ in expected)).splitlines()
        self.assertEqual(list(zip((code for code, _ in expected), kinds, strict=True)), expected)

    def test_an_operation_is_counted_exactly(self):
        rows = {row["lock"]: row for row in json.loads(self.said("loops"))["instructions"]}
        self.assertEqual({row["operation"] for row in rows.values()}, {"read"})
        figures = {name: (row["instructions"], row["locked"], row["fences"]) for name, row in rows.items()}
        # Six instructions, and of each four operations one has eight more.
        self.assertAlmostEqual(figures.pop("now and then")[0], 8, delta=0.2)
        # Taken as beside another thread, for which the C library's mutex has the LOCK prefix.
        self.assertEqual(figures.pop("a mutex")[1:], (2, 0))
        self.assertEqual(figures, COSTS)

    def test_a_row_left_out_leaves_the_others(self):
        self.assertEqual(self.said("table"), """## Instructions of one operation

One thread, beside no other; with the measured loop's own instructions.

| lock    | operation | instructions | locked | fences |
|---------|----------:|-------------:|-------:|-------:|
| a lock  |      read |           41 |      2 |      0 |
| another |     write |       1234.5 |    0.2 |      1 |

Not counted: a third, read: reason

""")

    def test_a_refused_ptrace_is_the_reason_given_once(self):
        self.assertEqual(self.said("refused"), "## Instructions of one operation\n\n"
                         "Not counted: ptrace is refused: Operation not permitted\n\n")

    def test_a_loop_that_does_not_end_is_named(self):
        self.assertEqual(self.said("hung"), "## Instructions of one operation\n\n"
                         "Not counted: a lock: a loop did not end within 1 s\n\n")

    def test_a_loop_that_ends_its_process_is_named(self):
        self.assertEqual(self.said("ended"), "## Instructions of one operation\n\n"
                         "Not counted: a lock: the traced process ended\n\n")


if __name__ == "__main__":
    unittest.main()
