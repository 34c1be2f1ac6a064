/* SPDX-License-Identifier: Apache-2.0
 *
 * What the primitives tell diagnosis, from their slow paths and only of watched objects. Around an acquisition that
 * may wait:
 *     ilk__watch_begin       before it; reports orders
 *     ilk__watch_contends    when the thread will wait
 *     ilk__watch_end         after it
 */
#ifndef INTERLOCK_DIAGNOSTICS_OBSERVE_H
#define INTERLOCK_DIAGNOSTICS_OBSERVE_H

#include "diagnostics/objects.h"
#include "diagnostics/records.h"
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>

/* The address after the call that the calling function was made by. That function is ILK_NOINLINE: a compiler that
 * inlines it, or makes its cold part a function of its own, answers with an address of the library. */
#define ILK__CALLER __builtin_return_address(0)

struct ilk__watch {
    struct ilk__object *object; /* NULL: not watched */
    uint64_t id;                /* the object's: it may end while the thread waits */
    const void *site;
    uint64_t deadline_ns;
    uint64_t waits_since_ns; /* 0: it does not wait */
    uint32_t watches;
    enum ilk__share share;
};

/* `is_anyones`: of a plain lock. */
void ilk__watch_begin(struct ilk__watch *watch, const void *address, ilk_object_kind kind,
                      enum ilk__share share, bool is_anyones, uint64_t deadline_ns, const void *site);
/* Once or more. `is_behind_writer`: of a lock that readers hold, and for which a writer waits that came before. */
void ilk__watch_contends(struct ilk__watch *watch, bool is_behind_writer);
void ilk__watch_end(struct ilk__watch *watch, bool is_acquired);

/* A try call has acquired. */
void ilk__watch_taken(const void *address, enum ilk__share share, const void *site) ILK_NONBLOCKING;

/* Before a share is given up. */
void ilk__watch_release(const void *address, enum ilk__share share, const void *site) ILK_NONBLOCKING;
/* Around giving up a share, which may fail: the first call before it, the second if the share was given up. The object
 * may have ended between them. */
void ilk__watch_find(struct ilk__watch *watch, const void *address) ILK_NONBLOCKING;
void ilk__watch_release_end(const struct ilk__watch *watch, enum ilk__share share, const void *site)
    ILK_NONBLOCKING;
/* Before a downgrade. */
void ilk__watch_downgrade(const void *address);
/* A semaphore has not one permit, as what serves as a lock has. */
void ilk__watch_permits(const struct ilk__watch *watch) ILK_NONBLOCKING;

/* A wait for what has no holder (a latch, a ring …). `label` names what the table of names has not, or is "". After
 * ilk__watch_idle it is recorded if anything is watched: one load. A further call goes on with the same wait. */
struct ilk__idle_watch {
    struct ilk__record *record; /* NULL: not watched */
    struct ilk__object *object; /* a ring, or NULL */
    uint64_t id;                /* the object's */
    uint64_t since_ns;
};
#define ILK__IDLE_WATCH_NONE                                                                                 \
    { NULL, NULL, 0, 0 }
void ilk__watch_idle_begin(struct ilk__idle_watch *watch, const void *address, ilk_object_kind kind,
                           const char *label, uint64_t deadline_ns, const void *site);
void ilk__watch_idle_end(struct ilk__idle_watch *watch);

/* A wait for a ring that is full (`pushes`) or empty. */
void ilk__watch_ring_begin(struct ilk__idle_watch *watch, const void *ring, ilk_object_kind kind, bool pushes,
                           uint64_t deadline_ns, const void *site);

/* Whether waits for what has no holder may be recorded: one load. */
static inline bool ilk__watches_idle(void) ILK_NONBLOCKING {
    return ILK_UNLIKELY(ilk__diagnosed_bits() != 0);
}

static inline void ilk__watch_idle(struct ilk__idle_watch *watch, const void *address, ilk_object_kind kind,
                                   uint64_t deadline_ns, const void *site) {
    if (ilk__watches_idle() && watch->record == NULL) {
        ilk__watch_idle_begin(watch, address, kind, "", deadline_ns, site);
    }
}

#endif
