/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks and views, and their joins.
 */
#include "state.h"
#include <string.h>

void ex_clock_join(ex_clock *into, const ex_clock *from) {
    for (unsigned i = 0; i < EX_THREADS; i++) {
        into->at[i] = into->at[i] > from->at[i] ? into->at[i] : from->at[i];
    }
}

void ex_view_join(ex_view *into, const ex_view *from) {
    unsigned shared = into->length < from->length ? into->length : from->length;
    for (unsigned i = 0; i < shared; i++) {
        into->at[i] = into->at[i] > from->at[i] ? into->at[i] : from->at[i];
    }
    if (from->length > into->length) {
        memcpy(into->at + shared, from->at + shared, (from->length - shared) * sizeof from->at[0]);
        into->length = from->length;
    }
}

void ex_view_raise(ex_view *view, unsigned location, uint16_t number) {
    while (view->length <= location) {
        view->at[view->length++] = 0;
    }
    if (view->at[location] < number) {
        view->at[location] = number;
    }
}

void ex_knowledge_join(ex_knowledge *into, const ex_knowledge *from) {
    ex_clock_join(&into->clock, &from->clock);
    ex_view_join(&into->view, &from->view);
}

void ex_knowledge_copy(ex_knowledge *into, const ex_knowledge *from) {
    into->clock = from->clock;
    into->view.length = from->view.length;
    memcpy(into->view.at, from->view.at, from->view.length * sizeof from->view.at[0]);
}

void ex_knowledge_clear(ex_knowledge *knowledge) {
    memset(&knowledge->clock, 0, sizeof knowledge->clock);
    knowledge->view.length = 0;
}
