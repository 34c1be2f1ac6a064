# SPDX-License-Identifier: Apache-2.0
"""What scripts/ablate runs: reads the flags, builds, measures, prints. See there."""

import argparse
import contextlib
import datetime
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True

import ablate_report
import ablate_runs
import ablate_variants

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def arguments_of(arguments):
    parser = argparse.ArgumentParser(prog="scripts/ablate", description="Leaves heuristics out, one at a time, and measures.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="variants whose name contains NAME (all)")
    parser.add_argument("--list", action="store_true", help="names, and what each leaves out")
    parser.add_argument("--suite", action="append", choices=ablate_runs.SUITES, help="only this suite (all)")
    parser.add_argument("--piece", action="append", default=[], metavar="TEXT",
                        help="only runs with TEXT in their arguments, such as 'threads 2' or 'way try'")
    parser.add_argument("--quick", action="store_true", help="fewer cells, 3 rounds")
    parser.add_argument("--rounds", type=int, help="rounds (9)")
    parser.add_argument("--slice", type=float, metavar="MS", help="how long a slice is (10)")
    parser.add_argument("--slices", type=int, default=3, help="of each cell in a run; the figure is their median (3)")
    parser.add_argument("--best", action="store_true", help="the figure is the best slice's: where others use the machine")
    parser.add_argument("--beside-a-busy-process", action="store_true", help="with a process that computes on one core")
    parser.add_argument("--urgent", action="store_true", help="the benchmarks go before all other processes (root)")
    parser.add_argument("--build", action="store_true", help="builds the variants and measures nothing")
    parser.add_argument("--json", metavar="FILE", help="writes all samples there")
    parser.add_argument("--from", dest="sources", action="append", metavar="FILE",
                        help="the tables of samples written before; repeated for several")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds if options.rounds is not None else 3 if options.quick else 9
    options.slice = options.slice if options.slice is not None else 10
    if options.rounds < 1 or options.slices < 1 or options.slice <= 0:
        parser.error("nothing to run: --rounds, --slices and --slice are above 0")
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def show_progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text} \x1b[K")
        sys.stderr.flush()


def commit():
    """The last that changed what is measured."""
    def git(*command):
        return subprocess.run(["git", "-C", ROOT, *command, "--", *ablate_runs.COPIED], capture_output=True, text=True)

    clean = git("diff", "--quiet", "HEAD").returncode == 0
    return (git("log", "-1", "--format=%h").stdout.strip() or "unknown") + ("" if clean else " with changes")


def build_all(builder, variants):
    """Variant's name -> folder of its programs; and name -> reason for those that do not build."""
    built, failures = {}, {}
    for variant in variants:
        show_progress(f"building {variant.name}")
        try:
            built[variant.name] = builder.programs(variant)
        except ablate_runs.Failure as failure:
            if variant is ablate_variants.UNCHANGED:
                raise
            failures[variant.name] = str(failure)
            say(f"error: {failure}")
    return built, failures


def pieces_of(suite, options):
    """The runs of a round: those with one of the texts of --piece in their arguments, all without."""
    pieces = ablate_runs.SUITES[suite].quick if options.quick else ablate_runs.SUITES[suite].full
    return [piece for piece in pieces if not options.piece or any(text in " ".join(piece) for text in options.piece)]


def measure_suite(name, built, options, facts):
    """Measures the variants of `built`, name -> folder of its programs."""
    suite = ablate_runs.SUITES[name]
    flags = ["--only", suite.contender, "--rounds", str(options.slices), "--slice", f"{options.slice:g}",
             *suite.arguments]
    if options.urgent:
        flags.append("--urgent")

    def run(variant, piece):
        folder = built[variant or ablate_variants.UNCHANGED.name]
        result = ablate_runs.run_program(os.path.join(folder, suite.program), [*flags, *piece])
        facts.update(machine=result["machine"], date=result["date"])
        facts["cores_used"].append(result["cores_used_by_others"])
        facts["line_trips_ns"] += result["line_trips_ns"]
        return ablate_runs.cells(result, suite.contender, max if options.best else ablate_runs.median)

    def warm_up(piece):
        with contextlib.suppress(ablate_runs.Failure):
            run(None, piece)

    return ablate_runs.measure(list(built), pieces_of(name, options), options.rounds, run,
                               lambda text: show_progress(f"{name}, {text}"), warm_up)


def measure_all(variants, built, failures, options):
    facts = {"commit": commit(), "date": str(datetime.date.today()), "rounds": options.rounds, "slice_ms": options.slice,
             "slices": options.slices, "best": options.best, "urgent": options.urgent, "busy_process": options.beside_a_busy_process, "cores_used": [], "line_trips_ns": []}
    suites = {}
    for name in ablate_runs.SUITES:
        of_suite = [v.name for v in variants if name in v.suites]
        is_wanted = name in (options.suite or ablate_runs.SUITES) and pieces_of(name, options)
        if not is_wanted or (options.names and of_suite == [ablate_variants.UNCHANGED.name]):
            continue
        measured = measure_suite(name, {n: built[n] for n in of_suite if n in built}, options, facts)
        measured.failures.update({n: failures[n] for n in of_suite if n in failures})
        suites[name] = measured
    if "machine" not in facts:
        reasons = [reason for measured in suites.values() for reason in measured.failures.values()]
        raise ablate_runs.Failure("measured nothing: " + ("; ".join(reasons) or "these variants are of other suites"))
    return facts, suites


def report_from(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        stored = json.loads(text)
        suites = {name: ablate_runs.Measured(ablate_report.rounds_of(suite["variants"]), suite["failures"])
                  for name, suite in stored["suites"].items()}
        return ablate_report.report(stored["facts"], suites)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ablate_report.Malformed(f"{path} holds no samples of scripts/ablate ({type(error).__name__}: {error})") from error


def run(options):
    variants = ablate_variants.select(ablate_variants.all_variants(ROOT), options.names)
    if options.list:
        for variant in variants:
            print(f"{variant.name:34} {variant.what}")
        return 0
    if options.suite:
        variants = [v for v in variants if set(v.suites) & set(options.suite)]
    suites = options.suite or list(ablate_runs.SUITES)
    if not any(pieces_of(suite, options) for suite in suites):
        raise ablate_runs.Failure("--piece leaves nothing to run: " + ", ".join(options.piece))
    if options.json:
        open(options.json, "a", encoding="utf-8").close()  # it can be written: told now, not after the run
    builder = ablate_runs.Builder(ROOT, os.path.join(ROOT, "build", "ablate"))
    for variant in variants:
        builder.changed(variant)
    built, failures = build_all(builder, variants)
    if options.build:
        return 1 if failures else 0
    if options.beside_a_busy_process:
        with ablate_runs.busy_process():
            facts, suites = measure_all(variants, built, failures, options)
    else:
        facts, suites = measure_all(variants, built, failures, options)
    show_progress("")
    if options.json:
        stored = {"facts": facts, "suites": {
            name: {"variants": ablate_report.samples(measured), "failures": measured.failures}
            for name, measured in suites.items()}}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(stored, file, indent=1)
    print(ablate_report.report(facts, suites), end="")
    return 1 if any(measured.failures for measured in suites.values()) else 0


def main(arguments):
    options = arguments_of(arguments)
    try:
        if options.sources:
            print("\n".join(report_from(path) for path in options.sources), end="")
            return 0
        return run(options)
    except (ablate_variants.Mismatch, ablate_runs.Failure, ablate_report.Malformed, OSError) as error:
        say(f"error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
