/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories: calls with arguments and results, and which call came after which. The checker searches for an
 * order of the operations that respects this and in which each result is that of a sequential object (a
 * model): linearisability (Herlihy and Wing, 1990).
 *
 * Sources: the explorer (ex_begin, ex_end), where "after" is order in time in the sc mode and happens-before
 * in the weak mode; and real threads (recorder.h).
 */
#ifndef EXPLORER_HISTORY_H
#define EXPLORER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EX_HISTORY_THREADS = 8 };

typedef struct ex_operation {
    unsigned thread;
    unsigned kind; /* the model's */
    uint64_t argument;
    uint64_t result; /* meaningless unless answered */
    bool answered;   /* false: still running at the end; it may have happened */
    uint64_t called, returned;
    /* In histories ordered by happens-before: the returns, by thread, before the call. */
    uint64_t after[EX_HISTORY_THREADS];
    uint64_t meets; /* the kinds of the operations it overlaps, by the checker */
} ex_operation;

typedef struct ex_history {
    ex_operation *operations; /* in order of `called` */
    size_t count;
    bool happens_before; /* order by `after` instead of by time */
} ex_history;

/* A sequential object. Equal bytes mean equal states. */
typedef struct ex_model {
    const char *name;
    size_t state_size;
    void (*begin)(void *state, const void *parameters);
    /* Applies an operation; false if this object would give another result. An operation without a result
     * fits. */
    bool (*apply)(void *state, const ex_operation *operation);
    void (*describe_state)(const void *state, char *text, size_t size);
    void (*describe)(const ex_operation *operation, char *text, size_t size);
} ex_model;

/* True if the history fits the model. If not, prints to `to`, unless NULL, which operation cannot be placed,
 * after which others, and those that it overlaps. Sets `meets`. Not thread-safe. */
bool ex_history_fits(ex_history *history, const ex_model *model, const void *parameters, FILE *to);

/* ---- In scenarios, and in what history_native runs ---- */

/* Around one operation, on its thread; the first returns a handle for the others. */
size_t ex_begin(unsigned kind, uint64_t argument);
void ex_end(size_t operation, uint64_t result);

/* Of real threads: the operation takes effect at `moment` of the monotonic clock or later, as a wait that times out. */
void ex_not_before(size_t operation, uint64_t moment);

/* Of real threads, in a call that has timed out: `deadline_ns` must have passed. ex_not_before asks for that, too. */
void ex_not_early(uint64_t deadline_ns);

/* ---- In scenarios ---- */

/* In check(): fails the execution if the history does not fit. In setup(): forgets the last one. */
void ex_history_check(const ex_model *model, const void *parameters);
void ex_history_reset(void);

#endif
