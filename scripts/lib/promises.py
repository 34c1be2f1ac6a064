# SPDX-License-Identifier: Apache-2.0
"""Promises and the tests that hold them: the gate `contracts`, and the page that scripts/docs makes of them. The gate
`claims`: the tests that docs/peer-claims.md names.

A promise stands in the public header or is a public type of Swift; there is no other list. Its name is `rwlock.A` for a
lettered guarantee of rwlock.h, and that of the function or of the type. A test that holds promises has their names in a
line above it:

    /* contract: rwlock.A, ilk_rwlock_downgrade */        // contract: ReadWriteLock

The line above a suite is for all of its tests; one before the first #include or import is for all tests of the file, or
for its scenarios. The sentences of a whole header or document are named by the file: `rwlock.h`, `docs/fork.md`.
"""

import os
import re
from collections import namedtuple

from tree import Finding, read, require, tracked

Mark = namedtuple("Mark", "path line names tests")  # `tests`: as the page shows them
MARK = re.compile(r"^\s*(?:/\*|//) contract: (.*?)(?: \*/)?$")
C_TEST = re.compile(r"^TEST\((\w+)\)")
SUITE = re.compile(r"^(?:@\w+(?:\(.*\))? )*(?:(?:final|private|package|fileprivate) )*(?:struct|class|actor|enum|extension) (\w+)")
SWIFT_TEST = re.compile(r"\bfunc `?(\w+)")
BEGINS_CODE = re.compile(r"^\s*(?:#\s*include|import |@testable import)")
PUBLIC_TYPE = re.compile(r"^(?:public|open) (?:final |indirect )*(?:class|struct|enum|protocol|actor) (\w+)", re.MULTILINE)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def promises(root):
    """Each promise by its name: (path, line, what it says)."""
    found = {}
    headers = [name for name in tracked(root, ".h", under="include/interlock") if "/inline/" not in name]
    for name in require(headers, "public headers"):
        text, stem = read(root, name), os.path.basename(name).removesuffix(".h")
        for match in re.finditer(r"^ \*   ([A-Z])  (\S.*(?:\n \*      \S.*)*)", text, re.MULTILINE):
            said = " ".join(re.sub(r"\n \*      ", " ", match.group(2)).split())
            found[f"{stem}.{match.group(1)}"] = (name, text.count("\n", 0, match.start()) + 1, said)
        for call in sorted(set(re.findall(r"\b(ilk_[a-z0-9_]+)\(", without_comments(text)))):
            found.setdefault(call, (name, 1, ""))
    for name in require(tracked(root, ".swift", under="Sources/SwiftFacade"), "sources of the facade"):
        text = read(root, name)
        for match in PUBLIC_TYPE.finditer(text):
            found.setdefault(match.group(1), (name, text.count("\n", 0, match.start()) + 1, ""))
    return found


def files_with_sentences(root):
    """What a mark may name beside a promise: headers by their name, documents by their path."""
    return {os.path.basename(name) for name in tracked(root, ".h", under="include/interlock")} | set(tracked(root, ".md"))


def group_of(path):
    return re.sub(r"(_test)?\.\w+$", "", os.path.basename(path))


def test_below(lines, index, path, suite):
    """The test or suite that begins below line `index`, behind comments and attributes; None if something else does."""
    for line in lines[index + 1:]:
        if not path.endswith(".swift"):
            if match := C_TEST.match(line):
                return f"{group_of(path)}.{match.group(1)}"
        elif match := SUITE.match(line):
            return match.group(1)
        elif match := SWIFT_TEST.search(line):
            return f"{suite}.{match.group(1)}"
        if line and not re.match(r"\s*(//|/\*|\*|@)|\s+[^\s}]", line):
            return None
    return None


def tests_of(root):
    return require([path for folder in ("Tests", "Workshop")
                    for path in tracked(root, ".c", ".h", ".cc", ".swift", under=folder)], "tests")


def marks(root):
    """The marks of all tests. One that stands above no test has none."""
    for path in tests_of(root) + tracked(root, ".swift", under="Examples/Tests"):
        lines = read(root, path).splitlines()
        begun, suite = False, None
        for index, line in enumerate(lines):
            begun = begun or bool(BEGINS_CODE.match(line))
            suite = match.group(1) if (match := SUITE.match(line)) else suite
            if match := MARK.match(line):
                test = test_below(lines, index, path, suite) if begun else group_of(path)
                yield Mark(path, index + 1, re.split(r",\s*", match.group(1)), [test] if test else [])


def contracts(root):
    """Every promise has a test with its name, and every mark names promises and stands above a test."""
    known, found = promises(root), require(list(marks(root)), "marks of contracts")
    sayable = known.keys() | files_with_sentences(root)
    held = set()
    for mark in found:
        if not mark.tests:
            yield Finding(mark.path, mark.line, "a contract above no test")
            continue
        held |= set(mark.names)
        for name in mark.names:
            if name not in sayable:
                yield Finding(mark.path, mark.line, f"names a promise that there is not: {name}")
    for name, (path, line, _) in known.items():
        if name not in held:
            yield Finding(path, line, f"no test holds {name}: a line 'contract: {name}' above one")


# ---- The claims of peers ----

PEERS = "docs/peer-claims.md"
NAMED_TEST = re.compile(r"`([\w.]+): (\w+)`")


def claims(root):
    """Every row of the table names tests that there are, or says that there is none, and why."""
    require([name for name in tracked(root, ".md", under="docs") if name == PEERS], "claims of peers")
    tests = {}
    for path in tests_of(root):
        tests.setdefault(os.path.basename(path), set()).update(tests_in(read(root, path), path))
    rows = 0
    for index, line in enumerate(read(root, PEERS).splitlines()):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| ") or cells[0] == "claim":
            continue
        rows += 1
        named = NAMED_TEST.findall(line)
        for file, test in named:
            if test not in tests.get(file, ()):
                yield Finding(PEERS, index + 1, f"names {test}, which is no test of {file}")
        if len(cells) != 3 or not (named or re.match(r"No\b", cells[-1])):
            yield Finding(PEERS, index + 1, "a claim without a test, and without a reason")
    require(range(rows), "claims of peers")


def tests_in(text, path):
    if path.endswith(".swift"):
        return re.findall(r"@Test\b(?:[^{}\"]|\"[^\"\n]*\")*?\bfunc `?(\w+)", text)
    return [match.group(1) for line in text.splitlines() if (match := C_TEST.match(line))]


def page(root):
    """The promises with their tests, as Markdown."""
    held = {}
    for mark in marks(root):
        for name in mark.names:
            held.setdefault(name, []).extend(mark.tests)
    known = promises(root)
    chapters = {}
    for name, (path, _, said) in known.items():
        title = os.path.basename(path) if path.endswith(".h") else "/".join(path.split("/")[2:-1])
        chapters.setdefault(title, []).append((name, said))
    for name in files_with_sentences(root) & held.keys():
        chapters.setdefault(name if name.endswith(".h") else "Documents", []).append((name, ""))
    parts = ["# Promises and their tests", "",
             "Each guarantee and function of the C headers, and each public type of Swift, with the tests that hold it. A "
             "name before a dot alone is that of a suite, or of a file with scenarios of the explorer."]
    for title, rows in sorted(chapters.items()):
        parts += ["", f"## {title}", "", "| promise | tests |", "|---|---|"]
        for name, said in sorted(rows):
            what = f"`{name}`" + (f" {said}" if said else "")
            parts.append(f"| {what.replace('|', chr(92) + '|')} | {', '.join(f'`{test}`' for test in dict.fromkeys(held[name]))} |")
    return "\n".join(parts) + "\n"
