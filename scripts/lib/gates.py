#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gates that read text: licence lines, memory labels, reasons, links, lists of files. Those that compare the tree
with its plan are in layout.py, the words in words.py, the promises and their tests in promises.py.

    gates.py GATE [ROOT]     runs one gate over the tracked files of the tree at ROOT; prints every
                             finding as FILE:LINE: TEXT and exits with 1 if there is one
    gates.py words-count     prints the retired words that are left, file by file

Each gate is a function that yields findings. A gate without files fails: it would pass for a clean tree. scripts/check
runs them all, and shows with planted faults that each can fail.
"""

import os
import re
import sys
from collections import namedtuple

sys.dont_write_bytecode = True  # the gates leave nothing behind

import bench_page
import layout
import promises
import words
from tree import SOURCE_SUFFIXES, Finding, is_script, read, require, tracked

# ---- Licence lines ----

def spdx(root):
    """Every source names its licence once, in its first lines."""
    names = [n for n in tracked(root) if n.endswith(SOURCE_SUFFIXES) or is_script(root, n)]
    for name in require(names, "sources"):
        lines = read(root, name).splitlines()
        # The line itself, not a mention of it in a text or a pattern.
        found = [i for i, line in enumerate(lines) if re.match(r"^\W*SPDX-License-Identifier: \S+$", line)]
        if len(found) != 1 or not lines[found[0]].endswith("SPDX-License-Identifier: Apache-2.0"):
            yield Finding(name, 1, "needs exactly one line 'SPDX-License-Identifier: Apache-2.0'")
        elif found[0] > 2:
            yield Finding(name, found[0] + 1, "the licence line belongs at the top")


# ---- Memory labels ----

LABEL = r"[A-Z]{2}[0-9]+"
ORDERS = "relaxed|acquire|release|acq_rel|seq_cst"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(rf"^({LABEL}) ({ORDERS})\b(.*)$", re.DOTALL)
# The two headers that spell the atomics themselves.
PORTS = ("include/interlock/inline/atomic.h", "include/interlock/inline/atomic_c11.h", "include/interlock/inline/atomic_cxx.h")

Label = namedtuple("Label", "name order partners with_itself text path line")


def core_files(root):
    names = tracked(root, ".c", ".h", under="Sources/CCore") + tracked(root, ".h", under="include")
    return require([n for n in names if n not in PORTS], "C core sources")


def comment_text(comment):
    """A comment as one line of running text."""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in comment[2:-2].splitlines()]
    return " ".join(line.strip() for line in lines).strip()


def defined_labels(root):
    for name in core_files(root):
        text = read(root, name)
        for match in COMMENT.finditer(text):
            definition = DEFINITION.match(comment_text(match.group()))
            if definition:
                pairing = re.search(r"pairs with (.*?)(?:[.:](?: |$)|$)", definition.group(3))
                pairs = pairing.group(1) if pairing else ""
                yield Label(
                    definition.group(1),
                    definition.group(2),
                    re.findall(LABEL, pairs),
                    "itself" in pairs,
                    definition.group(3).strip(" ,:"),
                    name,
                    text.count("\n", 0, match.start()) + 1,
                )


def can_pair(one, other):
    """Whether one side can release what the other acquires. An acq_rel or seq_cst access is both."""
    gives = {"release", "acq_rel", "seq_cst"}
    takes = {"acquire", "acq_rel", "seq_cst"}
    return (one in gives and other in takes) or (one in takes and other in gives)


def labels(root):
    """Every label has one definition with a reason, and partners that name it back."""
    everything = list(defined_labels(root))
    require(everything, "memory labels")
    by_name = {}
    for label in everything:
        if label.name in by_name:
            first = by_name[label.name]
            yield Finding(label.path, label.line, f"{label.name} is defined in {first.path}:{first.line} already")
        by_name.setdefault(label.name, label)
    for label in everything:
        if re.fullmatch(r"(See there\.)?", what_of(label)):
            yield Finding(label.path, label.line, f"{label.name} says nothing beside its partner")
        if label.order == "relaxed":
            continue
        if not label.partners and not label.with_itself:
            yield Finding(label.path, label.line, f"{label.name} {label.order} names no partner (pairs with ...)")
        if label.with_itself and label.order not in ("acq_rel", "seq_cst"):
            yield Finding(label.path, label.line, f"{label.name} {label.order} cannot pair with itself")
        for partner_name in label.partners:
            partner = by_name.get(partner_name)
            if partner is None:
                yield Finding(label.path, label.line, f"{label.name} pairs with {partner_name}, which is nowhere defined")
                continue
            if not can_pair(label.order, partner.order):
                yield Finding(
                    label.path, label.line,
                    f"{label.name} ({label.order}) cannot pair with {partner.name} ({partner.order})")
            if label.name not in partner.partners and not (partner is label and label.with_itself):
                yield Finding(
                    label.path, label.line,
                    f"{label.name} pairs with {partner.name}, which does not name it ({partner.path}:{partner.line})")


def what_of(label):
    """What a label says beside its order and its partners."""
    return re.sub(r"^pairs with .*?(?:[.:](?: |$)|$)", "", label.text).strip()


def labels_page(root):
    """All labels, as Markdown."""
    rows = ["# Labels of memory orders", "", "| label | order | pairs with | where | what |", "|---|---|---|---|---|"]
    for label in sorted(defined_labels(root), key=lambda l: (l.name[:2], int(l.name[2:]))):
        partners = ", ".join(dict.fromkeys(label.partners)) + (", " if label.partners and label.with_itself else "")
        partners += "itself" if label.with_itself else ""
        what = re.split(r"(?<=[.:;]) (?=[A-Z])", what_of(label))[0].rstrip(";:").replace("|", "\\|")
        rows.append(f"| {label.name} | {label.order} | {partners or '–'} | `{label.path}` | {what} |")
    return "\n".join(rows) + "\n"


def orders(root):
    """Every memory order in the code is beside or under the label that justifies it, and is that label's order."""
    known = {label.name: label for label in defined_labels(root)}
    at_code = set()  # the definitions that stand at code of their order
    uses = 0
    for name in core_files(root):
        text = read(root, name)
        # Comments become blanks of the same shape, so that line numbers stay.
        code = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text).splitlines()
        lines = text.splitlines()
        for match in COMMENT.finditer(text):
            for mentioned in sorted(set(re.findall(rf"\b{LABEL}\b", match.group())) - known.keys()):
                yield Finding(
                    name, text.count("\n", 0, match.start()) + 1,
                    f"refers to {mentioned}, which is nowhere defined (a definition begins its comment)")
        for index, line in enumerate(code):
            if "memory_order_" not in line:
                continue
            uses += 1
            # The comment may be behind the statement or before it.
            end = index
            while end + 1 < len(code) and not re.search(r"[;{}]\s*$", code[end]):
                end += 1
            begin = index
            while begin > 0:
                above = code[begin - 1].strip()
                if re.search(r"[;{}]$|^#", above) or lines[begin - 1].strip() == "":
                    break
                begin -= 1
            comments = [comment_text(comment) for comment in comments_in(lines, begin, end)]
            if not re.search(rf"\b{LABEL}\b", " ".join(comments)):
                yield Finding(name, index + 1, "memory order without a label: " + line.strip())
                continue
            # A comment that begins with a label is that of this code; a label later in a comment is a reference.
            begun = [re.match(rf"({LABEL})\b( decides)?", comment) for comment in comments]
            begun = [match for match in begun if match and match.group(1) in known]
            justified = {known[match.group(1)].order for match in begun}
            justified |= {"relaxed" for match in begun if match.group(2)}
            # The load of a failed exchange is a hint, or an acquire that the exchange's label covers.
            orders_of = re.compile(rf"\bmemory_order_({ORDERS})\b")
            statement = "\n".join(code[begin:end + 1])
            statement = re.sub(r"(memory_order_\w+\s*,\s*)memory_order_relaxed", r"\1", statement)
            statement = re.sub(r"(memory_order_(?:acq_rel|seq_cst)\s*,\s*)memory_order_acquire", r"\1", statement)
            present = set(orders_of.findall(statement))
            if index == begin or "memory_order_" not in "".join(code[begin:index]):
                for order in sorted(present - justified):
                    here = ", ".join(f"{match.group(1)} {known[match.group(1)].order}" for match in begun)
                    yield Finding(
                        name, index + 1,
                        f"the code says {order}, its labels say {here or 'nothing'}: {line.strip()}")
            at_code |= {
                match.group(1) for match in begun
                if known[match.group(1)].path == name and known[match.group(1)].order in present}
    for label in known.values():
        if label.name not in at_code:
            yield Finding(label.path, label.line, f"{label.name} is {label.order}, and no code of that order stands with it")
    require([uses] if uses else [], "memory orders")


