/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks, and waits under them. What a lock guards are two equal numbers, and each thread knows how often it wrote.
 */
#include "soak.h"

struct guarded {
    uint64_t first, second;
    uint64_t writes[8]; /* each thread its own */
};

static void write_it(struct guarded *it, int index) {
    expect(it->first == it->second);
    it->first++;
    if (chance(50) == 0) {
        sched_yield();
    }
    it->second++;
    it->writes[index]++;
}

static void check_writes(const struct guarded *it) {
    uint64_t all = 0;
    for (int i = 0; i < 8; i++) {
        all += it->writes[i];
    }
    expect(it->first == all && it->second == all);
}

/* ---- Reader–writer locks ---- */

struct rwlock {
    ilk_rwlock lock;
    struct guarded it;
    bool is_made;
    uint32_t reads;  /* of each thread, before other calls */
    uint32_t writes; /* then, one call in so many */
};

static void set_up_rwlock(void *state, int variant) {
    struct rwlock *me = state;
    if (me->is_made && chance(8) == 0) {
        ilk_rwlock_destroy(&me->lock);
        me->is_made = false;
    }
    if (!me->is_made) {
        (variant != 0 ? ilk_rwlock_init_plain : ilk_rwlock_init)(&me->lock);
    }
    me->is_made = true;
    me->writes = 2 + chance(6);
    me->reads = chance(4) != 0   ? 0
                : chance(3) != 0 ? 6000
                                 : 100000; /* the latter: readers leave the fence out */
}

static void read_rwlock(struct rwlock *me) {
    uint32_t kind = chance(8);
    if (kind == 0) {
        at("ilk_rwlock_try_read_lock");
        if (!ilk_rwlock_try_read_lock(&me->lock)) {
            return;
        }
    } else if (kind == 1) {
        at("ilk_rwlock_read_lock_until");
        if (ilk_rwlock_read_lock_until(&me->lock, some_deadline()) != ILK_OK) {
            return;
        }
    } else {
        at("ilk_rwlock_read_lock");
        ilk_rwlock_read_lock(&me->lock);
    }
    expect(me->it.first == me->it.second);
    ilk_rwlock_read_unlock(&me->lock);
}

/* False: not taken, or given up upgradable. */
static bool take_rwlock(struct rwlock *me) {
    switch (chance(6)) {
    case 0:
        at("ilk_rwlock_try_write_lock");
        return ilk_rwlock_try_write_lock(&me->lock);
    case 1:
        at("ilk_rwlock_write_lock_until");
        return ilk_rwlock_write_lock_until(&me->lock, some_deadline()) == ILK_OK;
    case 2:
        at("ilk_rwlock_upgradable_lock");
        ilk_rwlock_upgradable_lock(&me->lock);
        break;
    case 3:
        at("ilk_rwlock_upgradable_lock_until");
        if (ilk_rwlock_upgradable_lock_until(&me->lock, some_deadline()) != ILK_OK) {
            return false;
        }
        break;
    default:
        at("ilk_rwlock_write_lock");
        ilk_rwlock_write_lock(&me->lock);
        return true;
    }
    uint64_t seen = me->it.first;
    expect(seen == me->it.second);
    if (chance(2) == 0) {
        at("ilk_rwlock_upgrade");
        ilk_rwlock_upgrade(&me->lock);
    } else {
        at("ilk_rwlock_upgrade_until");
        if (ilk_rwlock_upgrade_until(&me->lock, some_deadline()) != ILK_OK) {
            expect(seen == me->it.first);
            ilk_rwlock_upgradable_unlock(&me->lock);
            return false;
        }
    }
    expect(seen == me->it.first);
    return true;
}

static void use_rwlock(void *state, int index) {
    struct rwlock *me = state;
    for (uint32_t i = 0; i < me->reads + 300; i++) {
        if (i < me->reads || chance(me->writes) != 0) {
            read_rwlock(me);
        } else if (take_rwlock(me)) {
            write_it(&me->it, index);
            if (chance(3) == 0) {
                uint64_t written = me->it.first;
                ilk_rwlock_downgrade(&me->lock);
                expect(me->it.first == written && me->it.second == written);
                ilk_rwlock_read_unlock(&me->lock);
            } else {
                ilk_rwlock_write_unlock(&me->lock);
            }
        }
    }
}

static void check_rwlock(void *state, bool is_last) {
    struct rwlock *me = state;
    check_writes(&me->it);
    if (is_last) {
        ilk_rwlock_destroy(&me->lock);
    }
}

/* ---- Mutexes ---- */

struct mutex {
    ilk_mutex mutex;
    struct guarded it;
};

static void set_up_mutex(void *state, int variant) {
    ilk_mutex_init(&((struct mutex *)state)->mutex, variant != 0);
}

static void use_mutex(void *state, int index) {
    struct mutex *me = state;
    for (int i = 0; i < 300; i++) {
        bool taken = true;
        switch (chance(4)) {
        case 0:
            at("ilk_mutex_try_lock");
            taken = ilk_mutex_try_lock(&me->mutex);
            break;
        case 1:
            at("ilk_mutex_lock_until");
            taken = ilk_mutex_lock_until(&me->mutex, some_deadline()) == ILK_OK;
            break;
        default:
            at("ilk_mutex_lock");
            ilk_mutex_lock(&me->mutex);
        }
        if (taken) {
            write_it(&me->it, index);
            ilk_mutex_unlock(&me->mutex);
        }
    }
}

