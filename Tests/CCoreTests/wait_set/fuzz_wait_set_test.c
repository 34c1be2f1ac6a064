/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the verbs of ilk_wait_set, and of what its members do between, against a model (support/fuzz.h).
 * Two sets share rings, semaphores and latches. A thread of the crew sleeps in each, two others in semaphores and
 * latches beside them.
 *
 * The model is as weak as the header:
 *   - a wait that slept answers some of the members that are ready, any other wait as many as its keys have room for;
 *   - a set that answers as many keys as fit may stand in a semaphore's queue, or not yet: the value says which;
 *   - a member that stays ready is passed over for as many answers as there are other members;
 *   - the descriptor may be readable beside nothing, but after a wait that timed out.
 * Not played: one semaphore twice in one set, whose places in the queue a value cannot tell apart.
 *
 * Has been seen to fail on: a permit that is not given back, or answered twice; an answered member that stays in front;
 * one watcher of several notified; a latch without its mark; a wake that is not taken, or lost beside nothing ready; a
 * descriptor that is not raised, or not lowered; a removed member that stays in hand, or in a semaphore's queue; a key
 * too many; a hook that keeps a set from being notified.
 */
#include "wait_set/set_fuzz_model.h"
#include <stdio.h>

/* ---- Waits and members ---- */

static ilk_status wait_on_set(struct actor *actor) {
    struct set *set = actor->object;
    return ilk_wait_set_wait_until(set->it, set->keys, set->capacity, &set->count, actor->deadline_ns);
}

static bool wait(struct model *m, struct set *set, enum manner manner, uint32_t argument) {
    const int number = (int)(set - m->sets);
    set->capacity = argument % 4 == 0 ? KEYS : argument / 4 % 4;
    set->count = KEYS + 1;
    if (set->capacity == 0) {
        return ilk_wait_set_wait_until(set->it, NULL, 0, &set->count, 0) == ILK_INVALID ||
               fuzz_mismatch(m->scene.play, "a wait for no keys was accepted");
    }
    set->keys = malloc(set->capacity * sizeof *set->keys);
    check(set->keys != NULL);
    const bool returns = set->woken || count_members(set, is_ready) > 0;
    if (manner != WAITS) {
        const uint64_t limit = manner == TRIES ? 0 : short_limit(argument / 16);
        const ilk_status status =
            ilk_wait_set_wait_until(set->it, set->keys, set->capacity, &set->count, limit);
        set->is_quiet = limit == 0 && status == ILK_TIMEDOUT;
        return judge(m, set, status, false);
    }
    m->scene.object = set;
    if (returns) {
        return answers(&m->scene, number, wait_on_set, ILK_FOREVER, ILK_OK) && judge(m, set, ILK_OK, false);
    }
    set->sleeps = true;
    return waits(&m->scene, number, wait_on_set);
}

static bool add(struct model *m, struct set *set, int key, struct object *object, uint32_t argument) {
    struct member *member = &set->members[key];
    const ilk_ring_event event = argument % 16 == 0  ? (ilk_ring_event)(argument / 16 % 2 * 3)
                                 : argument % 2 == 0 ? ILK_READABLE
                                                     : ILK_WRITABLE;
    if (object->kind == SEMAPHORE && member_of(set, object) != NULL && member->object == NULL) {
        return true;
    }
    const bool fits = member->object == NULL && (!is_ring(object) || argument % 16 != 0);
    void *const name = key_of(set, key);
    const ilk_status status = object->kind == SPSC   ? ilk_wait_set_add_spsc(set->it, object->it, event, name)
                              : object->kind == MPMC ? ilk_wait_set_add_mpmc(set->it, object->it, event, name)
                              : object->kind == SEMAPHORE
                                  ? ilk_wait_set_add_semaphore(set->it, object->it, name)
                                  : ilk_wait_set_add_latch(set->it, object->it, name);
    if (fits) {
        *member = (struct member){.object = object, .event = event};
    }
    return status == (fits ? ILK_OK : ILK_INVALID) ||
           fuzz_mismatch(m->scene.play, "adding answers %s", ilk_status_name(status));
}

/* A permit that no wait has answered goes back. */
static void forget_member(struct model *m, struct set *set, struct member *member) {
    struct object *object = member->object;
    const bool was_held = member->is_held;
    *member = (struct member){.object = NULL};
    if (object != NULL && object->kind == SEMAPHORE) {
        leave_queue(object, (int)(set - m->sets));
        serve(m, object, was_held ? 1 : 0);
    }
}

static bool remove_member(struct model *m, struct set *set, int key) {
    struct member *member = &set->members[key];
    const bool is_there = member->object != NULL;
    const bool removed = ilk_wait_set_remove(set->it, key_of(set, key));
    forget_member(m, set, member);
    return removed == is_there || fuzz_mismatch(m->scene.play, "removing answers %d", removed);
}

static void make_set(struct set *set) {
    *set = (struct set){.descriptor = -1};
    check_equal(ilk_wait_set_create(&set->it), ILK_OK);
}

