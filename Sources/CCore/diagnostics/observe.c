/* SPDX-License-Identifier: Apache-2.0
 *
 * See observe.h. Everything here happens on slow paths of watched objects; a thread writes its own record and the
 * object's figures, and locks the tables only for a new object or order.
 */
#include "diagnostics/observe.h"

#include "diagnostics/order.h"
#include "diagnostics/report.h"
#include "diagnostics/rings.h"
#include "diagnostics/stack.h"
#include "diagnostics/thread_list.h"
#include "platform/clock.h"
#include <interlock/deadline.h>
#include <stddef.h>

/* Shorter waits and holds are in the object's times, not among a thread's events. */
enum { SHORTEST_EVENT_NS = 1000 };

static uint64_t now_if(uint32_t watches) {
    return (watches & (ILK_DIAGNOSE_CONTENTION | ILK_DIAGNOSE_HANG)) != 0 ? ilk__clock_now_ns() : 0;
}

static const char *words_for(enum ilk__share share) {
    switch (share) {
    case ILK__SHARE_READ:
        return "for reading";
    case ILK__SHARE_UPGRADABLE:
        return "upgradable";
    case ILK__SHARE_WRITE:
    case ILK__SHARE_UPGRADE:
        return "for writing";
    }
    return "";
}

/* Orders are searched again for the sake of a lock that is written after it was read, or of what turns out to be a
 * lock. */
static void add_proof(struct ilk__object *object, uint32_t trait) {
    if (ilk__object_add_traits(object, trait)) {
        ilk__order_proven(object);
    }
}

static void see_share(struct ilk__object *object, enum ilk__share share) {
    if (share == ILK__SHARE_WRITE) {
        add_proof(object, ILK__IS_WRITTEN);
    } else if (share == ILK__SHARE_UPGRADE) {
        add_proof(object, ILK__IS_UPGRADED);
    }
}

/* The calling thread gives back a share; `was_held`: it is known to have taken it. */
static void see_given_back(struct ilk__object *object, bool was_held) {
    if (!ilk__is_anyones(object)) {
        return;
    }
    if (was_held) {
        add_proof(object, ILK__IS_BALANCED);
    } else {
        (void)ilk__object_add_traits(object, ILK__IS_SIGNALLED);
    }
}

/* ---- Waiting for oneself ---- */

static void report_self_wait(const struct ilk__watch *watch, const struct ilk__held_share *held,
                             const char *asked, bool is_certain) {
    ilk__report_self_wait(ilk__object_address(watch->object), ilk__object_kind_of(watch->object),
                          words_for((enum ilk__share)ilk__record_get(&held->share)), asked,
                          (const void *)(uintptr_t)ilk__record_get(&held->site), watch->site, is_certain);
}

/* Whether a thread that holds the one waits as it asks for the other, whatever other threads do. */
static bool waits_for_itself(enum ilk__share held, enum ilk__share asked) {
    switch (held) {
    case ILK__SHARE_READ:
        return asked == ILK__SHARE_WRITE || asked == ILK__SHARE_UPGRADE;
    case ILK__SHARE_UPGRADABLE:
        return asked == ILK__SHARE_WRITE || asked == ILK__SHARE_UPGRADABLE;
    case ILK__SHARE_WRITE:
    case ILK__SHARE_UPGRADE:
        break;
    }
    return true;
}

static void check_self(struct ilk__record *record, const struct ilk__watch *watch) {
    for (unsigned index = 0; index < ilk__held_places(record); index++) {
        const struct ilk__held_share *held = &record->held[index];
        if (ilk__is_share_of(held, watch->object, watch->id) && ilk__is_proven_lock(watch->object) &&
            waits_for_itself((enum ilk__share)ilk__record_get(&held->share), watch->share)) {
            /* What is anyone's may be given up by another thread. */
            report_self_wait(watch, held, words_for(watch->share), !ilk__is_anyones(watch->object));
            return;
        }
    }
}

/* A thread that reads, and asks for one more share that readers have, waits behind a writer that waits for its read. */
static void check_reading_again(struct ilk__record *record, const struct ilk__watch *watch) {
    const struct ilk__held_share *held = ilk__record_find_held(record, watch->object, watch->id, NULL);
    if (held != NULL && ilk__is_proven_lock(watch->object)) {
        report_self_wait(watch, held,
                         watch->share == ILK__SHARE_READ
                             ? "for reading again, behind a writer that waits for it"
                             : "upgradable, behind a writer that waits for it",
                         false);
    }
}

/* ---- Acquisitions ---- */

