# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The common part of the consumers' scripts: counting what must succeed. Sourced, not run.

: "${work:?the script that sources this sets the folder it works in}"
passed=0 failed=0

# attempt NAME COMMAND... : counts a command that must succeed.
attempt() {
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name: $*"
        tail -n 30 "$work/log"
    fi
}

# totals: the line that scripts/test reads; fails if an attempt failed.
totals() {
    echo "$passed passed, $failed failed"
    [[ $failed -eq 0 && $passed -gt 0 ]]
}

# The consumer's program runs and prints the sum.
prints_the_sum() {
    [[ $("$@") == "relayed 10000 numbers, sum 50005000" ]]
}
