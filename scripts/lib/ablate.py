# SPDX-License-Identifier: Apache-2.0
"""What scripts/ablate runs: reads the flags, builds, measures, prints. See there."""

import argparse
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
    parser.add_argument("--quick", action="store_true", help="fewer cells, 3 rounds of 10 ms")
    parser.add_argument("--rounds", type=int, help="rounds (9)")
    parser.add_argument("--slice", type=float, metavar="MS", help="how long a cell is measured in a round (20)")
    parser.add_argument("--beside-a-busy-process", action="store_true", help="with a process that computes on one core")
    parser.add_argument("--build", action="store_true", help="builds the variants and measures nothing")
    parser.add_argument("--json", metavar="FILE", help="writes all samples there")
    parser.add_argument("--from", dest="source", metavar="FILE", help="prints the tables of samples written before")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds if options.rounds is not None else 3 if options.quick else 9
    options.slice = options.slice if options.slice is not None else 10 if options.quick else 20
    if options.rounds < 1 or options.slice <= 0:
        parser.error("nothing to run: --rounds and --slice are above 0")
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def show_progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text} \x1b[K")
        sys.stderr.flush()


def commit():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


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


def measure_suite(name, built, options, facts):
    suite = ablate_runs.SUITES[name]
    flags = ["--only", suite.contender, "--rounds", "1", "--slice", f"{options.slice:g}",
             *(suite.quick if options.quick else suite.full)]

    def run(variant):
        folder = built[variant or ablate_variants.UNCHANGED.name]
        result = ablate_runs.run_program(os.path.join(folder, suite.program), flags)
        facts.update(machine=result["machine"], date=result["date"])
        facts["cores_used"].append(result["cores_used_by_others"])
        facts["line_trips_ns"] += result["line_trips_ns"]
        return ablate_runs.cells(result, suite.contender)

    return lambda names: ablate_runs.measure(names, options.rounds, run, show_progress)


def measure_all(variants, built, failures, options):
    facts = {"commit": commit(), "date": str(datetime.date.today()), "rounds": options.rounds, "slice_ms": options.slice,
             "busy_process": options.beside_a_busy_process, "cores_used": [], "line_trips_ns": []}
    suites = {}
    for name in ablate_runs.SUITES:
        of_suite = [v.name for v in variants if name in v.suites]
        if of_suite == [ablate_variants.UNCHANGED.name] and options.names or name not in (options.suite or ablate_runs.SUITES):
            continue
        measured = measure_suite(name, built, options, facts)([n for n in of_suite if n in built])
        for variant in of_suite:
            if variant in failures:
                measured.failures[variant] = failures[variant]
        suites[name] = measured
    return facts, suites


def print_from(path):
    with open(path, encoding="utf-8") as file:
        stored = json.load(file)
    suites = {}
    for name, suite in stored["suites"].items():
        rounds = ablate_report.rounds_of(suite["variants"])
        bases = [base for of_variant in rounds.values() for _, base in of_variant]
        suites[name] = ablate_runs.Measured(rounds, bases, suite["failures"])
    print(ablate_report.report(stored["facts"], suites), end="")
    return 0


def run(options):
    variants = ablate_variants.select(ablate_variants.all_variants(ROOT), options.names)
    if options.list:
        for variant in variants:
            print(f"{variant.name:34} {variant.what}")
        return 0
    if options.suite:
        variants = [v for v in variants if set(v.suites) & set(options.suite)]
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
        return print_from(options.source) if options.source else run(options)
    except (ablate_variants.Mismatch, ablate_runs.Failure, OSError, json.JSONDecodeError) as error:
        say(f"error: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
