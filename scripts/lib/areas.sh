# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What a change of one part of the core or of the facade must be proved by. A change elsewhere in them is proved by
# everything. verify.sh has `changed_paths`. Sourced, not run.

# The groups of C tests in which every part has tests.
ALL_PARTS="allocation contract_ crowd diagnostics fork handlers last_touch late_ layout misuse nonblocking priority realtime
    side_effects status"

# A part: its paths; the other groups of its C tests; its scenarios; the folders of Tests/SwiftFacadeTests.
AREAS=(
    "Sources/CCore/ring include/interlock/spsc.h include/interlock/mpmc.h include/interlock/inline/spsc.h
        include/interlock/inline/mpmc.h include/interlock/inline/ring.h Tests/CCoreTests/rings;
        spsc mpmc ring_ fuzz_rings cxx_rings; spsc* mpmc* ring* event* fence-late*; Rings Conformance Fuzz"
    "Sources/CCore/rwlock include/interlock/rwlock.h include/interlock/inline/rwlock.h include/interlock/inline/slots.h
        Tests/CCoreTests/rwlock;
        rwlock fuzz_locks cxx_locks; rwlock* fork* watched*;
        Locks Collections Conformance Fuzz"
    "Sources/CCore/sync include/interlock/semaphore.h include/interlock/latch.h include/interlock/barrier.h
        include/interlock/mutex.h include/interlock/inline/semaphore.h Tests/CCoreTests/sync;
        semaphore latch barrier mutex park fuzz_locks cxx_sync cxx_locks;
        semaphore* latch* barrier* mutex* fork* watched*; Locks Conformance Fuzz"
    "Sources/CCore/pool include/interlock/pool.h Tests/CCoreTests/pool;
        pool cxx_pool; pool* deque*; Pool Jobs Operations Dispatch Fuzz"
    "Sources/SwiftFacade/Rings Tests/SwiftFacadeTests/Rings;;; Rings Conformance Fuzz"
    "Sources/SwiftFacade/Locks Tests/SwiftFacadeTests/Locks;;; Locks Conformance"
    "Sources/SwiftFacade/Collections Tests/SwiftFacadeTests/Collections;;; Collections Conformance Fuzz"
    "Sources/SwiftFacade/Pool Sources/SwiftFacade/Jobs Sources/SwiftFacade/Operations Sources/SwiftFacade/Dispatch
        Tests/SwiftFacadeTests/Pool Tests/SwiftFacadeTests/Jobs Tests/SwiftFacadeTests/Operations
        Tests/SwiftFacadeTests/Dispatch;;; Pool Jobs Operations Dispatch Fuzz"
    "Sources/SwiftFacade/Caching Tests/SwiftFacadeTests/Caching;;; Caching"
    "Sources/SwiftFacade/Threads Tests/SwiftFacadeTests/Threads;;; Threads"
    "Sources/SwiftFacade/Diagnostics Tests/SwiftFacadeTests/Diagnostics;;; Diagnostics"
)

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
    groups=$(area_field 2 "Sources/CCore include cmake CMakeLists.txt Tests/CCoreTests" | xargs | tr ' ' '|')
    [[ -z $groups ]] || echo "-R ^($groups|$(xargs <<<"$ALL_PARTS" | tr ' ' '|'))"
}

# The scenarios of what changed, and how far to search them.
changed_scenarios() {
    local names
    names=$(area_field 3 "Sources/CCore include Tests/Explorer" | xargs)
    echo "${names:+$names }--quick"
}

# A pattern of the Swift suites of what changed.
changed_suites() {
    local folder folders suites
    folders=$(area_field 4 "Sources/CCore include Sources/SwiftFacade Tests/SwiftFacadeTests Package.swift" | xargs)
    # All types of a file with tests: an attribute may stand on the line above.
    suites=$(for folder in ${folders:-.}; do
        grep -rlE '^ +@Test\b' "Tests/SwiftFacadeTests/$folder" |
            xargs grep -hoE '^([a-z@][^/]* )?(struct|class|enum|actor|extension) \w+' | awk '{ print $NF }'
    done | sort -u | xargs | tr ' ' '|')
    echo "InterlockTests\.($suites)/"
}
