#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/bench swift: builds Workshop/Benchmarks/Swift with all of its contenders or not at all, and runs it.
#
#   scripts/bench swift [--quick] [--only WORDS] [--rounds N] [--slice MS] [--until-quiet MINUTES] [--json FILE]
#   scripts/bench swift --instructions    a push and a pop through Swift and from C, counted by callgrind
#   scripts/bench swift --trace           which share of the questions a cache answers
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=scripts/lib/install.sh
source "$root/scripts/lib/install.sh"

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    sed -n 's/^# \{0,1\}//; 4,8p' "${BASH_SOURCE[0]}"
    exit
fi
install_missing "build the benchmarks" libbsd-dev
require_swift
build=("$SWIFT_ROOT/bin/swift" build --package-path "$root/Workshop/Benchmarks/Swift" --scratch-path "$root/.build-bench-swift"
    -c release -j "$(nproc)" --disable-build-manifest-caching)
log=$(mktemp)
stripped=$(mktemp)
trap 'rm -f "$log" "$stripped"' EXIT
if ! "${build[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    echo "error: the benchmarks did not build; what the compiler said is above" >&2
    exit 1
fi
program=$("${build[@]}" --show-bin-path)/bench_swift
results=$root/build/bench/results
mkdir -p "$results"

# Instructions of one push and one pop: the difference of two runs. Of a stripped copy: valgrind 3.19 gives up on the
# debugging information of newer compilers.
instructions() {
    local few=100000 many=300000 count counts=()
    for count in "$few" "$many"; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$stripped" --count "$1" "$count" 2>"$log" || {
            cat "$log" >&2
            return 1
        }
        counts+=("$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$log")")
    done
    awk -v few="${counts[0]}" -v many="${counts[1]}" -v pairs=$((many - few)) \
        'BEGIN { printf "%.1f", (many - few) / pairs }'
}

if [[ ${1:-} == --instructions ]]; then
    install_missing "count instructions" valgrind
    strip -o "$stripped" "$program"
    chmod +x "$stripped"
    {
        echo "| instructions of a push and a pop | through Swift | from C | wanted | seen | |"
        echo "|---|---:|---:|---:|---:|---|"
        for ring in spsc mpmc; do
            swift=$(instructions "$ring-swift")
            c=$(instructions "$ring-c")
            awk -v ring="$ring" -v swift="$swift" -v c="$c" 'BEGIN {
                ratio = swift / c
                printf "| %s | %s | %s | ≤ 1.10 | %.2f | %s |\n", ring, swift, c, ratio,
                    ratio <= 1.1 ? "reached" : "**missed**"
            }'
        done
    } | tee "$results/swift-instructions.md"
    exit
fi

INTERLOCK_COMPILER=$("$SWIFT_ROOT/bin/swift" --version 2>/dev/null | head -n 1)
export INTERLOCK_COMPILER
json=(--json "$results/swift.json")
for argument in "$@"; do
    if [[ $argument == --json ]]; then json=(); fi
done
if [[ ${INTERLOCK_BENCH_UNTIL_QUIET:-} ]]; then
    "$INTERLOCK_BENCH_STATE" --keep "$INTERLOCK_BENCH_BEST" --until-quiet "$INTERLOCK_BENCH_UNTIL_QUIET"
fi
"$program" "$@" "${json[@]}" | tee "$results/swift.md"