def states(root):
    """Every state of Workshop/Explorer/states.h is marked somewhere, and some scenario must reach it."""
    list_of_states = "Workshop/Explorer/states.h"
    names = require(re.findall(r"\bSTATE\((\w+), \"", read(root, list_of_states)), "states")
    marks = "\n".join(
        read(root, name) for folder in ("Sources/CCore", "Workshop/Explorer") for name in tracked(root, ".c", ".h", under=folder))
    rows = "\n".join(re.findall(r"EX_MUST_REACH\(\w+\)\s*\{(.*?)\n\};", marks, re.DOTALL))
    for name in names:
        if not re.search(rf"ILK__REACHES\({name},|ex_reach\([^;]*\bEX_{name}\b", marks):
            yield Finding(list_of_states, 1, f"{name} is marked nowhere")
        # No thread can be in it: EX_CANNOT_REACH has it.
        if not re.search(rf"\bEX_{name}\b", rows) and name != "CLASSIC_ALWAYS":
            yield Finding(list_of_states, 1, f"no scenario must reach {name}")


def comments_in(lines, begin, end):
    """The comments on lines begin to end, and the comment that ends right above them."""
    start = begin
    while start > 0 and re.match(r"\s*(/?\*)", lines[start - 1]) and not re.match(r".*\*/\s*\S", lines[start - 1]):
        start -= 1
    return [m.group() for m in COMMENT.finditer("\n".join(lines[start:end + 1]))]


