#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a program compiles into itself of the C headers, which abidw does not see in the library:

    inline_record.py ROOT

    soname VERSION              of the shared library
    constant NAME VALUE         each macro that is a whole number: bits, limits, sizes
    alignment TYPE BYTES        of each struct, which debugging information leaves out
    initialiser NAME BYTES      the object that ILK_..._INIT makes, with 1 for a count
    code FILE NAME HASH         each inline function and each other macro: a hash of its words, without comments, blanks and
                                line breaks
    table NAME HASH             the types in the table that the copies of the library in one process share

Headers are those that cmake/install.cmake installs for C, without inline/attributes.h, which says nothing of the objects.
Layouts are in libinterlock.abi.
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

TABLE = "Sources/CCore/rwlock/slot_table.h"
MACRO = re.compile(r"^#define ((?:ILK|ilk)_\w+)(\([^)]*\))?[ \t]*(.*)$", re.MULTILINE)
FUNCTION = re.compile(r"^(?:ILK_MUST_USE )?(?:static inline|ILK_ALWAYS_INLINE)\b[^;{]*?\b(ilk_\w+)\(.*?^}",
                      re.MULTILINE | re.DOTALL)
STRUCT = re.compile(r"^ *(?:typedef )?struct ?(\w*) \{.*?^\}[^;]*?(\w+)?;", re.MULTILINE | re.DOTALL)
TYPE = re.compile(r"^(?:enum|struct) ?(\w*) \{.*?\};", re.MULTILINE | re.DOTALL)


def plain(text):
    """Without comments; a definition on one line."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"//.*", "", text).replace("\\\n", " ")


def words(text):
    return hashlib.sha256(" ".join(re.findall(r"\w+|[^\w\s]", text)).encode()).hexdigest()[:12]


def installed_headers(root):
    left_out = re.findall(r'PATTERN "(\w+\.h)" EXCLUDE', (root / "cmake/install.cmake").read_text(encoding="utf-8"))
    left_out.append("attributes.h")
    if len(left_out) == 1:
        sys.exit("error: cmake/install.cmake names no header that is left out")
    return [path for path in sorted((root / "include/interlock").rglob("*.h")) if path.name not in left_out]


def compile_lines(root, lines, *options):
    """Compiles a program with a line for each name; answers the numbers of the lines that have errors."""
    program = ["#include <interlock/interlock.h>", "#include <interlock/inline/read_section.h>", "#include <stdio.h>"]
    process = subprocess.run(
        ["gcc", "-std=gnu11", "-w", "-ftrack-macro-expansion=0", f"-I{root}/include", "-x", "c", "-", *options],
        input="\n".join(program + lines) + "\n", capture_output=True, text=True, check=False)
    wrong = {int(number) - len(program) - 1 for number in re.findall(r"^<stdin>:(\d+):.*error:", process.stderr, re.MULTILINE)}
    if process.returncode != 0 and not wrong:
        sys.exit(process.stderr)
    return wrong


def values(root, macros):
    """Of the macros without arguments those that are whole numbers, with their values."""
    names = [name for name in macros]
    lines = [f'static void show_{n}(void) {{ static const unsigned long long value = ({name}); '
             f'printf("constant {name} 0x%llx\\n", value); }}' for n, name in enumerate(names)]
    wrong = compile_lines(root, lines, "-fsyntax-only")
    right = [n for n in range(len(names)) if n not in wrong]
    return {names[n] for n in right}, run(root, [lines[n] for n in right], [f"show_{n}();" for n in right])


def initialisers(root, macros):
    """The bytes of the objects that the macros ILK_..._INIT make."""
    lines, calls = [], []
    for name, arguments in macros.items():
        kind = name[:-len("_INIT")].lower()
        lines.append(f"static void show_{name}(void) {{ static {kind} object = {name}{'(1)' if arguments else ''}; "
                     f'printf("initialiser {name}{"(1)" if arguments else ""} "); for (size_t n = 0; n < sizeof object; n++) '
                     'printf("%02x", ((unsigned char *)&object)[n]); puts(""); }')
        calls.append(f"show_{name}();")
    return run(root, lines, calls)


def alignments(root, types):
    """Of these structs."""
    return run(root, ["#include <interlock/inline/spsc.h>", "#include <interlock/inline/mpmc.h>"],
               [f'printf("alignment {name} %zu\\n", _Alignof({name}));' for name in types])


def run(root, lines, calls):
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/program"
        main = "int main(void) { " + " ".join(calls) + " return 0; }"
        # The functions that the inline bodies call are not called here.
        wrong = compile_lines(root, lines + [main], "-O2", "-o", program, "-Wl,--unresolved-symbols=ignore-all")
        if wrong:
            sys.exit(f"error: does not compile: {[lines[n] for n in wrong if n < len(lines)]}")
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(arguments[1])
    cmake = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    print("soname", re.search(r"project\(interlock VERSION (\d+\.\d+)", cmake).group(1))
    objects, starts, code, structs = {}, {}, [], []
    for path in installed_headers(root):
        text = plain(path.read_text(encoding="utf-8"))
        file = path.relative_to(root / "include/interlock")
        for name, parameters, body in MACRO.findall(text):
            if name.endswith("_INIT"):
                starts[name] = parameters
            elif body and not parameters:
                objects.setdefault(name, []).append(f"code {file} {name} {words(body)}")
            elif body:
                code.append(f"code {file} {name} {words(parameters + body)}")
        structs += [match.group(2) or f"struct {match.group(1)}" for match in STRUCT.finditer(text)]
        code += [f"code {file} {match.group(1)} {words(match.group(0))}" for match in FUNCTION.finditer(text)]
    numbers, lines = values(root, objects)
    for name, entries in objects.items():
        if name not in numbers:
            code += entries
    table = plain((root / TABLE).read_text(encoding="utf-8"))
    types = [f"table {match.group(1) or 'constants'} {words(match.group(0))}" for match in TYPE.finditer(table)]
    if not (numbers and starts and code and types and structs):
        sys.exit("error: found no constants, no initialisers, no code, no types or no structs")
    print("\n".join(sorted(lines) + sorted(alignments(root, structs)) + sorted(initialisers(root, starts)) + sorted(code) + types))


if __name__ == "__main__":
    main(sys.argv)
