/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace of one execution: a row per step, a column per thread. Kept only when a schedule is replayed.
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

enum { COLUMN = 44, PLACE = 26 };

static const char *basename_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static size_t line_length(const char *text, size_t limit) {
    size_t length = strlen(text);
    if (length <= limit) {
        return length;
    }
    size_t take = limit;
    while (take > limit / 2 && text[take] != ' ') {
        take--;
    }
    return text[take] == ' ' ? take : limit;
}

/* Number and place in the margin, the text in the thread's column. */
static void print_step(FILE *to, const ex_step *step) {
    char place[64] = "";
    if (step->site != NULL) {
        snprintf(place, sizeof place, "%s:%d", basename_of(step->site->file), step->site->line);
    }
    unsigned column = step->thread == 0 ? 0 : step->thread - 1u;
    fprintf(to, "%4u  %-*s", step->number, PLACE, place);
    const char *rest = step->text;
    for (bool first = true; *rest != '\0'; first = false) {
        size_t take = line_length(rest, first ? COLUMN - 2 : COLUMN - 6);
        int indent = (int)(column * COLUMN) + (first ? 0 : 6 + PLACE + 4);
        fprintf(to, "%*s%.*s\n", indent, "", (int)take, rest);
        rest += take;
        while (*rest == ' ') {
            rest++;
        }
    }
}

void ex_trace_print(FILE *to) {
    unsigned columns = ex.threads - 1;
    bool seen_main = false;
    fprintf(to, "step  %-*s", PLACE, "place");
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
        print_step(to, step);
    }
}
