/* SPDX-License-Identifier: Apache-2.0
 *
 * What diagnosis knows of each thread: what it holds, what it waits for, what it works on, and its last waits and
 * holds. Only the thread itself writes its record; others copy it without a lock, so that a report works however
 * the process is wedged.
 *
 * Must not happen: a copy mixes two states of a record. `version` is odd while the thread writes; a reader
 * copies again if it was odd or has changed. A signal handler that finds its thread's version odd leaves the
 * record alone: it has interrupted a writer.
 *
 * Source: Boehm, "Can seqlocks get along with programming language memory models?" (2012).
 */
#ifndef INTERLOCK_DIAGNOSTICS_RECORDS_H
#define INTERLOCK_DIAGNOSTICS_RECORDS_H

#include "diagnostics/objects.h"
#include <interlock/diagnostics.h>
#include <interlock/inline/atomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The explorer has less: a copy of a record is a step a word. */
#ifndef ILK__HELD_MOST
#define ILK__HELD_MOST 32
#define ILK__EVENTS_KEPT 128
#define ILK__KNOWN_ORDERS 64
#endif
enum { ILK__WORK_MOST = 4, ILK__LABEL_WORDS = 8 /* 64 bytes of text */ };

/* One word of a record. RC1 to RC4 order it. */
typedef ILK_ATOMIC(uint64_t) ilk__record_word;

struct ilk__held_share {
    ilk__record_word object; /* a struct ilk__object */
    ilk__record_word id;     /* the object's when it was taken */
    ilk__record_word since_ns;
    ilk__record_word site;  /* where it was taken: a return address */
    ilk__record_word share; /* an ilk__share */
};

struct ilk__waiting {
    ilk__record_word address; /* 0: the thread does not wait */
    ilk__record_word kind;    /* an ilk_object_kind */
    ilk__record_word share;
    ilk__record_word since_ns;
    ilk__record_word deadline_ns;
    ilk__record_word label[ILK__LABEL_WORDS]; /* of what has no name in the table */
    ilk__record_word depth;
    ilk__record_word stack[ILK_STACK_FRAMES];
};

struct ilk__work_item {
    ilk__record_word address; /* what others wait for, or 0 */
    ilk__record_word label[ILK__LABEL_WORDS];
};

struct ilk__event {
    ilk__record_word id; /* the object's */
    ilk__record_word address;
    ilk__record_word what; /* an ilk__share, and ILK__EVENT_WAIT */
    ilk__record_word since_ns;
    ilk__record_word for_ns;
};
#define ILK__EVENT_WAIT UINT64_C(0x10)

/* An order that the thread has seen to be in the graph without conditions: only it reads this. */
struct ilk__known_order {
    uint64_t from, to;
    uint32_t pair, proofs; /* ilk__pair */
};

struct ilk__record {
    struct ilk__record *next;    /* in the list of all; never changes once linked */
    ILK_ATOMIC(uint32_t) thread; /* its id; 0: the record is free */
    ILK_ATOMIC(uint32_t) version;
    ilk__record_word held_count;
    struct ilk__held_share held[ILK__HELD_MOST];
    struct ilk__waiting waiting;
    ilk__record_word work_count; /* may exceed the places */
    struct ilk__work_item work[ILK__WORK_MOST];
    ilk__record_word event_count;
    struct ilk__event events[ILK__EVENTS_KEPT];
    struct ilk__known_order known_orders[ILK__KNOWN_ORDERS];
    /* The watchdog's alone; a wait is known by its beginning. */
    uint64_t reported_wait_ns;
    uint64_t watched_wait_ns;
    uint64_t stopped_ns; /* of the wait watched: while the process was stopped */
};

/* The calling thread's record, made now if it has none. NULL: no memory, the thread has ended, or a signal handler
 * has interrupted a change of it. */
struct ilk__record *ilk__record_mine(void);

/* The calling thread's record if it has one, or NULL; allocates nothing. */
struct ilk__record *ilk__record_known(void) ILK_NONBLOCKING;

static inline uint64_t ilk__record_get(const ilk__record_word *word) {
    /* RC1 relaxed: by the owner; by a reader between RC4 and RC12; a guess of the watchdog's, which a copy checks. */
    return ilk_atomic_load(word, memory_order_relaxed);
}

static inline void ilk__record_set(ilk__record_word *word, uint64_t value) {
    ilk_atomic_store(word, value, memory_order_relaxed); /* RC1 */
}

/* Around every change by the owner. */
void ilk__record_begin(struct ilk__record *record);
void ilk__record_end(struct ilk__record *record);

/* A label: the first 63 bytes of `text`. */
void ilk__record_set_label(ilk__record_word label[ILK__LABEL_WORDS], const char *text);
void ilk__record_get_label(const ilk__record_word label[ILK__LABEL_WORDS], char text[ILK_NAME_SIZE]);

/* ---- The shares held, by the owner ---- */

bool ilk__is_share_of(const struct ilk__held_share *held, const struct ilk__object *object, uint64_t id);

/* The latest share of the object, of `share` if it is one; NULL. What it returns is the calling thread's until a signal
 * handler takes or gives up something: a change begins before it. */
struct ilk__held_share *ilk__record_find_held(struct ilk__record *record, const struct ilk__object *object,
                                              uint64_t id, const enum ilk__share *share);
/* If there is a place for it. `record` may be NULL. */
void ilk__record_add_held(struct ilk__record *record, struct ilk__object *object, uint64_t id,
                          enum ilk__share share, const void *site, uint64_t since_ns);
/* False: the thread is not known to hold it. */
bool ilk__record_change_held(struct ilk__record *record, const struct ilk__object *object, uint64_t id,
                             enum ilk__share before, enum ilk__share after);
bool ilk__record_give_up_held(struct ilk__record *record, const struct ilk__object *object, uint64_t id,
                              enum ilk__share share, uint64_t *since_ns);

/* Adds to the events, within a change. */
void ilk__record_add_event(struct ilk__record *record, const struct ilk__object *object, uint64_t what,
                           uint64_t since_ns, uint64_t for_ns);

/* Copies `record` into `copy`. False: it is free, or its thread changes it all the time. */
bool ilk__record_copy(const struct ilk__record *record, struct ilk__record *copy);

/* All records, free ones among them. */
struct ilk__record *ilk__records_first(void);

static inline struct ilk__record *ilk__record_next(const struct ilk__record *record) {
    ilk_plain_read(&record->next, sizeof record->next);
    return record->next;
}

/* The id of the thread that has the record; 0: none. */
static inline uint32_t ilk__record_thread(const struct ilk__record *record) {
    /* RC9 relaxed: the owner's own, or a hint which record to copy; a copy is checked by its version. */
    return ilk_atomic_load(&record->thread, memory_order_relaxed);
}

/* Places in use. */
static inline unsigned ilk__held_places(const struct ilk__record *record) {
    const uint64_t count = ilk__record_get(&record->held_count);
    return count < ILK__HELD_MOST ? (unsigned)count : ILK__HELD_MOST;
}

static inline struct ilk__object *ilk__held_object(const struct ilk__held_share *held) {
    return (struct ilk__object *)(uintptr_t)ilk__record_get(&held->object);
}

/* Has ilk__record_release called as the calling thread ends. A port: records_exit_pthread.c, and the model's. */
void ilk__record_at_exit(struct ilk__record *record);
void ilk__record_release(struct ilk__record *record);

#endif
