# SPDX-License-Identifier: Apache-2.0
"""The tables of figures: what scripts/lib/bench_table.py makes of results, how what is none is refused, and the gate on them."""

import contextlib
import copy
import io
import json
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts", "lib"))
import bench_page
import bench_report
import bench_table

HEAD = {
    "date": "2026-01-31",
    "arguments": "--threads 2 --json build/somewhere.json",
    "machine": {"processor": "A processor", "cores": 2, "kernel": "Linux 6.1", "compiler": "clang 20 (https://a.b/c.git 1f)", "load_before": 0},
    "rounds": 3,
    "slice_ms": 40,
    "cores_used_by_others": 0.01,
    "line_trips_ns": [100, 100, 100],
    "faults": 0,
}
FACTS = ("A processor, 2 cores; Linux 6.1; clang 20. 3 rounds of 40 ms; other processes used 0.01 cores meanwhile. "
         "Flags:\n`--threads 2`.")


def lock(name, samples, share=1.0, threads=2, writes=1, section=2):
    return {"lock": name, "threads": threads, "writes_percent": writes, "section_ns": section, "share": share,
            "samples": samples}


def wait(name, p99_9):
    return {"lock": name, "threads": 3, "waiter": "writer", "p99_9_ns": p99_9}


RWLOCK = {
    "suite": "rwlock", **HEAD,
    "locks": [{"lock": name, "waiting": waiting} for name, waiting in
              (("ilk_rwlock", "parks"), ("parker", "parks"), ("starver", "parks"), ("spinner", "spins"))],
    "throughput_million_per_second": [
        # Medians of 40 and 20; round by round once, twice and once as much.
        lock("ilk_rwlock", [10, 40, 40]), lock("parker", [10, 20, 40]),
        lock("starver", [90, 90, 90], share=0.05), lock("spinner", [99, 99, 99]),
        lock("ilk_rwlock", [5, 5, 5], threads=1), lock("parker", [4, 4, 4], threads=1),
        lock("ilk_rwlock", [1, 1, 1], section=50), lock("parker", [9, 9, 9], section=50),
    ],
    "waits": [wait("ilk_rwlock", 1500), wait("parker", 30), wait("spinner", 10)],
}
RWLOCK_TABLE = f"""### rwlock, 2026-01-31

{FACTS}

Reader–writer locks, critical section of about 2.00 ns: million operations a second.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| 2 threads, 1 % writes | ilk_rwlock | 40.0 | parker | 20.0 | 2.00× | 1.00–2.00 |
| 1 thread, 1 % writes | ilk_rwlock | 5.00 | parker | 4.00 | 1.25× | 1.25 |

Waits for a lock that the others saturate: p99.9 of all rounds.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| writer beside 2 readers | ilk_rwlock | 1.50 µs | parker | 30.0 ns | 0.0200× | – |

"""


def flow(name, samples, producers=1, consumers=1, bounded=True, size=8):
    return {"ring": name, "way": "try", "bounded": bounded, "producers": producers, "consumers": consumers,
            "element_bytes": size, "capacity": 1024, "samples": samples}


