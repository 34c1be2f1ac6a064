# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What a change of one part of the core or of the facade must be proved by. A change elsewhere in them is proved by
# everything. verify.sh has `changed_paths`, and what the steps are about. Sourced, not run.

# The groups of C tests that are about every part.
COMMON_C_TESTS="allocation contract_ crowd diagnostics fork handlers last_touch layout library misuse nonblocking
    realtime status waits"

# A part: its paths; the groups of its C tests beside those; its scenarios; the folders of Tests/SwiftFacadeTests of what
# is built on it (`.`: of everything).
AREAS=(
    "Sources/CCore/ring include/interlock/spsc.h include/interlock/mpmc.h include/interlock/inline/spsc.h
        include/interlock/inline/mpmc.h include/interlock/inline/ring.h Tests/CCoreTests/rings;
        spsc mpmc ring_ fuzz_rings cxx_rings wait_set fuzz_wait cxx_wait_set examples; spsc* mpmc* ring* event* wait_set*;
        Rings Pool Threads Diagnostics Conformance Fuzz"
    "Sources/CCore/rwlock include/interlock/rwlock.h include/interlock/inline/rwlock.h include/interlock/inline/slots.h
        Tests/CCoreTests/rwlock;
        rwlock condition fuzz_locks cxx_locks late_; rwlock* condition* fork* watched*;
        Locks Collections Caching Diagnostics Conformance Fuzz"
    "Sources/CCore/sync include/interlock/semaphore.h include/interlock/latch.h include/interlock/barrier.h
        include/interlock/mutex.h include/interlock/recursive_mutex.h include/interlock/inline/semaphore.h Tests/CCoreTests/sync;
        semaphore latch barrier mutex recursive_mutex condition park fuzz_locks cxx_sync side_effects wait_set fuzz_wait
        cxx_wait_set;
        semaphore* latch* barrier* mutex* recursive_mutex* condition* fork* watched* wait_set*; ."
    "Sources/CCore/condition include/interlock/condition.h include/interlock/inline/predicate.h
        include/interlock/inline/awaited.h Tests/CCoreTests/condition; condition fuzz_locks cxx_condition
        examples; condition*; ."
    "Sources/CCore/wait_set include/interlock/wait_set.h include/interlock/inline/notified_set.h
        Tests/CCoreTests/wait_set; wait_set fuzz_wait cxx_wait_set examples; wait_set*; ."
    "Sources/CCore/pool include/interlock/pool.h Tests/CCoreTests/pool;
        pool fuzz_pool cxx_pool examples; pool* deque*; Pool Jobs Operations Dispatch Threads Caching Fuzz"
    "Examples/C Examples/CMakeLists.txt Examples/Sources/CCapture; examples;;"
    "Sources/SwiftFacade/Sync/Rings Tests/SwiftFacadeTests/Rings;;; Rings Threads Conformance Fuzz"
    "Sources/SwiftFacade/Sync/Locks Tests/SwiftFacadeTests/Locks;;;
        Locks Collections Caching Rings Jobs Operations Conformance Fuzz"
    "Sources/SwiftFacade/Sync/Collections Tests/SwiftFacadeTests/Collections;;; Collections Conformance Fuzz"
    "Sources/SwiftFacade/Pool/Workers Sources/SwiftFacade/Pool/Queue
        Sources/SwiftFacade/Operations
        Tests/SwiftFacadeTests/Pool Tests/SwiftFacadeTests/Jobs Tests/SwiftFacadeTests/Operations
        Tests/SwiftFacadeTests/Dispatch;;; Pool Jobs Operations Dispatch Threads Caching Fuzz"
    "Sources/SwiftFacade/Pool/Caching Tests/SwiftFacadeTests/Caching;;; Caching"
    "Sources/SwiftFacade/Pool/Threads Tests/SwiftFacadeTests/Threads;;; Threads"
    "Sources/SwiftFacade/Sync/Diagnostics Tests/SwiftFacadeTests/Diagnostics;;; Diagnostics Pool Jobs Operations"
)

# changed_since COMMIT: the paths that differ from it, one a line: both names of what was moved, and files that git does
# not know yet. All paths, where the history does not reach so far back. Fails where git does not answer.
changed_since() {
    local -a git=(git -c core.quotePath=false)
    if "${git[@]}" diff --name-only --no-renames "$1" 2>/dev/null; then
        "${git[@]}" ls-files --others --exclude-standard
    else
        "${git[@]}" ls-files
    fi
}

# area_field NUMBER WITHIN: field NUMBER of each part that changed, one a line; nothing where something changed below
# WITHIN that belongs to no part.
area_field() {
    local number=$1 within=$2 area paths left found=()
    left=$(changed_below "$within")
    for area in "${AREAS[@]}"; do
        area=${area//$'\n'/ }
        paths=${area%%;*}
        [[ -n $(changed_below "$paths") ]] || continue
        found+=("$(cut -d ';' -f "$number" <<<"$area")")
        left=$(grep -vE "$(paths_pattern "$paths")" <<<"$left")
    done
    [[ -n $left ]] || printf '%s\n' "${found[@]}"
}

# The changed paths that are one of $1 (paths, separated by blanks) or below one, one a line.
changed_below() {
    grep -E "$(paths_pattern "$1")" <<<"${changed_paths-}"
}

paths_pattern() {
    local -a paths
    read -r -d '' -a paths <<<"$1"
    local IFS='|'
    echo "^(${paths[*]})(/|\$)"
}

# The options of ctest that choose the tests of what changed; none for all.
changed_c_tests() {
    local groups
    groups=$(area_field 2 "$C_TESTS" | xargs | tr ' ' '|')
    [[ -z $groups ]] || echo "-R ^($groups|$(xargs <<<"$COMMON_C_TESTS" | tr ' ' '|'))"
}

# The scenarios of what changed, and how far to search them.
changed_scenarios() {
    local names
    names=$(area_field 3 "$CORE Workshop/Explorer scripts/explore" | xargs)
    echo "${names:+$names }--quick"
}

# A pattern of the Swift suites of what changed: the types of the files with tests.
changed_suites() {
    local folder folders suites
    folders=$(area_field 4 "$SWIFT_TESTS" | xargs)
    suites=$(for folder in ${folders:-.}; do
        grep -rlE '@Test\b' "Tests/SwiftFacadeTests/$folder" |
            xargs grep -hoE '^(@Suite.* )?((final|private|package) )*(struct|class|actor|enum|extension) \w+' | awk '{ print $NF }'
    done | sort -u | xargs | tr ' ' '|')
    echo "\.($suites)/"
}
