# SPDX-License-Identifier: Apache-2.0
"""The gate `words`: names, comments, tests and documents use the field's terms (docs/glossary.md).

In a pattern « and » are the ends of a word, inside a name too: neither `push_lull` nor `LULL` hides. A blank stands
for any white space, a line's end and its comment mark included.
"""

import re
from collections import Counter, namedtuple

from tree import SOURCE_SUFFIXES, Finding, is_script, read, require, tracked

Word = namedtuple("Word", "pattern answer under code_only but")


def word(pattern, answer, under=("",), code_only=False, but=()):
    """A retired word. It is one in the folders `under`, but for those in `but`; `code_only`: not in comments and strings."""
    pattern = pattern.replace("«", r"(?<![A-Za-z])").replace("»", r"(?![a-z])")
    pattern = pattern.replace(" ", r"\s+(?:(?:\*|//+|#)\s+)?")
    return Word(re.compile(pattern), answer, under, code_only, but)


CORE = ("Sources/CCore/", "include/")
LIBRARY = ("Sources/", "include/", "Tests/", "Workshop/", "docs/")
# In a test of the facade, patience is the time that a test has.
LIBRARY_CODE = ("Sources/", "include/", "Tests/CCoreTests/", "Workshop/Explorer/", "docs/")
C_SIDE = CORE + ("Tests/CCoreTests/", "Workshop/Explorer/")
RING = ("Sources/CCore/ring/", "include/interlock/mpmc.h", "include/interlock/spsc.h", "include/interlock/inline/mpmc.h",
        "include/interlock/inline/spsc.h", "include/interlock/inline/ring", "Workshop/Explorer/scenarios/mpmc",
        "Workshop/Explorer/scenarios/spsc", "docs/rings.md")
LOCK = ("Sources/CCore/rwlock/", "include/interlock/rwlock.h", "include/interlock/inline/", "docs/rwlock.md",
        "Tests/CCoreTests/rwlock", "Workshop/Explorer/scenarios/rwlock")

# A circle is a shape there.
SVG = ("scripts/lib/charts.py", "Tests/Scripts/report_browser.py", "Tests/Scripts/bench_report_test.py")
DOCUMENTS = ("docs/", "README.md", "ARCHITECTURE.md", "Sources/SwiftFacade/Interlock/Interlock.docc/")

WORDS = [
    word(r"«(lull|Lull|LULL)(s|ed|S)?»", "adaptive back-off", LIBRARY),
    word(r"«([Pp]atience|[Ii]mpatience|PATIENCE)»", "spin-then-park policy", LIBRARY_CODE),
    word(r"«([Vv]ain|VAIN)»", "failed spin, without effect"),
    word(r"pause_before_look|(?:«|_)looks?_before|«LOOKS_|_looks?\b|_LOOKS?\b|«look_(?!up)|_look_", "probe, recheck"),
    word(r"«([Ll]ook|[Ll]ooks|[Ll]ooked|[Ll]ooking) (again|once more|anew)»", "recheck, probe again"),
    word(r"«([Ww]ish|WISH)(es|ed|ES)?»", "wake request"),
    word(r"«slot_note|regime_note|«NOTE_(?:COUNT|ONE)|«([Nn]otes?|noted|noting) (itself|themselves|the lock|a lock|him|in (a|its|the) slot)»",
         "announce, announcement", LOCK),
    word(r"«([Ww]ays? of (the )?readers?|WAY_OF_READERS|reader's way|readers' way)»", "reader mode"),
    word(r"(?<![\w-])ways?(?![\w-])|_way\b|\bway_|«WAYS?»", "a mode, named by an enum", C_SIDE, True),
    word(r"«([Tt]all(y|ies|ied)|TALL(Y|IED))»", "read samples", LIBRARY),
    word(r"«([Tt]hought|[Tt]houghts) about the (regime|mode)»", "mode decision"),
    word(r"«([Dd]oubt|DOUBT)(s|ful)?»", "penalty", LOCK),
    word(r"«([Gg]ate|GATE)s?»", "event count", C_SIDE + ("docs/rings.md", "docs/rwlock.md", "docs/memory-model.md")),
    word(r"«[Cc]om(e|es|ing) round»|«came round»|«comes?_round»|«comeRound»", "acknowledge a wake-up"),
    word(r"«[Cc]ount(s|ed|ing)? (oneself|itself|themselves|himself) (in|out)»|«count_(in|out)»|«[Cc]ounted (in|out)»(?! (the|a|its|it|one)»)",
         "register, unregister a waiter"),
    word(r"«([Rr]ehous(e|es|ed|ing)|REHOUSE)»", "migrate"),
    word(r"«[Bb]y chance»", "spurious"),
    word(r"«turn_step|«number_slots|«(slot'?s'?|its|the slots') numbers?»|«[Tt]urns? (of|round) the ring»|«next turn»|«turns? and slots?»",
         "lap and stamp of a slot", RING),
    word(r"«([Dd]oor|DOOR)(s|S)?»", "port"),
    word(r"«([Ss]eam|SEAM)(s|S)?»", "port"),
    word(r"«([Cc]ircles?|CIRCLES?)»|[a-z]Circles?»", "cycle", but=SVG),
    word(r"«([Nn]obody|[Ss]omebody)»", "no thread, the waiter, the caller …", DOCUMENTS + LIBRARY),
    word(r"«lender|[a-z]Lender", "the outer queue", ("Sources/SwiftFacade/",)),
    word(r"«(nudg(e|es|ed|ing)|Nudge)»|[a-z]Nudge", "recheck", LIBRARY),
    word(r"«[Tt]old»", "notified, delivered, reported", ("Sources/", "include/")),
    word(r"«(former|FORMER)»|«[Cc]hilds»", "earlier, predecessor; of the child", C_SIDE),
    word(r"«([Tt]all(y|ies)|Ways?)»", "counts; transfer", ("Workshop/Benchmarks/",)),
    word(r"«[Ff]ull fences?»|«[Ff]ences? (on every thread|everywhere)|«fence_everywhere|«[Cc]ompiler fences?»",
         "a fence; on every thread a heavy fence; a light fence or a compiler barrier", DOCUMENTS + CORE + C_SIDE),
    word(r"«([Ww]hoever|[Ww]homever)»", "the waiter, the owner, the producer, the caller …"),
    # A person may be one; a thread is not. "Who may call what" heads the concurrency matrices.
    word(r"(?:«(?P<person>(?i:people|persons?|users?|contributors?|developers?|authors?)) )?«[Ww]ho»(?! (?:may|else)»)",
         "the thread's role: the waiter, the owner, the producer …"),
]

