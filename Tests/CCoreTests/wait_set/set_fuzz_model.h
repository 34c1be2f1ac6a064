/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of the sets of fuzz_wait_set_test.c: which members are ready, which semaphores have a set in their queue,
 * and which answers of a wait are right.
 */
#ifndef INTERLOCK_TESTS_WAIT_SET_SET_FUZZ_MODEL_H
#define INTERLOCK_TESTS_WAIT_SET_SET_FUZZ_MODEL_H

#include "wait_set/set_fuzz_objects.h"
#include <poll.h>
#include <string.h>

enum { KEYS = 9, KINDS = 4, OBJECTS = 8 };

struct member {
    struct object *object; /* NULL: there is none */
    ilk_ring_event event;
    bool is_queued, is_held; /* of a semaphore */
    bool is_answered;        /* by the wait that is judged */
    bool was_ready;
    unsigned passed, most_passed; /* answers of others since it has been ready */
};

struct set {
    ilk_wait_set *it;
    struct member members[KEYS];
    void **keys; /* of the wait under way */
    size_t capacity, count;
    bool sleeps, woken;
    bool is_quiet; /* its last wait timed out, and nothing has happened since */
    int descriptor;
};

struct model {
    struct scene scene;
    struct object objects[OBJECTS];
    struct set sets[SETS];
};

/* ---- Semaphores ---- */

static inline struct member *member_of(struct set *set, const struct object *object) {
    for (int key = 0; key < KEYS; key++) {
        if (set->members[key].object == object) {
            return &set->members[key];
        }
    }
    return NULL;
}

/* Permits come: to the queue, in its order. */
static inline void serve(struct model *m, struct object *semaphore, uint32_t permits) {
    semaphore->count += permits;
    while (semaphore->count > 0 && semaphore->queued > 0) {
        const int first = semaphore->queue[0];
        semaphore->count--;
        semaphore->queued--;
        memmove(semaphore->queue, semaphore->queue + 1, (size_t)semaphore->queued * sizeof first);
        if (first < SETS) {
            struct member *member = member_of(&m->sets[first], semaphore);
            member->is_queued = false;
            member->is_held = true;
        } else {
            m->scene.waiting[first - SETS] = false;
        }
    }
}

static inline void leave_queue(struct object *semaphore, int place) {
    int kept = 0;
    for (int i = 0; i < semaphore->queued; i++) {
        if (semaphore->queue[i] != place) {
            semaphore->queue[kept++] = semaphore->queue[i];
        }
    }
    semaphore->queued = kept;
}

/* The set was in a wait: those of its semaphores that it has come to have it in their queues. */
static inline void join_queues(struct model *m, struct set *set, bool came_to_all) {
    for (int key = 0; key < KEYS; key++) {
        struct member *member = &set->members[key];
        struct object *object = member->object;
        const bool may_join = object != NULL && object->kind == SEMAPHORE && !member->is_queued &&
                              !member->is_held && !member->is_answered;
        if (may_join &&
            (came_to_all || ilk_semaphore_value(object->it) < (int64_t)object->count - object->queued)) {
            member->is_queued = true;
            object->queue[object->queued++] = (int)(set - m->sets);
        }
        member->is_answered = false;
    }
}

/* ---- Sets ---- */

static inline void *key_of(struct set *set, int key) {
    return key == 0 ? NULL : &set->members[key];
}

static inline bool is_ready(const struct member *member) {
    const struct object *object = member->object;
    if (object == NULL) {
        return false;
    }
    switch (object->kind) {
    case SEMAPHORE: /* a wait that comes to it takes a permit that lies there */
        return member->is_held || (!member->is_queued && object->count > 0);
    case LATCH:
        return object->count == 0;
    default:
        return ring_is_ready(object, member->event);
    }
}

static inline uint32_t count_members(const struct set *set, bool (*is_one)(const struct member *)) {
    uint32_t count = 0;
    for (int key = 0; key < KEYS; key++) {
        count += set->members[key].object != NULL && is_one(&set->members[key]) ? 1 : 0;
    }
    return count;
}

static inline bool is_any(const struct member *member) {
    return true;
}

/* Guarantee B speaks of those that stay ready: not of a permit that the set has not taken. */
static inline void begin_turns(struct set *set) {
    for (int key = 0; key < KEYS; key++) {
        struct member *member = &set->members[key];
        const bool is_now = is_ready(member) && (member->object->kind != SEMAPHORE || member->is_held);
        if (is_now && !member->was_ready) {
            member->passed = 0;
            member->most_passed = count_members(set, is_any) - 1;
        }
        member->was_ready = is_now;
    }
}

