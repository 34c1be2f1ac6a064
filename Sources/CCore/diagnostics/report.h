/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of orders: two threads that may come to wait for each other, and one about to wait for itself. The
 * explorer's model has its own, which counts them.
 */
#ifndef INTERLOCK_DIAGNOSTICS_REPORT_H
#define INTERLOCK_DIAGNOSTICS_REPORT_H

#include <interlock/diagnostics.h>
#include <stdbool.h>
#include <stdint.h>

enum { ILK__CYCLE_ORDERS_MOST = 8, ILK__REPORTS_KEPT = 16 };

/* One thread held `from` and asked for `to`. */
struct ilk__sighting {
    const void *from;
    const void *to;
    ilk_object_kind from_kind;
    ilk_object_kind to_kind;
    const void *from_site; /* where `from` was taken */
    uint32_t thread;
    char thread_name[16];
    uint32_t depth;
    void *stack[ILK_STACK_FRAMES]; /* where `to` was asked for */
};

/* A cycle of orders; the first is the one that closed it. */
struct ilk__inversion {
    uint32_t count;
    struct ilk__sighting orders[ILK__CYCLE_ORDERS_MOST];
};

/* Reports, and ends the process if it is to. The tables must not be locked. */
void ilk__report_inversion(const struct ilk__inversion *inversion);

/* The search for what an order of this thread's inverts has ended at its limit, for the first time in the process. */
void ilk__report_ended_search(uint32_t thread);

/* `held`: in words, how the calling thread has the object that it now asks for. Never returns if it is certain
 * that the wait would not end. */
void ilk__report_self_wait(const void *object, ilk_object_kind kind, const char *held, const char *asked,
                           const void *taken_at, const void *site, bool is_certain);

/* The text of the report, and of those before it, for the diagnosis as a whole. The number of reports so far; those
 * kept are the first. */
uint32_t ilk__reports(void);
const struct ilk__inversion *ilk__report_kept(uint32_t index);

struct ilk__text;
/* The sentence of an inversion. */
void ilk__text_add_inversion(struct ilk__text *text, const struct ilk__inversion *inversion);
/* mutex 0x7ffd "accounts" */
void ilk__text_add_object(struct ilk__text *text, const void *object, ilk_object_kind kind);

/* Hands the report to the handler, or prints it. */
void ilk__report_deliver(ilk_report_kind kind, const char *sentence, const char *text);

/* The switch behind ilk_set_report_abort. */
bool ilk__report_aborts(void);

#endif
