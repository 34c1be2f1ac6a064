#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes Sources/CCore/diagnostics/page.c of page.html, which a C compiler before C23 cannot embed.

    page_source.py            writes page.c
    page_source.py --check    fails if page.c is not what page.html makes
"""

import pathlib
import sys

FOLDER = pathlib.Path("Sources/CCore/diagnostics")
PLACE = "@REPORT@"
HEADER = """/* SPDX-License-Identifier: Apache-2.0
 *
 * See page.h. Made of page.html by scripts/lib/page_source.py.
 */
#include "diagnostics/page.h"

#include <stddef.h>

/* clang-format off */
"""


WIDTH = 100


def escaped(line):
    return line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?")


def literal(text):
    """C strings of some lines each: no compiler has to take a long one. Without indentation."""
    strings = [""]
    for line in text.splitlines(keepends=True):
        piece = escaped(line.lstrip(" "))
        if strings[-1] and len(strings[-1]) + len(piece) > WIDTH:
            strings.append("")
        strings[-1] += piece
    return "\n".join(f'    "{string}",' for string in strings if string)


def source():
    page = (FOLDER / "page.html").read_text(encoding="utf-8")
    if page.count(PLACE) != 1:
        sys.exit(f"error: {FOLDER}/page.html has {page.count(PLACE)} places {PLACE}, not one")
    page = page.replace("SPDX-License-Identifier: Apache-2.0", "Interlock", 1)
    begin, end = page.split(PLACE)
    return (
        HEADER
        + f"const char *const ilk__page_begin[] = {{\n{literal(begin)}\n    NULL}};\n\n"
        + f"const char *const ilk__page_end[] = {{\n{literal(end)}\n    NULL}};\n/* clang-format on */\n"
    )


def main():
    made = source()
    target = FOLDER / "page.c"
    if sys.argv[1:] == ["--check"]:
        if target.read_text(encoding="utf-8") != made:
            sys.exit(f"error: {target} is not what page.html makes; run scripts/lib/page_source.py")
        print(f"{target} is what page.html makes")
        return
    target.write_text(made, encoding="utf-8")


main()