static inline bool answer_one(struct model *m, struct set *set, const void *key) {
    for (int i = 0; i < KEYS; i++) {
        struct member *member = &set->members[i];
        if (key_of(set, i) == key && is_ready(member)) {
            struct object *object = member->object;
            object->count -= object->kind == SEMAPHORE && !member->is_held ? 1 : 0;
            member->is_held = member->was_ready = false;
            member->is_answered = true;
            return true;
        }
    }
    return fuzz_mismatch(m->scene.play, "a key was answered that is not ready, or twice");
}

/* Whether the answer of a wait is right; then the model's members are as it leaves them. */
static inline bool judge(struct model *m, struct set *set, ilk_status status, bool slept) {
    struct fuzz_play *play = m->scene.play;
    const uint32_t ready = count_members(set, is_ready);
    const size_t fit = least(ready, (uint32_t)set->capacity), fewest = slept && fit > 0 ? 1 : fit;
    const ilk_status expected = ready > 0 || set->woken ? ILK_OK : ILK_TIMEDOUT;
    if (status != expected || set->count > fit || set->count < fewest) {
        return fuzz_mismatch(play, "%s and %zu keys; %s, %zu were to come, %u are ready",
                             ilk_status_name(status), set->count, ilk_status_name(expected), fit,
                             (unsigned)ready);
    }
    /* A key twice: by then the semaphore's permit is gone; of rings and latches the mark tells. */
    for (size_t i = 0; i < set->count; i++) {
        for (size_t before = 0; before < i; before++) {
            if (set->keys[i] == set->keys[before]) {
                return fuzz_mismatch(play, "a key was answered twice");
            }
        }
        if (!answer_one(m, set, set->keys[i])) {
            return false;
        }
    }
    for (int key = 0; key < KEYS; key++) {
        struct member *member = &set->members[key];
        member->passed += member->was_ready ? (unsigned)set->count : 0;
        if (member->was_ready && member->passed > member->most_passed) {
            return fuzz_mismatch(play, "key %d has been passed over %u times", key, member->passed);
        }
    }
    set->woken = set->sleeps = false;
    join_queues(m, set, set->count < set->capacity);
    free(set->keys);
    set->keys = NULL;
    return true;
}

/* A thread that was woken to come to a new member counts as asleep until it runs: the value says when it has. */
static bool has_joined(struct model *m, const struct set *set) {
    const uint64_t end = give_up_at(m->scene.play);
    for (int key = 0; key < KEYS; key++) {
        const struct object *object = set->members[key].object;
        for (int attempt = 0; object != NULL && object->kind == SEMAPHORE &&
                              count_of(object) > (int64_t)object->count - object->queued;
             attempt++) {
            if (ilk_now_ns() > end) {
                return fuzz_mismatch(m->scene.play, "a set that sleeps is not in a semaphore's queue");
            }
            breathe(attempt);
        }
    }
    return true;
}

/* ---- What must be so after each step ---- */

static bool descriptors_agree(struct model *m) {
    for (int i = 0; i < SETS; i++) {
        struct set *set = &m->sets[i];
        if (set->descriptor < 0 || set->sleeps) {
            continue;
        }
        struct pollfd descriptor = {.fd = set->descriptor, .events = POLLIN};
        const bool is_readable = poll(&descriptor, 1, 0) == 1;
        const bool must = set->woken || count_members(set, is_ready) > 0;
        if (is_readable ? set->is_quiet : must) {
            return fuzz_mismatch(m->scene.play, "the descriptor is %sreadable", is_readable ? "" : "not ");
        }
    }
    return true;
}

/* A wait takes nothing but permits; the set's part of a queue is the model's. */
static bool objects_agree(struct model *m) {
    for (int i = 0; i < OBJECTS; i++) {
        const struct object *object = &m->objects[i];
        const int64_t expected = (int64_t)object->count - object->queued;
        if (count_of(object) != expected) {
            return fuzz_mismatch(m->scene.play, "object %d: a count of %lld and not %lld", i,
                                 (long long)count_of(object), (long long)expected);
        }
        if (is_ring(object) && (misses_a_call(object, ILK_READABLE) || misses_a_call(object, ILK_WRITABLE))) {
            return fuzz_mismatch(m->scene.play, "object %d: its hook was armed, and not called", i);
        }
    }
    return true;
}

#endif
