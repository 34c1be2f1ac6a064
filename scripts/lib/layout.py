# SPDX-License-Identifier: Apache-2.0
"""The gates that compare the tree with its plan: which folder may include or name which, how long a file may be, and the
tables of what is where.

The layers of the C core, from the lowest: platform, diagnostics, wait, then rwlock, ring and sync, then condition, wait_set
and pool. A file includes its own layer and lower ones. A public header belongs to the layer of what it declares. The files
of the pool have an order of their own, which pool.h lists.
"""

import os
import posixpath
import re

from tree import SOURCE_SUFFIXES, Finding, is_script, read, require, tracked

# ---- includes ----

CORE = "Sources/CCore/"
PUBLIC = "include/interlock/"
# For each layer, the layers that it may include beside itself.
LAYERS = {
    "platform": (),
    "diagnostics": ("platform",),
    "wait": ("platform", "diagnostics"),
    "rwlock": ("platform", "diagnostics", "wait"),
    "ring": ("platform", "diagnostics", "wait"),
    "sync": ("platform", "diagnostics", "wait"),
    "condition": ("platform", "diagnostics", "wait", "rwlock", "sync"),
    "wait_set": ("platform", "diagnostics", "wait", "ring", "sync"),
    "pool": ("platform", "diagnostics", "wait", "sync"),
}
# The layers of the public headers. A header that is absent here has the layer of its name (rwlock.h).
HEADERS = {
    "platform": "status deadline park atomic atomic_c11 atomic_cxx attributes thread_access visited descriptor_set",
    "diagnostics": "diagnostics diagnose",
    "wait": "fence predicate",
    "rwlock": "rwlock read_section owned_rwlock slots my_slots held",
    "ring": "ring spsc mpmc notify passes",
    "sync": "semaphore latch barrier mutex recursive_mutex",
    "condition": "condition awaited",
    "wait_set": "wait_set notified_set",
    "pool": "pool",
}
# A file of one primitive (the first word of its name) includes no other primitive of its layer.
PRIMITIVES = ("spsc", "mpmc", "semaphore", "latch", "barrier", "mutex")
# Exceptions: (file, included, reason).
EXCEPTIONS = [
    ("include/interlock/interlock.h", None, "it is all headers at once"),
]
# Two headers that include each other, guarded: (one, other, reason).
PAIRS = [
    ("include/interlock/inline/slots.h", "include/interlock/inline/my_slots.h",
     "the explorer's model replaces my_slots.h, which needs the type"),
]


def layer_of(name):
    """The layer of a file, or None."""
    if name.startswith(CORE):
        folder = name[len(CORE):].split("/")[0]
        return folder if folder in LAYERS else None
    stem = os.path.splitext(posixpath.basename(name))[0]
    return next((layer for layer, stems in HEADERS.items() if stem in stems.split()), None)


def primitive_of(name):
    stem = re.split(r"[_.]", posixpath.basename(name))[0]
    return stem if stem in PRIMITIVES else None


def included_files(root, name, files):
    """The project's files that `name` includes, each with its line; a missing file by the name in the include."""
    for number, line in enumerate(without_comments(read(root, name)).splitlines(), 1):
        match = re.match(r"\s*#\s*include\s+(?:\"([^\"]+)\"|<(interlock/[^>]+)>)", line)
        if match and match.group(1):
            beside = posixpath.join(posixpath.dirname(name), match.group(1))
            yield number, beside if beside in files else CORE + match.group(1)
        elif match:
            yield number, "include/" + match.group(2)


