#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How a loop's elements are divided among its workers: the time of each rule, as a multiple of a perfect division.

A simulation, for more workers than a machine has, and without its neighbours. Every hand-out costs 50 ns, a stolen half
200 ns. `Pool/Workers/Loops/LoopControl.swift` has the rule "adaptive". Prints a table for each number of workers given."""
import heapq
import random
import sys

HAND_OUT, STEAL, SPLIT, PART = 50, 200, 20, 10


def loads():
    """Nanoseconds of each element."""
    light, heavy, count = 20, 10_000, 10_000
    at_random = random.Random(1)
    return {
        "even": [200] * count,
        "heavy last": [light] * (count - 200) + [heavy] * 200,
        "first": [heavy] * 200 + [light] * (count - 200),
        "in the middle": [light] * 4900 + [heavy] * 200 + [light] * 4900,
        "at random": [heavy if at_random.random() < 0.02 else light for _ in range(count)],
        "1 ns, 1,000,000": [1] * 1_000_000,
        "60 of 1 ms": [1_000_000] * 60,
        "5,000 of 50 ns, 300 of 1 ms": [50] * 5000 + [1_000_000] * 300,
    }


def sums(work):
    total, result = 0, [0]
    for time in work:
        total += time
        result.append(total)
    return result


def counted(work, workers, rule):
    """Runs from one counter; `rule` gives their length."""
    before, following, end = sums(work), 0, 0
    free = [(0, worker, 0, 0) for worker in range(workers)]
    while free:
        now, worker, length, took = heapq.heappop(free)
        left = len(work) - following
        if left == 0:
            end = max(end, now)
            continue
        length = max(1, min(left, rule(len(work), workers, left, length, took)))
        took = before[following + length] - before[following] + HAND_OUT
        following += length
        heapq.heappush(free, (now + took, worker, length, took))
    return end


def split_lazily(work, workers, parts):
    """Lazy binary splitting: a worker whose half was stolen splits what it has left."""
    before, grain, end = sums(work), max(1, len(work) // (workers * parts)), 0
    current, offered, idle = {0: (0, len(work))}, {}, list(range(1, workers))
    events = [(0, 0)]

    def steal(now):
        while idle and offered:
            victim = max(offered, key=lambda one: offered[one][1] - offered[one][0])
            thief = idle.pop()
            current[thief] = offered.pop(victim)
            heapq.heappush(events, (now + STEAL, thief))

    while events:
        now, worker = heapq.heappop(events)
        first, last = current[worker]
        if first >= last:
            if worker in offered:
                current[worker] = offered.pop(worker)
                heapq.heappush(events, (now + PART, worker))
            else:
                idle.append(worker)
                end = max(end, now)
                steal(now)
            continue
        if last - first > grain and worker not in offered:
            middle = first + (last - first) // 2
            offered[worker] = (middle, last)
            last, now = middle, now + SPLIT
            steal(now)
        then = min(last, first + grain)
        current[worker] = (then, last)
        heapq.heappush(events, (now + PART + before[then] - before[first], worker))
    return end


def adaptive(share):
    def rule(_, workers, left, length, took):
        length = min(2 * length, length * 2_000 * workers // max(took, 1))
        return min(length, max(1, left // (share * workers))) if share else length

    return lambda work, workers: counted(work, workers, rule)


def guided(share):
    return lambda work, workers: counted(work, workers, lambda n, w, left, *_: left // (share * w))


def fixed(parts):
    return lambda work, workers: counted(work, workers, lambda n, w, *_: n // (w * parts))


def lazy(parts):
    return lambda work, workers: split_lazily(work, workers, parts)


RULES = {
    "adaptive": adaptive(8),
    "the same without the eighth": adaptive(0),
    "the eighth alone (guided)": guided(8),
    **{f"fixed, {parts:,} parts a worker": fixed(parts) for parts in (1, 64, 1024)},
    **{f"lazy splitting, {parts:,} parts a worker": lazy(parts) for parts in (64, 1024)},
}


def main():
    work = loads()
    for workers in [int(argument) for argument in sys.argv[1:]] or [2, 8]:
        print(f"| {workers} workers | " + " | ".join(work) + " |")
        print("|---|" + "---:|" * len(work))
        for name, rule in RULES.items():
            ratios = [rule(times, workers) / max(sum(times) / workers, max(times)) for times in work.values()]
            print(f"| {name} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")
        print()


if __name__ == "__main__":
    main()
