# SPDX-License-Identifier: Apache-2.0
"""What scripts/test and scripts/prove would do: a copy of them with stand-ins for the tools, and the steps they take."""

import os
import re
import subprocess
from collections import namedtuple

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# Nothing is installed and nothing run: a step tells its environment and its words; a shell function that is a step runs,
# with tools that tell theirs.
STAND_INS = {
    "scripts/lib/install.sh": r"""
install_missing() { return 0; }
has_faces() { return 0; }
require_swift() { SWIFT_ROOT=$PWD/swift; }
PACKAGES_SWIFT=(x) PACKAGES_CMAKE=(x) PACKAGES_CACHE=(x) PACKAGES_FORMAT=(x) PACKAGES_PHOTOS=(x) PACKAGES_FACES=(x)
PACKAGES_BROWSER=(x)
""",
    "scripts/lib/steps.sh": r"""
step() {
    local name=$1 status=0
    local -x TOLD
    TOLD=$(mktemp -p "$PWD/told")
    printf '%s\0' "${INTERLOCK_STRESS-}" "${INTERLOCK_COMPARE-}" "${TSAN_OPTIONS-}" \
        "${INTERLOCK_FUZZ_SECONDS-}" "$@" >"$TOLD"
    if [[ $4 == bash ]]; then "${@:4}" >/dev/null || status=$?; fi
    printf '%s\0' "status $status" >>"$TOLD"
    record 1 0 0 </dev/null
    echo "0 $name" >>"$STEPS_LOGS/.times"
}
""",
}
# The steps and the paths that they are for, told instead of taken.
PATHS = r"""
if [[ -n ${TELL_PATHS-} ]]; then
    wanted() {
        printf '%s\0%s\0' "$1" "${2//$'\n'/ }" >>"$TELL_PATHS"
        return 1
    }
fi
"""
TOOL = r"""#!/bin/sh
printf '%s\0' "${0##*/}${INTERLOCK_STRESS:+ $INTERLOCK_STRESS}${INTERLOCK_FUZZ_SECONDS:+ $INTERLOCK_FUZZ_SECONDS s}" "$@" >>"$TOLD"
[ "$*" != "${FAIL-none}" ]
"""

Step = namedtuple("Step", "name kind seconds words stress compare tsan fuzz status")


class Tree:
    """A copy of the scripts beside what they look at, as a repository with one commit, which is the last proof."""

    def __init__(self, folder):
        self.folder = folder
        self.write(".ci/proven", "")
        subprocess.run(["cp", "-r", f"{ROOT}/scripts", folder], check=True)
        for name, text in STAND_INS.items():
            with open(f"{folder}/{name}", "a", encoding="utf-8") as file:
                file.write(text)
        with open(f"{folder}/scripts/lib/verify.sh", "a", encoding="utf-8") as file:
            file.write(PATHS)
        for consumer in os.listdir(f"{ROOT}/Workshop/Consumers"):
            self.link(f"Workshop/Consumers/{consumer}")
        self.link("Tests/SwiftFacadeTests")
        for tool in ("cmake", "ctest"):
            self.write(f"tools/{tool}", TOOL)
        self.write("swift/bin/clang", "#!/bin/sh\ncat >/dev/null\n")
        for tool in ("tools/cmake", "tools/ctest", "swift/bin/clang"):
            os.chmod(f"{folder}/{tool}", 0o755)
        self.write(".gitignore", "told/\nbuild-test/\n")
        self.git("init", "--quiet")
        self.commit()
        self.write(".ci/proven", self.git("rev-parse", "HEAD"))
        self.commit()

    def write(self, name, text="changed\n"):
        path = f"{self.folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def link(self, name):
        os.makedirs(os.path.dirname(f"{self.folder}/{name}"), exist_ok=True)
        os.symlink(f"{ROOT}/{name}", f"{self.folder}/{name}")

    def git(self, *words):
        return subprocess.run(["git", "-C", self.folder, "-c", "user.name=x", "-c", "user.email=x@x", *words],
                              check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")

    def plan(self, script, *arguments, **environment):
        """The steps by their names, what was printed, and the status."""
        told = f"{self.folder}/told"
        subprocess.run(["rm", "-rf", told], check=True)
        os.mkdir(told)
        environment = {**os.environ, "PATH": f"{self.folder}/tools:{os.environ['PATH']}", **environment}
        for name in ("INTERLOCK_STRESS", "INTERLOCK_COMPARE", "TSAN_OPTIONS", "INTERLOCK_FUZZ_SECONDS"):
            environment.pop(name, None)
        done = subprocess.run([f"{self.folder}/scripts/{script}", *arguments], env=environment,
                              capture_output=True, text=True, timeout=120, check=False)
        steps = {}
        for name in os.listdir(told):
            with open(f"{told}/{name}", encoding="utf-8") as file:
                stress, compare, tsan, fuzz, name, kind, seconds, *words, status = file.read().split("\0")[:-1]
            assert name not in steps, f"two steps are called {name}"
            steps[name] = Step(name, kind, seconds, words, stress, compare, tsan, fuzz, int(status.split()[1]))
        return steps, done.stdout + done.stderr, done.returncode


def alternatives(pattern):
    """The parts of a|(b|c)d: a, bd, cd."""
    inner = re.search(r"\(([^()]*)\)", pattern)
    if inner:
        return [part for one in inner.group(1).split("|")
                for part in alternatives(pattern[:inner.start()] + one + pattern[inner.end():])
                ] if "|" in inner.group(1) else alternatives(pattern.replace(inner.group(), inner.group(1)))
    return pattern.split("|")


def swift_suites():
    """The types with tests."""
    suites = set()
    for path, _, names in os.walk(f"{ROOT}/Tests/SwiftFacadeTests"):
        for name in names:
            if name.endswith(".swift"):
                with open(f"{path}/{name}", encoding="utf-8") as file:
                    text = file.read()
                types = [(match.start(), match.group(1)) for match in re.finditer(
                    r"^(?!//)(?:@\w+(?:\(.*\))? |public |final )*(?:struct|class|enum|actor|extension) (\w+)", text, re.M)]
                for test in re.finditer(r"^ +@Test\b", text, re.M):
                    suites.add([name for start, name in types if start < test.start()][-1])
    return suites
