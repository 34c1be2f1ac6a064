# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The steps that scripts/test and scripts/prove are made of. Each step has a name, and the paths for which it is there:
# with --changed only the steps run whose paths differ from the last proof (.ci/proven). Sourced, not run.

# shellcheck source=scripts/lib/install.sh
. scripts/lib/install.sh
# shellcheck source=scripts/lib/steps.sh
. scripts/lib/steps.sh
# shellcheck source=scripts/lib/areas.sh
. scripts/lib/areas.sh

only='*'          # a bash pattern: the steps that are wanted
changed_paths=    # with --changed: the paths that differ, one a line
only_changed=false
only_listed=false # names the steps instead of running them
step_deadline=    # with a budget: no step begins after this moment of SECONDS
jobs=$(nproc)

# What the steps are about.
CORE="Sources/CCore include CMakeLists.txt cmake"
C_TESTS="$CORE Tests/CCoreTests Examples/C Examples/CMakeLists.txt Examples/Sources/CCapture" # which are built and run too
FACADE="$CORE Sources/SwiftFacade Package.swift"
SWIFT_TESTS="$FACADE Tests/SwiftFacadeTests Tests/PureSwift Tests/CountingAllocator"
DOCUMENTATION="$FACADE docs README.md ARCHITECTURE.md scripts/docs scripts/lib/documentation.py"

# verify_begin LOGS: installs what the tests need, and sets what they expect of the environment.
verify_begin() {
    install_missing "build and run the Swift tests" "${PACKAGES_SWIFT[@]}" || exit 1
    install_missing "build and run the C tests" "${PACKAGES_CMAKE[@]}" || exit 1
    install_missing "check formats and scripts" "${PACKAGES_FORMAT[@]}" || exit 1
    install_missing "compile once what several configurations share" "${PACKAGES_CACHE[@]}" ||
        echo "Going on without ccache: the C builds take longer." >&2
    require_swift || exit 1
    export INTERLOCK_STRICT=1
    # A test that is meant to crash must not wait for a debugger.
    export SWIFT_BACKTRACE=enable=no
    # Without a limit all Swift tests begin at once, and share the processors with all that wait.
    export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$((4 * jobs))
    launcher=()
    if command -v ccache >/dev/null 2>&1; then
        launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
        export CCACHE_DIR=$PWD/build-test/ccache CCACHE_MAXSIZE=1G
        export CCACHE_NOHASHDIR=1 # the configurations differ in their build folder
    fi
    clang=(-DCMAKE_C_COMPILER="$SWIFT_ROOT/bin/clang" -DCMAKE_CXX_COMPILER="$SWIFT_ROOT/bin/clang++")
    # Two packages in one folder must not share a plan.
    swift_debug=(--scratch-path .build-test -j "$jobs" --disable-build-manifest-caching)
    steps_begin "$1"
    # Compilers leave folders where they keep temporary files.
    export TMPDIR=$PWD/$1.tmp
    rm -rf "$TMPDIR"
    mkdir -p "$TMPDIR"
}

# ---- Which steps ----

# wanted NAME PATHS
wanted() {
    # shellcheck disable=SC2053 # a pattern is what it is
    [[ $1 == $only ]] || return 1
    [[ $only_changed == false || -n $(changed_below "$2") ]]
}

# run PATHS NAME KIND SECONDS COMMAND... : a step, where it is wanted.
run() {
    local paths=$1
    shift
    wanted "$1" "$paths" || return 0
    if [[ $only_listed == true ]]; then
        echo "$1"
        return
    fi
    if [[ -n $step_deadline && $SECONDS -gt $step_deadline ]]; then
        skip_step "$1" "the time is over; scripts/prove '$1' runs it"
        return
    fi
    step "$@"
}

# build_for "NAME..." PATHS BUILD-NAME COMMAND... : a build as a step, for the steps NAME (one a line).
build_for() {
    local needs=$1 paths=$2 name
    shift 2
    [[ $only_listed == false ]] || return 0
    [[ -z $step_deadline || $SECONDS -le $step_deadline ]] || return 0
    while read -r name; do
        if wanted "$name" "$paths" || [[ $1 == "$only" ]]; then
            step "$1" one 3600 "${@:2}"
            return
        fi
    done <<<"$needs"
}

# ---- C ----

# c_build NAME CMAKE-OPTIONS... : configures and builds one configuration.
c_build() {
    local folder="build-test/${1//[^A-Za-z0-9]/-}"
    cmake -S . -B "$folder" -DINTERLOCK_WERROR=ON -DINTERLOCK_BUILD_EXAMPLES=ON "${@:2}" &&
        cmake --build "$folder" -j "$jobs"
}

# c_tests NAME SELECTION CMAKE-OPTIONS... : and runs its tests. SELECTION are options of ctest.
c_tests() {
    # shellcheck disable=SC2086 # several options
    c_build "$1" "${@:3}" &&
        ctest --test-dir "build-test/${1//[^A-Za-z0-9]/-}" -j "$jobs" --output-on-failure $2
}
export -f c_build c_tests
export jobs # for the shells that step starts

# c_configuration NAME SELECTION CMAKE-OPTIONS...
c_configuration() {
    local name="C tests: $1" selection=$2
    shift 2
    run "$C_TESTS" "$name" ctest 3600 bash -c 'c_tests "$@"' _ "$name" "$selection" "${launcher[@]}" "$@"
}

# ---- The first tier ----

first_c() {
    run "" "Gates" totals 1800 scripts/check
    # The explorer's short selection is in it; the other backend's is in the second tier.
    c_configuration "clang" "-E explorer-core-table" -DINTERLOCK_BUILD_EXPLORER=ON "${clang[@]}"
    # The checked build is tested under these sanitizers.
    c_configuration "address and undefined" "" -DINTERLOCK_BUILD_EXPLORER=OFF "${clang[@]}" \
        -DINTERLOCK_SANITIZE=address,undefined -DINTERLOCK_CHECKED=ON
}

# Swift Testing begins all tests at once: what a test starts would wait behind the first steps of a thousand others, on a
# pool of a thread for each core. Beside four busy loops that is longer than any limit; so many at a time have none.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$((8 * $(nproc)))

# What the steps of both tiers run that skip building.
build_swift_tests() {
    build_for $'Swift tests\nSwift tests: all rounds\nFuzzing: Swift\nDocumentation' "$SWIFT_TESTS $DOCUMENTATION" \
        "Build: Swift tests" swift build --build-tests "${swift_debug[@]}"
}

first_swift() {
    build_swift_tests
    run "$SWIFT_TESTS" "Swift tests" swift 3600 swift test --skip-build "${swift_debug[@]}"
}
