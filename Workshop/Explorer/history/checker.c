/* SPDX-License-Identifier: Apache-2.0
 *
 * The checker: a search for an order, operation by operation (Wing and Gong, "Testing and verifying
 * concurrent objects", 1993), that never visits the same set of placed operations with the same state twice
 * (Lowe, "Testing for linearizability", 2017). A 128-bit hash, the sum of random numbers of the placed
 * operations, stands for the set: histories of many thousand operations fit in memory.
 */
#include "history.h"
#include <stdlib.h>
#include <string.h>

typedef struct key {
    uint64_t a, b;
} key;

/* The memory of the search, kept between calls. */
static struct {
    size_t capacity; /* operations */
    size_t state_bytes;
    bool *placed;
    size_t *order;         /* operations in the order placed */
    size_t *best;          /* the longest order that was found */
    unsigned char *states; /* before each placement, and after the last */

    key *visited; /* open addressing; a key of zeros is empty */
    size_t visited_size, visited_count;
} w;

static void *grown(void *memory, size_t size) {
    void *larger = realloc(memory, size);
    if (larger == NULL) {
        fputs("history: no memory\n", stderr);
        exit(2);
    }
    return larger;
}

static void make_room(size_t count, size_t state_size) {
    if (count > w.capacity) {
        w.capacity = count;
        w.placed = grown(w.placed, count * sizeof *w.placed);
        w.order = grown(w.order, count * sizeof *w.order);
        w.best = grown(w.best, count * sizeof *w.best);
    }
    if ((count + 1) * state_size > w.state_bytes) {
        w.state_bytes = (count + 1) * state_size;
        w.states = grown(w.states, w.state_bytes);
    }
    if (w.visited == NULL) {
        w.visited_size = 256;
        w.visited = grown(NULL, w.visited_size * sizeof *w.visited);
        memset(w.visited, 0, w.visited_size * sizeof *w.visited);
    }
}

static uint64_t mix(uint64_t z) { /* splitmix64's finish */
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static key random_of(size_t operation) {
    uint64_t a = mix((uint64_t)operation * UINT64_C(0x9E3779B97F4A7C15) + 1);
    return (key){a, mix(a + UINT64_C(0xD1B54A32D192ED03))};
}

static key hash_of(key placed, const unsigned char *state, size_t size) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, state + i, size - i < 8 ? size - i : 8);
        placed.a = mix(placed.a ^ word) + i + 1;
        placed.b = mix(placed.b + word) ^ (i + 1);
    }
    placed.a |= 1; /* never the empty key */
    return placed;
}

static bool insert(key *table, size_t size, key entry) {
    size_t slot = (size_t)entry.b & (size - 1);
    while (table[slot].a != 0) {
        if (table[slot].a == entry.a && table[slot].b == entry.b) {
            return false;
        }
        slot = (slot + 1) & (size - 1);
    }
    table[slot] = entry;
    return true;
}

static bool visit(key entry) {
    if (w.visited_count * 2 >= w.visited_size) {
        size_t larger = w.visited_size * 2;
        key *table = grown(NULL, larger * sizeof *table);
        memset(table, 0, larger * sizeof *table);
        for (size_t i = 0; i < w.visited_size; i++) {
            if (w.visited[i].a != 0) {
                insert(table, larger, w.visited[i]);
            }
        }
        free(w.visited);
        w.visited = table;
        w.visited_size = larger;
    }
    bool fresh = insert(w.visited, w.visited_size, entry);
    w.visited_count += fresh;
    return fresh;
}

static bool precedes(const ex_history *history, const ex_operation *first, const ex_operation *second) {
    if (!first->answered) {
        return false;
    }
    if (!history->happens_before) {
        return first->returned < second->called;
    }
    return second->after[first->thread] >= first->returned;
}

/* Which kinds each operation overlaps: by time, only neighbours in the order of calls. */
static void find_meetings(ex_history *history) {
    for (size_t i = 0; i < history->count; i++) {
        history->operations[i].meets = 0;
    }
    for (size_t i = 0; i < history->count; i++) {
        ex_operation *first = &history->operations[i];
        for (size_t j = i + 1; j < history->count; j++) {
            ex_operation *second = &history->operations[j];
            if (!history->happens_before && first->answered && second->called > first->returned) {
                break;
            }
            if (first->thread != second->thread && !precedes(history, first, second) &&
                !precedes(history, second, first)) {
                first->meets |= UINT64_C(1) << second->kind;
                second->meets |= UINT64_C(1) << first->kind;
            }
        }
    }
}

/* The first operation from `from` on that may be placed next: everything that precedes it is placed. `first`
 * is the first unplaced. count if there is none. */
static size_t next_candidate(const ex_history *history, size_t first, size_t from) {
    const ex_operation *operations = history->operations;
    if (!history->happens_before) {
        uint64_t earliest_return = UINT64_MAX;
        for (size_t i = first; i < history->count && operations[i].called <= earliest_return; i++) {
            if (!w.placed[i]) {
                if (i >= from) {
                    return i;
                }
                if (operations[i].answered && operations[i].returned < earliest_return) {
                    earliest_return = operations[i].returned;
                }
            }
        }
        return history->count;
    }
    for (size_t i = from; i < history->count; i++) {
        bool free = !w.placed[i];
        for (size_t j = first; free && j < history->count; j++) {
            free = w.placed[j] || j == i || !precedes(history, &operations[j], &operations[i]);
        }
        if (free) {
            return i;
        }
    }
    return history->count;
}

