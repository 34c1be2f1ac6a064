# SPDX-License-Identifier: Apache-2.0
"""Builds the variants of scripts/ablate, and runs them in turns with the unchanged sources.

There is one copy of the sources and one build of it. A variant's changes are written into the copy, its programs are
built and kept, and the copy is put back: so a variant costs the compilation of what it changes.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

import ablate_variants
from charts import median
from tree import tracked

COPIED = ("CMakeLists.txt", "cmake", "include", "Sources/CCore", "Workshop/Benchmarks")
# Only ours are measured: the peers are not searched for.
WITHOUT_PEERS = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("TBB", "absl", "Boost")] + [
    f"-DINTERLOCK_BENCH_{name}:STRING=OFF" for name in
    ("NSYNC", "NSYNC_INCLUDE", "CK_INCLUDE", "READERWRITER_INCLUDE", "CONCURRENTQUEUE_INCLUDE", "RTE_RING", "UV",
     "UV_INCLUDE", "DISPATCH", "DISPATCH_INCLUDE", "CARGO")]
# A slice takes milliseconds: a program that takes this long hangs.
LONGEST_RUN_S = 600

# `quick`, `full`: for each run of a round its arguments, beside those of all; a run measures a few cells.
Suite = namedtuple("Suite", "program contender arguments quick full")


def flows(shapes, capacities):
    """A run for each kind of calls and each shape, and one for the round trips."""
    calls = ("try", "blocking", "batch8", "batch64")
    return [["--way", call, "--shape", shape, "--capacity", capacities, "--no-trips"]
            for shape in shapes for call in calls] + [["--no-flow"]]


def mixes(threads, writes):
    """A run for each number of threads."""
    return [["--threads", str(count), "--writes", writes, "--no-waits"] for count in threads]


def waits(threads):
    """A run with the waits of a thread for a lock that the others saturate."""
    return [["--threads", threads, "--no-mix"]]


RINGS = ["--size", "8", "--no-idle", "--no-back-off", "--no-instructions", "--no-state"]
LOCKS = ["--section", "2", "--no-instructions", "--no-state"]
CAPACITIES = "64,1024,65536"
SHARES = "0,0.1,1,10,50"
SUITES = {
    "spsc": Suite("bench_rings", "ilk_spsc", RINGS, flows(["1P1C"], "1024"), flows(["1P1C"], CAPACITIES)),
    "mpmc": Suite("bench_rings", "ilk_mpmc", RINGS, flows(["1P1C", "2P2C"], "1024"),
                  flows(["1P1C", "2P2C"], CAPACITIES)),
    "modes": Suite("bench_rwlock", "ilk_rwlock", LOCKS, mixes([1, 2], "0,1,50"), mixes([1, 2, 4], SHARES) + waits("2,4")),
    "constants": Suite("bench_rwlock", "ilk_rwlock", LOCKS, mixes([1, 2], "0,1,50"), mixes([1, 2, 4], SHARES)),
}


class Failure(Exception):
    """A variant cannot be built or run; the text names the variant and the reason."""


# ---- Building ----


def write_if_new(path, content):
    """Keeps the time of a file that stays: make builds it not again."""
    with contextlib.suppress(FileNotFoundError):
        with open(path, "rb") as file:
            if file.read() == content:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


class Builder:
    def __init__(self, root, folder, build=None):
        """`build(tree, folder, programs)` builds in place of CMake: a test's."""
        self.root, self.folder = root, folder
        self.tree = os.path.join(folder, "tree")
        self.build = build or build_with_cmake
        self.sources = {}
        for part in COPIED:
            for name in tracked(root, under=part):
                with open(os.path.join(root, name), "rb") as file:
                    self.sources[name] = file.read()

    def copy(self):
        for name, content in self.sources.items():
            write_if_new(os.path.join(self.tree, name), content)
        for name in [n for part in COPIED for n in files_below(self.tree, part)]:
            if name not in self.sources:
                os.remove(os.path.join(self.tree, name))

    def changed(self, variant):
        return ablate_variants.changed(variant, lambda path: self.sources[path].decode("utf-8"))

    def programs(self, variant):
        """The folder of the variant's programs, built if its sources are new."""
        names = sorted({SUITES[suite].program for suite in variant.suites})
        texts = self.changed(variant)
        digest = hashlib.sha256(repr((sorted(self.sources.items()), sorted(texts.items()), names,
                                      os.environ.get("CC"))).encode()).hexdigest()
        result = os.path.join(self.folder, "programs", variant.name)
        stamp = os.path.join(result, "sources")
        with contextlib.suppress(FileNotFoundError):
            with open(stamp, encoding="utf-8") as file:
                if file.read() == digest:
                    return result
        self.copy()
        try:
            for path, text in texts.items():
                write_if_new(os.path.join(self.tree, path), text.encode("utf-8"))
            self.build(self.tree, os.path.join(self.folder, "build"), names)
        except subprocess.CalledProcessError as error:
            said = (error.stdout or "").strip().splitlines()
            wrong = [line for line in said if "error" in line] or said[-5:]
            raise Failure(f"{variant.name} does not build: " + "\n    ".join(wrong[:5])) from error
        finally:
            self.copy()
        shutil.rmtree(result, ignore_errors=True)
        os.makedirs(result)
        for name in names:
            shutil.copy2(os.path.join(self.folder, "build", name), result)
        write_if_new(stamp, digest.encode())
        return result


