/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the verbs of condition.h against a model that knows after each step which threads sleep
 * (support/fuzz_crew.h). Under one lock threads wait for a level, or for bits, which they take; on its condition they
 * wait for signals. The test's own thread is the only one that changes level and bits otherwise, or signals.
 *
 * Has been seen to fail on: the last in a queue woken first; a waiter woken whose predicate is false; one that stays
 * counted as woken; a passed limit that does not judge; a late waiter left in the queue; a signal that wakes two, a
 * broadcast that wakes two of more; a wait that returns without its lock.
 */
#include "support/fuzz_crew.h"
#include <interlock/condition.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { MUTEX, INHERITING, READ_WRITE, READ_WRITE_PLAIN, KINDS };

static const char *const kind_names[KINDS] = {"a mutex", "an inheriting mutex", "a lock", "a plain lock"};

struct guarded;

/* What an actor waits with. */
struct party {
    struct guarded *guarded;
    bool reads;
    bool elsewhere;         /* waits for signals under the other mutex */
    uint32_t wanted;        /* level or bits */
    uint32_t found;         /* the level under the lock at the end */
    pthread_t thread;       /* the actor's */
    ILK_ATOMIC(int) judged; /* predicates by its own thread */
};

struct guarded {
    enum kind kind;
    ilk_mutex mutex, other;
    ilk_rwlock lock;
    ilk_condition condition;
    uint32_t level, bits;
    ILK_ATOMIC(int) inside; /* threads that hold the lock; one that holds it alone counts ACTORS */
    struct party parties[ACTORS];
};

static bool has_lock(const struct guarded *guarded) {
    return guarded->kind == READ_WRITE || guarded->kind == READ_WRITE_PLAIN;
}

static void lock_take(struct guarded *guarded, bool reads) {
    if (!has_lock(guarded)) {
        ilk_mutex_lock(&guarded->mutex);
    } else if (reads) {
        ilk_rwlock_read_lock(&guarded->lock);
    } else {
        ilk_rwlock_write_lock(&guarded->lock);
    }
}

static void lock_leave(struct guarded *guarded, bool reads) {
    if (!has_lock(guarded)) {
        ilk_mutex_unlock(&guarded->mutex);
    } else if (reads) {
        ilk_rwlock_read_unlock(&guarded->lock);
    } else {
        ilk_rwlock_write_unlock(&guarded->lock);
    }
}

/* ---- What actors call ---- */

static void count_judgement(struct party *party) {
    if (pthread_equal(pthread_self(), party->thread)) {
        (void)ilk_atomic_fetch_add(&party->judged, 1, memory_order_relaxed);
    }
}

static bool is_high_enough(void *context) {
    struct party *party = context;
    count_judgement(party);
    return party->guarded->level >= party->wanted;
}

static bool has_bits(void *context) {
    struct party *party = context;
    count_judgement(party);
    return (party->guarded->bits & party->wanted) == party->wanted;
}

static ilk_status await_until(struct party *party, ilk_predicate predicate, uint64_t deadline_ns) {
    struct guarded *guarded = party->guarded;
    if (!has_lock(guarded)) {
        return ilk_mutex_await_until(&guarded->mutex, predicate, party, deadline_ns);
    }
    return party->reads ? ilk_rwlock_read_await_until(&guarded->lock, predicate, party, deadline_ns)
                        : ilk_rwlock_write_await_until(&guarded->lock, predicate, party, deadline_ns);
}

static ilk_status signal_until(struct party *party, uint64_t deadline_ns) {
    struct guarded *guarded = party->guarded;
    if (!has_lock(guarded)) {
        return ilk_condition_wait_until(&guarded->condition,
                                        party->elsewhere ? &guarded->other : &guarded->mutex, deadline_ns);
    }
    return party->reads ? ilk_condition_read_wait_until(&guarded->condition, &guarded->lock, deadline_ns)
                        : ilk_condition_write_wait_until(&guarded->condition, &guarded->lock, deadline_ns);
}

static bool is_alone(struct guarded *guarded, bool reads) {
    const int weight = reads ? 1 : ACTORS;
    const int others = ilk_atomic_fetch_add(&guarded->inside, weight, memory_order_relaxed);
    (void)ilk_atomic_fetch_sub(&guarded->inside, weight, memory_order_relaxed);
    return reads ? others < ACTORS : others == 0;
}

