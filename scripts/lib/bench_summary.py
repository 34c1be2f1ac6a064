# SPDX-License-Identifier: Apache-2.0
"""The README's table of results: for each question how many settings were measured, in how many Interlock is ahead of
the best peer, and the setting in which it is furthest behind.

    bench_summary.py [--document FILE] RESULT.json...    puts the table between the marks in README.md

A result is the JSON of one suite, as for bench_table.py, whose rows these are.
"""

import datetime
import sys

import bench_report
import bench_table
from bench_table import Malformed, counting, digits
from charts import median

BEGIN, END = "<!-- results -->\n", "<!-- end of results -->"


def line(title, rows):
    counted = counting(rows)
    if not counted:
        return None
    worst = min(counted, key=lambda row: row.ratio)
    ratios = [row.ratio for row in counted]
    behind = "–" if worst.ratio >= 1 else f"{shown(worst.ratio)}: {worst.ours}, {worst.setting}; {worst.peer}"
    return (f"| {title} | {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} | {shown(median(ratios))} | "
            f"{shown(max(ratios))} | {behind} |")


def shown(ratio):
    return (digits(ratio) if ratio >= 0.1 else f"{ratio:.2g}") + "×"


def summary(results):
    lines, ratios, days, machines = [], [], set(), set()
    for result in results:
        bench_report.parts_of(result)  # refuses what does not count
        days.add(datetime.date.fromisoformat(result.get("date", str)))
        machine = result.child("machine")
        machines.add(f"{machine.get('processor', str)}, {machine.get('cores', float):g} cores")
        if (suite := result.get("suite", str)) not in bench_table.SUITES:
            continue
        for title, _, rows in bench_table.SUITES[suite](result):
            ratios += [row.ratio for row in counting(rows)]
            lines.append(line(title, rows))
    if not ratios:
        raise Malformed("the results have no setting with a peer")
    head = (f"{' and '.join(sorted(machines))}; {' to '.join(sorted({day.isoformat() for day in (min(days), max(days))}))}. "
            f"Ahead of the best peer in {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} settings.")
    return "\n".join([head, "", "| what | ahead | median ratio | best | furthest behind; beside |", "|---|---|---:|---:|---|",
                      *filter(None, lines)]) + "\n"


def main(arguments):
    document = "README.md"
    if arguments[:1] == ["--document"]:
        document, arguments = arguments[1], arguments[2:]
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        text = summary([bench_report.read(path) for path in arguments])
        with open(document, encoding="utf-8") as file:
            whole = bench_table.insert(file.read(), text + "\n", BEGIN, END)
        with open(document, "w", encoding="utf-8") as file:
            file.write(whole)
    except (Malformed, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