RINGS = {
    "suite": "rings", **HEAD,
    "throughput_million_per_second": [
        flow("ilk_spsc", [300, 300, 300]), flow("ilk_mpmc", [100, 100, 100]),
        flow("single", [200, 200, 200]), flow("many", [25, 25, 25]), flow("unbounded", [150, 150, 150], bounded=False),
        # In the last round nothing moved; in the second only the peer stood still.
        flow("ilk_mpmc", [60, 60, 0], 2, 2), flow("many", [20, 0, 0], 2, 2), flow("stuck", [0, 0, 0], 2, 2),
        flow("unbounded", [90, 90, 90], 2, 2, bounded=False),
        flow("ilk_spsc", [7, 7, 7], size=64),
    ],
    "round_trips": [{"ring": name, "way": "blocking", "p50_ns": p50, "mean_ns": mean, "p99_ns": 9000}
                    for name, p50, mean in (("ilk_spsc", 200, 500), ("ilk_mpmc", 400, 800), ("single", 300, 450),
                                            ("many", 1000, 2000))],
}
RINGS_TABLE = f"""### rings, 2026-01-31

{FACTS}

Rings, elements of 8 bytes: million elements a second.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| try, 1P1C, capacity 1,024 | ilk_spsc | 300 | single | 200 | 1.50× | 1.50 |
| try, 1P1C, capacity 1,024 | ilk_mpmc | 100 | many | 25.0 | 4.00× | 4.00 |
| try, 2P2C, capacity 1,024 | ilk_mpmc | 60.0 | many | 0.00 | ∞× | 3.00–∞ |

Round trip between two threads: p50, mean and p99.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| blocking, p50 | ilk_spsc | 200 ns | single | 300 ns | 1.50× | – |
| blocking, mean | ilk_spsc | 500 ns | single | 450 ns | 0.900× | – |
| blocking, p99 | ilk_spsc | 9.00 µs | single | 9.00 µs | 1.00× | – |
| blocking, p50 | ilk_mpmc | 400 ns | many | 1.00 µs | 2.50× | – |
| blocking, mean | ilk_mpmc | 800 ns | many | 2.00 µs | 2.50× | – |
| blocking, p99 | ilk_mpmc | 9.00 µs | many | 9.00 µs | 1.00× | – |

"""

MUTEX = {
    "suite": "mutex", **HEAD,
    "throughput_million_per_second": [
        {"lock": "ilk_mutex", "threads": 2, "section_ns": 2, "samples": [30, 30, 30]},
        {"lock": "pthread_mutex", "threads": 2, "section_ns": 2, "samples": [20, 20, 20]},
        {"lock": "ilk_semaphore", "threads": 2, "section_ns": 2, "samples": [10, 10, 10]},
    ],
    "round_trips": [{"lock": "ilk_semaphore", "p50_ns": 5000}, {"lock": "sem_t", "p50_ns": 4000}],
}
CONDITION = {
    "suite": "condition", **HEAD,
    "spans": [{"span": "two threads in turn", "ilk_condition": [2000, 2000, 2000], "pthread_cond_t": [4000, 4000, 4000],
               "nsync_cv": [3000, 3000, 3000]}],
}
WAIT_SET = {
    "suite": "wait_set", **HEAD,
    "spans": [{"span": "an element and its answer", "ilk_wait_set": [700, 800, 900], "Go select": [1600, 1600, 1600]}],
}
CONDITION_TABLE = f"""### condition, 2026-01-31

{FACTS}

Waiting under a lock for a condition: a hand-over.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| two threads in turn | ilk_condition | 2.00 µs | nsync_cv | 3.00 µs | 1.50× | 1.50 |

"""
WAIT_SET_TABLE = f"""### wait_set, 2026-01-31

{FACTS}

One thread that serves three rings: an element.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| an element and its answer | ilk_wait_set | 800 ns | Go select | 1.60 µs | 2.00× | 1.78–2.29 |

"""
MUTEX_TABLE = f"""### mutex, 2026-01-31

{FACTS}

Mutex and semaphore, beside the C library's: million times a second.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| 2 threads, section of 2.00 ns | ilk_mutex | 30.0 | pthread_mutex | 20.0 | 1.50× | 1.50 |
| 2 threads, section of 2.00 ns | ilk_semaphore | 10.0 | – | – | – | – |

Round trip of a baton: p50.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| two threads | ilk_semaphore | 5.00 µs | sem_t | 4.00 µs | 0.800× | – |

"""



def job(name, samples, threads=1):
    return {"pool": name, "threads": threads, "samples": samples}


def span(name, samples):
    return {"pool": name, "samples": samples}


