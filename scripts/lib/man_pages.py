#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes man pages, section 3, of the public C headers' comments: the headers stay the one source.

    man_pages.py INCLUDE-FOLDER OUTPUT-FOLDER VERSION DATE

A page for each header, named after what it declares (ilk_rwlock), and for each function and function-like macro a page
that leads there. The sections come from the comments:

    NAME, SYNOPSIS       the first sentence; the declarations
    DESCRIPTION          the opening comment; then each declaration with its comment
    RETURN VALUE         sentences of those comments about statuses, true and false
    ERRORS               sentences about misuse
    EXAMPLE, SEE ALSO    the header's example; the headers that it includes or names
"""

import pathlib
import re
import sys
import textwrap

# ---- Reading a header ----

COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
ATTRIBUTES = re.compile(r"\b(ILK_MUST_USE|ILK_NONBLOCKING|ILK_NORETURN|static inline)\b\s*")


def comment_lines(comment):
    """The lines without their stars, and without SPDX."""
    lines = [re.sub(r"^ ?\* ?", "", line) if n else line.strip() for n, line in enumerate(comment.split("\n"))]
    return [line.rstrip() for line in lines if "SPDX" not in line]


class Declaration:
    """A comment and the declarations below it, up to the next comment or empty line."""

    def __init__(self, comment, code):
        self.comment = comment
        self.code = code
        plain = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
        self.functions = [] if re.match(r"\s*typedef|\s*struct \w+ \{", plain) else re.findall(r"\b(ilk_\w+)\(", plain)
        self.macros = re.findall(r"^#define (ILK_\w+)\(", code, re.MULTILINE)

    def synopsis(self):
        if self.code.lstrip().startswith("#define"):
            return "\n".join(
                re.sub(r"^(#define ILK_\w+(?:\([^)]*\))?).*", r"\1", line)
                for line in self.code.split("\n") if line.startswith("#define"))
        return re.sub(r"\s+;", ";", ATTRIBUTES.sub("", self.code)).strip()


class Header:
    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.path, self.stem = path, path.stem
        opening = COMMENT.search(text)
        self.opening = comment_lines(opening.group(1))
        body = text[opening.end():]
        self.includes = [n for n in re.findall(r"#include <interlock/(\w+)\.h>", body)]
        begin, end = body.find("ILK_BEGIN_DECLARATIONS"), body.find("ILK_END_DECLARATIONS")
        self.declarations = list(declarations(body[begin:end].split("\n", 1)[1])) if begin >= 0 else []
        functions = [f for d in self.declarations for f in d.functions]
        self.functions = list(dict.fromkeys(functions))

    def title(self):
        """ilk_rwlock for rwlock.h; interlock for the umbrella."""
        return "interlock" if self.stem == "interlock" else f"ilk_{self.stem}"


def declarations(body):
    """Each comment with what it explains; code without a comment belongs to the one before."""
    blocks = [block.strip("\n") for block in re.split(r"\n[ \t]*\n", body)]
    inside = ""
    for block in blocks:
        # A struct with empty lines in it is one block.
        block = inside + ("\n\n" if inside else "") + block
        if block.count("{") != block.count("}"):
            inside = block
            continue
        inside = ""
        match = COMMENT.match(block)
        comment = comment_lines(match.group(1)) if match else []
        code = block[match.end():].strip("\n") if match else block
        code = re.sub(r"(?m)^#(if|else|endif|include).*\n?", "", code)
        if code.strip() and not "\n".join(comment).startswith("----"):
            yield Declaration(comment, code)
        elif code.strip():
            yield Declaration([], code)


# ---- Sentences ----


def paragraphs(lines):
    """Runs of prose as one string each; indented blocks as lists of lines."""
    result, prose, block = [], [], []
    for line in lines + [""]:
        indented = line.startswith("  ")
        if prose and (not line or indented):
            result.append(" ".join(prose))
            prose = []
        if block and not indented and line:
            result.append(block)
            block = []
        if indented:
            block.append(line)
        elif line:
            prose.append(line.strip())
        elif block:
            block.append("")
    if block:
        result.append(block)
    return [[line for line in p] if isinstance(p, list) else p for p in result]


def sentences(text):
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text)


# ---- roff ----


def escape(text):
    text = text.replace("\\", "\\e").replace("–", "\\(en").replace("…", "...").replace("→", "->").replace("ê", "\\(^e")
    text = re.sub(r"[^\x00-\x7f]", "?", text).replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = re.sub(r"\\\(ga([^`\n]+?)\\\(ga", r"\\fI\1\\fP", text)
    text = re.sub(r"(?<![\w*])\*(\w+)\*(?![\w*])", r"\\fI\1\\fP", text)
    return re.sub(r"(?m)^\.", r"\\&.", text)


def prose(text):
    # A sentence a line, and lines that an editor shows.
    return "\n".join(
        escape(line) for sentence in sentences(text) for line in textwrap.wrap(sentence, 100, break_long_words=False))


def verbatim(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    width = min(len(line) - len(line.lstrip()) for line in lines if line)
    return ".RS 4\n.nf\n" + "\n".join(escape(line[width:]) for line in lines) + "\n.fi\n.RE"


def lettered(block):
    """A list of guarantees, or of calls: each entry begins two blanks left of its text."""
    entries = []
    first = len(block[0]) - len(block[0].lstrip())
    for line in block:
        indent = len(line) - len(line.lstrip())
        name, gap, text = line.strip().partition("  ")
        if indent == first and gap:
            entries.append([name, text.strip()])
        elif entries and line:
            entries[-1][1] += " " + line.strip()
        elif line:
            return None
    return entries


def body(lines, skip_example=True):
    """The description's paragraphs; the example has a section of its own."""
    parts = []
    for part in paragraphs(lines):
        if isinstance(part, str):
            parts.append(".PP\n" + prose(part))
            continue
        if skip_example and part[0].strip().startswith("#include"):
            continue
        entries = lettered(part) if "yes" not in " ".join(part).split() else None
        if entries:
            parts += [f".TP\n.B {escape(name)}\n{prose(text)}" for name, text in entries]
        else:
            parts.append(verbatim(part))
    return parts


