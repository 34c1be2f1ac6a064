# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Which branches of the C core and its headers programs have taken, by clang's source-based coverage. Sourced, not run.

# What a build and its programs need.
# shellcheck disable=SC2034 # used by the scripts that source this file
COVERAGE_FLAGS="-fprofile-instr-generate -fcoverage-mapping"

# coverage_tools CC: finds the tools beside the compiler.
coverage_tools() {
    COVERAGE_TOOLS=$(dirname "$(readlink -f "$(command -v "$1")")")
    [[ -x $COVERAGE_TOOLS/llvm-cov ]] && return
    echo "error: $1 has no llvm-cov beside it" >&2
    return 1
}

# coverage_merge OUT PROFILE... : the one profile that the other calls read.
coverage_merge() {
    "$COVERAGE_TOOLS/llvm-profdata" merge -sparse "${@:2}" -o "$1"
}

# coverage_report PROFILE PROGRAM... : the branches of each folder that were taken, and of all.
coverage_report() {
    coverage_lcov "$@" | awk -F'[:,]' '
        /^SF:/ {
            split($2, parts, /Sources\/CCore\//)
            folder = parts[2] == "" || parts[2] ~ /^include/ ? "include" : parts[2]
            sub(/\/.*/, "", folder)
        }
        /^BRDA:/ { all[folder]++; taken[folder] += $5 != "-" && $5 > 0 }
        END {
            for (folder in all) {
                printf "  %-12s %5d of %5d branches (%.0f %%)\n", folder, taken[folder], all[folder], 100 * taken[folder] / all[folder] | "sort"
                every += all[folder]
                some += taken[folder]
            }
            close("sort")
            printf "  %-12s %5d of %5d branches (%.0f %%)\n", "all", some, every, every ? 100 * some / every : 0
        }'
}

# coverage_gaps PROFILE PROGRAM... : FILE:LINE of every branch that was not taken.
coverage_gaps() {
    coverage_lcov "$@" | awk -F'[:,]' '
        /^SF:/ { file = $2 }
        /^BRDA:/ && ($5 == "-" || $5 == 0) { print file ":" $2 }' | sed "s|^$PWD/||" | sort -u -t: -k1,1 -k2,2n
}

coverage_lcov() {
    local objects=() program
    for program in "${@:3}"; do
        objects+=(-object "$program")
    done
    "$COVERAGE_TOOLS/llvm-cov" export "$2" "${objects[@]}" -instr-profile="$1" -format=lcov -skip-functions \
        Sources/CCore include/interlock
}
