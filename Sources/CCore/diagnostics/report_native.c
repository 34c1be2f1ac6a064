/* SPDX-License-Identifier: Apache-2.0
 *
 * See report.h. A report is put together in pages of its own, by the thread that met what it is about, with no lock
 * held: a handler may use the library, and report again.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/report.h"
#include "diagnostics/stack.h"
#include "diagnostics/tables.h"
#include "diagnostics/text.h"
#include "platform/identity.h"
#include "platform/pages.h"
#include "platform/side_effects.h"
#include <interlock/inline/atomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_SIZE = 1024, REPORT_SIZE = 64 * 1024 };

/* With the tables locked: a handler is called with its own context. */
static ilk_report_handler report_handler;
static void *report_context;
static ILK_ATOMIC(bool) report_aborts;
static ILK_ATOMIC(uint32_t) report_count;
static struct ilk__inversion
    kept[ILK__REPORTS_KEPT]; /* the first report_count; written with the tables locked */

void ilk_set_report_handler(ilk_report_handler handler, void *context) {
    sigset_t before;
    ilk__tables_lock(&before);
    report_handler = handler;
    report_context = context;
    ilk__tables_unlock(&before);
}

void ilk_set_report_abort(bool aborts) {
    ilk_atomic_store(&report_aborts, aborts, memory_order_relaxed); /* RP1 */
}

bool ilk__report_aborts(void) {
    /* RP1 relaxed: a setting. */
    return ilk_atomic_load(&report_aborts, memory_order_relaxed);
}

uint32_t ilk__reports(void) {
    /* RP3 acquire, pairs with RP4.
     * Carries: the report.
     * If weaker: a report is read before it is there. */
    return ilk_atomic_load(&report_count, memory_order_acquire);
}

const struct ilk__inversion *ilk__report_kept(uint32_t index) {
    return &kept[index];
}

static void keep(const struct ilk__inversion *inversion) {
    sigset_t before;
    ilk__tables_lock(&before);
    /* RP2 relaxed: it changes under the mutex of the tables. */
    const uint32_t count = ilk_atomic_load(&report_count, memory_order_relaxed);
    if (count < ILK__REPORTS_KEPT) {
        kept[count] = *inversion;
        /* RP4 release, pairs with RP3: the report is there before it is counted. */
        ilk_atomic_store(&report_count, count + 1, memory_order_release);
    }
    ilk__tables_unlock(&before);
}

void ilk__report_deliver(ilk_report_kind kind, const char *sentence, const char *text) {
    sigset_t before;
    ilk__tables_lock(&before);
    const ilk_report_handler handler = report_handler;
    void *context = report_context;
    ilk__tables_unlock(&before);
    if (handler == NULL) {
        ilk__text_print(text);
        return;
    }
    const ilk_report report = {kind, sentence, text};
    struct ilk__side_effects held;
    ilk__side_effects_hold(&held);
    handler(&report, context);
    ilk__side_effects_release(&held);
}

/* ---- Pieces ---- */

void ilk__text_add_object(struct ilk__text *text, const void *object, ilk_object_kind kind) {
    char name[ILK_NAME_SIZE];
    ilk__text_add(text, "%s %p", ilk_object_kind_name(kind), object);
    if (ilk_get_name(object, name, sizeof name)) {
        ilk__text_add(text, " \"%s\"", name);
    }
}

static void add_thread(struct ilk__text *text, const struct ilk__sighting *order) {
    ilk__text_add(text, "thread \"%s\" (%u)", order->thread_name, (unsigned)order->thread);
}

static void add_stack(struct ilk__text *text, const struct ilk__sighting *order) {
    const uint32_t first = ilk__stack_first(order->stack, order->depth);
    for (uint32_t index = first; index < order->depth; index++) {
        ilk__text_add(text, "      %u  ", (unsigned)(index - first));
        ilk__text_add_frame(text, order->stack[index]);
        ilk__text_add(text, "\n");
    }
}

void ilk__text_add_inversion(struct ilk__text *text, const struct ilk__inversion *inversion) {
    const struct ilk__sighting *last = &inversion->orders[0];
    ilk__text_add(text, "lock-order inversion: ");
    add_thread(text, last);
    ilk__text_add(text, " asks for ");
    ilk__text_add_object(text, last->to, last->to_kind);
    ilk__text_add(text, " while it holds ");
    ilk__text_add_object(text, last->from, last->from_kind);
    if (inversion->count == 2) {
        ilk__text_add(text, "; the opposite order was seen before");
    } else {
        ilk__text_add(text, "; %u orders seen before lead back from the one to the other",
                      (unsigned)inversion->count - 1);
    }
}