def files_below(root, part):
    top = os.path.join(root, part)
    if os.path.isfile(top):
        return [part]
    return [os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(top) for name in names]


def build_with_cmake(tree, folder, programs):
    def run(*command):
        subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    if not os.path.exists(os.path.join(folder, "CMakeCache.txt")):
        run("cmake", "-S", os.path.join(tree, "Workshop/Benchmarks"), "-B", folder, "-DCMAKE_BUILD_TYPE=Release", *WITHOUT_PEERS)
    run("cmake", "--build", folder, "-j", str(os.cpu_count()), "--target", *programs)


# ---- Running ----


@contextlib.contextmanager
def busy_process():
    """A process that computes on the last core that this one may use, ended by its id."""
    core = max(os.sched_getaffinity(0))
    program = ("import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n"
               "    for _ in range(1000000):\n        pass\n")
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        os.sched_setaffinity(process.pid, {core})
        yield process
    finally:
        process.kill()
        process.wait()


def run_program(program, arguments):
    """The JSON of one run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        try:
            done = subprocess.run([program, *arguments, "--json", path], timeout=LONGEST_RUN_S, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            raise Failure(f"hangs: no end within {LONGEST_RUN_S} s") from None
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if not line.startswith("wrote ")]
            raise Failure(f"exit status {done.returncode}: " + " ".join(said[:3]))
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def cells(result, contender, figure=median):
    """cell -> (figure, more is better) of one run. `figure`: of its slices, whose median hides a disturbed one and whose
    best (max) needs only one that was not."""
    found = {}
    for cell in result["throughput_million_per_second"]:
        if cell.get("ring") == contender:
            title = f"{cell['way']}, {cell['producers']}P{cell['consumers']}C, {cell['capacity']:,}"
        elif cell.get("lock") == contender:
            count = cell["threads"]
            title = f"{count} thread{'s' if count > 1 else ''}, {cell['writes_percent']:g} % writes"
        else:
            continue
        found[title] = (figure(cell["samples"]), True)
    for trip in result.get("round_trips", []):
        if trip["ring"] == contender:
            found[f"round trip, {trip['way']}, ns"] = (trip["p50_ns"], False)
    for wait in result.get("waits", []):
        if wait["lock"] == contender:
            found[f"{wait['waiter']} beside {wait['threads'] - 1}, p99, ns"] = (wait["p99_ns"], False)
    return found


# `rounds`: of a variant, a list of (its cells, the cells of the base beside it); `failures`: name -> reason.
Measured = namedtuple("Measured", "rounds failures")
BASE_EVERY = 4  # variants at most between two runs of the base: the machine changes within seconds


def measure(names, pieces, rounds, run, progress=lambda text: None, warm_up=lambda piece: None):
    """Runs base, A, B, ..., base, ... of each piece in each round. `run(name, piece)` answers the cells; the base's name
    is None. A variant that fails is left out from then on; a failure of the base ends the suite with the rounds before.
    `warm_up` precedes the runs of a piece: the first run of a kind is the slowest."""
    measured = Measured({name: [] for name in names}, {})
    for number in range(rounds):
        taken = {name: ({}, {}) for name in names}
        for index, piece in enumerate(pieces):
            progress(f"round {number + 1} of {rounds}, part {index + 1} of {len(pieces)}")
            left = [name for name in names if name not in measured.failures]
            warm_up(piece)
            for first in range(0, len(left), BASE_EVERY):
                try:
                    base = run(None, piece)
                except Failure as failure:
                    measured.failures["base"] = f"base: {failure}; the suite ended in round {number + 1}"
                    return measured
                for name in left[first:first + BASE_EVERY]:
                    try:
                        taken[name][0].update(run(name, piece))
                        taken[name][1].update(base)
                    except Failure as failure:
                        measured.failures[name] = f"{name}: {failure}"
        for name in names:
            if name not in measured.failures:
                measured.rounds[name].append(taken[name])
    return measured