def includes(root):
    """Every #include of the C core goes down the layers, to no other primitive, and in no cycle."""
    files = set(require(tracked(root, ".c", ".h", ".S", under="Sources/CCore"), "C core sources"))
    files |= set(require(tracked(root, ".h", under="include"), "public headers"))
    excused = {(name, other) for name, other, _ in EXCEPTIONS}
    edges = {}
    for name in sorted(files):
        layer = layer_of(name)
        anything = (name, None) in excused
        if layer is None and not anything:
            yield Finding(name, 1, f"stands in no layer ({', '.join(LAYERS)}): scripts/lib/layout.py")
        edges[name] = []
        for line, other in included_files(root, name, files):
            if other not in files:
                yield Finding(name, line, f"includes {other}, which does not exist")
                continue
            edges[name].append((line, other))
            if anything or (name, other) in excused:
                continue
            below = layer_of(other)
            if layer and below and below != layer and below not in LAYERS[layer]:
                yield Finding(name, line, f"{layer} includes {below} ({other}); it may include "
                              f"{', '.join(LAYERS[layer]) or 'nothing but itself'}")
            mine, its = primitive_of(name), primitive_of(other)
            if layer == below and mine and its and mine != its:
                yield Finding(name, line, f"{mine} includes {its} ({other}): what both need stands in a file of its own")
    yield from cycles(edges)
    yield from order(root, "pool", sorted(files))


def without_comments(text, pattern=r"/\*.*?\*/"):
    """C with comments blanked, line for line."""
    return re.sub(pattern, lambda match: re.sub(r"[^\n]", " ", match.group()), text, flags=re.DOTALL)


C_FUNCTION = re.compile(r"^(?!static (?!inline))\w[\w *]*?\b(\w+)\([^;{}]*\{(.*?)^}", re.MULTILINE | re.DOTALL)


def order(root, folder, files):
    """No file of the folder names a function of a file that FOLDER/FOLDER.h lists after it."""
    folder = CORE + folder + "/"
    shared = folder + posixpath.basename(folder[:-1]) + ".h"
    listed = re.findall(r"^ \*   (\w+\.[ch]) {2}", read(root, shared), re.MULTILINE)
    ranks = {posixpath.splitext(name)[0]: rank for rank, name in enumerate(listed)}
    texts = {name: without_comments(read(root, name), r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"")
             for name in files if name.startswith(folder)}
    shared_text = texts.pop(shared)
    homes = {}

    def rank_of(name):
        return ranks.get(posixpath.splitext(posixpath.basename(name))[0], -1)

    for name, text in texts.items():
        if rank_of(name) < 0:
            yield Finding(name, 1, f"has no place in the list of {shared}")
        homes.update((function, rank_of(name)) for function, _ in C_FUNCTION.findall(text))
    # What all share in line belongs to the highest file that it calls.
    for function, body in C_FUNCTION.findall(shared_text):
        homes[function] = max((homes.get(word, 0) for word in re.findall(r"\w+", body)), default=0)
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            for word in re.findall(r"\w+", line):
                if homes.get(word, -1) > rank_of(name):
                    yield Finding(name, number, f"names {word} of {listed[homes[word]]}, which {shared} lists after it")


def cycles(edges):
    """One finding for each include that closes a cycle."""
    pairs = {frozenset(pair[:2]) for pair in PAIRS}

    def may_be_mutual(one, other):
        """A public header ends by including its inline half."""
        halves = {one.replace("/inline/", "/"), other.replace("/inline/", "/")}
        return frozenset((one, other)) in pairs or (len(halves) == 1 and one != other)

    state = {}

    def visit(name, trail):
        state[name] = "open"
        for line, other in edges[name]:
            if may_be_mutual(name, other):
                continue
            if state.get(other) == "open":
                cycle = trail[trail.index(other):] + [other]
                yield Finding(name, line, "closes a cycle of includes: " + " → ".join(cycle))
            elif other not in state:
                yield from visit(other, trail + [other])
        state[name] = "done"

    for name in edges:
        if name not in state:
            yield from visit(name, [name])


# ---- rooms ----

FACADE = "Sources/SwiftFacade/"
# For each room of the facade, those whose types it may name beside its own. The compiler keeps the modules Sync, Pool and
# Operations apart; this keeps the rooms in them so.
SYNC = ("Sync/Internal", "Sync/Locks", "Sync/Rings", "Sync/Collections", "Sync/Diagnostics")
POOL = ("Pool/Workers", "Pool/Queue", "Pool/Caching", "Pool/Threads")
OPERATIONS = SYNC + POOL + ("Operations/Dispatch",)
TOPICS = tuple("Operations/" + topic for topic in
               ("Steps", "Observing", "Group", "Explaining", "Conditions", "Policies", "Scope", "Queue"))
