# SPDX-License-Identifier: Apache-2.0
"""What the gates share: the tracked files of a tree, their text, and findings."""

import os
import subprocess
from collections import namedtuple

Finding = namedtuple("Finding", "path line text")


def tracked(root, *suffixes, under=""):
    """The tracked files below `under` that end in one of `suffixes`, without symbolic links."""
    names = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--", under or "."], check=True, capture_output=True, text=True
    ).stdout.split("\0")
    names = [n for n in names if n and (not suffixes or n.endswith(suffixes))]
    names = [n for n in names if os.path.isfile(os.path.join(root, n)) and not os.path.islink(os.path.join(root, n))]
    return sorted(names)


def require(names, what):
    """Stops a gate that would check nothing."""
    if not names:
        raise SystemExit(f"error: found no {what} to check")
    return names


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def is_script(root, name):
    try:
        with open(os.path.join(root, name), "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


# The files that are written by hand: sources of every language and their builds.
SOURCE_SUFFIXES = (".c", ".h", ".S", ".cc", ".hpp", ".swift", ".sh", ".py", ".cmake", ".in", ".map", ".pml", "CMakeLists.txt")