static void check_mutex(void *state, bool is_last) {
    struct mutex *me = state;
    check_writes(&me->it);
    expect(ilk_mutex_try_lock(&me->mutex));
    ilk_mutex_unlock(&me->mutex);
    (void)is_last;
}

/* ---- Conditions: two threads fill a store of three places, two empty it, one waits for the end ---- */

enum { STORED = 100, PLACES = 3 };

struct store {
    ilk_mutex mutex;
    ilk_rwlock lock;
    ilk_condition filled, emptied;
    bool has_mutex, awaits;
    uint64_t level, filled_times, emptied_times;
};

static bool has_room(void *store) {
    return ((struct store *)store)->level < PLACES;
}
static bool has_item(void *store) {
    return ((struct store *)store)->level > 0;
}
static bool is_complete(void *store) {
    return ((struct store *)store)->emptied_times == 2 * STORED;
}

static void set_up_store(void *state, int variant) {
    struct store *me = state;
    (void)variant;
    *me = (struct store){.has_mutex = chance(2) == 0, .awaits = chance(3) != 0};
    ilk_mutex_init(&me->mutex, chance(2) == 0);
    (chance(2) == 0 ? ilk_rwlock_init : ilk_rwlock_init_plain)(&me->lock);
}

static void lock_store(struct store *me) {
    if (me->has_mutex) {
        ilk_mutex_lock(&me->mutex);
    } else {
        ilk_rwlock_write_lock(&me->lock);
    }
}
static void unlock_store(struct store *me) {
    if (me->has_mutex) {
        ilk_mutex_unlock(&me->mutex);
    } else {
        ilk_rwlock_write_unlock(&me->lock);
    }
}

static void await(struct store *me, ilk_predicate predicate, ilk_condition *condition) {
    ilk_status status = ILK_TIMEDOUT;
    while (me->awaits ? status != ILK_OK : !predicate(me)) {
        uint64_t deadline = some_deadline();
        if (me->awaits) {
            at("await_until");
            status = me->has_mutex ? ilk_mutex_await_until(&me->mutex, predicate, me, deadline)
                                   : ilk_rwlock_write_await_until(&me->lock, predicate, me, deadline);
            expect((status == ILK_OK) == predicate(me));
        } else {
            at("ilk_condition_wait_until");
            status = me->has_mutex ? ilk_condition_wait_until(condition, &me->mutex, deadline)
                                   : ilk_condition_write_wait_until(condition, &me->lock, deadline);
        }
        expect(status == ILK_OK || (status == ILK_TIMEDOUT && deadline != ILK_FOREVER));
    }
}

static void use_store(void *state, int index) {
    struct store *me = state;
    if (index == 4) {
        at("await_until: complete");
        if (me->has_mutex) {
            ilk_mutex_lock(&me->mutex);
            expect(ilk_mutex_await_until(&me->mutex, is_complete, me, ILK_FOREVER) == ILK_OK);
            ilk_mutex_unlock(&me->mutex);
        } else {
            ilk_rwlock_read_lock(&me->lock);
            expect(ilk_rwlock_read_await_until(&me->lock, is_complete, me, ILK_FOREVER) == ILK_OK);
            ilk_rwlock_read_unlock(&me->lock);
        }
        return;
    }
    bool fills = index % 2 == 0;
    ilk_condition *changed = fills ? &me->filled : &me->emptied;
    for (int i = 0; i < STORED; i++) {
        at("lock");
        lock_store(me);
        await(me, fills ? has_room : has_item, fills ? &me->emptied : &me->filled);
        expect(fills ? me->level < PLACES : me->level > 0);
        me->level += fills ? 1 : UINT64_MAX;
        *(fills ? &me->filled_times : &me->emptied_times) += 1;
        bool under = chance(2) == 0;
        if (!under) {
            unlock_store(me);
        }
        (chance(8) == 0 ? ilk_condition_broadcast : ilk_condition_signal)(changed);
        if (under) {
            unlock_store(me);
        }
    }
}

static void check_store(void *state, bool is_last) {
    struct store *me = state;
    (void)is_last;
    expect(me->level == 0 && me->filled_times == 2 * STORED && me->emptied_times == 2 * STORED);
    ilk_rwlock_destroy(&me->lock);
}

const struct activity locks[] = {
    {number_of_rwlock, 6, sizeof(struct rwlock), 0, set_up_rwlock, use_rwlock, check_rwlock},
    {number_of_plain_rwlock, 5, sizeof(struct rwlock), 1, set_up_rwlock, use_rwlock, check_rwlock},
    {number_of_mutex, 4, sizeof(struct mutex), 0, set_up_mutex, use_mutex, check_mutex},
    {number_of_inheriting_mutex, 4, sizeof(struct mutex), 1, set_up_mutex, use_mutex, check_mutex},
    {number_of_condition, 5, sizeof(struct store), 0, set_up_store, use_store, check_store},
    {.threads = 0},
};