static void add_orders(struct ilk__text *text, const struct ilk__inversion *inversion) {
    for (uint32_t index = 0; index < inversion->count; index++) {
        const struct ilk__sighting *order = &inversion->orders[(index + 1) % inversion->count];
        const bool is_last = index + 1 == inversion->count;
        ilk__text_add(text, "  %u. ", (unsigned)index + 1);
        add_thread(text, order);
        ilk__text_add(text, is_last ? " holds " : " held ");
        ilk__text_add_object(text, order->from, order->from_kind);
        if (order->from_site != NULL) {
            ilk__text_add(text, ", taken at ");
            ilk__text_add_frame(text, order->from_site);
        }
        ilk__text_add(text, is_last ? ", and asks for " : ", and asked for ");
        ilk__text_add_object(text, order->to, order->to_kind);
        ilk__text_add(text, ":\n");
        add_stack(text, order);
    }
    ilk__text_add(text, "  Threads that do so at the same time wait for each other for ever.\n");
}

/* ---- Reports ---- */

/* `add` puts together what follows the sentence. */
static void deliver(ilk_report_kind kind, const char *sentence,
                    void (*add)(struct ilk__text *text, const void *context), const void *context) {
    char *pages = ilk__pages_allocate(REPORT_SIZE);
    if (pages == NULL) {
        ilk__report_deliver(kind, sentence, sentence);
        return;
    }
    struct ilk__text text;
    ilk__text_begin(&text, pages, REPORT_SIZE, -1);
    ilk__text_add(&text, "interlock: %s\n", sentence);
    add(&text, context);
    ilk__report_deliver(kind, sentence, pages);
    ilk__pages_give_back(pages, REPORT_SIZE);
}

static void add_inversion_orders(struct ilk__text *text, const void *inversion) {
    add_orders(text, inversion);
}

void ilk__report_inversion(const struct ilk__inversion *inversion) {
    char bytes[SENTENCE_SIZE];
    struct ilk__text sentence;
    ilk__text_begin(&sentence, bytes, sizeof bytes, -1);
    ilk__text_add_inversion(&sentence, inversion);
    keep(inversion);
    deliver(ILK_REPORT_INVERSION, bytes, add_inversion_orders, inversion);
    if (ilk__report_aborts()) {
        abort();
    }
}

void ilk__report_ended_search(uint32_t thread) {
    char bytes[SENTENCE_SIZE];
    struct ilk__text sentence;
    ilk__text_begin(&sentence, bytes, sizeof bytes, -1);
    ilk__text_add(&sentence, "interlock: a search for lock-order inversions ended at its limit, as ");
    ilk__text_add_thread(&sentence, thread);
    ilk__text_add(&sentence, " took a lock: one may have been missed. This is said once.\n");
    ilk__text_print(bytes);
}

struct own_wait {
    const void *taken_at;
    const void *site;
};

static void add_own_stack(struct ilk__text *text, const void *context) {
    const struct own_wait *wait = context;
    struct ilk__sighting here = {.depth = 0};
    here.depth = ilk__stack_capture(here.stack, wait->site);
    ilk__text_add(text, "  taken at ");
    ilk__text_add_frame(text, wait->taken_at);
    ilk__text_add(text, "; asked for again at:\n");
    add_stack(text, &here);
}

void ilk__report_self_wait(const void *object, ilk_object_kind kind, const char *held, const char *asked,
                           const void *taken_at, const void *site, bool is_certain) {
    char bytes[SENTENCE_SIZE];
    struct ilk__text sentence;
    ilk__text_begin(&sentence, bytes, sizeof bytes, -1);
    ilk__text_add_thread(&sentence, ilk__thread_id_before_fork());
    ilk__text_add(&sentence, " would wait for itself: it holds ");
    ilk__text_add_object(&sentence, object, kind);
    ilk__text_add(&sentence, " %s and asks for it %s", held, asked);
    const struct own_wait wait = {taken_at, site};
    deliver(ILK_REPORT_SELF_WAIT, bytes, add_own_stack, &wait);
    if (is_certain || ilk__report_aborts()) {
        abort();
    }
}
