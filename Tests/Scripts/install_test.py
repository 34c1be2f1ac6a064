# SPDX-License-Identifier: Apache-2.0
"""install_missing of scripts/lib/install.sh, with stand-ins for dpkg and apt-get: what it installs, and what it says."""

import os
import subprocess
import tempfile
import unittest

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "lib", "install.sh")

# `here` is the list of installed packages; `calls` takes each call of apt-get; an install fails while `stale` is there.
STAND_INS = {
    "dpkg": 'case $1 in --print-foreign-architectures) echo i386 ;; --add-architecture) echo "$*" >&2 ;;\n'
            '*) echo amd64 ;; esac',
    "dpkg-query": 'grep -qx "${@: -1}" "$STAND_INS/here" && echo "amd64 installed"',
    "apt-get": 'echo "$*" >>"$STAND_INS/calls"\n'
               'case $1 in update) rm -f "$STAND_INS/stale" ;; install) [[ ! -e $STAND_INS/stale ]] ;; esac',
    "sudo": 'exec "$@"',
}


class InstallTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, body in STAND_INS.items():
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/usr/bin/env bash\n" + body + "\n")
            os.chmod(path, 0o755)
        self.write("here", "libbsd-dev\ngit\n")
        self.write("calls", "")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def calls(self):
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as file:
            return file.read().splitlines()

    def install(self, *packages):
        return self.call('install_missing "test the installer" "${@:2}"', *packages)

    def call(self, command, *arguments):
        environment = dict(os.environ, STAND_INS=self.folder, PATH=self.folder + ":" + os.environ["PATH"])
        return subprocess.run(["bash", "-c", '. "$1" && ' + command, "_", LIBRARY, *arguments],
                              env=environment, capture_output=True, text=True, timeout=60, check=False)

    def test_nothing_missing_touches_nothing_and_says_nothing(self):
        answer = self.install("libbsd-dev", "git")
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr, self.calls()), (0, "", "", []))

    def test_only_what_is_missing_is_installed_and_named_with_the_reason(self):
        answer = self.install("libbsd-dev", "cmake", "git", "ccache")
        self.assertEqual(answer.returncode, 0)
        self.assertEqual(answer.stderr, "Installing cmake ccache: needed to test the installer.\n")
        self.assertEqual([call.split(" ")[0] for call in self.calls()], ["install"])
        self.assertTrue(self.calls()[0].endswith(" cmake ccache"), self.calls())

    def test_old_lists_are_renewed_once(self):
        self.write("stale", "")
        self.assertEqual(self.install("cmake").returncode, 0)
        self.assertEqual([call.split(" ")[0] for call in self.calls()], ["install", "update", "install"])

    def test_what_cannot_be_installed_is_an_error(self):
        self.write("apt-get", "#!/usr/bin/env bash\nexit 100\n")
        answer = self.install("cmake")
        self.assertEqual(answer.returncode, 1)
        self.assertIn("error: could not install cmake", answer.stderr)

    def test_an_architecture_is_added_after_saying_so_and_how_to_undo_it(self):
        answer = self.call('add_architecture arm64 "test it"')
        said, called = answer.stderr.rsplit("--add-architecture", 1)
        self.assertEqual((answer.returncode, called), (0, " arm64\n"))
        self.assertIn("Adding arm64 to the architectures of this system's packages: needed to test it.", said)
        self.assertIn("dpkg --remove-architecture arm64", said)

    def test_an_architecture_that_is_there_is_not_added(self):
        self.assertEqual(self.call('add_architecture i386 "test it"').stderr, "")

    def test_no_other_script_adds_an_architecture(self):
        scripts = os.path.dirname(os.path.dirname(LIBRARY))
        found = subprocess.run(["grep", "-rlE", "dpkg --add-architecture [^f]", scripts, "--exclude-dir=__pycache__"],
                               capture_output=True, text=True, check=True)
        self.assertEqual([os.path.basename(name) for name in found.stdout.split()], ["install.sh"])


class PackageVersionsTest(unittest.TestCase):
    def test_they_are_exact_where_nothing_depends_on_the_package(self):
        root = os.path.join(os.path.dirname(LIBRARY), "..", "..")
        for folder in ("Examples", "Workshop/Benchmarks/Swift", "Workshop/Benchmarks/Operations", "Workshop/Instructions/Swift",
                       "Workshop/Consumers/SwiftPackage", "Workshop/Consumers/SwiftNIO"):
            with open(os.path.join(root, folder, "Package.swift"), encoding="utf-8") as file:
                loose = [line for line in file if "url:" in line and "exact:" not in line]
            self.assertEqual(loose, [], folder)


if __name__ == "__main__":
    unittest.main()
