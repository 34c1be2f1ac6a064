# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Running a list of steps: each with a time limit and a log of its own, all of them whatever fails,
# durations printed, tests counted from what the tools themselves report. Sourced, never run.

STEPS_PASSED=0
STEPS_FAILED=0
STEPS_SKIPPED=0
STEPS_LOGS= # set by steps_begin

# steps_begin FOLDER: logs go there.
steps_begin() {
    STEPS_LOGS=$1
    rm -rf "$STEPS_LOGS"
    mkdir -p "$STEPS_LOGS"
}

# The number in the first match of a pattern ($1, one group) in file $2; 0 if there is none.
number_in() {
    local number
    number=$(sed -nE "s/$1/\\1/p" "$2" | tail -n 1)
    echo "${number:-0}"
}

# count_KIND LOG: sets `passed`, `failed`, `skipped` of the caller from a tool's output.
count_one() {
    passed=0 failed=0 skipped=0 # the exit status alone tells
}

# "98% tests passed, 2 tests failed out of 100", "12 - name (Skipped)"
count_ctest() {
    local all
    all=$(number_in '.*tests failed out of ([0-9]+)$' "$1")
    failed=$(number_in '.* ([0-9]+) tests failed out of [0-9]+$' "$1")
    skipped=$(grep -cE '\*\*\*Skipped' "$1")
    passed=$((all - failed - skipped))
}

# Swift Testing: "Test run with 120 tests in 14 suites passed", "Test name() failed after",
# "Test name() skipped". XCTest's count of none is ignored.
count_swift() {
    local all
    all=$(number_in '.*Test run with ([0-9]+) tests?.*' "$1")
    failed=$(grep -cE '^. Test .* failed after ' "$1")
    [[ $(grep -cE '^. Test run with .* failed after ' "$1") -gt 0 ]] && failed=$((failed - 1))
    skipped=$(grep -cE '^. Test .* skipped' "$1")
    passed=$((all - failed - skipped))
}

# A script of ours that ends with its own totals: "3 passed, 0 failed"
count_totals() {
    passed=$(number_in '^([0-9]+) passed, [0-9]+ failed.*' "$1")
    failed=$(number_in '^[0-9]+ passed, ([0-9]+) failed.*' "$1")
    skipped=$(number_in '^[0-9]+ passed, [0-9]+ failed, ([0-9]+) skipped.*' "$1")
}

# step NAME KIND SECONDS COMMAND... : runs the command with a time limit. Never fails itself.
step() {
    local name=$1 kind=$2 limit=$3
    shift 3
    local log="$STEPS_LOGS/${name//[^A-Za-z0-9]/-}.log" begin=$SECONDS status=0
    local passed=0 failed=0 skipped=0
    printf '%-44s' "$name"
    timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
    "count_$kind" "$log"
    # A tool that failed or found nothing to run without naming a failing test is a failure itself.
    if [[ $status -ne 0 && $failed -eq 0 ]]; then
        failed=1
    elif [[ $status -eq 0 && $kind == one ]]; then
        passed=1
    elif [[ $status -eq 0 && $passed -eq 0 ]]; then
        failed=1
        echo "no test was run" >>"$log"
    fi
    STEPS_PASSED=$((STEPS_PASSED + passed))
    STEPS_FAILED=$((STEPS_FAILED + failed))
    STEPS_SKIPPED=$((STEPS_SKIPPED + skipped))
    local verdict=ok
    [[ $failed -gt 0 ]] && verdict=FAILED
    [[ $status -eq 124 || $status -eq 137 ]] && verdict="FAILED (over $limit s)"
    printf '%4d s  %s  (%d passed, %d failed' $((SECONDS - begin)) "$verdict" "$passed" "$failed"
    [[ $skipped -gt 0 ]] && printf ', %d skipped' "$skipped"
    printf ')\n'
    if [[ $failed -gt 0 ]]; then
        # What says "error" or "failed", once each, then the end: a long log hides both.
        echo "---- from $log"
        grep -E 'error:|FAILED|[Ff]ailed|ERROR: |WARNING: ThreadSanitizer|^✘' "$log" | awk '!seen[$0]++' | head -n 40
        echo "---- the end of it"
        tail -n 40 "$log"
        echo "----"
    elif [[ $skipped -gt 0 ]]; then
        grep -E 'skipp|Skipp' "$log" | head -n 20 | sed 's/^/    /'
    fi
}

# skip_step NAME REASON: what could not be run, and why.
skip_step() {
    printf '%-44s        skipped: %s\n' "$1" "$2"
    STEPS_SKIPPED=$((STEPS_SKIPPED + 1))
}

# The line of totals; fails if anything failed.
steps_end() {
    local skipped=
    [[ $STEPS_SKIPPED -gt 0 ]] && skipped=", $STEPS_SKIPPED skipped"
    echo "$STEPS_PASSED passed, $STEPS_FAILED failed$skipped"
    [[ $STEPS_FAILED -eq 0 ]]
}