ROOMS = {
    "Sync/Internal": (),
    "Sync/Locks": ("Sync/Internal",),
    "Sync/Rings": ("Sync/Internal", "Sync/Locks"),
    "Sync/Collections": ("Sync/Internal", "Sync/Locks"),
    "Sync/Diagnostics": SYNC,
    "Pool/Workers": SYNC,
    "Pool/Queue": SYNC + ("Pool/Workers",),
    "Pool/Caching": SYNC + ("Pool/Workers",),
    "Pool/Threads": SYNC + ("Pool/Workers",),
    "Operations/Dispatch": SYNC + POOL,
    # One class, AsyncOperation, and what it is made of; a folder for each topic of it names the class, and topics before it.
    "Operations": OPERATIONS + TOPICS,
    **{topic: OPERATIONS + ("Operations",) + TOPICS[:at] for at, topic in enumerate(TOPICS)},
    "Interlock": (),
}
SWIFT_TYPE = re.compile(
    r"^(?:@[\w()., :]+\s+)*((?:(?:public|open|package|internal|final|indirect|fileprivate|private)\s+)*)"
    r"(?:class|struct|enum|protocol|actor|typealias)\s+(\w+)", re.MULTILINE)


def room_of(name):
    room = "/".join(posixpath.dirname(name[len(FACADE):]).split("/")[:2])
    return room if room in ROOMS else None


def without_texts(text):
    """Swift without comments and literals, line for line."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())  # noqa: E731
    return re.sub(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?:.|\n)*?\*/', blank, text)


def rooms(root):
    """Each file of the Swift facade names types of its own room and of lower ones only."""
    names = [name for name in tracked(root, ".swift", under=FACADE) if ".docc/" not in name]
    texts = {name: without_texts(read(root, name)) for name in require(names, "facade sources")}
    homes = {}
    for name, text in texts.items():
        room = room_of(name)
        if room is None:
            yield Finding(name, 1, f"stands in no room ({', '.join(ROOMS)}): scripts/lib/layout.py")
        for modifiers, declared in SWIFT_TYPE.findall(text):
            if "private" not in modifiers:
                homes.setdefault(declared, set()).add(room)
    for name, text in texts.items():
        room = room_of(name)
        seen = set()
        for number, line in enumerate(text.splitlines(), 1):
            # A member of another type may have the name: `WorkerPool.Priority`.
            for word in re.findall(r"(?<![\w.])(?:Interlock(?:Sync|Pool|Operations)\.)?([A-Z]\w*)", line):
                home = homes.get(word, {room})
                if word in seen or room is None or room in home or home & set(ROOMS[room]):
                    continue
                seen.add(word)
                yield Finding(name, number, f"{room} names {word} of {', '.join(sorted(map(str, home)))}; it may name types of "
                              f"{', '.join(ROOMS[room]) or 'nothing but itself'}")


# ---- mentions ----

# Functions and members, as Swift and the C core spell them. The guide is left out: it names those of other libraries.
MENTION = re.compile(r"\b(?:[a-z]+[A-Z]\w*|ilk_\w*[a-z]\w*)\b")


def mentions(root):
    """What a document names in code type is in some source."""
    documents = [name for name in tracked(root, ".md") if name in (DOCUMENT, "CONTRIBUTING.md") or name.startswith("docs/")]
    known = set()
    for name in require(tracked(root, *SOURCE_SUFFIXES) + [name for name in tracked(root) if is_script(root, name)], "sources"):
        known.update(re.findall(r"\w+", read(root, name)))
    for name in require(documents, "documents"):
        for number, line in enumerate(read(root, name).splitlines(), 1):
            for code in re.findall(r"`([^`]+)`", line):
                for mention in MENTION.findall(code):
                    if mention not in known:
                        yield Finding(name, number, f"names `{mention}`, which is in no source")


# ---- length ----

MOST_LINES = 400


def length(root):
    """No file of the C core and its headers, C++ too, is longer than the limit. The explorer's marks do not count."""
    names = tracked(root, ".c", ".h", ".S", under="Sources/CCore") + tracked(root, ".h", ".hpp", under="include")
    for name in require(names, "C core sources"):
        lines = sum("ILK__REACHES" not in line and "platform/reaches.h" not in line for line in read(root, name).split("\n")[:-1])
        if lines > MOST_LINES:
            yield Finding(name, MOST_LINES + 1, f"{lines} lines; {MOST_LINES} at most: split it by what it does")