static void destroy_set(struct model *m, struct set *set) {
    ilk_wait_set_destroy(set->it);
    for (int key = 0; key < KEYS; key++) {
        forget_member(m, set, &set->members[key]);
    }
}

/* ---- Objects come and go ---- */

/* The waits that must end do, and the others sleep. */
static bool sets_settle(struct model *m) {
    for (int i = 0; i < SETS; i++) {
        struct set *set = &m->sets[i];
        m->scene.waiting[i] = set->sleeps && !set->woken && count_members(set, is_ready) == 0;
    }
    if (!settles(&m->scene)) {
        return false;
    }
    for (int i = 0; i < SETS; i++) {
        struct set *set = &m->sets[i];
        if (m->scene.waiting[i]) {
            join_queues(m, set, true);
            if (!has_joined(m, set)) {
                return false;
            }
        } else if (set->sleeps && !judge(m, set, m->scene.crew->actors[i].status, true)) {
            return false;
        }
        begin_turns(set);
    }
    return true;
}

static bool is_awaited_by_an_actor(const struct model *m, const struct object *object) {
    for (int i = SETS; i < ACTORS; i++) {
        if (m->scene.waiting[i] && m->scene.crew->actors[i].object == object->it) {
            return true;
        }
    }
    return false;
}

/* No set touches what it has removed: it may be freed. A permit that one gives back may end the other's wait. */
static bool renew_object(struct model *m, struct object *object, uint32_t argument) {
    for (int i = 0; i < SETS * KEYS; i++) {
        struct set *set = &m->sets[i / KEYS];
        if (set->members[i % KEYS].object == object &&
            (!remove_member(m, set, i % KEYS) || !sets_settle(m))) {
            return false;
        }
    }
    free_object(object);
    make_object(object, object->kind, argument);
    return true;
}

/* ---- Steps ---- */

static ilk_status wait_on_semaphore(struct actor *actor) {
    ilk_semaphore_wait(actor->object);
    return ILK_OK;
}

static ilk_status wait_on_latch(struct actor *actor) {
    return ilk_latch_wait_until(actor->object, ILK_FOREVER);
}

/* A thread beside the sets, in the queue of a semaphore or before a shut latch. */
static bool sleep_beside(struct model *m, struct object *object, int number) {
    if (m->scene.waiting[number] || (object->count > 0) != (object->kind == LATCH)) {
        return true;
    }
    if (object->kind == SEMAPHORE) {
        object->queue[object->queued++] = SETS + number;
    }
    m->scene.object = object->it;
    return waits(&m->scene, number, object->kind == LATCH ? wait_on_latch : wait_on_semaphore);
}

static void count_down(struct model *m, struct object *latch) {
    ilk_latch_count_down(latch->it);
    latch->count--;
    for (int i = SETS; i < ACTORS && latch->count == 0; i++) {
        m->scene.waiting[i] = m->scene.waiting[i] && m->scene.crew->actors[i].object != latch->it;
    }
}

static bool give(struct model *m, struct object *semaphore, uint32_t permits, bool tries) {
    serve(m, semaphore, permits);
    if (!tries) {
        ilk_semaphore_signal(semaphore->it, permits);
        return true;
    }
    return ilk_semaphore_try_signal(semaphore->it, permits) ||
           fuzz_mismatch(m->scene.play, "permits were refused");
}

static bool take(struct model *m, struct object *semaphore) {
    const bool fits = semaphore->count > 0;
    semaphore->count -= fits ? 1 : 0;
    return ilk_semaphore_try_wait(semaphore->it) == fits ||
           fuzz_mismatch(m->scene.play, "a try to take a permit does not answer %d", fits);
}

enum verb {
    ADD,
    REMOVE,
    WAIT,
    WAKE,
    DESCRIPTOR,
    NEW_SET,
    PUSH,
    POP,
    CLOSE,
    ARM,
    GIVE,
    TAKE,
    COUNT_DOWN,
    SLEEP,
    NEW
};

static const struct fuzz_verb verbs[] = {
    [ADD] = {"add", 14},        [REMOVE] = {"remove", 5},   [WAIT] = {"wait", 20},
    [WAKE] = {"wake", 2},       [NEW_SET] = {"new_set", 1}, [DESCRIPTOR] = {"descriptor", 1},
    [PUSH] = {"push", 10},      [POP] = {"pop", 8},         [CLOSE] = {"close", 1},
    [ARM] = {"arm", 8},         [GIVE] = {"give", 7},       [TAKE] = {"take", 2},
    [COUNT_DOWN] = {"down", 8}, [SLEEP] = {"sleep", 3},     [NEW] = {"new", 3},
};

/* Of the kinds that a verb is for. */
static struct object *object_of(struct model *m, enum kind first, enum kind last, uint32_t argument) {
    const uint32_t each = OBJECTS / KINDS, kinds = (uint32_t)(last - first) + 1;
    return &m->objects[(uint32_t)first * each + argument % (kinds * each)];
}