# ---- Swift ----

def sendable(root):
    """Every @unchecked Sendable has its reason above it: a comment, or documentation."""
    names = tracked(root, ".swift")
    for name in require(names, "Swift sources"):
        lines = read(root, name).splitlines()
        for index, line in enumerate(lines):
            if "@unchecked Sendable" not in line.split("//")[0]:
                continue
            # Documentation and attributes may be in between.
            reason = ""
            above = index - 1
            while above >= 0 and re.match(r"\s*(//|@)", lines[above]):
                plain = re.match(r"\s*//(?!/)\s*(.*)", lines[above])
                if plain:
                    reason += plain.group(1)
                elif "unchecked" in lines[above].lower():
                    reason += lines[above].strip()
                above -= 1
            if len(reason) < 10:
                yield Finding(name, index + 1, "needs its reason on the line above: " + line.strip())


def pointers(root):
    """The facade's public API has pointers only in names with "unsafe"; Swift code decides no memory order."""
    names = tracked(root, ".swift", under="Sources/SwiftFacade")
    for name in require(names, "facade sources"):
        excused = "/Internal/" in name or name.endswith("+Unsafe.swift")
        for index, line in enumerate(read(root, name).splitlines()):
            code = line.split("//")[0]
            if (
                not excused
                and re.search(r"\b(public|open)\b", code)
                and re.search(r"\bUnsafe(Mutable)?(Raw)?(Buffer)?Pointer\b|\bOpaquePointer\b|\bUnmanaged\b", code)
                and not re.search(r"\b(var|let|func) unsafe[A-Z]", code)
            ):
                yield Finding(name, index + 1, "a pointer in public API, without 'unsafe' in its name: " + line.strip())
            if re.search(r"\bordering: *\.(relaxed|acquiring|releasing|acquiringAndReleasing|sequentiallyConsistent)", code):
                yield Finding(name, index + 1, "no memory order is decided in Swift: " + line.strip())


# ---- Everything ----

def links(root):
    """Relative links in Markdown lead to files and headings that exist."""
    names = tracked(root, ".md")
    for name in require(names, "Markdown"):
        text = read(root, name)
        prose = re.sub(r"```.*?```", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.DOTALL)
        prose = re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), prose)
        for match in re.finditer(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)|<(?:img|a) [^>]*(?:src|href)=\"([^\"]+)\"", prose):
            target = match.group(1) or match.group(2)
            line = text.count("\n", 0, match.start()) + 1
            if re.match(r"[a-z]+:", target):
                continue
            path, _, heading = target.partition("#")
            full = os.path.normpath(os.path.join(root, os.path.dirname(name), path)) if path else os.path.join(root, name)
            if not os.path.exists(full):
                yield Finding(name, line, f"leads nowhere: {target}")
            elif heading and full.endswith(".md") and heading not in headings(full):
                yield Finding(name, line, f"no such heading: {target}")


