# SPDX-License-Identifier: Apache-2.0
"""The table of what one operation executes, of the results that have it: as Markdown and as HTML."""

from collections import namedtuple
from html import escape

Cost = namedtuple("Cost", "contender operation instructions locked fences")

TITLE = "Instructions of one operation"
WHAT = "one thread, beside no other; with those of the measured loop"


def one_decimal(value):
    return f"{value:,.1f}".removesuffix(".0")


def costs(result):
    """The rows of a suite's result, a bench_table.Node. None of a run that did not count, or could not."""
    if "instructions" not in result.value:
        return []
    name = "ring" if result.get("suite", str) == "rings" else "lock"
    return [Cost(row.get(name, str), row.get("operation", str), *(one_decimal(row.amount(key)) for key in Cost._fields[2:]))
            for row in result.children("instructions")]


def markdown(rows):
    lines = [f"{TITLE}: {WHAT}.", "", "| " + " | ".join(Cost._fields) + " |", "|---|---|---:|---:|---:|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def html(rows, is_ours):
    head = "".join(f"<th>{name}</th>" for name in Cost._fields)
    lines = [f'<tr{" class=ours" if is_ours(row.contender) else ""}>' + "".join(
        f'<td data-column="{name}"{" class=number" if index > 1 else ""}>{escape(cell)}</td>'
        for index, (name, cell) in enumerate(zip(Cost._fields, row))) + "</tr>"
             for row in rows]
    return (f'<h3>{TITLE}</h3><p class="quiet">{WHAT.capitalize()}.</p>\n<div class="wide"><table><thead><tr>{head}</tr>'
            "</thead><tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>")