POOL = {
    "suite": "pool", **HEAD, "slice_ms": 0,
    "submissions": [
        job("ilk_pool", [20, 20, 20]), job("ilk_pool submit_many", [10, 10, 10]),
        job("slow", [300, 300, 300]), job("quick", [100, 40, 100]),
        job("ilk_pool", [30, 30, 30], 2), job("quick", [45, 45, 45], 2),
    ],
    "fibonacci": [span("ilk_pool", [2e5, 2e5, 2e5]), span("quick", [1e5, 1e5, 1e5])],
    "loop_even": [span("ilk_pool", [1e6, 1e6, 1e6]), span("quick", [1e6, 1e6, 1e6]), span("one thread", [1, 1, 1])],
    "loop_uneven": [],
    "wake_ups": [{"pool": "ilk_pool", "p50_ns": 10000, "p99_ns": 50000}, {"pool": "quick", "p50_ns": 20000, "p99_ns": 40000}],
    "timers": [{"timers": "ilk_pool", "set_ns": [40, 40, 40], "cancel_ns": [30, 30, 30], "fire_ns": [200, 200, 200]},
               {"timers": "uncancelled", "set_ns": [20, 20, 20], "cancel_ns": [], "fire_ns": [400, 400, 400]}],
}
POOL_TABLE = f"""### pool, 2026-01-31

A processor, 2 cores; Linux 6.1; clang 20. 3 rounds; other processes used 0.01 cores meanwhile. Flags: `--threads 2`.

Worker pools, empty jobs: time a job.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| empty jobs from 1 outside thread | ilk_pool | 20.0 ns | quick | 100 ns | 5.00× | 2.00–5.00 |
| empty jobs from 1 outside thread | ilk_pool submit_many | 10.0 ns | quick | 100 ns | 10.0× | 4.00–10.0 |
| empty jobs from 2 outside threads | ilk_pool | 30.0 ns | quick | 45.0 ns | 1.50× | 1.50 |

Fork and join, loops: time of a pass.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| fork and join | ilk_pool | 200 µs | quick | 100 µs | 0.500× | 0.500 |
| even loop | ilk_pool | 1.00 ms | quick | 1.00 ms | 1.00× | 1.00 |

Wake-up of an idle worker: over all rounds.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| p50 | ilk_pool | 10.0 µs | quick | 20.0 µs | 2.00× | – |
| p99 | ilk_pool | 50.0 µs | quick | 40.0 µs | 0.800× | – |

Timers: time a timer.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| set | ilk_pool | 40.0 ns | uncancelled | 20.0 ns | 0.500× | 0.500 |
| cancel | ilk_pool | 30.0 ns | – | – | – | – |
| fire | ilk_pool | 200 ns | uncancelled | 400 ns | 2.00× | 2.00 |

"""

SWIFT = {
    "suite": "swift", **HEAD,
    "cells": [
        {"title": "read, 2 threads", "lines": [
            {"contender": "SafeArray", "nanoseconds": [10, 10, 10]},
            {"contender": "Mutex", "nanoseconds": [30, 40, 50]},
            # Slices without one operation.
            {"contender": "barrier queue", "nanoseconds": [900, "inf", "inf"]}]},
        {"title": "append", "lines": [
            {"contender": "SafeArray", "nanoseconds": ["inf", 10, 10]},
            {"contender": "Mutex", "nanoseconds": ["inf", "inf", "inf"]}]},
        {"title": "one task to another", "lines": [
            {"contender": "MPMCRing of 1,024", "nanoseconds": [50, 50, 50]},
            {"contender": "AsyncStream", "nanoseconds": [250, 250, 250]}]},
        # Of several of ours one is meant; what ours is made of is no peer.
        {"title": "kept value", "lines": [
            {"contender": "SafeDictionary", "nanoseconds": [10, 10, 10]},
            {"contender": "cachedValue", "nanoseconds": [20, 20, 20]},
            {"contender": "LRU under Mutex", "nanoseconds": [60, 60, 60]}]},
        {"title": "push", "lines": [
            {"contender": "through Swift", "nanoseconds": [5, 5, 5]},
            {"contender": "from C", "nanoseconds": [4, 4, 4]},
            {"contender": "pure Swift", "nanoseconds": [10, 10, 10]}]},
    ],
}
SWIFT_TABLE = f"""### swift, 2026-01-31

{FACTS}

The Swift facade: nanoseconds between two operations.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| read, 2 threads | SafeArray | 10.0 | Mutex | 40.0 | 4.00× | 3.00–5.00 |
| append | SafeArray | 10.0 | Mutex | ∞ | ∞× | ∞ |
| one task to another | MPMCRing of 1,024 | 50.0 | AsyncStream | 250 | 5.00× | 5.00 |
| kept value | cachedValue | 20.0 | LRU under Mutex | 60.0 | 3.00× | 3.00 |
| push | through Swift | 5.00 | pure Swift | 10.0 | 2.00× | 2.00 |

"""


