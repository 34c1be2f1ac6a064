/* SPDX-License-Identifier: Apache-2.0
 *
 * The objects that diagnosis watches, by address. An object of the table is never freed: it is found without a
 * lock, and a reader that comes late sees another id. Ids are never used twice, so what is remembered of an
 * object that has ended (a lock order, a held share) does not pass to the next one at its address.
 */
#ifndef INTERLOCK_DIAGNOSTICS_OBJECTS_H
#define INTERLOCK_DIAGNOSTICS_OBJECTS_H

#include "diagnostics/figures.h"
#include "diagnostics/index.h"
#include "platform/bsd.h"
#include <interlock/diagnostics.h>
#include <interlock/inline/atomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Traits of an object. */
#define ILK__IS_WRITTEN UINT32_C(1)  /* asked for writing at least once: its readers may have to wait */
#define ILK__IS_UPGRADED UINT32_C(2) /* likewise, by an upgrade */
#define ILK__IS_ANYONES UINT32_C(4)  /* a plain lock: another thread than took it may give it up */
#define ILK__IS_BALANCED UINT32_C(8) /* a thread has given back what it took, of what is anyone's */
#define ILK__IS_SIGNALLED                                                                                    \
    UINT32_C(16)                     /* a thread has given what it had not taken, or it has not one permit */
#define ILK__HAS_ORDERS UINT32_C(32) /* an edge leaves it, or has left it */

/* UPGRADE is asked for and never held: its thread holds UPGRADABLE, so that only readers keep it waiting. */
enum ilk__share { ILK__SHARE_READ, ILK__SHARE_UPGRADABLE, ILK__SHARE_WRITE, ILK__SHARE_UPGRADE };
enum { ILK__SHARES = 4 };

LIST_HEAD(ilk__edges, ilk__edge);

/* What a search for cycles leaves at an object (order_search.c), of the search with this number. */
struct ilk__visit {
    uint64_t search;
    struct ilk__object *next; /* in the search's queue */
    bool is_queued;
    uint8_t distances[ILK__SHARES];
};

struct ilk__object {
    struct ilk__index_link link; /* first: a link is its object */
    ILK_ATOMIC(uintptr_t) address;
    ILK_ATOMIC(uint64_t) id;      /* 0: this one is free */
    ILK_ATOMIC(uint32_t) kind;    /* an ilk_object_kind */
    ILK_ATOMIC(uint32_t) watches; /* ILK_DIAGNOSE_ bits of its own */
    ILK_ATOMIC(uint32_t) traits;
    ILK_ATOMIC(uint64_t) acquisitions;
    ILK_ATOMIC(struct ilk__counters *) times; /* NULL: its times are not measured */
    /* With the tables locked. */
    struct ilk__object *next_of_all;
    struct ilk__edges leaving, entering; /* see edges.h */
    struct ilk__watched_ring *ring;      /* see rings.h; NULL: none is sampled */
    struct ilk__visit forward, backward;
};

/* ILK_DIAGNOSE_ bits for all objects, and ILK__DIAGNOSES_SOME once an object was switched on by itself. */
#define ILK__DIAGNOSES_SOME UINT32_C(0x80)
extern ILK_ATOMIC(uint32_t) ilk__diagnoses;

static inline uint32_t ilk__diagnosed_bits(void) ILK_NONBLOCKING {
    /* OB1 relaxed: a switch; what is switched on publishes its own data. */
    return ilk_atomic_load(&ilk__diagnoses, memory_order_relaxed);
}

/* Whether objects not met before are to be watched. */
static inline bool ilk__diagnoses_all(void) ILK_NONBLOCKING {
    return (ilk__diagnosed_bits() & ~ILK__DIAGNOSES_SOME) != 0;
}

/* What is watched of `object`. */
uint32_t ilk__object_watches(const struct ilk__object *object) ILK_NONBLOCKING;

/* The object at `address`, or NULL. Takes no lock. */
struct ilk__object *ilk__object_find(const void *address) ILK_NONBLOCKING;

/* The id of `object` if it is the one at `address`, else 0. What comes back later compares ids: the object may have
 * ended, and be another one's. */
uint64_t ilk__object_id_at(const struct ilk__object *object, const void *address) ILK_NONBLOCKING;

/* Watches what is at `address` by itself, as `watches` says. NULL: no memory. */
struct ilk__object *ilk__object_watch(const void *address, ilk_object_kind kind, uint32_t watches);

/* The object at `address`, made now if there is none, or one of another kind. NULL: no memory. */
struct ilk__object *ilk__object_of(const void *address, ilk_object_kind kind);

/* Forgets an object that ends, or is no longer watched. A load where nothing was watched yet. */
void ilk__object_forget(const void *address);

/* With the tables locked: forgets the object at `address` if nothing of it is watched, or if it is an earlier one,
 * since what is there now `is_new`. False: there is none any more; if what is there is not to be watched, its calls
 * stop coming to diagnosis before the tables are unlocked: so none is left out of an object that stays, and what
 * ilk__object_watch has begun stands. */
bool ilk__object_settle(const void *address, bool is_new);

/* True: it did not have them all. */
bool ilk__object_add_traits(struct ilk__object *object, uint32_t traits);
bool ilk__object_has_traits(const struct ilk__object *object, uint32_t traits);

/* Whether there was ever an object. */
bool ilk__objects_were_there(void);

/* Likewise while there was never an object, so without the tables: takes `mark` from the word of what is at `address`.
 * False: there was one. The call that puts the mark there, after ilk__object_watch, does so by a release. */
bool ilk__object_unmark_first(const void *address, ILK_ATOMIC(uint32_t) * word, uint32_t mark);

/* Whether anything is watched of the object at `address`. Takes no lock. */
bool ilk__object_is_watched_at(const void *address) ILK_NONBLOCKING;

/* Calls `visit` for each object, with the tables locked: it must not lock them. Between some, others may lock them. */
void ilk__objects_visit(void (*visit)(struct ilk__object *object, void *context), void *context);

/* Objects that could not be watched for want of memory. */
uint64_t ilk__objects_lost(void);

static inline uint64_t ilk__object_id(const struct ilk__object *object) {
    /* OB2 acquire, pairs with OB3 (the object begins).
     * Carries: its address, kind and emptied figures.
     * If weaker: a figure of the object before it is taken for its own. */
    return ilk_atomic_load(&object->id, memory_order_acquire);
}

static inline const void *ilk__object_address(const struct ilk__object *object) {
    /* OB4 relaxed: under the mutex of the tables, or in a report, which compares ids. */
    return (const void *)ilk_atomic_load(&object->address, memory_order_relaxed);
}

static inline ilk_object_kind ilk__object_kind_of(const struct ilk__object *object) {
    return (ilk_object_kind)ilk_atomic_load(&object->kind, memory_order_relaxed); /* OB4 */
}

static inline struct ilk__counters *ilk__object_times(const struct ilk__object *object) {
    /* OB5 acquire, pairs with OB6.
     * Carries: the emptied times.
     * If weaker: an addition is lost, or those of another object are read. */
    return ilk_atomic_load(&object->times, memory_order_acquire);
}

static inline void ilk__object_add_acquisition(struct ilk__object *object) ILK_NONBLOCKING {
    ilk_atomic_fetch_add(&object->acquisitions, 1, memory_order_relaxed); /* FG1 */
}

#endif
