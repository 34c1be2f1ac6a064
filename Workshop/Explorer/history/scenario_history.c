/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories of scenarios: recorded, in the order of their calls, as the fibers run; checked in check().
 */
#include "../engine/state.h"
#include "history.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_OPERATIONS = 64 };

static ex_operation operations[MOST_OPERATIONS];
static size_t count;
static uint64_t moments; /* orders calls and returns in sc mode */

void ex_history_reset(void) {
    count = 0;
    moments = 0;
}

size_t ex_begin(unsigned kind, uint64_t argument) {
    if (count == MOST_OPERATIONS) {
        ex_fail(EX_BEYOND, "more than %d recorded operations in one execution", MOST_OPERATIONS);
    }
    ex_operation *operation = &operations[count];
    operation->thread = ex.current;
    operation->kind = kind;
    operation->argument = argument;
    operation->result = 0;
    operation->answered = false;
    operation->called = ++moments;
    operation->returned = UINT64_MAX;
    if (ex.weak) {
        for (unsigned i = 0; i < EX_HISTORY_THREADS; i++) {
            operation->after[i] = ex_me()->now.clock.at[i];
        }
    }
    return count++;
}

void ex_end(size_t index, uint64_t result) {
    ex_operation *operation = &operations[index];
    operation->result = result;
    operation->answered = true;
    operation->returned = ex.weak ? ++ex_me()->now.clock.at[ex.current] : ++moments;
    if (ex.recording) {
        ex_trace(NULL, "operation %zu ends", index + 1);
    }
}

void ex_not_before(size_t operation, uint64_t moment) {
    (void)operation, (void)moment;
}
void ex_not_early(uint64_t deadline_ns) {
    (void)deadline_ns;
}

void ex_history_check(const ex_model *model, const void *parameters) {
    ex_history history = {operations, count, ex.weak};
    if (ex_history_fits(&history, model, parameters, NULL)) {
        return;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to != NULL) {
        (void)ex_history_fits(&history, model, parameters, to);
        fclose(to);
    }
    char copy[1800];
    snprintf(copy, sizeof copy, "%s", text != NULL ? text : "the history does not fit");
    free(text);
    ex_fail(EX_ASSERTION, "\n%s", copy);
}
