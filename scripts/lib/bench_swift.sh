#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/bench swift: builds Workshop/Benchmarks/Swift with all of its contenders or not at all, and runs it.
#
#   scripts/bench swift [--quick] [--only WORDS] [--rounds N] [--slice MS] [--until-quiet MINUTES] [--json FILE]
#   scripts/bench swift --trace           which share of the questions a cache answers
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck source=scripts/lib/install.sh
source "$root/scripts/lib/install.sh"

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    sed -n 's/^# \{0,1\}//; 4,7p' "${BASH_SOURCE[0]}"
    exit
fi
install_missing "build the benchmarks" libbsd-dev
require_swift
build=("$SWIFT_ROOT/bin/swift" build --package-path "$root/Workshop/Benchmarks/Swift" --scratch-path "$root/.build-bench-swift"
    -c release -j "$(nproc)" --disable-build-manifest-caching)
# SwiftPM does not compile a module again where only the bodies that it has inlined from another one have changed.
rm -rf "$root"/.build-bench-swift/release/{Interlock*,bench_*}.build
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "${build[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    echo "error: the benchmarks did not build; what the compiler said is above" >&2
    exit 1
fi
program=$("${build[@]}" --show-bin-path)/bench_swift
results=$root/build/bench/results
mkdir -p "$results"

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