# Where the words are quoted, are history, or speak of people.
EXEMPT = ("docs/glossary.md", "CHANGELOG.md", "scripts/lib/words.py", "CONTRIBUTING.md", "SECURITY.md", "LICENSE")

C_COMMENT_OR_STRING = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


def found(root):
    """Each retired word of the tree: (path, line, the word as it stands, its answer)."""
    names = [n for n in tracked(root) if n.endswith(SOURCE_SUFFIXES + (".md", ".tutorial", ".txt")) or is_script(root, n)]
    for name in require([n for n in names if not n.startswith(EXEMPT)], "texts"):
        text = read(root, name)
        code = None
        for word in WORDS:
            if not name.startswith(word.under) or name.startswith(word.but):
                continue
            if word.pattern.search(name):
                yield name, 1, word.pattern.search(name).group() + " in the file's name", word.answer
            if word.code_only and code is None:
                code = C_COMMENT_OR_STRING.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
            for match in word.pattern.finditer(code if word.code_only else text):
                if match.groupdict().get("person"):
                    continue
                line = text.count("\n", 0, match.start()) + 1
                yield name, line, " ".join(re.sub(r"[\n*/#]+", " ", match.group()).split()), word.answer


def words(root):
    """No retired word is left."""
    for name, line, word_found, answer in found(root):
        yield Finding(name, line, f"'{word_found}' is retired; the field says: {answer}")


# ---- comments ----

# These begin no sentence of their own: the comment points to another, or has no subject.
FRAGMENT = re.compile(r"(?:[A-Z]{2}\d+ \w+: )?(As|Of|The same|Behind|Where)\b")
# What points to another place instead of a sentence: "Throws: As `next()`", "RW5 acquire, pairs with RW2. As RW1, …".
POINTER = re.compile(r"(?:^|[.:] )(?:(As|Like) (?:in |of )?(?:`|[A-Z]{2}\d)|(The same)\.)")
COMMENT_COLUMNS = 120


def comments(root):
    """A comment of the library begins with a sentence that has a subject; none is wider than the page."""
    for name in require(tracked(root, ".c", ".h", ".hpp", ".cc", ".S", ".swift"), "sources with comments"):
        is_library = name.startswith(CORE + ("Sources/SwiftFacade/",))
        goes_on, before = False, ""
        for number, line in enumerate(read(root, name).splitlines(), 1):
            comment = re.match(r"\s*(///|//|/\*|\*)(?: (.*))?$", line)
            if not comment:
                goes_on = False
                continue
            mark, words_of_line = comment.group(1), comment.group(2) or ""
            if len(line) > COMMENT_COLUMNS:
                yield Finding(name, number, f"a comment to column {len(line)}, of {COMMENT_COLUMNS}")
            begins = mark == "/*" or not goes_on or {mark, before} == {"//", "///"}
            before = mark
            fragment = FRAGMENT.match(words_of_line) if begins and mark + words_of_line != "*" else None
            fragment = fragment or POINTER.search(words_of_line)
            if is_library and fragment:
                yield Finding(name, number, f"a sentence begins with '{fragment.group(fragment.lastindex)}': it has no subject")
            goes_on = bool(words_of_line.strip()) and not words_of_line.rstrip().endswith("*/")


def counts(root):
    """What is left, file by file, the fullest first."""
    files, terms = Counter(), {}
    for name, _, word_found, _ in found(root):
        files[name] += 1
        terms.setdefault(name, Counter())[word_found.lower()] += 1
    lines = []
    for name, count in sorted(files.items(), key=lambda item: (-item[1], item[0])):
        rest = ", ".join(f"{term} {n}" if n > 1 else term for term, n in terms[name].most_common())
        lines.append(f"{count:5}  {name}  ({rest})")
    lines.append(f"{sum(files.values()):5}  in {len(files)} files")
    return "\n".join(lines) + "\n"