/* ILK_INVALID, which no wait answers, where the lock is not held as it should be, or a predicate does not hold. */
static ilk_status wait_held(struct party *party, ilk_predicate predicate, uint64_t deadline_ns) {
    struct guarded *guarded = party->guarded;
    ilk_status status =
        predicate == NULL ? signal_until(party, deadline_ns) : await_until(party, predicate, deadline_ns);
    if (!party->elsewhere && !is_alone(guarded, party->reads)) {
        status = ILK_INVALID;
    }
    if (status == ILK_OK && predicate != NULL && !predicate(party)) {
        status = ILK_INVALID;
    }
    if (status == ILK_OK && predicate == has_bits) {
        guarded->bits &= ~party->wanted;
    }
    party->found = guarded->level;
    return status;
}

static ilk_status wait_under_lock(struct actor *actor, ilk_predicate predicate) {
    struct party *party = actor->object;
    party->thread = pthread_self();
    ilk_atomic_store(&party->judged, 0, memory_order_relaxed);
    if (party->elsewhere) {
        ilk_mutex_lock(&party->guarded->other);
    } else {
        lock_take(party->guarded, party->reads);
    }
    const ilk_status status = wait_held(party, predicate, actor->deadline_ns);
    if (party->elsewhere) {
        ilk_mutex_unlock(&party->guarded->other);
    } else {
        lock_leave(party->guarded, party->reads);
    }
    return status;
}

static ilk_status wait_for_level(struct actor *actor) {
    return wait_under_lock(actor, is_high_enough);
}

static ilk_status wait_for_bits(struct actor *actor) {
    return wait_under_lock(actor, has_bits);
}

static ilk_status wait_for_signal(struct actor *actor) {
    return wait_under_lock(actor, NULL);
}

/* Only takes the lock, while the test's own thread has it. */
static ilk_status pass_through(struct actor *actor) {
    struct guarded *guarded = ((struct party *)actor->object)->guarded;
    const uint64_t deadline_ns = actor->deadline_ns;
    const ilk_status status = has_lock(guarded) ? ilk_rwlock_write_lock_until(&guarded->lock, deadline_ns)
                                                : ilk_mutex_lock_until(&guarded->mutex, deadline_ns);
    if (status == ILK_OK) {
        lock_leave(guarded, false);
    }
    return status;
}

/* ---- The model ---- */

struct model {
    struct scene scene;
    struct guarded *guarded;
    actor_call *calls[ACTORS]; /* of those that wait */
    int judged[ACTORS];        /* when they had fallen asleep */
    uint32_t level, bits;
    int line[ACTORS]; /* those that wait, in the order of their arrival */
    int line_length;
    bool gone[ACTORS]; /* whom the step has let go */
};

static bool holds(const struct model *m, actor_call *call, uint32_t wanted) {
    return call == wait_for_level  ? m->level >= wanted
           : call == wait_for_bits ? (m->bits & wanted) == wanted
                                   : false;
}

/* The answer of a call that need not wait, or cannot. */
static bool model_answers(struct model *m, int number, actor_call *call, uint64_t deadline_ns) {
    const uint32_t wanted = m->guarded->parties[number].wanted;
    const bool met = holds(m, call, wanted);
    if (met && call == wait_for_bits) {
        m->bits &= ~wanted;
    }
    return answers(&m->scene, number, call, deadline_ns, met ? ILK_OK : ILK_TIMEDOUT);
}

static bool model_waits(struct model *m, int number, actor_call *call) {
    m->calls[number] = call;
    m->line[m->line_length++] = number;
    if (!waits(&m->scene, number, call)) {
        return false;
    }
    m->judged[number] = ilk_atomic_load(&m->guarded->parties[number].judged, memory_order_relaxed);
    return true;
}

static bool model_begins(struct model *m, int number, actor_call *call, uint32_t argument) {
    struct party *party = &m->guarded->parties[number];
    if (m->scene.waiting[number]) {
        return true;
    }
    party->reads = call != wait_for_bits && has_lock(m->guarded) && argument % 2 == 0;
    party->elsewhere = call == wait_for_signal && !has_lock(m->guarded) && argument % 4 == 1;
    party->wanted = call == wait_for_level ? argument / 2 % 8 : 1 + argument / 2 % 7;
    m->scene.object = party;
    const bool has_limit = argument / 16 % 3 == 0;
    if (!has_limit && !holds(m, call, party->wanted)) {
        return model_waits(m, number, call);
    }
    const uint64_t limit = has_limit ? short_limit(argument / 48) : ILK_FOREVER;
    return model_answers(m, number, call, limit);
}

/* Takes the one at this place out of the line. */
static void model_lets_go(struct model *m, int place) {
    const int number = m->line[place];
    m->gone[number] = true;
    m->scene.waiting[number] = false;
    m->line_length--;
    memmove(m->line + place, m->line + place + 1, (size_t)(m->line_length - place) * sizeof *m->line);
}