# ---- folders ----

DOCUMENT = "ARCHITECTURE.md"
# What is found without its tables: the document itself, and the first page.
FOUND = (DOCUMENT, "README.md")
WORKSHOP = "Workshop/README.md"


def required_entries(root):
    """What must be linked to: each folder at the top and under Sources, Tests and Workshop, each module, document and script."""
    names = tracked(root)
    entries = {}
    for name in names:
        parts = name.split("/")
        if len(parts) > 1:
            entries[parts[0]] = "top"
        if len(parts) > 2 and parts[0] in ("Sources", "Tests", "Workshop"):
            entries["/".join(parts[:2])] = "folder"
        if len(parts) > 3 and parts[0] == "Sources":
            entries["/".join(parts[:3])] = "folder"
        if parts[0] == "docs" and len(parts) == 2 and name.endswith(".md"):
            entries[name] = "file"
        if parts[0] == "scripts":
            entries["/".join(parts[:2])] = "file"
        if len(parts) == 1 and name.endswith(".md") and name not in FOUND:
            entries[name] = "file"
    return entries, names


def folders(root):
    """ARCHITECTURE.md, and of Workshop its README, link to every entry of the tree, and to nothing that is not there."""
    require([DOCUMENT] if os.path.exists(os.path.join(root, DOCUMENT)) else [], DOCUMENT)
    linked = {}
    for document in [DOCUMENT, *tracked(root, under=WORKSHOP)]:
        text = read(root, document)
        for match in re.finditer(r"\]\(([^)#\s]+)", text):
            if not re.match(r"[a-z]+:", match.group(1)):
                link = os.path.normpath(os.path.join(os.path.dirname(document), match.group(1)))
                linked.setdefault(link, (document, text.count("\n", 0, match.start()) + 1))
    entries, names = required_entries(root)
    for entry, kind in sorted(entries.items()):
        # Links to its parts may stand for a top-level folder (Sources, Tests, Workshop).
        if entry not in linked and not (kind == "top" and any(link.startswith(entry + "/") for link in linked)):
            yield Finding(WORKSHOP if entry.startswith("Workshop/") else DOCUMENT, 1, f"does not link to {entry}")
    there = set(names) | {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/") + 1)}
    for link, place in sorted(linked.items()):
        if link not in there:
            yield Finding(*place, f"links to {link}, which the tree has not")


# ---- architecture ----


def architecture(root):
    """Every function, word and file that ARCHITECTURE.md names is in the sources, under that name."""
    require([DOCUMENT] if os.path.exists(os.path.join(root, DOCUMENT)) else [], DOCUMENT)
    names = require(tracked(root, ".c", ".h", ".swift", under="Sources") + tracked(root, ".h", under="include"), "sources")
    known = set(re.findall(r"\w+", "\n".join(read(root, name) for name in names)))
    text = read(root, DOCUMENT)
    # In code, alone or in a block, snake_case and camelCase are names; "…_slow" is the end of a name.
    for code in re.finditer(r"```.*?```|`[^`\n]+`", text, re.DOTALL):
        for match in re.finditer(r"(…)?\b(\w*[a-z](?:_|(?=[A-Z]))\w+|_\w+)\b(?!\.swift|/)", code.group()):
            name = match.group(2)
            if not (match.group(1) and any(word.endswith(name) for word in known)) and name not in known:
                line = text.count("\n", 0, code.start() + match.start()) + 1
                yield Finding(DOCUMENT, line, f"names {name}, which is nowhere in the sources")
        for match in re.finditer(r"\b[A-Z]\w*(?:/\w+)*/[\w+]+\.swift", code.group()):
            if "Sources/SwiftFacade/" + match.group() not in names:
                line = text.count("\n", 0, code.start() + match.start()) + 1
                yield Finding(DOCUMENT, line, f"names {match.group()}, which is not there")
