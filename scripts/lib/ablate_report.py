# SPDX-License-Identifier: Apache-2.0
"""The tables of scripts/ablate, from the figures of its rounds.

A ratio compares a variant with the base of the same round: above 1 the variant is faster, and what it leaves out does
not pay there; below 1 it pays. The ratio of a cell is the median of the rounds' ratios.
"""

import math
import textwrap
from collections import namedtuple

from charts import median

CLEAR = 0.05  # a ratio that differs less says nothing
MOST_CHANCE = 0.01  # 8 rounds that agree, 9 of 10 do not

Ratio = namedtuple("Ratio", "ratio is_clear")


class Malformed(Exception):
    """A file that is not what it should be; the text names it."""


def ratio_of_round(figure, base, more_is_better):
    """None where either stood still."""
    better, worse = (figure, base) if more_is_better else (base, figure)
    return better / worse if better > 0 and worse > 0 else None


def chance(ratios):
    """Of so many rounds on one side of 1, if either side were as likely: the sign test, both sides."""
    sides = [ratio > 1 for ratio in ratios if ratio != 1]
    fewer = min(sum(sides), len(sides) - sum(sides))
    return min(1.0, 2 * sum(math.comb(len(sides), k) for k in range(fewer + 1)) / 2 ** len(sides))


def ratio_of_cell(cell, rounds):
    """The ratio of a cell. Clear: by 5 % or more, and the rounds agree."""
    ratios = [ratio_of_round(variant[cell][0], base[cell][0], variant[cell][1]) for variant, base in rounds]
    ratios = [ratio for ratio in ratios if ratio is not None]
    if not ratios:
        return Ratio(None, False)
    middle = median(ratios)
    is_clear = max(middle, 1 / middle) >= 1 + CLEAR and chance(ratios) < MOST_CHANCE
    return Ratio(middle, is_clear)


def digits(value):
    """Three significant digits."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}" if value >= 0.0995 else f"{value:.2g}"


def ratio_text(ratio):
    if ratio.ratio is None:
        return "–"
    text = f"{digits(ratio.ratio)}×"
    return f"**{text}**" if ratio.is_clear else text


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def geometric_mean(values):
    product = 1.0
    for value in values:
        product *= value ** (1 / len(values))
    return product


def summary_row(variant, ratios):
    """A variant over all of its cells."""
    known = {cell: ratio for cell, ratio in ratios.items() if ratio.ratio is not None}
    if not known:
        return [f"`{variant}`", "–", "–", "–", "–", "–"]
    worst = min(known, key=lambda cell: known[cell].ratio)
    best = max(known, key=lambda cell: known[cell].ratio)
    clear = [ratio.ratio for ratio in known.values() if ratio.is_clear]
    return [f"`{variant}`", f"{digits(geometric_mean([ratio.ratio for ratio in known.values()]))}×",
            str(sum(ratio < 1 for ratio in clear)), str(sum(ratio > 1 for ratio in clear)),
            f"{ratio_text(known[worst])} {worst}", f"{ratio_text(known[best])} {best}"]


def suite_tables(measured):
    """`measured`: Measured of ablate_runs.py. The summary, and every cell: the base's figure, and the variants' ratios, which
    compare with the base beside them."""
    names = [name for name, rounds in measured.rounds.items() if rounds and name not in measured.failures]
    if not names:
        return ""
    cells = list(measured.rounds[names[0]][0][0])
    ratios = {name: {cell: ratio_of_cell(cell, measured.rounds[name]) for cell in cells} for name in names}
    base = [digits(median([base[cell][0] for name in names for _, base in measured.rounds[name]])) for cell in cells]
    return "\n".join([
        table(["variant", "mean", "cells slower", "cells faster", "worst", "best"],
              [summary_row(name, ratios[name]) for name in names]),
        table(["variant", *cells], [["base", *base]] + [[f"`{name}`", *map(ratio_text, ratios[name].values())] for name in names])])


UNITS = {
    "spsc": "`ilk_spsc`: million elements a second; shape and capacity of the ring; elements of 8 bytes",
    "mpmc": "`ilk_mpmc`: million elements a second; shape and capacity of the ring; elements of 8 bytes",
    "modes": "The modes of `ilk_rwlock`: million operations a second, critical section of 2 ns",
    "constants": "The constants of the mode decision, halved and doubled: million operations a second, as above",
}


def state_text(facts):
    """One paragraph: what was measured, on what, in which state."""
    machine = facts["machine"]
    kernel = machine["kernel"].split(" ")
    busy = "One process kept one of the cores busy. " if facts["busy_process"] else ""
    busy += "The benchmarks went before all other processes. " if facts["urgent"] else ""
    trips = facts["line_trips_ns"]
    return (f"{facts['date']}, commit {facts['commit']}. {machine['processor']}, {machine['cores']} cores; "
            f"{' '.join(kernel[:2])}; {machine['compiler'].split(' (')[0]}. {facts['rounds']} rounds; the figure of a run is "
            f"{'the best' if facts['best'] else 'the median'} of {facts['slices']} slices of {facts['slice_ms']:g} ms. "
            f"{busy}Other processes used {digits(median(facts['cores_used']))} cores (median of the runs), at most "
            f"{digits(max(facts['cores_used']))}. A cache line went to the other core and back in {digits(median(trips))} ns "
            f"({digits(min(trips))} to {digits(max(trips))}).")


def report(facts, suites):
    """`suites`: name -> Measured."""
    parts = [textwrap.fill(state_text(facts), 120, break_long_words=False, break_on_hyphens=False) + "\n"]
    for name, measured in suites.items():
        parts.append(f"{UNITS[name]}.\n")
        tables = suite_tables(measured)
        if tables:
            parts.append(tables)
        for reason in measured.failures.values():
            parts.append(f"Left out: {reason}\n")
    return "\n".join(parts)


def samples(measured):
    """For the JSON: variant -> cell -> figures and those of the base in the same rounds."""
    result = {}
    for name, rounds in measured.rounds.items():
        cells_of = rounds[0][0] if rounds else {}
        result[name] = {
            cell: {"more_is_better": cells_of[cell][1], "figures": [variant[cell][0] for variant, _ in rounds],
                   "base": [base[cell][0] for _, base in rounds]} for cell in cells_of}
    return result


def rounds_of(stored):
    """The opposite of `samples`."""
    result = {}
    for name, cells_of in stored.items():
        count = max((len(cell["figures"]) for cell in cells_of.values()), default=0)
        result[name] = [
            tuple({title: (cell[key][index], cell["more_is_better"]) for title, cell in cells_of.items()}
                  for key in ("figures", "base")) for index in range(count)]
    return result