/* Those whose predicates hold now, the first come first. */
static void model_judges(struct model *m) {
    for (int place = 0; place < m->line_length;) {
        const int number = m->line[place];
        const uint32_t wanted = m->guarded->parties[number].wanted;
        if (!holds(m, m->calls[number], wanted)) {
            place++;
            continue;
        }
        if (m->calls[number] == wait_for_bits) {
            m->bits &= ~wanted;
        }
        model_lets_go(m, place);
    }
}

static void model_signals(struct model *m, int most) {
    for (int place = 0; place < m->line_length && most > 0;) {
        if (m->calls[m->line[place]] == wait_for_signal) {
            model_lets_go(m, place);
            most--;
        } else {
            place++;
        }
    }
}

/* After a change: those that were let go have their answer, and the others were not woken. */
static bool model_settles(struct model *m) {
    if (!settles(&m->scene)) {
        return false;
    }
    for (int i = 0; i < ACTORS; i++) {
        if (m->gone[i] && m->scene.crew->actors[i].status != ILK_OK) {
            return fuzz_mismatch(m->scene.play, "actor %d was woken, and is told %s", i,
                                 ilk_status_name(m->scene.crew->actors[i].status));
        }
        if (m->gone[i] && m->guarded->parties[i].found != m->level) {
            return fuzz_mismatch(m->scene.play, "actor %d found level %u and not %u", i,
                                 (unsigned)m->guarded->parties[i].found, (unsigned)m->level);
        }
        const int judged = ilk_atomic_load(&m->guarded->parties[i].judged, memory_order_relaxed);
        if (m->scene.waiting[i] && judged != m->judged[i]) {
            return fuzz_mismatch(m->scene.play, "actor %d was woken though its predicate is false", i);
        }
    }
    if (m->guarded->bits != m->bits) {
        return fuzz_mismatch(m->scene.play, "bits are %u and not %u", (unsigned)m->guarded->bits,
                             (unsigned)m->bits);
    }
    memset(m->gone, 0, sizeof m->gone);
    return true;
}

/* ---- Steps ---- */

enum verb { LEVEL, BITS, SIGNAL, BROADCAST, TOUCH, BESIDE, HOLD, AWAIT_LEVEL, AWAIT_BITS, WAIT };

static const struct fuzz_verb verbs[] = {
    [LEVEL] = {"level", 6},
    [BITS] = {"bits", 6},
    [SIGNAL] = {"signal", 6},
    [BROADCAST] = {"broadcast", 2},
    [TOUCH] = {"touch", 2},
    [BESIDE] = {"level beside a locker", 3},
    [HOLD] = {"hold past a limit", 1},
    [AWAIT_LEVEL] = {"await level", 12},
    [AWAIT_BITS] = {"await bits", 12},
    [WAIT] = {"wait", 12},
};

static bool changes(struct model *m, uint32_t level, uint32_t bits) {
    m->level = level;
    m->bits |= bits;
    model_judges(m);
    lock_take(m->guarded, false);
    m->guarded->level = level;
    m->guarded->bits |= bits;
    lock_leave(m->guarded, false);
    return model_settles(m);
}

static bool signals(struct model *m, bool all, uint32_t argument) {
    const bool under_lock = argument % 2 == 0, reads = argument / 2 % 2 == 0;
    model_signals(m, all ? ACTORS : 1);
    if (under_lock) {
        lock_take(m->guarded, reads);
    }
    (all ? ilk_condition_broadcast : ilk_condition_signal)(&m->guarded->condition);
    if (under_lock) {
        lock_leave(m->guarded, reads);
    }
    return model_settles(m);
}

/* The lock is free, also while threads wait under it. */
static bool touches(struct model *m) {
    struct guarded *guarded = m->guarded;
    const bool taken =
        has_lock(guarded) ? ilk_rwlock_try_write_lock(&guarded->lock) : ilk_mutex_try_lock(&guarded->mutex);
    if (!taken) {
        return fuzz_mismatch(m->scene.play, "the lock is free, and a try is refused");
    }
    lock_leave(guarded, false);
    return model_settles(m);
}

