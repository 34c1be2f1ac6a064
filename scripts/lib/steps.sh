# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a list of steps, one after the other or in lanes. Each has a time limit and a log; a failure does not end the
# list. Prints durations, and counts tests from the tools' reports. A lane is a process, so counts go to a file; a
# step prints its lines at once, under the same lock. Sourced, not run.

STEPS_LOGS=  # set by steps_begin
STEPS_LANES=()
STEPS_BEGIN=0

# steps_begin FOLDER: logs go there. Ends the script where another run uses it: its failures would be forgotten.
steps_begin() {
    STEPS_LOGS=$1
    mkdir -p "$(dirname "$STEPS_LOGS")"
    exec 8>"$STEPS_LOGS.lock" # until the script ends; attended commands, which may outlive it, do not have it
    if ! flock -n 8; then
        echo "error: another run is under way here, and uses $STEPS_LOGS" >&2
        exit 1
    fi
    rm -rf "$STEPS_LOGS"
    mkdir -p "$STEPS_LOGS"
    : >"$STEPS_LOGS/.counts"
    : >"$STEPS_LOGS/.times"
    STEPS_BEGIN=$SECONDS
    trap 'steps_stop' INT TERM
}

# An interrupt ends the running commands, those of lanes too. Again until they are gone: a child that has not yet come to
# its own program or trap loses a signal.
steps_stop() {
    trap '' INT TERM
    local running
    while running=$(jobs -rp) && [[ -n $running ]]; do
        # shellcheck disable=SC2086 # one word for each
        kill $running 2>/dev/null
        sleep 0.1
    done
    exit 130
}

# attended COMMAND... : runs a command that an interrupt ends too; its exit status. In the background, so that a signal
# reaches the shell at once: a shell that waits for a child in the foreground would go on after an interrupt that the
# child took.
attended() {
    local status=0
    "$@" 8>&- &
    wait "$!" || status=$?
    return "$status"
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
    # The mark in front is several characters where the locale has bytes only.
    failed=$(grep -cE '^[^ ]+ Test .* failed after ' "$1")
    [[ $(grep -cE '^[^ ]+ Test run with .* failed after ' "$1") -gt 0 ]] && failed=$((failed - 1))
    skipped=$(grep -cE '^[^ ]+ Test .* skipped' "$1")
    passed=$((all - failed - skipped))
}

# A script of the project that ends with its own totals: "3 passed, 0 failed"
count_totals() {
    passed=$(number_in '^([0-9]+) passed, [0-9]+ failed.*' "$1")
    failed=$(number_in '^[0-9]+ passed, ([0-9]+) failed.*' "$1")
    skipped=$(number_in '^[0-9]+ passed, [0-9]+ failed, ([0-9]+) skipped.*' "$1")
}

# record PASSED FAILED SKIPPED, and prints standard input: one at a time.
record() {
    {
        flock 9
        echo "$*" >>"$STEPS_LOGS/.counts"
        cat
    } 9>"$STEPS_LOGS/.lock"
}

# step NAME KIND SECONDS COMMAND... : runs the command with a time limit. Does not fail itself.
step() {
    local name=$1 kind=$2 limit=$3
    shift 3
    local log="$STEPS_LOGS/${name//[^A-Za-z0-9]/-}.log" begin=$SECONDS status=0
    local passed=0 failed=0 skipped=0
    attended timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
    "count_$kind" "$log"
    # A tool that failed, or ran nothing, without a failing test counts as a failure.
    if [[ $status -ne 0 && $failed -eq 0 ]]; then
        failed=1
    elif [[ $status -eq 0 && $kind == one ]]; then
        passed=1
    elif [[ $status -eq 0 && ($passed -lt 0 || $passed -eq 0 && $skipped -eq 0) ]]; then
        failed=1
        echo "no test was run, or the tool's totals are not understood" >>"$log"
    fi
    [[ $passed -ge 0 ]] || passed=0 # a tool that ends before its totals
    local verdict=ok
    [[ $failed -gt 0 ]] && verdict=FAILED
    [[ $status -eq 124 || $status -eq 137 ]] && verdict="FAILED (over $limit s)"
    {
        printf '%-44s%4d s  %s  (%d passed, %d failed' "$name" $((SECONDS - begin)) "$verdict" "$passed" "$failed"
        [[ $skipped -gt 0 ]] && printf ', %d skipped' "$skipped"
        printf ')\n'
        if [[ $failed -gt 0 ]]; then
            # The lines with "error" or "failed", once each, then the end of the log.
            echo "---- from $log"
            grep -v '^◇' "$log" | grep -E 'error:|FAILED|[Ff]ailed|ERROR: |WARNING: ThreadSanitizer|^✘' | awk '!seen[$0]++' | head -n 40
            echo "---- the end of it"
            tail -n 40 "$log"
            echo "----"
        elif [[ $skipped -gt 0 ]]; then
            grep -E 'skipp|Skipp' "$log" | head -n 20 | sed 's/^/    /'
        fi
    } | record "$passed" "$failed" "$skipped"
    echo "$((SECONDS - begin)) $name" >>"$STEPS_LOGS/.times"
}

# steps_slowest COUNT: the whole time, and the steps that took most of it.
steps_slowest() {
    echo "All steps took $(((SECONDS - STEPS_BEGIN) / 60)) min $(((SECONDS - STEPS_BEGIN) % 60)) s. The slowest:"
    sort -rn "$STEPS_LOGS/.times" | head -n "$1" | sed -E 's/^([0-9]+) (.*)/    \1 s  \2/'
}

# skip_step NAME REASON: a step that cannot be run here.
skip_step() {
    printf '%-44s        skipped: %s\n' "$1" "$2" | record 0 0 1
}

# side_by_side FUNCTION... : runs the functions in parallel; returns when all have ended. One that does not reach its
# end counts as a failure.
side_by_side() {
    local lane number
    STEPS_LANES=()
    for lane in "$@"; do
        (
            trap steps_stop TERM
            "$lane"
            exit 0
        ) &
        STEPS_LANES+=($!)
    done
    number=0
    for lane in "$@"; do
        if ! wait "${STEPS_LANES[number]}"; then
            echo "$lane did not come to its end" | record 0 1 0
        fi
        number=$((number + 1))
    done
    STEPS_LANES=()
}

# The line of totals; fails if anything failed.
steps_end() {
    local passed failed skipped
    read -r passed failed skipped < <(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$STEPS_LOGS/.counts")
    trap - INT TERM
    if [[ $skipped -gt 0 ]]; then
        echo "$passed passed, $failed failed, $skipped skipped"
    else
        echo "$passed passed, $failed failed"
    fi
    [[ $failed -eq 0 && $passed -gt 0 ]]
}
