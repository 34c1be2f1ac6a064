# SPDX-License-Identifier: Apache-2.0
"""What .ci/run asks of the demo, with a stand-in for it that does all of it, or all but one thing."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

DEMO = r"""#!/usr/bin/env bash
without() { [[ ${WITHOUT-} == "$1" ]]; }
faces=false
[[ $1 == --faces ]] && faces=true && shift
[[ $1 == --output ]] || { folder=$1 && shift; }
out=$2
name=${folder-Examples/Photos}
name=${name##*/}
if [[ $name == empty || $name == missing ]]; then
    without "status 2 of $name" && exit 1
    exit 2
fi
mkdir -p "$out/pictures" "$out/downloads/pictures"
[[ $name != Photos ]] || without downloads || echo x >"$out/downloads/pictures/a.jpg"
for file in "${folder-Examples/Photos}"/*.jpg "${folder-Examples/Photos}"/*.png; do
    file=${file##*/}
    without "a picture" && [[ $file == b.png || $name == mixed ]] || echo x >"$out/pictures/${file%.*}.jpg"
done
without "the sheet" || echo x >"$out/contact-sheet.jpg"
{
    pictures=5
    without "a picture in the page" && pictures=4
    for ((i = 0; i < pictures; i++)); do
        printf '<img src="data:image/jpeg;base64,%s" />\n' "$(printf 'A%.0s' {1..1200})"
    done
    without "a drawing" || echo "<svg></svg>"
    without "the downloads' section" || echo "<h2>Photos over a bad network</h2>"
    [[ $name != odd* ]] || without "the further pictures" || echo "<p>And 5 more, in the folder</p>"
    $faces || without "how to get faces" || echo "No faces were looked for: scripts/demo --faces"
    without "all in the page" && echo '<img src="https://example.org/x.jpg" />'
} >"$out/index.html"
case $name in
mixed)
    without "the reason" || echo "broken.jpg: damaged"
    without "the other reason" || echo "text.jpg: no picture"
    ;;
odd*)
    without "spelled names" || echo 'esc\x1B[2J\xFF.jpg'
    without "no escapes" && printf '\e[2J\n'
    ;;
large)
    peak=410
    without "little memory" && peak=900
    without "a peak" || echo "Peak memory: $peak MB"
    ;;
esac
without "success" && exit 1
exit 0
"""
FILES = {
    "scripts/demo": DEMO,
    "scripts/test": '#!/bin/sh\n[ "${WITHOUT-}" != "the first tier" ]\n',
    "scripts/prove": '#!/bin/sh\necho "prove $*"\n[ "${WITHOUT-}" != "the second tier" ]\n',
    "scripts/lib/install.sh": "install_missing() { return 0; }\nhas_faces() { return 1; }\nPACKAGES_BROWSER=(x)\n",
    "tools/cjpeg": "#!/bin/sh\nexec head -c 5000\n",
    "tools/djpeg": '#!/bin/sh\n[ -s "$3" ] && cat "$3" >"$2"\n',
    "Tests/Scripts/demo_page.py": 'import os\nraise SystemExit(os.environ.get("WITHOUT") == "a page that fits")\n',
}


class ContinuousTest(unittest.TestCase):
    def run_without(self, what=""):
        """The names of the steps that failed, what was printed, and the status."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FILES.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(path, 0o755)
            for name in (".ci/run", "scripts/lib/steps.sh"):
                os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
                shutil.copy(f"{ROOT}/{name}", f"{folder}/{name}")
            os.makedirs(f"{folder}/Examples/Photos")
            for name in ("astronaut.jpg", "rocket.jpg", "cameraman.png", "b.png"):
                with open(f"{folder}/Examples/Photos/{name}", "w", encoding="utf-8") as file:
                    file.write("x" * 3000)
            done = subprocess.run(
                [f"{folder}/.ci/run"], capture_output=True, text=True, timeout=120, check=False,
                env={**os.environ, "PATH": f"{folder}/tools:{os.environ['PATH']}", "WITHOUT": what, "TMPDIR": folder})
            lines = [line for line in done.stdout.splitlines() if " s  FAILED" in line]
            return {line[:44].strip().removeprefix("Demo: ") for line in lines}, done.stdout + done.stderr, done.returncode

    def test_all_that_is_asked_for_passes(self):
        failed, said, status = self.run_without()
        self.assertEqual((failed, status), (set(), 0), said)
        self.assertIn("\n10 passed, 0 failed\n", said)
        self.assertIn("prove --changed --minutes ", said)

    def test_a_tier_that_fails_fails_the_run(self):
        for tier in ("the first tier", "the second tier"):
            failed, said, status = self.run_without(tier)
            self.assertEqual((failed, status), (set(), 1), tier)
            self.assertIn("prove --changed", said)

    def test_each_thing_that_is_missing_is_seen(self):
        for what, step in (
            ("a picture", "every sample gave a picture"),
            ("the sheet", "the contact sheet decodes"),
            ("a picture in the page", "the page holds the pictures"),
            ("a drawing", "the page holds the pictures"),
            ("all in the page", "the page holds the pictures"),
            ("downloads", "the downloads gave pictures"),
            ("the downloads' section", "the downloads gave pictures"),
            ("the reason", "a broken file is named and the rest finish"),
            ("the other reason", "a broken file is named and the rest finish"),
            ("status 2 of empty", "a missing or empty folder is exit status 2"),
            ("status 2 of missing", "a missing or empty folder is exit status 2"),
            ("spelled names", "the page of odd files fits the screen"),
            ("no escapes", "the page of odd files fits the screen"),
            ("the further pictures", "the page of odd files fits the screen"),
            ("a page that fits", "the page of odd files fits the screen"),
            ("little memory", "memory keeps to its budget"),
            ("a peak", "memory keeps to its budget"),
            ("how to get faces", "without faces the page says how to get"),
            ("success", "Demo on the sample photos"),
        ):
            with self.subTest(what):
                failed, said, status = self.run_without(what)
                self.assertEqual(status, 1)
                self.assertTrue(any(name.startswith(step[:36]) for name in failed), f"{failed}\n{said[-2000:]}")


if __name__ == "__main__":
    unittest.main()
