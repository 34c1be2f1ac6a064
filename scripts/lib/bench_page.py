# SPDX-License-Identifier: Apache-2.0
"""What docs/benchmarks.md says, and what is made of it: the README's table of results and the charts of ratios. Of a figure
that is shown there is thus one home in the tree; the gate `figures` compares.

The README's table has for each question how many settings were measured, in how many Interlock is ahead of the best peer,
and the setting in which it is furthest behind.
"""

import math
import os
import re
import sys
from collections import namedtuple

import bench_table
import charts
from bench_table import Malformed, Row, as_shown, counting, number, shown
from charts import median
from tree import Finding, read, require

DOCUMENT = "docs/benchmarks.md"
README = "README.md"
BEGIN, END = "<!-- results -->\n", "<!-- end of results -->"

# A table of the page; `rows` are pairs of a line's number and its row.
Table = namedtuple("Table", "suite date machine title unit rows")


def chart_of(name):
    return f"docs/images/benchmarks/{name}.svg"


def tables(document):
    """The tables that compare, in their order."""
    found, suite, date, machine, title, unit = [], None, None, None, None, None
    begin, end = document.find(bench_table.BEGIN), document.find(bench_table.END)
    for index, line in enumerate(document[:max(end, 0)].splitlines(), 1):
        if index <= document.count("\n", 0, begin):
            continue
        if heading := re.fullmatch(r"### (\w+), ([\d-]+)", line):
            suite, date = heading.groups()
            machine = None
        elif suite and not machine and line:
            machine = line.split(";")[0]
        elif heading := re.fullmatch(r"(.*): ([^:|]+)\.", line):
            title, unit = heading.groups()
        elif line == bench_table.HEAD:
            found.append(Table(suite, date, machine, title, unit, []))
        elif line.startswith("| ") and line.count("|") == bench_table.HEAD.count("|"):
            found[-1].rows.append((index, row_of(line)))
    return found


def row_of(line):
    setting, ours, our_figure, peer, peer_figure, ratio, rounds = (cell.strip() for cell in line.strip("|").split("|"))
    ends = tuple(map(number, rounds.split("–"))) if rounds != "–" else None
    return Row(setting, ours, our_figure, peer, peer_figure, None if ratio == "–" else number(ratio.removesuffix("×")),
               ends and (ends[0], ends[-1]))


def rows_of(table):
    return [row for _, row in table.rows]


# ---- What is made of it ----


def line_of(table):
    counted = counting(rows_of(table))
    if not counted:
        return None
    worst = min(counted, key=lambda row: row.ratio)
    ratios = [row.ratio for row in counted]
    behind = "–" if worst.ratio >= 1 else f"{shown(worst.ratio)}: {worst.ours}, {worst.setting}; {worst.peer}"
    return (f"| {table.title} | {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} | {shown(median(ratios))} | "
            f"{shown(max(ratios))} | {behind} |")


def summary(found):
    """The README's table."""
    ratios = [row.ratio for table in found for row in counting(rows_of(table))]
    if not ratios:
        raise Malformed("the results have no setting with a peer")
    days = sorted({table.date for table in found})
    head = (f"{' and '.join(sorted({table.machine for table in found}))}; {' to '.join(dict.fromkeys((days[0], days[-1])))}. "
            f"Ahead of the best peer in {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} settings.")
    return "\n".join([head, "", "| what | ahead | median ratio | best | furthest behind; beside |", "|---|---|---:|---:|---|",
                      *filter(None, map(line_of, found))]) + "\n"


def overviews(found):
    """A chart of ratios for each suite that has peers."""
    rows = {}
    for table in found:
        for row in counting(rows_of(table)):
            if 0 < row.ratio < math.inf:
                rows.setdefault(table.suite, []).append(charts.Ratio(f"{table.title}: {row.setting}, {row.ours}", row.ratio))
    return {suite: charts.ratios(f"{suite}: ours over the best peer", its) for suite, its in rows.items()}


def made_of(document, root="."):
    """The files of the tree that are made of the page, by their paths."""
    found = tables(document)
    files = {chart_of(suite): charts.standing_alone(picture) for suite, picture in overviews(found).items()}
    return {README: bench_table.insert(read(root, README), summary(found) + "\n", BEGIN, END)} | files


# ---- The gate ----


def ends_of(text):
    """The least and the greatest number that is shown so."""
    half = 0.5 * 10.0 ** -(len(text) - text.index(".") - 1 if "." in text else 0)
    return number(text) - half, number(text) + half


UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6}


def nanoseconds(figure):
    """The ends of a figure, in the unit of its table."""
    text, _, unit = figure.partition(" ")
    return [end * UNITS[unit] if unit else end for end in ends_of(text)]


def disagreement(row, is_rate):
    """Why the ratio is not that of the two figures, or not within those of the rounds; None where it is."""
    if row.ratio is None:
        return None if row.peer == "–" else "a peer without a ratio"
    ratio = ends_of(shown(row.ratio).removesuffix("×"))
    if row.rounds and not row.rounds[0] - 1e-9 <= row.ratio <= row.rounds[1] + 1e-9:
        return f"the ratio {shown(row.ratio)} is outside of those of the rounds"
    if math.inf in (row.ratio, *map(lambda figure: number(figure.split()[0]), (row.our_figure, row.peer_figure))):
        return None
    above, below = map(nanoseconds, (row.our_figure, row.peer_figure) if is_rate else (row.peer_figure, row.our_figure))
    if below[0] <= 0:
        return None
    if not above[0] / below[1] - 1e-9 <= ratio[1] or not ratio[0] <= above[1] / below[0] + 1e-9:
        return f"the ratio {shown(row.ratio)} is not that of {row.our_figure} and {row.peer_figure}"
    return None


def figures(root):
    """Every ratio of docs/benchmarks.md is that of its two figures; the README's table and the charts are made of it."""
    try:
        document = read(root, DOCUMENT)
        found = tables(document)
        require([table for table in found if table.rows], "tables of figures")
        for table in found:
            for line, row in table.rows:
                if why := disagreement(row, table.unit.startswith("million")):
                    yield Finding(DOCUMENT, line, why)
        for path, text in made_of(document, root).items():
            if not os.path.exists(os.path.join(root, path)) or read(root, path) != text:
                yield Finding(path, 1, f"is not what {DOCUMENT} makes: python3 scripts/lib/bench_page.py")
    except (Malformed, OSError) as error:
        yield Finding(DOCUMENT, 1, str(error))


def main():
    """Writes what is made of the page anew."""
    for path, text in made_of(read(".", DOCUMENT)).items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main())