static const char *place_name(size_t place, char *text, size_t size) {
    if (place == 0) {
        snprintf(text, size, "-");
    } else {
        snprintf(text, size, "%zu.", place);
    }
    return text;
}

static void print_operation(FILE *to, const ex_model *model, const ex_operation *operation, size_t place) {
    char text[128], place_text[24];
    model->describe(operation, text, sizeof text);
    fprintf(to, "    thread %u  %-36s called %-14llu ", operation->thread, text,
            (unsigned long long)operation->called);
    if (operation->answered) {
        fprintf(to, "returned %-14llu", (unsigned long long)operation->returned);
    } else {
        fprintf(to, "not returned           ");
    }
    fprintf(to, " placed %s\n", place_name(place, place_text, sizeof place_text));
}

enum { LAST_SHOWN = 4 };

static void explain(FILE *to, const ex_history *history, const ex_model *model, const void *parameters,
                    size_t longest) {
    size_t *places = calloc(history->count, sizeof *places);
    unsigned char *state = calloc(1, model->state_size + 1);
    if (places == NULL || state == NULL) {
        free(places);
        free(state);
        return;
    }
    model->begin(state, parameters);
    for (size_t i = 0; i < longest; i++) {
        places[w.best[i]] = i + 1;
        (void)model->apply(state, &history->operations[w.best[i]]);
    }
    /* Of the unplaced, the operation that returned first: its predecessors are placed. */
    const ex_operation *stuck = NULL;
    for (size_t i = 0; i < history->count; i++) {
        const ex_operation *operation = &history->operations[i];
        if (places[i] == 0 && operation->answered &&
            (stuck == NULL || operation->returned < stuck->returned)) {
            stuck = operation;
        }
    }
    char text[256];
    model->describe(stuck, text, sizeof text);
    fprintf(to, "  the history does not fit a %s: thread %u's %s cannot be placed\n", model->name,
            stuck->thread, text);
    model->describe_state(state, text, sizeof text);
    fprintf(to, "  after the %zu operations that could be, the %s is: %s\n  the last of those:\n", longest,
            model->name, text);
    for (size_t i = longest > LAST_SHOWN ? longest - LAST_SHOWN : 0; i < longest; i++) {
        print_operation(to, model, &history->operations[w.best[i]], i + 1);
    }
    fprintf(to, "  it, and those it overlaps:\n");
    for (size_t i = 0; i < history->count; i++) {
        const ex_operation *operation = &history->operations[i];
        if (operation == stuck ||
            (!precedes(history, operation, stuck) && !precedes(history, stuck, operation))) {
            print_operation(to, model, operation, places[i]);
        }
    }
    free(places);
    free(state);
}

bool ex_history_fits(ex_history *history, const ex_model *model, const void *parameters, FILE *to) {
    size_t count = history->count;
    size_t size = model->state_size;
    make_room(count + 1, size);
    memset(w.placed, 0, count * sizeof *w.placed);
    memset(w.visited, 0, w.visited_size * sizeof *w.visited);
    w.visited_count = 0;
    find_meetings(history);
    size_t answered = 0;
    for (size_t i = 0; i < count; i++) {
        answered += history->operations[i].answered;
    }

    memset(w.states, 0, size);
    model->begin(w.states, parameters);
    size_t depth = 0, placed_answered = 0, longest = 0;
    size_t same = 0;  /* so much of `best` is as in `order` */
    size_t first = 0; /* not placed */
    size_t from = 0;  /* the search for the next candidate begins here */
    key placed = {0, 0};
    while (placed_answered < answered) {
        size_t candidate = next_candidate(history, first, from);
        if (candidate < count) {
            unsigned char *state = w.states + (depth + 1) * size;
            memcpy(state, w.states + depth * size, size);
            const ex_operation *operation = &history->operations[candidate];
            key random = random_of(candidate);
            key with = {placed.a ^ random.a, placed.b ^ random.b};
            from = candidate + 1;
            if (!model->apply(state, operation) || !visit(hash_of(with, state, size))) {
                continue;
            }
            w.placed[candidate] = true;
            w.order[depth++] = candidate;
            placed = with;
            placed_answered += operation->answered;
            while (first < count && w.placed[first]) {
                first++;
            }
            from = first;
            continue;
        }
        if (depth > longest) {
            memcpy(w.best + same, w.order + same, (depth - same) * sizeof *w.best);
            longest = same = depth;
        }
        if (depth == 0) {
            if (to != NULL) {
                explain(to, history, model, parameters, longest);
            }
            return false;
        }
        size_t undone = w.order[--depth];
        same = depth < same ? depth : same;
        key random = random_of(undone);
        placed = (key){placed.a ^ random.a, placed.b ^ random.b};
        w.placed[undone] = false;
        placed_answered -= history->operations[undone].answered;
        first = undone < first ? undone : first;
        from = undone + 1;
    }
    return true;
}
