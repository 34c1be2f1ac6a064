#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The steps of scripts/docs that are not docc's.

    documentation.py catalogue FOLDER       copies Interlock.docc to FOLDER, and adds as articles the papers of docs/, and two
                                            pages that are made: the promises with their tests, and the labels
    documentation.py diagnostics FILE [CATALOGUE]
                                            prints docc's warnings and errors, and fails if there is one that counts
    documentation.py complete ARCHIVE       adds what docc leaves out: its first page, and the file of settings that its pages
                                            ask for
    documentation.py links ARCHIVE          fails on a relative link that leads nowhere: of the archive, and of the
                                            tree's Markdown, README.md, docs/*.md and the articles among it

In the tree an article links to a paper by its file (`../../../../docs/benchmarks.md`), so that the link works where the
tree is read; in the copy that becomes a link to the paper's page. Links of a paper to what the archive has not, such as
sources, become their words. A long paper is divided at its chapters.
"""

import json
import os
import posixpath
import re
import shutil
import sys
import urllib.parse

sys.dont_write_bytecode = True  # the steps leave nothing behind

import gates
import promises
from tree import tracked

CATALOGUE = "Sources/SwiftFacade/Interlock/Interlock.docc"
LANDING = "Interlock.md"
# A fence, or a span of code: what looks like a link there is none.
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|`[^`]*`)+)\]\(([^)\s]+)\)")
FIRST_PAGE = "documentation/interlock/"
LONGEST = 60_000  # letters of a page: some 30,000 pixels on a screen
LONGEST_TABLE = 20_000
IMAGE = re.compile(r"(!\[[^\]]*\])\(([^)\s:]+)\)")

# ---- The catalogue ----


def papers(root):
    """The pages of the papers by their files: docs/rings.md is paper-rings."""
    names = [n for n in tracked(root, ".md", under="docs") if n.count("/") == 1] + ["ARCHITECTURE.md"]
    return {name: "paper-" + stem(name).lower() for name in names}


def articles(root):
    """The pages of the guide by their files."""
    return {name: stem(name) for name in tracked(root, ".md", under=CATALOGUE)}


def stem(name):
    return posixpath.splitext(posixpath.basename(name))[0]


def for_the_archive(text, name, pages):
    """The text of the Markdown file `name` with links that work in the archive."""

    def link(match):
        words, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group()
        path = target.partition("#")[0]
        page = pages.get(posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name)
        return f"[{words}](doc:{page})" if page and path else words

    # Code becomes marks without brackets, which a link's words may contain.
    kept = []
    text = CODE.sub(lambda match: kept.append(match.group()) or f"\0{len(kept) - 1}\0", text)
    text = LINK.sub(link, text)
    return re.sub(r"\0(\d+)\0", lambda match: kept[int(match.group(1))], text)


def catalogue(root, folder):
    shutil.copytree(os.path.join(root, CATALOGUE), folder)
    added = papers(root)
    pages = added | articles(root)
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".md"):
                full = os.path.join(path, name)
                rewrite(full, full, posixpath.join(CATALOGUE, os.path.relpath(full, folder)), pages)
    os.mkdir(os.path.join(folder, "Papers"))
    for name, page in added.items():
        copy = os.path.join(folder, "Papers", page + ".md")
        rewrite(os.path.join(root, name), copy, name, pages)
        bring_images(root, name, copy)
        divide(copy)
    made = {"paper-promises": promises.page(root), "paper-labels": gates.labels_page(root)}
    for page, text in made.items():
        copy = os.path.join(folder, "Papers", page + ".md")
        write(copy, [], text)
        divide(copy)
    with open(os.path.join(folder, LANDING), "r+", encoding="utf-8") as landing:
        text = landing.read()  # which has some of them in its topics already
        others = [page for page in [*added.values(), *made] if f"(doc:{page})" not in text]
        landing.write("\n### Design papers\n\n" + "".join(f"- <doc:{page}>\n" for page in others))


def divide(path):
    """Makes a page of each chapter of a long paper, beside it; the paper keeps its beginning and leads to them."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if len(text) <= LONGEST:
        return
    kept = []
    text = FENCE.sub(lambda match: kept.append(match.group()) or f"\0{len(kept) - 1}\0", text)
    beginning, *chapters = re.split(r"^## +", text, flags=re.MULTILINE)
    names = []
    for title, body in (part for chapter in chapters for part in cut(*chapter.split("\n", 1))):
        name = f"{stem(path)}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}"
        # C and C++ are one in an address.
        names.append(f"{name}-{len(names)}" if name in names else name)
        body = re.sub(r"^###(#*) ", r"##\1 ", body, flags=re.MULTILINE)
        write(os.path.join(os.path.dirname(path), names[-1] + ".md"), kept, f"# {title}\n\nOf <doc:{stem(path)}>.\n\n{body.strip()}\n")
    links = "".join(f"- <doc:{name}>\n" for name in names)
    write(path, kept, f"{beginning.rstrip()}\n\n## Topics\n\n### Chapters\n\n{links}")