def graph(title, nodes, **samples):
    names = {"job": "InterlockQueue, Job", "own": "InterlockQueue, AsyncOperation", "theirs": "OperationQueue, BlockOperation",
             "mixed": "OperationQueue, AsyncOperation", "foreign": "InterlockQueue, BlockOperation", "empty": "InterlockQueue, empty Operation", "quick": "quick"}
    return {"title": title, "nodes": nodes,
            "lines": [{"contender": names[name], "nanoseconds": values} for name, values in samples.items()]}


OPERATIONS = {
    "suite": "operations", **HEAD, "slice_ms": 0,
    "cells": [
        # Ours in their queue, and theirs in ours, are no peers; an empty one is a floor, which is not counted.
        graph("independent", 50, job=[100, 100, 100], own=[500, 500, 500], theirs=[2000, 3000, 3000], mixed=[1, 1, 1],
              foreign=[1000, 1000, 1000], empty=[400, 400, 400], quick=[50, 50, 50]),
        graph("a random graph of 1000", 1000, job=[300, 300, 300], own=[900, 900, 900]),
        graph("a random graph of 10", 10, job=[200, 150, 150], own=[900, 900, 900], theirs=[900, 900, 900]),
    ],
    "sizes": [{"kind": "Job", "bytes": 200}, {"kind": "AsyncOperation", "bytes": 1000},
              {"kind": "BlockOperation", "bytes": 900}, {"kind": "a node of another library", "bytes": 1}],
}
OPERATIONS_TABLE = """### operations, 2026-01-31

A processor, 2 cores; Linux 6.1; clang 20. 3 rounds; other processes used 0.01 cores meanwhile. Flags: `--threads 2`.

Operations and jobs, made, run and freed: time a node with its edge.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| independent | InterlockQueue, Job | 100 ns | quick | 50.0 ns | 0.500× | 0.500 |
| independent | InterlockQueue, AsyncOperation | 500 ns | OperationQueue, BlockOperation | 3.00 µs | 6.00× | 4.00–6.00 |
| independent | InterlockQueue, BlockOperation | 1.00 µs | OperationQueue, BlockOperation | 3.00 µs | 3.00× | 2.00–3.00 |
| independent | InterlockQueue, AsyncOperation | 500 ns | itself, an empty Operation | 400 ns | 0.800× | 0.800 |
| a random graph of 1000 | InterlockQueue, Job | 300 ns | – | – | – | – |
| a random graph of 1000 | InterlockQueue, AsyncOperation | 900 ns | – | – | – | – |
| a random graph of 10 | InterlockQueue, Job | 150 ns | OperationQueue, BlockOperation | 900 ns | 6.00× | 4.50–6.00 |
| a random graph of 10 | InterlockQueue, AsyncOperation | 900 ns | OperationQueue, BlockOperation | 900 ns | 1.00× | 1.00 |

Random graphs of growing size, beside the smallest: time a node with its edge.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| 1,000 nodes | InterlockQueue, Job | 300 ns | itself, 10 nodes | 150 ns | 0.500× | 0.500–0.667 |
| 1,000 nodes | InterlockQueue, AsyncOperation | 900 ns | itself, 10 nodes | 900 ns | 1.00× | 1.00 |

Of 100,000 that wait, each: bytes of the heap.

| setting | ours | figure | best peer | figure | ratio | rounds, least–most |
|---|---|---:|---|---:|---:|---:|
| waiting | Job | 200 | BlockOperation | 900 | 4.50× | – |
| waiting | AsyncOperation | 1,000 | BlockOperation | 900 | 0.900× | – |

"""


