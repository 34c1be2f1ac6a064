/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace of one execution, for people: a row per step, a column per thread. Kept only when a
 * schedule is replayed to be shown; searches do not pay for it.
 */
#include "state.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 20000 };

static ex_step *steps;
static unsigned count;

void ex_trace_clear(void) {
    if (steps == NULL) {
        steps = calloc(MOST_STEPS, sizeof *steps);
    }
    count = 0;
}

static ex_step *append(const ex_site *site) {
    if (steps == NULL || count == MOST_STEPS) {
        return NULL;
    }
    ex_step *step = &steps[count++];
    step->number = ex.steps;
    step->thread = (uint8_t)ex.current;
    step->site = site;
    return step;
}

void ex_trace(const ex_site *site, const char *format, ...) {
    ex_step *step = append(site);
    if (step != NULL) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(step->text, sizeof step->text, format, arguments);
        va_end(arguments);
    }
}

static const char *order_name(int order) {
    switch (order) {
    case memory_order_relaxed:
        return "relaxed";
    case memory_order_consume:
        return "consume";
    case memory_order_acquire:
        return "acquire";
    case memory_order_release:
        return "release";
    case memory_order_acq_rel:
        return "acq_rel";
    default:
        return "seq_cst";
    }
}

static const char *shown(uint64_t value, char *text, size_t size) {
    snprintf(text, size, value < 10 ? "%llu" : "0x%llx", (unsigned long long)value);
    return text;
}

void ex_trace_operation(const char *verb, const ex_site *site, const ex_location *location,
                        const ex_store *read, int order, bool wrote, uint64_t written) {
    ex_step *step = append(site);
    if (step == NULL) {
        return;
    }
    if (location == NULL) {
        snprintf(step->text, sizeof step->text, "%s %s", verb, order_name(order));
        return;
    }
    char before[24] = "", after[24] = "";
    const char *object = site->object[0] == '&' ? site->object + 1 : site->object;
    int used = snprintf(step->text, sizeof step->text, "%s %s", verb, object);
    if (read != NULL) {
        used += snprintf(step->text + used, sizeof step->text - (size_t)used, ": %s",
                         shown(read->value, before, sizeof before));
    }
    if (wrote) {
        used += snprintf(step->text + used, sizeof step->text - (size_t)used, " -> %s",
                         shown(written, after, sizeof after));
    }
    used += snprintf(step->text + used, sizeof step->text - (size_t)used, " %s", order_name(order));
    unsigned newer = read == NULL || wrote ? 0 : (unsigned)(location->newest - read->number);
    if (newer > 0) {
        char from[48] = "the initial value";
        if (read->number != 0) {
            snprintf(from, sizeof from, "step %u's", read->step);
        }
        snprintf(step->text + used, sizeof step->text - (size_t)used, " STALE: %s, %u newer", from, newer);
    }
}

enum { COLUMN = 46 };

static const char *basename_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* One step in its column, broken into lines where it is too long. */
static void print_step(FILE *to, const ex_step *step, unsigned columns) {
    char text[200];
    if (step->site != NULL) {
        snprintf(text, sizeof text, "%s  [%s:%d]", step->text, basename_of(step->site->file),
                 step->site->line);
    } else {
        snprintf(text, sizeof text, "%s", step->text);
    }
    const char *rest = text;
    bool first = true;
    while (*rest != '\0') {
        size_t length = strlen(rest);
        size_t take = length;
        if (length > COLUMN - 2) {
            take = COLUMN - 2;
            while (take > COLUMN / 2 && rest[take] != ' ') {
                take--;
            }
            if (rest[take] != ' ') {
                take = COLUMN - 2;
            }
        }
        if (first) {
            fprintf(to, "%4u  ", step->number);
        } else {
            fprintf(to, "      ");
        }
        for (unsigned i = 0; i < columns; i++) {
            if (i + 1 == step->thread || (step->thread == 0 && i == 0)) {
                fprintf(to, "%s%.*s\n", first ? "" : "    ", (int)take, rest);
                break;
            }
            fprintf(to, "%-*s", COLUMN, "");
        }
        first = false;
        rest += take;
        while (*rest == ' ') {
            rest++;
        }
    }
}

void ex_trace_print(FILE *to) {
    unsigned columns = ex.threads - 1;
    bool seen_main = false;
    fprintf(to, "step  ");
    for (unsigned i = 0; i < columns; i++) {
        fprintf(to, "%-*s", i + 1 < columns ? COLUMN : 0, ex_title(i + 1));
    }
    fputc('\n', to);
    for (unsigned i = 0; i < count; i++) {
        const ex_step *step = &steps[i];
        if (step->thread == 0 && !seen_main && step->number > 0 && i > 0 && steps[i - 1].thread != 0) {
            fprintf(to, "      after all have ended:\n");
            seen_main = true;
        }
        print_step(to, step, columns);
    }
}
