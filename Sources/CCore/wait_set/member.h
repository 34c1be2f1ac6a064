/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of a wait set: what each kind of them does to join, probe, arm and leave. All under the set's lock.
 */
#ifndef INTERLOCK_WAIT_SET_MEMBER_H
#define INTERLOCK_WAIT_SET_MEMBER_H

#include "platform/bsd.h"
#include "wait/inbox.h"
#include <interlock/wait_set.h>

struct member_kind;

struct member {
    struct ilk__watcher watcher; /* first */
    const struct member_kind *kind;
    void *object;
    void *key;
    TAILQ_ENTRY(member) in_set;
    TAILQ_ENTRY(member) in_hand; /* if it is */
    ilk_ring_event event;        /* of a ring */
    bool is_in_hand;
    bool is_idle;   /* the last wait found it not ready */
    bool is_queued; /* a semaphore's: in its queue, or served and not seen so yet */
    bool is_held;   /* a permit of it that no wait has answered */
};

struct member_kind {
    /* Makes the watcher known to the object. */
    void (*begin)(struct member *member);
    /* No mark of the watcher follows. */
    void (*end)(struct member *member);
    /* From here on the watcher is marked if what is_ready misses comes. */
    void (*arm)(struct member *member);
    bool (*is_ready)(struct member *member);
    /* After the last touch of the member. */
    void (*give_back)(void *object);
    bool has_queue; /* where it loses its turn as long as it is not armed */
};

extern const struct member_kind ilk__spsc_member, ilk__mpmc_member, ilk__semaphore_member, ilk__latch_member;

#endif
