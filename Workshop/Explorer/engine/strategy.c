/* SPDX-License-Identifier: Apache-2.0
 *
 * The strategies behind strategy.h.
 *
 * Depth-first keeps the execution's path as a stack of (taken, alternatives) and advances the deepest entry.
 * A preemption bound cuts off schedules (Musuvathi and Qadeer, "Iterative context bounding", 2007). PCT gives
 * threads random priorities and lowers the running thread's at depth - 1 random steps: it hits a bug of depth
 * d with probability at least 1 / (n k^(d-1)) (Burckhardt et al., "A randomized scheduler with probabilistic
 * guarantees of finding bugs", 2010). Random takes every alternative with the same probability.
 */
#include "state.h"
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 16384, PCT_DEEPEST = 8 };

typedef struct branch {
    uint8_t taken, alternatives;
} branch;

static struct {
    ex_strategy strategy;
    int bound;
    uint64_t random;
    uint32_t choices; /* so far in this execution */
    int preemptions;  /* likewise */
    ex_schedule taken;

    branch path[DEEPEST]; /* depth-first */
    unsigned depth, position;

    uint32_t longest; /* PCT: steps of the longest execution so far */
    uint32_t change_at[PCT_DEEPEST];

    ex_schedule replayed;
    unsigned replay_position;
} s;

static uint64_t random_next(void) { /* splitmix64: Steele, Lea, Flood (2014) */
    uint64_t z = (s.random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static unsigned random_below(unsigned limit) {
    return (unsigned)(((random_next() >> 32) * limit) >> 32);
}

void ex_strategy_begin(ex_strategy strategy, int bound, uint64_t seed) {
    s.strategy = strategy;
    s.bound = bound;
    s.random = seed * UINT64_C(0xD1342543DE82EF95) + 1;
    s.depth = 0;
    s.longest = 16;
}

void ex_strategy_replay(const ex_schedule *schedule) {
    ex_strategy_begin(EX_REPLAY, 0, 0);
    s.replayed.length = schedule->length;
    memcpy(s.replayed.choices, schedule->choices, schedule->length * sizeof schedule->choices[0]);
}

void ex_strategy_start_execution(void) {
    s.choices = 0;
    s.preemptions = 0;
    s.taken.length = 0;
    s.position = 0;
    s.replay_position = 0;
    if (s.strategy == EX_PCT) {
        for (int i = 0; i + 1 < s.bound && i < PCT_DEEPEST; i++) {
            s.change_at[i] = 1 + random_below(s.longest);
        }
        /* A random permutation above the priorities of change points. */
        for (unsigned i = 0; i < EX_THREADS; i++) {
            ex.thread[i].priority = PCT_DEEPEST + 1 + (int)i;
        }
        for (unsigned i = EX_THREADS - 1; i > 0; i--) {
            unsigned j = random_below(i + 1);
            int swapped = ex.thread[i].priority;
            ex.thread[i].priority = ex.thread[j].priority;
            ex.thread[j].priority = swapped;
        }
    }
}

bool ex_strategy_next(void) {
    if (ex.steps > s.longest) {
        s.longest = ex.steps;
    }
    if (s.strategy == EX_REPLAY) {
        return false;
    }
    if (s.strategy != EX_DEPTH_FIRST) {
        return true;
    }
    while (s.depth > 0) {
        branch *last = &s.path[s.depth - 1];
        if (++last->taken < last->alternatives) {
            return true;
        }
        s.depth--;
    }
    return false;
}

const ex_schedule *ex_strategy_taken(void) {
    return &s.taken;
}

static unsigned record_choice(unsigned taken) {
    uint32_t at = s.choices++;
    if (taken != 0) {
        if (s.taken.length == EX_LONGEST_SCHEDULE) {
            ex_fail(EX_LIVELOCK, "more than %d choices in one execution", EX_LONGEST_SCHEDULE);
        }
        s.taken.choices[s.taken.length++] = (ex_choice){at, taken};
    }
    return taken;
}

static unsigned depth_first(unsigned count) {
    if (s.position == s.depth) {
        if (s.depth == DEEPEST) {
            ex_fail(EX_LIVELOCK, "more than %d choices in one execution", DEEPEST);
        }
        s.path[s.depth++] = (branch){0, (uint8_t)count};
    }
    branch *here = &s.path[s.position++];
    if (here->alternatives != count) {
        ex_fail(EX_BEYOND, "the scenario is not deterministic: choice %u had %u alternatives, now %u",
                s.choices, here->alternatives, count);
    }
    return here->taken;
}

static unsigned replay(unsigned count) {
    if (s.replay_position < s.replayed.length && s.replayed.choices[s.replay_position].at == s.choices) {
        uint32_t taken = s.replayed.choices[s.replay_position++].taken;
        return taken < count ? taken : 0; /* after shortening, a choice may have fewer alternatives */
    }
    return 0;
}

static unsigned highest_priority(const ex_candidate *candidates, unsigned count) {
    for (int i = 0; i + 1 < s.bound && i < PCT_DEEPEST; i++) {
        if (s.change_at[i] != 0 && ex.steps >= s.change_at[i]) {
            s.change_at[i] = 0;
            ex_me()->priority = PCT_DEEPEST - i;
        }
    }
    unsigned threads = 0;
    unsigned best = 0;
    for (unsigned i = 0; i < count; i++) {
        if (candidates[i].event != EX_NO_EVENT) {
            continue;
        }
        if (threads == 0 ||
            ex.thread[candidates[i].thread].priority > ex.thread[candidates[best].thread].priority) {
            best = i;
        }
        threads++;
    }
    /* Events have no priority but a fixed probability. */
    if (threads < count && (threads == 0 || random_below(8) == 0)) {
        unsigned wanted = random_below(count - threads);
        for (unsigned i = 0; i < count; i++) {
            if (candidates[i].event != EX_NO_EVENT && wanted-- == 0) {
                return i;
            }
        }
    }
    return best;
}

unsigned ex_choose_thread(const ex_candidate *candidates, unsigned count, unsigned free) {
    unsigned taken = 0;
    switch (s.strategy) {
    case EX_DEPTH_FIRST: {
        unsigned alternatives = s.preemptions < s.bound ? count : free;
        taken = alternatives > 1 ? depth_first(alternatives) : 0;
        s.preemptions += taken >= free;
        break;
    }
    case EX_RANDOM:
        taken = random_below(count);
        break;
    case EX_PCT:
        taken = highest_priority(candidates, count);
        break;
    case EX_REPLAY:
        taken = replay(count);
        break;
    }
    return record_choice(taken);
}

unsigned ex_choose(unsigned count) {
    unsigned taken = 0;
    switch (s.strategy) {
    case EX_DEPTH_FIRST:
        taken = depth_first(count);
        break;
    case EX_RANDOM:
    case EX_PCT:
        /* Half of the time the default: unusual choices meet usual ones. */
        taken = random_below(2) ? 0 : random_below(count);
        break;
    case EX_REPLAY:
        taken = replay(count);
        break;
    }
    return record_choice(taken);
}
