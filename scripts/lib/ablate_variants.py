# SPDX-License-Identifier: Apache-2.0
"""The variants of scripts/ablate: the sources with one heuristic taken out, or with one constant halved or doubled.

A variant is a list of edits. The old text of an edit stands exactly once in its file: a change of the sources that
moves it is an error that names the variant, and no figure of something else.
"""

import os
import re
from collections import namedtuple

Edit = namedtuple("Edit", "path old new")
# `suites`: those that measure it (SUITES in ablate_runs.py).
Variant = namedtuple("Variant", "name suites what edits")

UNCHANGED = Variant("unchanged", ("spsc", "mpmc", "modes", "constants"), "nothing: shows the noise", ())


class Mismatch(Exception):
    """An edit does not fit the sources; the text names the variant, the file and the text."""


CORE = "Sources/CCore/"
MPMC, MODE = CORE + "ring/mpmc.c", CORE + "rwlock/mode.c"
LOCK = CORE + "rwlock/lock.c"
SPSC_WAIT, MPMC_WAIT, SPIN = CORE + "ring/spsc_wait.c", CORE + "ring/mpmc_wait.c", CORE + "wait/spin.h"
RING_SPIN = "ILK__SPIN_RING ((struct ilk__spin_policy){ILK__SPIN_PROBES(400), 400, 1, 1})"
QUEUED_SPIN = "ILK__SPIN_QUEUED ((struct ilk__spin_policy){ILK__SPIN_PROBES(400), 400, 1, 1})"
LOCK_SPIN = "ILK__SPIN_RWLOCK ((struct ilk__spin_policy){ILK__SPIN_PROBES(38), 6, 16, 128})"
BEHIND = "PROBES_BEHIND_OTHERS = 2"
RINGS = ("spsc", "mpmc")


def ring_spin(probes):
    return (Edit(SPIN, RING_SPIN, RING_SPIN.replace("400", str(probes))),)


def lock_spin(paused, shortest_pause, longest_pause):
    spin = f"{paused + 32}), {paused}, {shortest_pause}, {longest_pause}"
    return (Edit(SPIN, LOCK_SPIN, LOCK_SPIN.replace("38), 6, 16, 128", spin)),)


def behind(probes):
    return (Edit(LOCK, BEHIND, BEHIND.replace("2", str(probes))),)


def queued_spin(probes):
    return (Edit(SPIN, QUEUED_SPIN, QUEUED_SPIN.replace("400", str(probes))),)