def headings(path):
    """The anchors GitHub and GitLab make from headings."""
    with open(path, encoding="utf-8") as file:
        titles = re.findall(r"^#+ (.*)$", file.read(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"`", "", title).strip().lower()).replace(" ", "-") for title in titles}


def sources(root):
    """cmake/sources.cmake lists every source of the core, C or assembly, and nothing else. All can be one unit of compilation:
    no two files give a static function one name, but the ports of one function. Each file of C tests is entered, too."""
    text = read(root, "cmake/sources.cmake")
    listed = set()
    for folder, names in re.findall(r"set\(interlock_(\w+)\s+([^)]*)\)", text):
        listed |= {f"Sources/CCore/{folder}/{name}" + ("" if name.endswith(".S") else ".c") for name in names.split()}
    present = set(require(tracked(root, ".c", ".S", under="Sources/CCore"), "C core sources"))
    for name in sorted(present - listed):
        yield Finding(name, 1, "is missing in cmake/sources.cmake: CMake would not build it")
    for name in sorted(listed - present):
        yield Finding("cmake/sources.cmake", 1, f"lists {name}, which does not exist")
    first = {}
    for name in sorted(name for name in present if name.endswith(".c")):
        content = read(root, name)
        # symbols_native.c and symbols_darwin.c are one port: one of them is compiled.
        port = re.sub(r"_[a-z]+\.c$", "", name)
        for match in re.finditer(r"(?m)^static (?:[\w*]+[ *]+)*(\w+)\([^;]*?\{", content):
            other, other_port = first.setdefault(match.group(1), (name, port))
            if name not in (other, other_port) and port != other_port:
                yield Finding(name, content.count("\n", 0, match.start()) + 1, f"{match.group(1)} is also a function of {other}")
    tests = "Tests/CCoreTests/"
    programs = re.findall(r"[\w/${}]+\.(?:c|cc|h)\b", read(root, tests + "CMakeLists.txt"))
    entered = re.compile("|".join(re.sub(r"\$\{\w+\}", r"\\w+", name).replace(".", r"\.") for name in programs))
    for name in require(tracked(root, ".c", ".cc", ".h", under=tests), "C tests"):
        if re.search(r"(?m)^TEST\(", read(root, name)) and not entered.fullmatch(name.removeprefix(tests)):
            yield Finding(name, 1, f"is missing in {tests}CMakeLists.txt: ctest would not run its tests")


def text(root):
    """The rules of .editorconfig for every text: no tabs, no blanks at line ends, a final newline, no CR."""
    suffixes = SOURCE_SUFFIXES + (".md", ".tutorial", ".yml", ".yaml", ".json", ".modulemap")
    names = [n for n in tracked(root) if n.endswith(suffixes) or is_script(root, n)]
    for name in require(names, "texts"):
        content = read(root, name)
        if content and not content.endswith("\n"):
            yield Finding(name, content.count("\n") + 1, "no newline at the end of the file")
        for index, line in enumerate(content.split("\n")):
            if line != line.rstrip():
                yield Finding(name, index + 1, "blanks at the end of the line")
            if "\t" in line:
                yield Finding(name, index + 1, "a tab")


GATES = {
    gate.__name__: gate
    for gate in (
        spdx, labels, orders, states, sendable, pointers, links, promises.contracts, promises.claims, bench_page.figures, sources, text, layout.folders, layout.architecture,
        layout.includes, layout.rooms, layout.mentions, layout.length, words.words, words.comments)
}


def main(arguments):
    root = arguments[2] if len(arguments) > 2 else "."
    if len(arguments) > 1 and arguments[1] == "words-count":
        sys.stdout.write(words.counts(root))
        return 0
    if len(arguments) < 2 or arguments[1] not in GATES:
        print(__doc__ + "\nGates: " + " ".join(GATES), file=sys.stderr)
        return 2
    findings = list(GATES[arguments[1]](root))
    for finding in findings:
        print(f"{finding.path}:{finding.line}: {finding.text}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