def cost(name, operation, instructions, locked, fences, kind="lock"):
    return {kind: name, "operation": operation, "instructions": instructions, "locked": locked, "fences": fences}


COSTS = [cost("ilk_rwlock", "read, fenced", 43, 1, 0), cost("<spinner>", "write", 1234.04, 2.25, 1)]
COST_TABLE = """Instructions of one operation: one thread, beside no other; with those of the measured loop.

| contender | operation | instructions | locked | fences |
|---|---|---:|---:|---:|
| ilk_rwlock | read, fenced | 43 | 1 | 0 |
| <spinner> | write | 1,234 | 2.2 | 1 |

"""


def section(result):
    return bench_table.section(bench_table.Node(result, "result.json"))


@contextlib.contextmanager
def tree(**files):
    """A folder with a page and a README that have the marks alone, and with these files; the current one meanwhile."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("docs")
        for name, text in {"docs/benchmarks.md": PAGE, "README.md": README, **files}.items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        try:
            yield folder
        finally:
            os.chdir(before)


def content(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


PAGE = "# Title\n<!-- figures -->\n\nold\n<!-- end of figures -->\n\n## After\n"
README = "<!-- results -->\n<!-- end of results -->\n"


class Tables(unittest.TestCase):
    maxDiff = None

    def test_instructions_are_another_table_of_the_runs_that_counted_them(self):
        def of_rings(row):
            return {("ring" if key == "lock" else key): value for key, value in row.items()}

        for result, rows, before in ((RWLOCK, COSTS, RWLOCK_TABLE), (MUTEX, COSTS, MUTEX_TABLE),
                                     (RINGS, [of_rings(row) for row in COSTS], RINGS_TABLE)):
            with self.subTest(result["suite"]):
                text = section({**result, "instructions": rows})
                self.assertEqual(text, before + COST_TABLE)

    def test_a_run_of_instructions_alone_has_their_table_alone(self):
        result = {**RWLOCK, "throughput_million_per_second": [], "waits": [], "rounds": 0, "slice_ms": 0,
                  "instructions": COSTS}
        text = section(result)
        self.assertTrue(text.endswith("Flags: `--threads 2`.\n\n" + COST_TABLE), text)

    def test_each_suite_makes_its_table(self):
        for result, table in ((RWLOCK, RWLOCK_TABLE), (RINGS, RINGS_TABLE), (MUTEX, MUTEX_TABLE),
                              (CONDITION, CONDITION_TABLE), (WAIT_SET, WAIT_SET_TABLE), (POOL, POOL_TABLE), (SWIFT, SWIFT_TABLE),
                              (OPERATIONS, OPERATIONS_TABLE)):
            with self.subTest(result["suite"]):
                self.assertEqual(section(result), table)

    def test_a_suite_of_parts_has_the_tables_of_those_parts(self):
        result = copy.deepcopy(RWLOCK)
        result["waits"] = []
        text = section(result)
        self.assertIn("| 2 threads, 1 % writes |", text)
        self.assertNotIn("Waits", text)

    def test_the_machines_state_is_in_the_facts_where_it_is_known(self):
        text = section({**RWLOCK, "state": "changed", "arguments": ""})
        self.assertIn("cores meanwhile; the machine's state: changed. All cells.", " ".join(text.split()))
        for unknown in ({}, {"state": "unknown"}):
            self.assertNotIn("state", section({**RWLOCK, **unknown}))

    def test_what_stands_between_the_marks_is_replaced_and_nothing_else(self):
        with tree(**{"a.json": json.dumps(SWIFT), "b.json": json.dumps(OPERATIONS)}):
            for _ in range(2):  # twice is as once
                self.assertEqual(bench_report.main(["out", "a.json", "b.json"]), 0)
                self.assertEqual(
                    content("docs/benchmarks.md"),
                    "# Title\n<!-- figures -->\n\n" + SWIFT_TABLE + OPERATIONS_TABLE + "<!-- end of figures -->\n\n## After\n")

    def test_small_figures_have_three_digits_too(self):
        self.assertEqual([bench_table.digits(value) for value in (0, 0.0123456, 0.9994, 0.9996, 9.994, 9.996, 99.96, 1234.5)],
                         ["0.00", "0.0123", "0.999", "1.00", "9.99", "10.0", "100", "1,234"])

    def test_the_page_is_read_as_it_was_written(self):
        page = bench_table.insert(PAGE, "".join(map(section, (RWLOCK, RINGS, MUTEX, POOL, SWIFT, OPERATIONS))))
        written = [[*bench_table.SUITES[result["suite"]](bench_table.Node(result, "r"))] for result in
                   (RWLOCK, RINGS, MUTEX, POOL, SWIFT, OPERATIONS)]
        self.assertEqual([(table.title, table.unit, bench_page.rows_of(table)) for table in bench_page.tables(page)],
                         [table for tables in written for table in tables if table[2]])


class Gate(unittest.TestCase):
    """A ratio that is not that of its figures, or not within those of the rounds."""

    def test_ratios_that_were_made_are_accepted(self):
        for result in (RWLOCK, RINGS, MUTEX, POOL, SWIFT, OPERATIONS):
            for title, unit, rows in bench_table.SUITES[result["suite"]](bench_table.Node(result, "r")):
                for row in rows:
                    self.assertIsNone(bench_page.disagreement(row, unit.startswith("million")), f"{title}: {row}")

    def test_others_are_not(self):
        row = bench_table.Row("s", "ours", "32.9", "theirs", "45.2", 0.728, (0.5, 2.61))
        for change, is_rate, said in (
            ({}, True, None), ({}, False, "the ratio 0.728× is not that of 32.9 and 45.2"),
            ({"ratio": 2.40}, True, "the ratio 2.40× is not that of 32.9 and 45.2"),
            ({"ratio": 0.731}, True, "the ratio 0.731× is not that of 32.9 and 45.2"),
            ({"rounds": (0.73, 2.61)}, True, "the ratio 0.728× is outside of those of the rounds"),
            ({"our_figure": "32.9 ns", "peer_figure": "45.2 µs", "ratio": 1370.0, "rounds": None}, False, None),
            ({"our_figure": "32.9 ns", "peer_figure": "45.2 µs", "ratio": 1.37, "rounds": None}, False,
             "the ratio 1.37× is not that of 32.9 ns and 45.2 µs"),
            ({"ratio": None}, True, "a peer without a ratio"),
        ):
            self.assertEqual(bench_page.disagreement(row._replace(**change), is_rate), said)


class Refusals(unittest.TestCase):
    def refusal(self, text):
        """What the program says of this result; nothing is written then."""
        said = io.StringIO()
        with tree(**{"result.json": text}), contextlib.redirect_stderr(said):
            self.assertEqual(bench_report.main(["out", "result.json"]), 1)
            self.assertEqual((content("docs/benchmarks.md"), content("README.md")), (PAGE, README))
            self.assertFalse(os.path.exists("out"))
        return said.getvalue()

    def refusal_of(self, result, change):
        result = copy.deepcopy(result)
        change(result)
        return self.refusal(json.dumps(result))

    def test_what_is_no_json_is_named(self):
        self.assertIn("error: result.json is not JSON", self.refusal('{"suite": "rwlock", '))
        self.assertIn("error: result.json is not an object", self.refusal("[]"))

    def test_what_is_missing_is_named(self):
        for result in (RWLOCK, RINGS, MUTEX, POOL, SWIFT, OPERATIONS):
            for key in set(result) - {"line_trips_ns"}:
                with self.subTest(f"{result['suite']}: {key}"):
                    self.assertIn(f"error: result.json has no '{key}'", self.refusal_of(result, lambda r: r.pop(key)))
        self.assertIn(
            "error: 'machine' of result.json has no 'compiler'", self.refusal_of(RWLOCK, lambda r: r["machine"].pop("compiler")))
        self.assertIn(
            "error: throughput_million_per_second[1] of result.json has no 'samples'",
            self.refusal_of(RINGS, lambda r: r["throughput_million_per_second"][1].pop("samples")))

    def test_what_is_of_another_kind_is_named(self):
        def change(key, value):
            return lambda result: result.update({key: value})

        self.assertIn("'rounds' of result.json is not a number", self.refusal_of(RWLOCK, change("rounds", "three")))
        self.assertIn("'machine' of result.json is not an object", self.refusal_of(RWLOCK, change("machine", [])))
        self.assertIn("'cells' of result.json is not a list", self.refusal_of(SWIFT, change("cells", {})))
        self.assertIn("'suite' of result.json is 'mutexes'", self.refusal_of(MUTEX, change("suite", "mutexes")))
        self.assertIn("'date' of result.json is 'yesterday'", self.refusal_of(MUTEX, change("date", "yesterday")))

        def unmeasured(result):
            result["throughput_million_per_second"][0]["samples"][2] = None

        self.assertIn(
            "samples[2] of throughput_million_per_second[0] of result.json is not a number of 0 or more",
            self.refusal_of(RWLOCK, unmeasured))

    def test_instructions_that_are_none_are_named(self):
        for change, said in (
            (lambda row: row.pop("lock"), "instructions[1] of result.json has no 'lock'"),
            (lambda row: row.pop("fences"), "instructions[1] of result.json has no 'fences'"),
            (lambda row: row.update(locked=None), "'locked' of instructions[1] of result.json is not a number"),
            (lambda row: row.update(locked=-1), "'locked' of instructions[1] of result.json is not a number of 0 or more"),
        ):
            result = {**RWLOCK, "instructions": copy.deepcopy(COSTS)}
            change(result["instructions"][1])
            self.assertIn("error: " + said, self.refusal(json.dumps(result)))

    def test_a_state_that_there_is_not_is_named(self):
        self.assertIn("'state' of result.json is 'noisy'; there are quiet, shared, changed, unknown",
                      self.refusal(json.dumps({**RWLOCK, "state": "noisy"})))

    def test_a_run_with_faults_does_not_count(self):
        self.assertIn("result.json is of a run that found 2 faults", self.refusal_of(RINGS, lambda r: r.update(faults=2)))

    def test_a_run_without_ours_is_named(self):
        def without_ours(result):
            cells = result["throughput_million_per_second"]
            result["throughput_million_per_second"] = [cell for cell in cells if cell["lock"] != "ilk_rwlock"]

        self.assertIn("no figures of ilk_rwlock for 2 threads, 1 % writes", self.refusal_of(RWLOCK, without_ours))
        self.assertIn(
            "no figures of InterlockQueue, Job for independent",
            self.refusal_of(OPERATIONS, lambda r: r["cells"][0]["lines"].pop(0)))

    def test_each_cell_of_the_swift_suite_has_a_contender_of_ours(self):
        """Has been seen to fail on: loops renamed in the suite and not here, so that no page could be made of a run."""
        sources = os.path.join(ROOT, "Workshop", "Benchmarks", "Swift", "Sources", "Bench")
        cells = 0
        for name in sorted(os.listdir(sources)):
            with open(os.path.join(sources, name), encoding="utf-8") as file:
                lists = re.findall(r"contenders(?: =|:) \[\n(.*?)\n *\]", file.read(), re.DOTALL)
            for text in lists:
                contenders = re.findall(r'[Cc]ontender\("([^"]+)"', text)
                if contenders:
                    cells += 1
                    self.assertTrue(any(map(bench_table.OWN_IN_SWIFT.match, contenders)), f"{name}: {contenders}")
        self.assertGreaterEqual(cells, 9)

    def test_a_document_without_the_marks_is_named(self):
        with self.assertRaisesRegex(bench_table.Malformed, "no place for the table"):
            bench_table.insert("# Title\n", "figures")


if __name__ == "__main__":
    unittest.main()