static bool set_step(struct model *m, enum verb verb, struct set *set, uint32_t argument) {
    switch (verb) {
    case ADD:
        return add(m, set, (int)(argument % KEYS), object_of(m, SPSC, LATCH, argument / KEYS), argument >> 8);
    case REMOVE:
        return remove_member(m, set, (int)(argument % KEYS));
    case WAIT:
        return set->sleeps || wait(m, set, (enum manner)(argument % 3), argument / 3);
    case WAKE:
        ilk_wait_set_wake(set->it);
        set->woken = true;
        return true;
    case DESCRIPTOR:
        return ilk_wait_set_descriptor(set->it, &set->descriptor) == ILK_OK ||
               fuzz_mismatch(m->scene.play, "there is no descriptor");
    default: /* NEW_SET */
        if (!set->sleeps) {
            destroy_set(m, set);
            make_set(set);
        }
        return true;
    }
}

static bool object_step(struct model *m, enum verb verb, uint32_t argument) {
    struct object *ring = object_of(m, SPSC, MPMC, argument);
    struct object *semaphore = object_of(m, SEMAPHORE, SEMAPHORE, argument);
    struct object *latch = object_of(m, LATCH, LATCH, argument), *any = object_of(m, SPSC, LATCH, argument);
    const uint32_t rest = argument / OBJECTS;
    switch (verb) {
    case PUSH:
        return push(m->scene.play, ring, rest % MANNERS);
    case POP:
        return pop(m->scene.play, ring, rest % OVERWRITING);
    case CLOSE:
        close_ring(ring);
        return true;
    case ARM:
        return arm(m->scene.play, ring, rest % 2 == 0 ? ILK_READABLE : ILK_WRITABLE);
    case GIVE:
        return give(m, semaphore, rest % 3, rest / 3 % 2 == 0);
    case TAKE:
        return take(m, semaphore);
    case COUNT_DOWN:
        if (latch->count > 0) {
            count_down(m, latch);
        }
        return true;
    case SLEEP:
        return sleep_beside(m, object_of(m, SEMAPHORE, LATCH, argument),
                            SETS + (int)(rest % (ACTORS - SETS)));
    default: /* NEW */
        return is_awaited_by_an_actor(m, any) || renew_object(m, any, rest);
    }
}

static bool play_step(struct model *m, struct fuzz_step step) {
    const enum verb verb = (enum verb)step.verb;
    const uint32_t rest = step.argument / SETS;
    const bool is_of_a_set = verb <= NEW_SET;
    if (verb != WAIT && verb != DESCRIPTOR) {
        for (int i = 0; i < SETS; i++) {
            m->sets[i].is_quiet = false;
        }
    }
    return (is_of_a_set ? set_step(m, verb, &m->sets[step.argument % SETS], rest)
                        : object_step(m, verb, step.argument)) &&
           sets_settle(m) && descriptors_agree(m) && objects_agree(m);
}

/* All threads return; what the sets hold goes back. */
static bool end(struct model *m) {
    for (int i = 0; i < SETS; i++) {
        ilk_wait_set_wake(m->sets[i].it);
        m->sets[i].woken = true;
    }
    bool agreed = sets_settle(m);
    for (int i = 0; agreed && i < SETS; i++) {
        destroy_set(m, &m->sets[i]);
        make_set(&m->sets[i]);
    }
    for (int i = 0; agreed && i < OBJECTS; i++) {
        struct object *object = &m->objects[i];
        if (object->kind == SEMAPHORE) {
            agreed = give(m, object, ACTORS, false);
        }
        while (object->kind == LATCH && object->count > 0) {
            count_down(m, object);
        }
    }
    agreed = agreed && sets_settle(m) && objects_agree(m);
    for (int i = 0; agreed && i < OBJECTS; i++) {
        free_object(&m->objects[i]);
    }
    for (int i = 0; agreed && i < SETS; i++) {
        ilk_wait_set_destroy(m->sets[i].it);
    }
    return agreed;
}

static bool play_wait_sets(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    struct model *m = calloc(1, sizeof *m); /* the crew's: it stays after a mismatch */
    check(m != NULL);
    m->scene = scene_of(play, NULL);
    for (int i = 0; i < OBJECTS; i++) {
        make_object(&m->objects[i], (enum kind)(i / (OBJECTS / KINDS)), (uint32_t)fuzz_random(&random));
    }
    for (int i = 0; i < SETS; i++) {
        make_set(&m->sets[i]);
    }
    snprintf(play->configuration, sizeof play->configuration, "rings of %u to %u", 1U,
             (unsigned)MOST_ELEMENTS);
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = play_step(m, steps[play->at]);
    }
    if (!agreed || !end(m)) {
        crew_abandon();
        return false;
    }
    free(m);
    return true;
}
/* contract: wait_set.A, wait_set.B, wait_set.C, wait_set.E, wait_set.F */
TEST(every_verb_of_wait_set_agrees_with_a_model) {
    fuzz_with_crew("fuzz_wait: wait_set", verbs, sizeof verbs / sizeof *verbs, play_wait_sets);
}
