# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The common part of the consumers' scripts: counting what must succeed, and ending a build that hangs. Sourced, not run.

: "${work:?the script that sources this sets the folder it works in}"
passed=0 failed=0
rm -f "$work/hung" # of a run before, in a folder that is kept

# attempt NAME COMMAND... : counts a command that must succeed.
attempt() {
    local name=$1
    shift
    if [[ -e $work/hung ]]; then
        failed=$((failed + 1))
        echo "FAILED  $name: not tried, because of $(cat "$work/hung")"
    elif "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name: $*"
        tail -n 30 "$work/log"
    fi
}

# tree PID: prints the processes under one, each with its ticks of processor time.
tree() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v root="$1" '
        { pid = $1; sub(/^.*\) /, ""); parent[pid] = $2; ticks[pid] = $12 + $13 }
        END { for (p in ticks) { q = p; while (q in parent && q != root) q = parent[q]; if (q == root) print p, ticks[p] } }' |
        sort
}

# end_if_idle PID SECONDS NAME: ends the processes under one that change in nothing for so long. Where no process can be
# made to see them, nothing changes either.
end_if_idle() {
    local before='' now pid since=$SECONDS
    while kill -0 "$1"; do
        now=$(tree "$1")
        [[ $now == "$before" ]] || since=$SECONDS
        before=$now
        if ((SECONDS - since >= $2)); then
            echo "$3, which used no processor time for $2 s" >"$work/hung"
            while read -r pid _; do
                kill -KILL "${pid:-$1}"
            done <<<"$now"
            return
        fi
        sleep 1
    done
}

# swift ARGUMENT... : as the command; but it hangs where no thread can be made, and a script fails then, and soon.
swift() {
    local child watcher status=0
    command swift "$@" &
    child=$!
    end_if_idle "$child" "${SWIFT_IDLE_LIMIT:-120}" "swift $1" >/dev/null 2>&1 &
    watcher=$!
    wait "$child" || status=$?
    # One that ends the build goes on to its last process.
    [[ -e $work/hung ]] || kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    return "$status"
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
