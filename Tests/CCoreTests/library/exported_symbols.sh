#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The shared library exports exactly what the installed headers declare.
#   exported_symbols.sh NM LIBRARY INCLUDE-FOLDER CC
set -eu
nm=$1 library=$2 include=$3 cc=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Unique symbols (u) are for other copies of the library in the process: they need no declaration. A local one is not
# exported: linkers list a hidden thread-local that has a relocation.
"$nm" -D --defined-only "$library" | awk '$2 ~ /^[A-Zu]$/ && $3 ~ /^ilk_/ { sub(/@.*/, "", $3); print $2, $3 }' >"$work/symbols"
awk '{ print $2 }' "$work/symbols" | sort >"$work/exported"
awk '$1 == "u" { print $2 }' "$work/symbols" | sort >"$work/unique"

# The preprocessed headers, one statement a line. A declaration of ours has a type in front of its name
# (a call in an inline body has not), and is neither static nor a definition. All headers that are installed.
find "$include/interlock" -name '*.h' ! -name thread_access.h ! -name diagnose.h ! -name owned_rwlock.h ! -name awaited.h ! -name notified_set.h ! -name visited.h ! -name passes.h ! -name 'atomic_*' |
    sed "s|^$include/\(.*\)|#include <\1>|" | "$cc" -I"$include" -E -P -xc - |
    tr '\n' ' ' | sed 's/[;{}]/&\n/g' |
    sed -E 's/__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)//g; s/_Atomic\([A-Za-z0-9_]+\)/atomic/g' |
    grep -vE '\b(static|typedef|return)\b|=' |
    sed -nE -e 's/^ *([A-Za-z_][A-Za-z0-9_]*[ *]+)+(ilk_[a-z0-9_]+) *\(.*;$/\2/p' \
        -e 's/^ *extern [^(]*\b(ilk_[a-z0-9_]+) *;$/\1/p' | sort -u >"$work/declared"
sort -u "$work/declared" "$work/unique" >"$work/expected"

if ! [ -s "$work/declared" ]; then
    echo "found no declarations in $include" >&2
    exit 1
fi
if ! diff "$work/expected" "$work/exported" >"$work/difference"; then
    echo "declared (<) and exported (>) symbols differ:"
    cat "$work/difference"
    exit 1
fi
echo "$(wc -l <"$work/exported") symbols, all of them declared or unique"
