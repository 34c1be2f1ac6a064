# SPDX-License-Identifier: Apache-2.0
"""The tables of figures in docs/benchmarks.md, from what the benchmarks wrote.

A result is the JSON of one suite (rwlock, rings, mutex, condition, wait_set, pool, swift, operations). For each setting
the table gives our median, the best peer's, the ratio of these two, more than 1 where ours is better, and the lowest and the
highest ratio of a round. The best peer is of our kind: a lock that parks and whose slowest thread gets a tenth of the fastest or more;
beside `ilk_mpmc` a bounded ring for many threads; beside an operation, Foundation's in its own queue. Where a result says
what one operation executes, another table gives that of all contenders.
"""

import math
import re
import sys
import textwrap
from collections import namedtuple

import bench_costs
from charts import median

BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->"
FAIR_SHARE = 0.1
BUSY = 0.05  # cores that other processes use: more, and a figure says little

# `ratio` is as shown; `rounds` are the lowest and the highest ratio of a round, or None for figures of the whole run.
Row = namedtuple("Row", "setting ours our_figure peer peer_figure ratio rounds")


class Malformed(Exception):
    """An invalid result; the text names it and the fault."""


class Node:
    """A part of a result with its path, so that a missing key can be named."""

    def __init__(self, value, place):
        self.value, self.place = value, place

    def get(self, key, kind):
        if not isinstance(self.value, dict):
            raise Malformed(f"{self.place} is not an object")
        if key not in self.value:
            raise Malformed(f"{self.place} has no '{key}'")
        value = self.value[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise Malformed(f"'{key}' of {self.place} is not {KINDS[kind]}")
        return value

    def child(self, key):
        return Node(self.get(key, dict), f"'{key}' of {self.place}")

    def children(self, key):
        return [Node(value, f"{key}[{index}] of {self.place}") for index, value in enumerate(self.get(key, list))]

    def numbers(self, key):
        # "inf": the time of an operation in a slice that had none.
        values = [float("inf") if value == "inf" else value for value in self.get(key, list)]
        for index, value in enumerate(values):
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value < 0:
                raise Malformed(f"{key}[{index}] of {self.place} is not a number of 0 or more")
        if not values:
            raise Malformed(f"'{key}' of {self.place} is empty")
        return [float(value) for value in values]

    def amount(self, key):
        value = self.get(key, float)
        if not 0 <= value < math.inf:
            raise Malformed(f"'{key}' of {self.place} is not a number of 0 or more")
        return value


KINDS = {str: "a text", float: "a number", dict: "an object", list: "a list", bool: "true or false"}


def counting(rows):
    """Rows with a peer, which what ours did elsewhere is not: the settings that are counted."""
    return [row for row in rows if row.ratio is not None and not row.peer.startswith("itself")]


def ratio(above, below):
    """None where both made no progress."""
    if above == below and above in (0, math.inf):
        return None
    return math.inf if below == 0 else above / below


def compared(setting, ours, mine, best, is_rate, show):
    """The row of our samples, one a round, and the best peer's: its name and samples."""
    if best is None:
        return Row(setting, ours, show(median(mine)), "–", "–", None, None)
    name, theirs = best
    above, below = (mine, theirs) if is_rate else (theirs, mine)
    rounds = [one for one in map(ratio, above, below) if one is not None]
    return Row(setting, ours, show(median(mine)), name, show(median(theirs)), as_shown(ratio(median(above), median(below))),
               (as_shown(min(rounds)), as_shown(max(rounds))) if len(rounds) > 1 else None)


def digits(value):
    """Three significant digits."""
    if value == math.inf:
        return "∞"
    if value >= 99.95:
        return f"{value:,.0f}"
    if value >= 0.9995 or value == 0:
        return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    return f"{value:.{2 - math.floor(math.log10(value))}f}"


def number(text):
    """What `digits` has written."""
    return math.inf if text == "∞" else float(text.replace(",", ""))


def as_shown(value):
    """Every place that shows or counts a ratio has the same one."""
    return None if value is None else number(digits(value))


def duration(ns):
    for unit, scale in (("ns", 1), ("µs", 1e3), ("ms", 1e6)):
        if ns < scale * 1e3 or unit == "ms":
            return f"{digits(ns / scale)} {unit}"


# ---- The suites: each yields tables (title, unit, rows) ----


def fastest(candidates):
    return max(candidates, key=lambda item: median(item[1]), default=None)


def quickest(candidates):
    return min(candidates, key=lambda item: item[1], default=None)


def counted(count, noun):
    return f"{count:g} {noun}" + ("" if count == 1 else "s")


def grouped(nodes, *keys):
    """The nodes of equal values for `keys`, in the order in which the values first occur."""
    groups = {}
    for node in nodes:
        groups.setdefault(tuple(node.get(key, kind) for key, kind in keys), []).append(node)
    return groups


def rwlock(result):
    waiting = {lock.get("lock", str): lock.get("waiting", str) for lock in result.children("locks")}
    cells = result.children("throughput_million_per_second")
    shortest = min((cell.get("section_ns", float) for cell in cells), default=0)
    rows = []
    for (threads, writes), group in grouped(
        [cell for cell in cells if cell.get("section_ns", float) == shortest],
        ("threads", float), ("writes_percent", float)
    ).items():
        samples = {cell.get("lock", str): cell.numbers("samples") for cell in group}
        fair = [cell.get("lock", str) for cell in group if cell.get("share", float) >= FAIR_SHARE]
        peers = [(name, samples[name]) for name in fair if name != "ilk_rwlock" and waiting.get(name) == "parks"]
        rows.append(row(f"{counted(threads, 'thread')}, {writes:g} % writes", samples, "ilk_rwlock", fastest(peers)))
    yield f"Reader–writer locks, critical section of about {digits(shortest)} ns", "million operations a second", rows
    waits = []
    for (threads, waiter), group in grouped(result.children("waits"), ("threads", float), ("waiter", str)).items():
        times = {cell.get("lock", str): cell.get("p99_9_ns", float) for cell in group}
        best = quickest([(n, t) for n, t in times.items() if n != "ilk_rwlock" and waiting.get(n) == "parks" and t > 0])
        others = counted(threads - 1, "reader" if waiter == "writer" else "writer")
        waits.append(time_row(f"{waiter} beside {others}", times, "ilk_rwlock", best))
    yield "Waits for a lock that the others saturate", "p99.9 of all rounds", waits


def rings(result):
    flows = [cell for cell in result.children("throughput_million_per_second") if cell.get("element_bytes", float) == 8]
    for_many = {cell.get("ring", str) for cell in flows
                if cell.get("producers", float) > 1 or cell.get("consumers", float) > 1}
    rows = []
    for (way, producers, consumers, capacity), group in grouped(
        flows, ("way", str), ("producers", float), ("consumers", float), ("capacity", float)
    ).items():
        samples = {cell.get("ring", str): cell.numbers("samples") for cell in group}
        bounded = {cell.get("ring", str) for cell in group if cell.get("bounded", bool)}
        setting = f"{way}, {producers:g}P{consumers:g}C, capacity {capacity:,.0f}"
        for ours in ("ilk_spsc", "ilk_mpmc"):
            if ours in samples:
                rows.append(row(setting, samples, ours, fastest(
                    (name, rates) for name, rates in samples.items() if not name.startswith("ilk_")
                    and (ours == "ilk_spsc" or (name in for_many and name in bounded)))))
    yield "Rings, elements of 8 bytes", "million elements a second", rows
    trips = []
    for (way,), group in grouped(result.children("round_trips"), ("way", str)).items():
        for ours in ("ilk_spsc", "ilk_mpmc"):
            for figure in ("p50", "mean", "p99"):
                times = {cell.get("ring", str): cell.get(f"{figure}_ns", float) for cell in group}
                if ours in times:
                    best = quickest([(n, t) for n, t in times.items() if not n.startswith("ilk_")
                                     and (ours == "ilk_spsc" or n in for_many)])
                    trips.append(time_row(f"{way}, {figure}", times, ours, best))
    yield "Round trip between two threads", "p50, mean and p99", trips


RIVALS = {"ilk_mutex": "pthread_mutex", "ilk_mutex (inheriting)": "pthread_mutex (inheriting)", "ilk_semaphore": "sem_t",
          "ilk_semaphore (barging)": "sem_t"}


def mutex(result):
    rows = []
    for (threads, section), group in grouped(
        result.children("throughput_million_per_second"), ("threads", float), ("section_ns", float)
    ).items():
        samples = {cell.get("lock", str): cell.numbers("samples") for cell in group}
        for ours, rival in RIVALS.items():
            if ours in samples:
                setting = f"{counted(threads, 'thread')}, section of {digits(section)} ns"
                rows.append(row(setting, samples, ours, (rival, samples[rival]) if rival in samples else None))
    yield "Mutex and semaphore, beside the C library's", "million times a second", rows
    times = {cell.get("lock", str): cell.get("p50_ns", float) for cell in result.children("round_trips")}
    yield "Round trip of a baton", "p50", [time_row("two threads", times, "ilk_semaphore", quickest(
        (n, t) for n, t in times.items() if n == "sem_t"))] if "ilk_semaphore" in times else []


def condition(result):
    yield "Waiting under a lock for a condition", "a hand-over", spans(result)


def wait_set(result):
    yield "One thread that serves three rings", "an element", spans(result)


def spans(result):
    """Of a suite that measures by Workshop/Benchmarks/runner/spans.h."""
    rows = []
    for span in result.children("spans"):
        samples = {name: span.numbers(name) for name in span.value if name != "span"}
        rows += [span_row(span.get("span", str), samples, ours) for ours in samples if ours.startswith("ilk_")]
    return rows


def pool(result):
    rows = []
    for (threads,), group in grouped(result.children("submissions"), ("threads", float)).items():
        samples = {cell.get("pool", str): cell.numbers("samples") for cell in group}
        setting = f"empty jobs from {counted(threads, 'outside thread')}"
        rows += [span_row(setting, samples, ours) for ours in ("ilk_pool", "ilk_pool submit_many")
                 if ours == "ilk_pool" or ours in samples]
    yield "Worker pools, empty jobs", "time a job", rows
    rows = []
    for key, setting in (("fibonacci", "fork and join"), ("loop_even", "even loop"), ("loop_uneven", "very uneven loop")):
        samples = {cell.get("pool", str): cell.numbers("samples") for cell in result.children(key)}
        samples.pop("one thread", None)
        rows += [span_row(setting, samples, "ilk_pool")] if samples else []
    yield "Fork and join, loops", "time of a pass", rows
    wakes = result.children("wake_ups")
    yield "Wake-up of an idle worker", "over all rounds", [
        time_row(name, times, "ilk_pool", quickest((n, t) for n, t in times.items() if n != "ilk_pool"))
        for name, times in ((name, {cell.get("pool", str): cell.get(key, float) for cell in wakes})
                            for name, key in (("p50", "p50_ns"), ("p99", "p99_ns"))) if times]
    rows = []
    for key, setting in (("set_ns", "set"), ("cancel_ns", "cancel"), ("fire_ns", "fire")):
        samples = {cell.get("timers", str): cell.numbers(key) for cell in result.children("timers") if cell.get(key, list)}
        rows += [span_row(setting, samples, "ilk_pool")] if samples else []
    yield "Timers", "time a timer", rows


OWN_IN_SWIFT = re.compile(r"^(cachedValue|SafeArray|SafeDictionary|value\(.*|through Swift"
                          r"|(concurrentForEach|concurrentMap|GCD\.sync|WorkerPool|MPMCRing|SPSCRing).*)$")
# Of several of ours in a cell, the one that it is about.
SUBJECTS = ("cachedValue",)
# What ours is made of, and what does without threads: to compare with, but nothing to use instead.
BASELINES = ("from C", "one thread", "map")


def swift(result):
    rows = []
    for cell in result.children("cells"):
        times = {line.get("contender", str): line.numbers("nanoseconds") for line in cell.children("lines")}
        own = sorted((name for name in times if OWN_IN_SWIFT.match(name)), key=lambda name: name not in SUBJECTS)
        ours = own[0] if own else None
        if ours is None:
            raise Malformed(f"{cell.place} has no contender of ours: {', '.join(times)}")
        peers = [(name, values) for name, values in times.items()
                 if not OWN_IN_SWIFT.match(name) and name not in BASELINES]
        best = min(peers, key=lambda item: median(item[1]), default=None)
        rows.append(compared(cell.get("title", str), ours, times[ours], best, False, digits))
    yield "The Swift facade", "nanoseconds between two operations", rows


JOB, OPERATION = "InterlockQueue, Job", "InterlockQueue, AsyncOperation"
BLOCK, EMPTY = "InterlockQueue, BlockOperation", "InterlockQueue, empty Operation"
FOUNDATION = "OperationQueue, BlockOperation"


def operations(result):
    cells = [(cell.get("title", str), cell.get("nodes", float),
              {line.get("contender", str): line.numbers("nanoseconds") for line in cell.children("lines")})
             for cell in result.children("cells")]
    rows = []
    for title, _, samples in cells:
        peers = [name for name in samples if not name.startswith("InterlockQueue") and not name.endswith("AsyncOperation")]
        rows.append(beside(title, samples, JOB, peers))
        foundation = [name for name in peers if name == FOUNDATION]
        rows.append(beside(title, samples, OPERATION, foundation))
        if BLOCK in samples and foundation:
            rows.append(beside(title, samples, BLOCK, foundation))
        if EMPTY in samples:
            floor = "itself, an empty Operation"
            rows.append(beside(title, {**samples, floor: samples[EMPTY]}, OPERATION, [floor]))
    yield "Operations and jobs, made, run and freed", "time a node with its edge", rows
    rows = []
    grown = sorted(((nodes, samples) for title, nodes, samples in cells if "random" in title), key=lambda cell: cell[0])
    for ours in (JOB, OPERATION):
        for nodes, samples in grown[1:]:
            smallest = f"itself, {grown[0][0]:,.0f} nodes"
            own = {ours: samples[ours], smallest: grown[0][1][ours]}
            rows.append(beside(f"{nodes:,.0f} nodes", own, ours, [smallest]))
    yield "Random graphs of growing size, beside the smallest", "time a node with its edge", rows
    sizes = {size.get("kind", str): size.get("bytes", float) for size in result.children("sizes")}
    peer = next((kind for kind in sizes if kind.startswith("BlockOperation")), None)
    yield "Of 100,000 that wait, each", "bytes of the heap", [
        compared("waiting", kind, [count], (peer, [sizes[peer]]) if peer else None, False, digits)
        for kind, count in sizes.items() if kind.startswith(("Job", "AsyncOperation"))]


def row(setting, samples, ours, best):
    """Of rates: more is better. `best`: the peer's name and samples."""
    if ours not in samples:
        raise Malformed(f"no figures of {ours} for {setting}")
    return compared(setting, ours, samples[ours], best, True, digits)


def span_row(setting, samples, ours):
    """Of times: less is better, against the quickest peer."""
    return beside(setting, samples, ours, [name for name in samples if not name.startswith("ilk_")])


def beside(setting, samples, ours, peers):
    """Of times, against the quickest of `peers`."""
    if ours not in samples:
        raise Malformed(f"no figures of {ours} for {setting}")
    best = min(((name, samples[name]) for name in peers), key=lambda item: median(item[1]), default=None)
    return compared(setting, ours, samples[ours], best, False, duration)


def time_row(setting, times, ours, best):
    """Of single figures in nanoseconds: less is better."""
    if ours not in times:
        raise Malformed(f"no figures of {ours} for {setting}")
    return compared(setting, ours, [times[ours]], (best[0], [best[1]]) if best else None, False, duration)


SUITES = {"rwlock": rwlock, "rings": rings, "mutex": mutex, "condition": condition, "wait_set": wait_set,
          "pool": pool, "swift": swift, "operations": operations}
WITHOUT_TABLES = ("diagnosis",)


# ---- Markdown ----


HEAD = "| setting | ours | figure | best peer | figure | ratio | rounds, least–most |"


def table(rows):
    lines = [HEAD, "|---|---|---:|---|---:|---:|---:|"]
    for one in rows:
        lines.append(f"| {one.setting} | {one.ours} | {one.our_figure} | {one.peer} | {one.peer_figure} | "
                     f"{shown(one.ratio)} | {span(one.rounds)} |")
    return "\n".join(lines)


def shown(value):
    return "–" if value is None else f"{digits(value)}×"


def span(rounds):
    return "–" if rounds is None else "–".join(dict.fromkeys(map(digits, rounds)))


def slices(milliseconds):
    """Of a suite that measures for so long; the pool's measures so much work."""
    return f" of {milliseconds:g} ms" if milliseconds > 0 else ""


def flags(arguments):
    """Without where the result was written, which says nothing."""
    return re.sub(r" *--json[ =]\S+", "", arguments).strip()


STATES = ("quiet", "shared", "changed", "unknown")


def state_of(result):
    """The machine's state as a clause; nothing where no table was probed, as before 2026-11-23."""
    if "state" not in result.value:
        return ""
    state = result.get("state", str)
    if state not in STATES:
        raise Malformed(f"'state' of {result.place} is '{state}'; there are {', '.join(STATES)}")
    return "" if state == "unknown" else f"; the machine's state: {state}"


def facts(result):
    """Where, when and how a result was measured."""
    machine = result.child("machine")
    given = flags(result.get("arguments", str))
    compiler = re.sub(r" *\(https?:[^)]*\)", "", machine.get("compiler", str))
    commit = f" Commit {result.get('commit', str)}." if "commit" in result.value else ""
    return (f"{machine.get('processor', str)}, {machine.get('cores', float):g} cores; {machine.get('kernel', str)}; {compiler}. "
            f"{result.get('rounds', float):g} rounds{slices(result.get('slice_ms', float))}; other processes used "
            f"{result.get('cores_used_by_others', float):.2f} cores meanwhile{state_of(result)}. "
            + (f"Flags: `{given}`." if given else "All cells.") + commit)


def accepted(result):
    """Its suite; refuses a run that does not count."""
    suite = result.get("suite", str)
    if suite not in SUITES and suite not in WITHOUT_TABLES:
        raise Malformed(f"'suite' of {result.place} is '{suite}'; there are {', '.join([*SUITES, *WITHOUT_TABLES])}")
    if result.get("faults", float) != 0:
        raise Malformed(f"{result.place} is of a run that found {result.get('faults', float):g} faults: its figures do not count")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date := result.get("date", str)):
        raise Malformed(f"'date' of {result.place} is '{date}', not a day such as 2026-01-31")
    return suite


def section(result):
    """One result as Markdown; nothing of a suite without tables."""
    suite = accepted(result)
    if suite in WITHOUT_TABLES:
        return ""
    parts = [f"### {suite}, {result.get('date', str)}", "",
             textwrap.fill(facts(result), 120, break_long_words=False, break_on_hyphens=False), ""]
    if result.get("cores_used_by_others", float) > BUSY:
        print(f"note: beside the run of {result.place} other processes were at work; take it again on a quiet machine", file=sys.stderr)
    for title, unit, rows in SUITES[suite](result):
        if rows:
            parts += [f"{title}: {unit}.", "", table(rows), ""]
    if costs := bench_costs.costs(result):
        parts += [bench_costs.markdown(costs), ""]
    return "\n".join(parts) + "\n"


def insert(document, figures, first=BEGIN, last=END):
    begin, end = document.find(first), document.find(last)
    if begin < 0 or end < begin:
        raise Malformed(f"the document has no place for the table: {first.strip()} … {last}")
    return document[: begin + len(first)] + "\n" + figures + document[end:]