def write(path, kept, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"\0(\d+)\0", lambda match: kept[int(match.group(1))], text))


def cut(title, body):
    """A chapter with a long table, as several: each goes on with the table's head."""
    count = -(-len(body) // LONGEST_TABLE)
    parts, part, head = [], [], []
    for line in body.strip().split("\n"):
        if not line.startswith("|"):
            head = []
        elif len(head) < 2:
            head.append(line)
        elif len("\n".join(part)) >= len(body) / count:
            parts.append(part)
            part = list(head)
        part.append(line)
    parts.append(part)
    if len(parts) == 1:
        return [(title, body)]
    return [(f"{title}, part {index}", "\n".join(part)) for index, part in enumerate(parts, 1)]


def rewrite(source, target, name, pages):
    with open(source, encoding="utf-8") as file:
        text = file.read()
    with open(target, "w", encoding="utf-8") as file:
        file.write(for_the_archive(text, name, pages))


def bring_images(root, name, copy):
    """Puts the images of a paper beside its copy, which names them without a folder."""
    with open(copy, encoding="utf-8") as file:
        text = file.read()
    for _, image in IMAGE.findall(text):
        path = os.path.join(root, posixpath.dirname(name), image)
        shutil.copy(path, os.path.join(os.path.dirname(copy), posixpath.basename(image)))
    with open(copy, "w", encoding="utf-8") as file:
        file.write(IMAGE.sub(lambda match: f"{match.group(1)}({posixpath.basename(match.group(2))})", text))


# ---- Diagnostics ----

# Documentation names the parameters of which there is something to say.
SPARED = re.compile(r"^Parameter '\w+' is missing documentation$")


def diagnostics(path, catalogue=None):
    """What docc found, one line each, but for what is spared."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)["diagnostics"]
    for finding in found:
        if finding["severity"] not in ("warning", "error") or SPARED.match(finding["summary"]):
            continue
        source = urllib.parse.unquote(finding.get("source", "").removeprefix("file://"))
        if catalogue:
            source = source.replace(catalogue, CATALOGUE)
        line = finding.get("range", {}).get("start", {}).get("line", 1)
        advice = [" ".join(solution["summary"].split()) for solution in finding.get("solutions", [])]
        yield "; ".join([f"{source}:{line}: {finding['severity']}: {finding['summary']}"] + advice)


# ---- What docc leaves out ----


def complete(archive):
    # Without it the address of the server says that the page cannot be found.
    with open(os.path.join(archive, "index.html"), "w", encoding="utf-8") as file:
        file.write(f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Interlock</title>\n'
                   f'<meta http-equiv="refresh" content="0; url=/{FIRST_PAGE}">\n</head>\n'
                   f'<body><a href="/{FIRST_PAGE}index.html">Interlock</a></body>\n</html>\n')
    # Every page asks for it.
    settings = os.path.join(archive, "theme-settings.json")
    if not os.path.exists(settings):
        with open(settings, "w", encoding="utf-8") as file:
            file.write("{}\n")


# ---- Links ----


def urls(value):
    """Every address in a page's data, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "url" and isinstance(inner, str):
                yield inner
            else:
                yield from urls(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from urls(inner)


def anchors(value):
    if isinstance(value, dict):
        if isinstance(value.get("anchor"), str):
            yield value["anchor"]
        for inner in value.values():
            yield from anchors(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from anchors(inner)


def pages_of(archive):
    """The data of each page by its address: /documentation/interlock/latch."""
    data = os.path.join(archive, "data")
    for path, _, names in os.walk(data):
        for name in names:
            if name.endswith(".json"):
                full = os.path.join(path, name)
                with open(full, encoding="utf-8") as file:
                    yield "/" + os.path.relpath(full, data).removesuffix(".json").replace(os.sep, "/"), json.load(file)


def archive_links(archive):
    """The relative links of an archive that lead nowhere, as text."""
    pages = dict(pages_of(archive))
    if not pages:
        yield f"{archive}: found no pages to check"
    for name in ("index.html", "theme-settings.json"):
        if not os.path.exists(os.path.join(archive, name)):
            yield f"{archive}: has no {name}"
    known = {page: anchors_of(content) for page, content in pages.items()}
    for page, content in pages.items():
        if not os.path.exists(os.path.join(archive, page[1:], "index.html")):
            yield f"{page}: has no index.html"
        for url in sorted(set(urls(content)) - chapters_of(content)):
            # docc leaves a host's name to the host: its own addresses begin with a slash.
            if re.match(r"[a-z]+:", url):
                continue
            path, _, anchor = urllib.parse.unquote(url).partition("#")
            target = path.rstrip("/") or page
            if target in pages:
                if anchor and anchor not in known[target]:
                    yield f"{page}: no such heading: {url}"
            elif not os.path.isfile(os.path.join(archive, path.lstrip("/"))):
                yield f"{page}: leads nowhere: {url}"
    for path, _, names in os.walk(archive):
        for name in names:
            if name.endswith(".html"):
                yield from html_links(archive, os.path.join(path, name))


def anchors_of(content):
    # References describe other pages.
    return set(anchors({key: value for key, value in content.items() if key != "references"}))


def chapters_of(content):
    """The chapters of tutorials have addresses and no pages; docc shows their names only."""
    references = content.get("references", {})
    modules = content.get("hierarchy", {}).get("modules", [])
    return {references[module["reference"]]["url"] for module in modules if module["reference"] in references}


def html_links(archive, full):
    with open(full, encoding="utf-8") as file:
        text = file.read()
    for target in sorted(set(re.findall(r"<[^>]*\s(?:src|href)=\"([^\"]+)\"", text))):
        if not re.match(r"[a-z]+:", target) and not os.path.isfile(os.path.join(archive, target.lstrip("/"))):
            yield f"{os.path.relpath(full, archive)}: leads nowhere: {target}"


def all_links(root, archive):
    yield from archive_links(archive)
    for finding in gates.links(root):
        yield f"{finding.path}:{finding.line}: {finding.text}"


# ---- Running ----


def report(findings):
    findings = list(findings)
    for finding in findings:
        print(finding, file=sys.stderr)
    return 1 if findings else 0


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "catalogue":
        catalogue(".", arguments[1])
        return 0
    if len(arguments) in (2, 3) and arguments[0] == "diagnostics":
        return report(diagnostics(*arguments[1:]))
    if len(arguments) == 2 and arguments[0] == "complete":
        complete(arguments[1])
        return 0
    if len(arguments) == 2 and arguments[0] == "links":
        return report(all_links(".", arguments[1]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