void ilk__watch_begin(struct ilk__watch *watch, const void *address, ilk_object_kind kind,
                      enum ilk__share share, bool is_anyones, uint64_t deadline_ns, const void *site) {
    struct ilk__object *object = ilk__object_of(address, kind);
    const uint64_t id = object != NULL ? ilk__object_id_at(object, address) : 0;
    *watch = (struct ilk__watch){.site = site, .deadline_ns = deadline_ns, .share = share};
    if (id == 0) {
        return;
    }
    watch->object = object;
    watch->id = id;
    watch->watches = ilk__object_watches(object);
    if (is_anyones) {
        (void)ilk__object_add_traits(object, ILK__IS_ANYONES);
    }
    see_share(object, share);
    struct ilk__record *record = ilk__record_mine();
    if (record != NULL && (watch->watches & ILK_DIAGNOSE_ORDER) != 0 && deadline_ns == ILK_FOREVER) {
        check_self(record, watch);
        ilk__order_add(record, object, id, share, site);
    }
}

static void set_waiting(struct ilk__record *record, const void *address, ilk_object_kind kind,
                        enum ilk__share share, uint64_t since_ns, uint64_t deadline_ns, const char *label,
                        const void *site) {
    void *stack[ILK_STACK_FRAMES];
    const uint32_t depth = ilk__stack_capture(stack, site);
    struct ilk__waiting *waiting = &record->waiting;
    ilk__record_begin(record);
    ilk__record_set(&waiting->address, (uintptr_t)address);
    ilk__record_set(&waiting->kind, kind);
    ilk__record_set(&waiting->share, share);
    ilk__record_set(&waiting->since_ns, since_ns);
    ilk__record_set(&waiting->deadline_ns, deadline_ns);
    ilk__record_set_label(waiting->label, label);
    ilk__record_set(&waiting->depth, depth);
    for (uint32_t index = 0; index < depth; index++) {
        ilk__record_set(&waiting->stack[index], (uintptr_t)stack[index]);
    }
    ilk__record_end(record);
}

void ilk__watch_contends(struct ilk__watch *watch, bool is_behind_writer) {
    struct ilk__record *record = watch->object != NULL ? ilk__record_mine() : NULL;
    if (record == NULL || watch->waits_since_ns != 0) {
        return;
    }
    if (is_behind_writer && (watch->watches & ILK_DIAGNOSE_ORDER) != 0 && watch->deadline_ns == ILK_FOREVER) {
        check_reading_again(record, watch);
    }
    watch->waits_since_ns = now_if(watch->watches);
    if ((watch->watches & ILK_DIAGNOSE_HANG) != 0) {
        set_waiting(record, ilk__object_address(watch->object), ilk__object_kind_of(watch->object),
                    watch->share, watch->waits_since_ns, watch->deadline_ns, "", watch->site);
    }
}

static void add_wait(struct ilk__object *object, uint64_t wait_ns) {
    struct ilk__counters *times = ilk__object_times(object);
    if (times != NULL) {
        ilk__figures_add_wait(times, wait_ns);
    }
}

/* The wait is over. `object`: NULL, if it has ended. */
static void end_wait(struct ilk__record *record, struct ilk__object *object, uint64_t what, uint64_t since_ns,
                     uint64_t now_ns) {
    ilk__record_begin(record);
    ilk__record_set(&record->waiting.address, 0);
    if (object != NULL && now_ns - since_ns >= SHORTEST_EVENT_NS) {
        ilk__record_add_event(record, object, what, since_ns, now_ns - since_ns);
    }
    ilk__record_end(record);
}

/* The object of a watch, unless it has ended since: then it may be another one's. */
static struct ilk__object *still_there(struct ilk__object *object, uint64_t id) {
    return object != NULL && ilk__object_id(object) == id ? object : NULL;
}

void ilk__watch_end(struct ilk__watch *watch, bool is_acquired) {
    if (watch->object == NULL) {
        return;
    }
    struct ilk__object *object = still_there(watch->object, watch->id);
    struct ilk__record *record = ilk__record_mine();
    const uint64_t now_ns = now_if(watch->watches);
    if (watch->waits_since_ns != 0) {
        if (object != NULL) {
            add_wait(object, now_ns - watch->waits_since_ns);
        }
        if (record != NULL) {
            end_wait(record, object, (uint64_t)watch->share | ILK__EVENT_WAIT, watch->waits_since_ns, now_ns);
        }
    }
    watch->waits_since_ns = 0;
    if (!is_acquired || object == NULL) {
        return;
    }
    ilk__object_add_acquisition(object);
    if (watch->share != ILK__SHARE_UPGRADE) {
        ilk__record_add_held(record, object, watch->id, watch->share, ilk__stack_line(watch->site), now_ns);
    } else if (record != NULL) {
        (void)ilk__record_change_held(record, object, watch->id, ILK__SHARE_UPGRADABLE, ILK__SHARE_WRITE);
    }
}

/* Allocates nothing, for a signal handler may try: of a thread, or an object, that is not known yet nothing is
 * noted. */
ILK_TRUSTED_NONBLOCKING_BEGIN
void ilk__watch_taken(const void *address, enum ilk__share share, const void *site) ILK_NONBLOCKING {
    struct ilk__object *object = ilk__object_find(address);
    const uint64_t id = object != NULL ? ilk__object_id_at(object, address) : 0;
    if (id == 0) {
        return;
    }
    see_share(object, share);
    ilk__object_add_acquisition(object);
    ilk__record_add_held(ilk__record_known(), object, id, share, site, now_if(ilk__object_watches(object)));
}