def bold_names(code):
    return "\n".join(".B \"" + escape(line).replace('"', '\\(dq') + "\"" if line.strip() else ".PP" for line in code)


RESULT = re.compile(r"^(ILK_(?!SEMAPHORE|RWLOCK|MUTEX|LATCH|POOL|DIAGNOSE|NAME|PARK|CHECKED|FOREVER)[A-Z]+\b|True\b|False\b)|: true\b|true when\b|NULL\b.*when")
MISUSE = re.compile(r"\b[Mm]isuse\b")


def about(header, pattern):
    """The sentences of the declarations that match, each with its function."""
    found = []
    for declaration in header.declarations:
        if not declaration.functions:
            continue
        text = " ".join(line.strip() for line in declaration.comment if not line.startswith("----"))
        chosen = [s for s in sentences(text) if pattern.search(s)]
        if chosen:
            names = ", ".join(f"{name}()" for name in declaration.functions)
            found.append(f".TP\n.B {escape(names)}\n" + "\n".join(prose(s) for s in chosen))
    return found


def page(header, headers, version, date):
    summary = " ".join(" ".join(p for p in paragraphs(header.opening)[:1] if isinstance(p, str)).split())
    first = re.split(r"[.:](?:\s|$)", re.sub(r"^ilk_\w+: ", "", summary))[0]
    names = [header.title()] + [f for f in header.functions if f != header.title()]
    out = [f'.\\" SPDX-License-Identifier: Apache-2.0\n.\\" Made of interlock/{header.path.name} by man_pages.py.']
    out.append(f'.TH {escape(header.title())} 3 "{date}" "Interlock {version}" "Interlock"')
    out.append(".SH NAME\n" + escape(", ".join(names)) + " \\- " + escape(first[0].lower() + first[1:] if not first[:2].isupper() else first))
    out.append(".SH SYNOPSIS\n.nf\n.B #include <interlock/" + header.path.name + ">")
    for declaration in header.declarations:
        if declaration.functions or declaration.macros:
            out.append(".PP\n" + bold_names(declaration.synopsis().split("\n")))
    out.append(".fi\n.PP\nLink with\n.BR \\-linterlock .")
    out.append(".SH DESCRIPTION")
    out += body(header.opening)
    for declaration in header.declarations:
        head = declaration.functions or re.findall(r"\b(?:struct|enum) (ilk_\w+)|\} (ilk_\w+);|#define (ILK_\w+)|\(\*(ilk_\w+)\)|typedef .* (ilk_\w+);", declaration.code)
        head = [n if isinstance(n, str) else next(x for x in n if x) for n in head]
        if not head or not (declaration.comment or not declaration.functions):
            continue
        out.append(".SS " + escape(", ".join(dict.fromkeys(name + ("()" if name in declaration.functions else "") for name in head))))
        out += body([line for line in declaration.comment if not line.startswith("----")])
        if not declaration.functions and "{" in declaration.code:
            out.append(".PP\n" + verbatim(declaration.code.split("\n")))
    for title, pattern in (("RETURN VALUE", RESULT), ("ERRORS", MISUSE)):
        found = about(header, pattern)
        if found:
            out.append(f".SH {title}")
            if title == "ERRORS":
                out.append("Misuse is reported in one sentence on standard error, and ends in\n.BR abort (3).")
            out += found
    for part in paragraphs(header.opening):
        if isinstance(part, list) and part[0].strip().startswith("#include"):
            out.append(".SH EXAMPLE\n" + verbatim(part))
    others = [h.title() for h in headers if h is not header and (h.stem in header.includes or header.stem == "interlock"
              or re.search(rf"\b{h.stem}\.h\b|\bilk_{h.stem}\b", "\n".join(header.opening)))]
    others = sorted(set(others) | ({"interlock"} if header.stem != "interlock" else set()))
    out.append(".SH SEE ALSO\n" + ",\n".join(f".BR {escape(name)} (3)" for name in others))
    text = "\n".join(out) + "\n"
    return re.sub(r"(\.S[HS] .*\n)\.PP\n", r"\1", text)


def main(arguments):
    if len(arguments) != 5:
        sys.exit(__doc__)
    include, output = pathlib.Path(arguments[1]), pathlib.Path(arguments[2])
    version, date = arguments[3:]
    headers = [Header(path) for path in sorted((include / "interlock").glob("*.h"))]
    if not headers:
        sys.exit(f"error: no headers in {include}/interlock")
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("*.3"):
        old.unlink()
    for header in headers:
        (output / f"{header.title()}.3").write_text(page(header, headers, version, date), encoding="ascii")
        for name in header.functions + [m for d in header.declarations for m in d.macros]:
            alias = output / f"{name}.3"
            if not alias.exists():
                alias.write_text(f".so man3/{header.title()}.3\n", encoding="ascii")


if __name__ == "__main__":
    main(sys.argv)
