# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the packages that a script needs and that are missing, from the distribution, after printing their names and
# the reason. No package is removed, and none upgraded unless a missing one requires it. Sourced, not run.

# Whether package $1 is installed, for this machine or for the architecture in its name (name:arm64).
package_is_installed() {
    local architecture
    architecture=$(dpkg --print-architecture)
    [[ $1 == *:* ]] && architecture=${1#*:}
    dpkg-query -W -f='${Architecture} ${db:Status-Status}\n' "${1%:*}" 2>/dev/null |
        grep -qxE "(all|$architecture) installed"
}

# Prints, one a line, the given packages that are not installed.
missing_packages() {
    local package
    for package in "$@"; do
        package_is_installed "$package" || printf '%s\n' "$package"
    done
}

# Runs a command as root: directly, or through sudo.
as_root() {
    # env, after sudo: sudo drops the environment.
    if [[ $EUID -eq 0 ]]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# install_missing REASON PACKAGE... : installs the missing ones of the packages; REASON completes "needed to ...".
# Without output if none is; where it cannot, it fails and prints the command to run by hand.
install_missing() {
    local reason=$1
    shift
    if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
        echo "note: not a Debian system; needed to $reason, under these names on Debian: $*" >&2
        return 0 # what is really missing will be named by the build
    fi
    local missing
    missing=$(missing_packages "$@")
    [[ -z "$missing" ]] && return 0
    local -a names
    mapfile -t names <<<"$missing"
    echo "Installing ${names[*]}: needed to $reason." >&2
    if [[ $EUID -ne 0 ]] && ! command -v sudo >/dev/null 2>&1; then
        echo "error: neither root nor sudo here. As root: apt-get install ${names[*]}" >&2
        return 1
    fi
    # Waits for another apt run. Renews the package lists only when the installation from the present ones fails.
    local -a install=(apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300)
    local log
    log=$(mktemp)
    if { as_root "${install[@]}" "${names[@]}" ||
        { as_root apt-get update -o DPkg::Lock::Timeout=300 && as_root "${install[@]}" "${names[@]}"; }; } \
        >"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    tail -n 20 "$log" >&2
    echo "error: could not install ${names[*]} (full log: $log)" >&2
    return 1
}

# add_architecture NAME REASON: lets packages of another architecture be installed, after saying so, and how to undo it.
add_architecture() {
    dpkg --print-foreign-architectures | grep -qx "$1" && return 0
    cat >&2 <<END
Adding $1 to the architectures of this system's packages: needed to $2. To undo it, as root:
    apt-get purge '.*:$1' && dpkg --remove-architecture $1
END
    as_root dpkg --add-architecture "$1"
}

# Whether OpenCV is where Examples/Package.swift takes it from.
has_faces() {
    [[ -e /usr/include/opencv4/opencv2/objdetect.hpp ]]
}

# Finds the Swift toolchain on PATH, or in installers' usual folders, and puts it there. Sets SWIFT_ROOT to the folder
# of bin/ and lib/ (also where `swift` is swiftly's proxy).
require_swift() {
    local folder info
    if ! command -v swift >/dev/null 2>&1; then
        for folder in /opt/swift/usr/bin /usr/share/swift/usr/bin /usr/libexec/swift/bin \
            "${HOME:-/nonexistent}/.local/share/swiftly/bin"; do
            [[ -x $folder/swift ]] && PATH=$folder:$PATH && export PATH && break
        done
    fi
    if ! command -v swift >/dev/null 2>&1; then
        echo "error: no Swift toolchain found. Interlock needs Swift 6.2 or later: see https://www.swift.org/install/" >&2
        return 1
    fi
    info=$(swift -print-target-info) || return 1
    SWIFT_ROOT=$(sed -n 's|.*"runtimeResourcePath" *: *"\(.*\)/lib/swift".*|\1|p' <<<"$info" | head -n 1)
    if [[ ! -d ${SWIFT_ROOT:-} ]]; then
        echo "error: cannot tell where the Swift toolchain $(command -v swift) lives" >&2
        return 1
    fi
    export SWIFT_ROOT
}

# The packages of each task. g++ brings the C library's headers and start files, which an unpacked Swift toolchain lacks.
# shellcheck disable=SC2034 # used by the scripts that source this file
{
    PACKAGES_SWIFT=(libbsd-dev g++ git)
    PACKAGES_CMAKE=(cmake make gcc g++ pkg-config libbsd-dev libcmocka-dev)
    PACKAGES_CACHE=(ccache) # nice to have
    PACKAGES_PHOTOS=(libjpeg-dev libpng-dev)
    PACKAGES_FACES=(libopencv-objdetect-dev opencv-data)
    PACKAGES_FORMAT=(clang-format-14 shellcheck python3)
    PACKAGES_COUNT=(valgrind)
    PACKAGES_BROWSER=(chromium) # for the pages' tests; without it they are skipped
    PACKAGES_ABI=(abigail-tools)
    PACKAGES_DEB=(dpkg-dev lintian man-db mandoc)
}