/* The length of the hold. */
static uint64_t add_hold(const struct ilk__record *record, struct ilk__object *object, uint64_t since_ns,
                         const void *site) {
    const uint64_t hold_ns = ilk__clock_now_ns() - since_ns;
    struct ilk__counters *times = ilk__object_times(object);
    if (times != NULL && ilk__figures_add_hold(times, hold_ns)) {
        void *stack[ILK_STACK_FRAMES];
        const uint32_t depth = ilk__stack_capture(stack, site);
        const uint32_t thread = ilk__record_thread(record);
        char name[16];
        ilk__thread_name(thread, name, sizeof name);
        ilk__figures_set_longest_holder(times, thread, name, stack, depth);
    }
    return hold_ns;
}

void ilk__watch_find(struct ilk__watch *watch, const void *address) ILK_NONBLOCKING {
    watch->object = ilk__object_find(address);
    watch->id = watch->object != NULL ? ilk__object_id_at(watch->object, address) : 0;
}

void ilk__watch_release_end(const struct ilk__watch *watch, enum ilk__share share, const void *site)
    ILK_NONBLOCKING {
    if (watch->id == 0) {
        return;
    }
    struct ilk__record *record = ilk__record_known();
    uint64_t since_ns = 0;
    const bool was_held =
        record != NULL && ilk__record_give_up_held(record, watch->object, watch->id, share, &since_ns);
    /* A thread that takes the permit may end the semaphore at once: one that has begun there since is left alone. */
    struct ilk__object *object = still_there(watch->object, watch->id);
    if (object == NULL) {
        return;
    }
    see_given_back(object, was_held);
    const uint64_t hold_ns = since_ns != 0 ? add_hold(record, object, since_ns, site) : 0;
    if (hold_ns >= SHORTEST_EVENT_NS) {
        ilk__record_begin(record);
        ilk__record_add_event(record, object, (uint64_t)share, since_ns, hold_ns);
        ilk__record_end(record);
    }
}

void ilk__watch_release(const void *address, enum ilk__share share, const void *site) ILK_NONBLOCKING {
    struct ilk__watch watch;
    ilk__watch_find(&watch, address);
    ilk__watch_release_end(&watch, share, site);
}

void ilk__watch_permits(const struct ilk__watch *watch) ILK_NONBLOCKING {
    struct ilk__object *object = still_there(watch->object, watch->id);
    if (object != NULL) {
        (void)ilk__object_add_traits(object, ILK__IS_SIGNALLED);
    }
}
ILK_TRUSTED_NONBLOCKING_END

void ilk__watch_downgrade(const void *address) {
    struct ilk__watch watch;
    ilk__watch_find(&watch, address);
    if (watch.id == 0) {
        return;
    }
    struct ilk__record *record = ilk__record_known(); /* allocates nothing */
    see_given_back(watch.object,
                   record != NULL && ilk__record_change_held(record, watch.object, watch.id, ILK__SHARE_WRITE,
                                                             ILK__SHARE_READ));
}

/* ---- Waits for what has no holder ---- */

void ilk__watch_idle_begin(struct ilk__idle_watch *watch, const void *address, ilk_object_kind kind,
                           const char *label, uint64_t deadline_ns, const void *site) {
    *watch = (struct ilk__idle_watch){.record = ilk__record_mine(), .since_ns = ilk__clock_now_ns()};
    if (watch->record != NULL && ilk__record_get(&watch->record->waiting.address) != 0) {
        watch->record = NULL; /* part of a wait that says more */
        return;
    }
    struct ilk__object *object = ilk__object_find(address);
    object = object != NULL ? ilk__object_of(address, kind) : NULL; /* its times */
    watch->id = object != NULL ? ilk__object_id_at(object, address) : 0;
    watch->object = watch->id != 0 ? object : NULL;
    const uint32_t watches =
        watch->object != NULL ? ilk__object_watches(watch->object) : ilk__diagnosed_bits();
    if (watch->record != NULL && (watches & ILK_DIAGNOSE_HANG) != 0) {
        set_waiting(watch->record, address, kind, ILK__SHARE_READ, watch->since_ns, deadline_ns, label, site);
    }
}

void ilk__watch_ring_begin(struct ilk__idle_watch *watch, const void *ring, ilk_object_kind kind, bool pushes,
                           uint64_t deadline_ns, const void *site) {
    ilk__ring_add_wait(ring, pushes);
    ilk__watch_idle_begin(watch, ring, kind, "", deadline_ns, site);
}

void ilk__watch_idle_end(struct ilk__idle_watch *watch) {
    if (watch->record == NULL) {
        return;
    }
    const uint64_t now_ns = ilk__clock_now_ns();
    struct ilk__object *object = still_there(watch->object, watch->id);
    if (object != NULL) {
        add_wait(object, now_ns - watch->since_ns);
    }
    end_wait(watch->record, object, ILK__EVENT_WAIT, watch->since_ns, now_ns);
}
