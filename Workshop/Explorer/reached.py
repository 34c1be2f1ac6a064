# SPDX-License-Identifier: Apache-2.0
"""Prints, for each state of states.h, how many scenarios reach it, how often in each memory mode, and where most often.

    reached.py OUTPUT...     what explorers printed with --states

Fails when no scenario reaches a state, or none in one of the modes.
"""

import collections
import fileinput
import pathlib
import re
import sys

STATE = re.compile(r'^ +STATE\((\w+), "([^"]*)"\)', re.M)
SCENARIO = re.compile(r"^\w+ +([\w-]+) +(sc|weak)\b")
REACHED = re.compile(r"^ {7}(\w+) +(\d+) of \d+$")


def counted(lines):
    """State, then scenario, then mode: how often."""
    counts = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    scenario = mode = None
    for line in lines:
        if found := SCENARIO.match(line):
            scenario, mode = found.groups()
        elif (found := REACHED.match(line)) and int(found[2]) > 0:
            counts[found[1]][scenario][mode] += int(found[2])
    return counts


def main():
    header = pathlib.Path(__file__).with_name("states.h").read_text(encoding="ascii")
    counts = counted(fileinput.input(sys.argv[1:], encoding="utf-8"))
    fewest = {}
    print(f"{'state':32} {'scenarios':>9} {'sc':>9} {'weak':>9}  most often in")
    for state, words in STATE.findall(header):
        scenarios = counts[state]
        times = sum(scenarios.values(), collections.Counter())
        most = max(scenarios, key=lambda name: scenarios[name].total(), default=f"UNREACHED: {words}")
        print(f"{state:32} {len(scenarios):9} {times['sc']:9} {times['weak']:9}  {most}")
        fewest[state] = min(times["sc"], times["weak"])
    rarest = min(fewest, key=fewest.get)
    unreached = sum(times == 0 for times in fewest.values())
    print(f"{len(fewest)} states, {unreached} unreached; least often: {rarest}, {fewest[rarest]} times")
    return unreached > 0


if __name__ == "__main__":
    sys.exit(main())
