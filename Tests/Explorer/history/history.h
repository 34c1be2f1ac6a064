/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories: what was called with what, what it answered, and which calls came after which. The checker
 * asks whether the operations can be put into one order, respecting that, in which each answer is
 * what a plain sequential object (a model) would have given: linearisability (Herlihy and Wing, 1990).
 *
 * Histories come from two sources:
 *   - the explorer: ex_begin and ex_end in a scenario's threads. In sc mode order is time; in weak mode
 *     it is happens-before, since "earlier" means nothing else there.
 *   - real threads: recorder.h.
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
    bool answered;   /* false: still running at the end; it may have happened or not */
    uint64_t called, returned;
    /* In histories ordered by happens-before: the returns, by thread, that the call comes after. */
    uint64_t after[EX_HISTORY_THREADS];
    uint64_t meets; /* set by the checker: kinds of the operations it overlaps, a bit each */
} ex_operation;

typedef struct ex_history {
    ex_operation *operations; /* in order of `called` */
    size_t count;
    bool happens_before; /* order by `after` instead of by time */
} ex_history;

/* A sequential object. States are plain bytes: equal bytes mean equal states. */
typedef struct ex_model {
    const char *name;
    size_t state_size;
    void (*begin)(void *state, const void *parameters);
    /* Applies an operation; false if this object would not have answered so. An unanswered operation
     * fits whatever it would have answered. */
    bool (*apply)(void *state, const ex_operation *operation);
    void (*describe_state)(const void *state, char *text, size_t size);
    void (*describe)(const ex_operation *operation, char *text, size_t size);
} ex_model;

/* True if the history fits the model. If not, and `to` is not NULL, says which operation cannot be
 * placed, after which others, and shows those it overlaps. Sets `meets`. Not thread-safe. */
bool ex_history_fits(ex_history *history, const ex_model *model, const void *parameters, FILE *to);

/* ---- In scenarios ---- */

/* Around one operation, on its own thread; the first answers a handle for the second. */
size_t ex_begin(unsigned kind, uint64_t argument);
void ex_end(size_t operation, uint64_t result);

/* In check(): fails the execution if the history does not fit. In setup(): forgets the last one. */
void ex_history_check(const ex_model *model, const void *parameters);
void ex_history_reset(void);

#endif