HEURISTICS = (
    Variant("no-spsc-back-off", ("spsc",), "no adaptive back-off in `ilk_spsc`", (
        Edit(CORE + "ring/backoff.h", "if (found <= (size_t)back_off + 1) {", "if (capacity > 0) {"),
        Edit("include/interlock/inline/spsc.h", "return found > 1 && found < ring->capacity / 4;",
             "(void)ring, (void)found;\n    return false;"))),
    Variant("no-mpmc-back-off", ("mpmc",), "no adaptive back-off in `ilk_mpmc`", (
        Edit(MPMC, "if (ring->capacity < SMALLEST_WITH_BACK_OFF) {", "if (ring != NULL) {"),)),
    Variant("no-step-back", ("mpmc",), "a thread that lost its slot to another tries again at once", (
        Edit(MPMC, "pause_for(step_back);", "(void)step_back;"),)),
    Variant("no-fetch-ahead", ("mpmc",), "a push fetches no group ahead", (
        Edit(CORE + "ring/prefetch.h", "return element_size > LINE || group * element_size < SMALLEST_GROUP_BYTES ? "
             "0 : group;", "return 0 * group;"),)),
    Variant("fenced-never-kept", RINGS, "each sleeper uses a heavy fence; FENCED is not raised", (
        Edit(SPSC_WAIT, "flag | side->fenced, memory_order_relaxed", "flag, memory_order_relaxed"),
        Edit(SPSC_WAIT, "return before | flag | side->fenced;", "return before | flag;"),
        Edit(CORE + "wait/event_count.c", "ilk_atomic_fetch_or(event.waiting, ILK__EVENT_FENCED, memory_order_release);", ""))),
    Variant("fenced-never-dropped", RINGS, "FENCED stays once a thread has slept", (
        Edit(CORE + "wait/fenced.h", "return counter / ILK__FENCED_STEPS;", "return 0 * counter;"),)),
    Variant("ring-spin-halved", RINGS, "200 probes before a side of a ring parks", ring_spin(200)),
    Variant("ring-spin-doubled", RINGS, "800 probes before a side of a ring parks", ring_spin(800)),
    Variant("ring-spin-always", RINGS, "a side spins before each park, failed spins or not", (
        Edit(SPIN, "const bool spins = failed_spins < ILK__MOST_FAILED_SPINS || "
             "failed_spins % ILK__WAITS_BETWEEN_SPINS == 0;", "const bool spins = failed_spins + 1 != 0;"),)),
    Variant("queued-parks-at-once", ("modes",), "a thread in a lock's queue parks without a spin", queued_spin(0)),
    Variant("queued-spin-halved", ("modes",), "200 probes in a lock's queue before a thread parks", queued_spin(200)),
    Variant("queued-spin-doubled", ("modes",), "800 probes in a lock's queue before a thread parks", queued_spin(800)),
    Variant("no-queue-behind-readers", ("modes",), "a writer behind readers probes on, as one behind a writer", (
        Edit(LOCK, "(kind == ILK__WRITE && (word & ILK__RWLOCK_READERS) != 0)", "false"),)),
    Variant("no-queue-behind-writers", ("modes",), "a reader behind a writer probes on", (
        Edit(LOCK, "(kind == ILK__READ && (word & ILK__RWLOCK_WRITER) != 0)", "false"),)),
    Variant("behind-halved", ("modes",), "1 probe behind the other kind before a thread queues, not 2", behind(1)),
    Variant("behind-doubled", ("modes",), "4 probes", behind(4)),
    Variant("lock-pauses-from-one", ("modes",), "pauses before a thread queues begin at 1 instruction, not 16", lock_spin(10, 1, 128)),
    Variant("lock-pauses-halved", ("modes",), "pauses of 8 to 64 instructions, not 16 to 128", lock_spin(6, 8, 64)),
    Variant("lock-pauses-doubled", ("modes",), "pauses of 32 to 256", lock_spin(6, 32, 256)),
    Variant("lock-yields-sooner", ("modes",), "1 probe with a pause before the yields, not 6", lock_spin(1, 16, 16)),
    Variant("lock-spin-longer", ("modes",), "40 probes with pauses before the yields", lock_spin(40, 16, 128)),
    Variant("central-only", ("modes",), "readers never move to slots", (
        Edit(MODE, "if ((uint64_t)(uintptr_t)lock >> ILK__SLOT_ADDRESS_BITS != 0) {", "if (lock != NULL) {"),)),
    Variant("fenced-only", ("modes",), "slots from the first full read samples on, with a fence, for good", (
        Edit(MODE, "if (last.tag != sample->tag || writes == 0 || writes > MOST_WRITES) {", "if (true) {"),
        Edit(MODE, "if (!ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed)) {", "if (block != NULL) {"))),
    Variant("fence-free-only", ("modes",), "slots without a fence from the first full read samples on, for good", (
        Edit(MODE, "if (last.tag != sample->tag || writes == 0 || writes > MOST_WRITES) {", "if (true) {"),
        Edit(MODE, "(word & ~ILK__RWLOCK_READ_SAMPLES) | ILK__RWLOCK_SLOTS)",
             "(word & ~ILK__RWLOCK_READ_SAMPLES) | ILK__RWLOCK_MODE)"))),
    Variant("no-fence-free", ("modes",), "central or fenced, as the lock decides; never fence-free", (
        Edit(MODE, "if (!ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed)) {", "if (block != NULL) {"),)),
    Variant("no-penalty", ("modes",), "the first costly probe ends the slots", (
        Edit(MODE, "} else if (penalty + PENALTY_OF_A_COSTLY_PROBE < PENALTY_TO_LEAVE) {",
             "} else if (penalty > PENALTY_OF_A_COSTLY_PROBE * PENALTY_TO_LEAVE) {"),)),
    Variant("no-reads-per-write", ("modes",), "slots that several threads read stay, however few the reads between writes", (
        Edit(MODE, "return reads < writes * READS_PER_WRITE && ", "return reads < 0 * writes && "),)),
)

# The files whose constants are halved and doubled.
TUNED = (MODE, CORE + "rwlock/mode.h")
AT_MOST = {"MOST_FAILURES": 15}  # four bits of mode_state
CONSTANT = re.compile(r"\b([A-Z][A-Z_]*) = (\d+(?: << \d+)?)(?=[ ,])")


def constants(read):
    """Two variants for each constant of an enum in TUNED."""
    for path in TUNED:
        for body in re.findall(r"^enum \{([^}]*)\}", read(path), re.MULTILINE):
            for name, value in CONSTANT.findall(body + " "):
                old, short = f"{name} = {value}", name.removeprefix("ILK__")
                number = value_of(value)
                for how, other in (("halved", number // 2), ("doubled", min(number * 2, AT_MOST.get(name, number * 2)))):
                    yield Variant(f"{short}-{how}", ("constants",), f"{short} is {other:,}, not {number:,}",
                                  (Edit(path, old, f"{name} = {other}"),))


def value_of(text):
    left, _, right = text.partition(" << ")
    return int(left) << int(right or 0)


def all_variants(root):
    return [UNCHANGED, *HEURISTICS, *constants(lambda path: read(root, path))]


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def select(variants, names):
    """Those whose name contains one of `names`, and the unchanged one; all without names."""
    for name in names:
        if not any(name in variant.name for variant in variants):
            raise Mismatch(f"no variant's name contains '{name}'; --list lists them")
    return [v for v in variants if v is UNCHANGED or not names or any(name in v.name for name in names)]


def changed(variant, read_file):
    """The files that the variant changes: path -> text. White space in an edit stands for any white space."""
    texts = {}
    for edit in variant.edits:
        text = texts[edit.path] if edit.path in texts else read_file(edit.path)
        pattern = r"\s+".join(re.escape(word) for word in edit.old.split())
        if re.match(r"\w", edit.old[0]):
            pattern = r"(?<!\w)" + pattern
        if re.match(r"\w", edit.old[-1]):
            pattern += r"(?!\w)"
        found = re.findall(pattern, text)
        if len(found) != 1:
            raise Mismatch(f"variant '{variant.name}': its text stands {len(found)} times in {edit.path}, not once: "
                           f"{edit.old}")
        texts[edit.path] = re.sub(pattern, lambda match: edit.new, text)
    return texts
