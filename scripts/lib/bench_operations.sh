#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/bench operations: builds Workshop/Benchmarks/Operations, with oneTBB's flow graph where it can be had, and runs it.
#
#   scripts/bench operations [--quick] [--only WORDS] [--rounds N] [--until-quiet MINUTES] [--json FILE]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=scripts/lib/install.sh
source "$root/scripts/lib/install.sh"

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    sed -n 's/^# \{0,1\}//; 4,6p' "${BASH_SOURCE[0]}"
    exit
fi
install_missing "build the benchmarks" libbsd-dev
install_missing "compare with oneTBB's flow graph" libtbb-dev ||
    echo "note: going on without what could not be installed" >&2
require_swift
# The manifest has oneTBB linked where this is set.
if [[ -e /usr/include/oneapi/tbb/flow_graph.h ]]; then
    export INTERLOCK_BENCH_TBB=1
else
    unset INTERLOCK_BENCH_TBB
fi
build=("$SWIFT_ROOT/bin/swift" build --package-path "$root/Workshop/Benchmarks/Operations"
    --scratch-path "$root/.build-bench-operations" -c release -j "$(nproc)" --disable-build-manifest-caching)
# SwiftPM does not compile a module again where only the bodies that it has inlined from another one have changed.
rm -rf "$root"/.build-bench-operations/release/{Interlock*,bench_*}.build
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "${build[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    echo "error: the benchmarks did not build; what the compiler said is above" >&2
    exit 1
fi
results=$root/build/bench/results
mkdir -p "$results"
INTERLOCK_COMPILER=$("$SWIFT_ROOT/bin/swift" --version 2>/dev/null | head -n 1)
export INTERLOCK_COMPILER
json=(--json "$results/operations.json")
for argument in "$@"; do
    if [[ $argument == --json ]]; then json=(); fi
done
if [[ ${INTERLOCK_BENCH_UNTIL_QUIET:-} ]]; then
    "$INTERLOCK_BENCH_STATE" --keep "$INTERLOCK_BENCH_BEST" --until-quiet "$INTERLOCK_BENCH_UNTIL_QUIET"
fi
"$("${build[@]}" --show-bin-path)/bench_operations" "$@" "${json[@]}" | tee "$results/operations.md"