/* Sets the level while another thread sleeps for the lock, or after one has slept for it until its limit. */
static bool changes_beside(struct model *m, int number, uint32_t level, bool is_late) {
    if (m->scene.waiting[number]) {
        return true;
    }
    struct party *party = &m->guarded->parties[number];
    m->scene.object = party;
    lock_take(m->guarded, false);
    if (is_late) {
        const bool agreed = answers(&m->scene, number, pass_through, short_limit(level), ILK_TIMEDOUT);
        lock_leave(m->guarded, false);
        return agreed && model_settles(m) && changes(m, level, 0);
    }
    if (!waits(&m->scene, number, pass_through)) {
        return false;
    }
    m->scene.waiting[number] = false;
    m->gone[number] = true;
    party->found = m->level = m->guarded->level = level;
    model_judges(m);
    lock_leave(m->guarded, false);
    return model_settles(m);
}

/* A wait with a limit, whose end comes in time, while the lock is held until the limit has passed. */
static bool ends_before_limit(struct model *m, int number, bool by_signal) {
    if (m->scene.waiting[number] || (!by_signal && m->level == 8)) {
        return true;
    }
    struct party *party = &m->guarded->parties[number];
    struct actor *actor = &m->scene.crew->actors[number];
    party->reads = party->elsewhere = false;
    party->wanted = 8;
    m->calls[number] = by_signal ? wait_for_signal : wait_for_level;
    m->line[m->line_length++] = number;
    const uint64_t limit = ilk_deadline_in_ns(4000000);
    tell(actor, m->calls[number], party, limit);
    for (int attempt = 0; !sleeps_inside(actor) && !is_idle(actor); attempt++) {
        breathe(attempt);
    }
    lock_take(m->guarded, false);
    if (by_signal) {
        model_signals(m, ACTORS);
        ilk_condition_broadcast(&m->guarded->condition);
    } else {
        m->level = m->guarded->level = 8;
        model_judges(m);
    }
    const bool in_time = ilk_now_ns() < limit;
    for (int attempt = 0; ilk_now_ns() <= limit; attempt++) {
        breathe(attempt);
    }
    lock_leave(m->guarded, false);
    m->gone[number] = in_time; /* otherwise either answer is right */
    return model_settles(m);
}

static bool play_step(struct model *m, struct fuzz_step step) {
    static actor_call *const calls[] = {
        [AWAIT_LEVEL] = wait_for_level, [AWAIT_BITS] = wait_for_bits, [WAIT] = wait_for_signal};
    switch ((enum verb)step.verb) {
    case LEVEL:
        return changes(m, step.argument % 8, 0);
    case BITS:
        return changes(m, m->level, step.argument % 8);
    case SIGNAL:
    case BROADCAST:
        return signals(m, step.verb == BROADCAST, step.argument);
    case TOUCH:
        return touches(m);
    case BESIDE:
        return changes_beside(m, (int)(step.argument % ACTORS), step.argument / 8 % 9,
                              step.argument / 4 % 2 == 0);
    case HOLD:
        return ends_before_limit(m, (int)(step.argument % ACTORS), step.argument / 4 % 2 == 0);
    case AWAIT_LEVEL:
    case AWAIT_BITS:
    case WAIT:
        break;
    }
    return model_begins(m, (int)(step.argument % ACTORS), calls[step.verb], step.argument / ACTORS);
}

/* What lets every thread go. */
static bool ends(struct model *m) {
    while (m->line_length > 0) {
        if (!signals(m, true, 0) || !changes(m, 8, 7)) {
            return false;
        }
    }
    return true;
}

static bool play(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    struct guarded *guarded = calloc(1, sizeof *guarded);
    check(guarded != NULL);
    guarded->kind = (enum kind)(fuzz_random(&random) % KINDS);
    snprintf(play->configuration, sizeof play->configuration, "under %s", kind_names[guarded->kind]);
    ilk_mutex_init(&guarded->mutex, guarded->kind == INHERITING);
    ilk_mutex_init(&guarded->other, guarded->kind == INHERITING);
    (guarded->kind == READ_WRITE_PLAIN ? ilk_rwlock_init_plain : ilk_rwlock_init)(&guarded->lock);
    ilk_condition_init(&guarded->condition);
    struct model m = {.scene = scene_of(play, NULL), .guarded = guarded};
    for (int i = 0; i < ACTORS; i++) {
        guarded->parties[i].guarded = guarded;
    }
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = play_step(&m, steps[play->at]);
    }
    if (!agreed || !ends(&m)) {
        crew_abandon();
        return false;
    }
    ilk_rwlock_destroy(&guarded->lock);
    free(guarded);
    return true;
}
/* contract: condition.B, condition.C, condition.D, condition.F, condition.G */
static void every_verb_of_condition_agrees_with_a_model(void **state) {
    (void)state;
    fuzz_with_crew("fuzz_locks: condition", verbs, sizeof verbs / sizeof *verbs, play);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_verb_of_condition_agrees_with_a_model),
};

TEST_MAIN(tests)
